"""The Python wheel of a target: Sources/Bindings/python with the library inside, built by PyPI's `build` and setuptools."""

import os
import shutil
import struct
import sys
import venv

from release import DATE, OUTPUT, SONAME_VERSION, SOURCES, VERSION, run, write_tree

PACKAGE = SOURCES / "Bindings/python"
TOOLS = SOURCES / "build/python-tools"


def tools():
    """A virtual environment with what build-requirements.txt names, in its versions. Returns its interpreter."""
    wanted = (PACKAGE / "build-requirements.txt").read_text()
    python, stamp = TOOLS / "bin/python", TOOLS / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(TOOLS, ignore_errors=True)
        venv.create(TOOLS, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r",
            PACKAGE / "build-requirements.txt")
        stamp.write_text(wanted)
    return python


def write(target, tree):
    """Writes the wheel, has auditwheel say that its tag is true, and answers its name."""
    python = tools()
    stage = OUTPUT / "stage" / f"python-{target.platform}"
    found = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in sorted(PACKAGE.rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"}
    if target.is_apple:
        library = f"libchime.{SONAME_VERSION}.dylib"
        found[f"chime_timers/{library}"] = tree[f"lib/{library}"]
    elif target.is_windows:
        library = f"chime-{SONAME_VERSION}.dll"
        found[f"chime_timers/{library}"] = tree[f"bin/{library}"]
    else:
        library = f"libchime.so.{SONAME_VERSION}"
        found[f"chime_timers/{library}"] = tree[f"lib/{library}.{VERSION}"]
    for path in list(tree):
        if path.startswith("share/doc/chime/licences/"):
            found[f"licences/{path.split('/')[-1]}"] = tree[path]
    write_tree(stage, found)
    if target.system == "linux-musl":
        # As a program that was linked on Alpine asks for it; musl takes either name for itself.
        path = stage / "chime_timers" / library
        run(TOOLS / "bin/patchelf", "--replace-needed", "libc.so", musl(target), path)
        os.utime(path, (DATE, DATE))
    run(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", OUTPUT,
        f"--config-setting=--build-option=--plat-name={target.wheel}", stage,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(DATE)})
    name = f"chime_timers-{VERSION}-py3-none-{target.wheel}.whl"
    if not (OUTPUT / name).exists():
        sys.exit(f"dist: no {name} was built")
    if target.is_apple:
        minimum = macos_minimum(found[f"chime_timers/{library}"])
        if f"macosx_{minimum[0]}_{minimum[1]}_{target.machine}" != target.wheel:
            sys.exit(f"dist: {name}: its tag is not true: the library is for macOS {minimum[0]}.{minimum[1]}")
    elif target.is_windows:
        if windows_machine(found[f"chime_timers/{library}"]) != "amd64":
            sys.exit(f"dist: {name}: its tag is not true")
    else:
        audited(python, target, name)
    return name


def windows_machine(library):
    """Which processor a DLL is for, as tags have it."""
    place = struct.unpack_from("<I", library, 0x3C)[0]
    return {0x8664: "amd64", 0xAA64: "arm64"}.get(struct.unpack_from("<H", library, place + 4)[0])


def macos_minimum(library):
    """The oldest macOS that a dylib says it is for (LC_BUILD_VERSION)."""
    count, place = struct.unpack_from("<I", library, 16)[0], 32
    for _ in range(count):
        command, size, _, version = struct.unpack_from("<IIII", library, place)
        if command == 0x32:
            return version >> 16, version >> 8 & 255
        place += size
    sys.exit("dist: the dylib does not say which macOS it is for")


def musl(target):
    return f"libc.musl-{target.machine}.so.1"


def audited(python, target, name):
    """auditwheel names the oldest systems that the library runs on: those of the tag, or older ones."""
    where = []
    if target.system == "linux-musl":
        # It wants to see each library, and this machine's C library is another one: any file for that machine will do.
        seen = OUTPUT / "stage" / f"seen-{target.platform}"
        seen.mkdir(parents=True, exist_ok=True)
        shutil.copy(target.built_library()[0] / f"libchime.so.{SONAME_VERSION}", seen / musl(target))
        where = ["--ldpaths", seen]
    said = run(python, "-m", "auditwheel", "show", *where, OUTPUT / name)
    found = [word.strip('".,') for word in said.split() if word.strip('".,').startswith(("manylinux_", "musllinux_"))]
    kind, limit = target.wheel.split("_")[0], tuple(map(int, target.wheel.split("_")[1:3]))
    true = [tag for tag in found if tag.split("_")[0] == kind and tuple(map(int, tag.split("_")[1:3])) <= limit]
    if not true:
        sys.exit(f"dist: {name}: its tag is not true; auditwheel says:\n{said}")
    print(f"auditwheel: {name} is {true[0]}")
