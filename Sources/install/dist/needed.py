"""What a release is built with, looked for before anything is built."""

import importlib.util
import os
import shutil
import sys

# Program: Debian's package with it. Of each target's `make`, beside what all need.
ALL = {
    "make": "make", "cc": "gcc", "objcopy": "binutils", "git": "git", "doxygen": "doxygen", "groff": "groff",
    "swiftc": "a Swift toolchain: swift.org/install",
}
OF_TARGET = {
    "arm64": {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"},
    "riscv64": {"riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross"},
    "musl": {"musl-gcc": "musl-tools"},
    "arm64-musl": {"aarch64-linux-gnu-objcopy": "binutils-aarch64-linux-gnu"},
    "riscv64-musl": {"riscv64-linux-gnu-objcopy": "binutils-riscv64-linux-gnu"},
    "windows": {"x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64"},
    "macos": {"/usr/lib/llvm-19/bin/ld64.lld": "lld-19"},
    "ios": {"/usr/lib/llvm-19/bin/ld64.lld": "lld-19"},
}


def missing(targets):
    """Programs and modules of Python that are not there, each with where it comes from and which target wants it."""
    found = []

    def want(name, source, target, is_there):
        if not is_there and not any(name == other for other, _, _ in found):
            found.append((name, source, target))

    for name, source in ALL.items():
        want(name, source, "every target", shutil.which(name))
    for target in targets:
        programs = dict(OF_TARGET.get(target.make, {}))
        if target.debian != "-":
            programs["dpkg-deb"] = "dpkg"
        for name, source in programs.items():
            want(name, source, target.name, shutil.which(name))
        if target.wheel != "-":
            # A virtual environment needs pip inside Python, which Debian has in a package of its own.
            want("ensurepip", "python3-venv", target.name, importlib.util.find_spec("ensurepip"))
        if target.uses_zig or target.is_apple:
            want("pip", "python3-pip", target.name, importlib.util.find_spec("pip"))
    return found


def check(targets):
    absent = missing(targets)
    if not absent:
        return
    lines = [f"  {name} (for {target}): {source}" for name, source, target in absent]
    sys.exit("dist: nothing was built. Missing, each with its Debian package:\n" + "\n".join(lines)
             + ("" if os.environ.get("TARGETS") else "\nTARGETS='x86-64' builds for that target alone: "
                + "Sources/install/targets.txt lists them"))
