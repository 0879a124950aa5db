"""Builds and packs a release: `make dist`; dist.mk says what for. Arguments: names of targets.txt, or none for all."""

import hashlib
import shutil
import sys

import debian
import sbom
import wheel
import xcframework
from release import DIST, OUTPUT, VERSION, checksums, targets, write_tar

README = """\
Chime {version} for {system} on {machine}: an embeddable timer runtime.

As it lies here, with a C compiler alone:
    cc tick.c -IDIR/include {links} -o tick
by pkg-config:
    PKG_CONFIG_PATH=DIR/lib/pkgconfig, package chime or chime-static
by CMake:
    find_package(Chime {series}), with -DCMAKE_PREFIX_PATH=DIR
Installed:
    ./install.sh PREFIX

include/chime.h says what each function does. share/doc/chime has the licences of what the library bundles.
"""


def main():
    chosen = targets(sys.argv[1:])
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    apple = []
    for target in chosen:
        target.build()
        tree = target.files()
        name = f"chime-{VERSION}-{target.platform}"
        document = sbom.document(target, tree)
        tree[f"share/doc/chime/{name}.spdx.json"] = document
        tree["README"] = README.format(
            version=VERSION, system=target.system, machine=target.machine, series=VERSION.rsplit(".", 1)[0],
            links="-LDIR/lib -lchime -Wl,-rpath,DIR/lib" if target.is_apple else "DIR/lib/libchime.a -ldl -pthread").encode()
        tree["install.sh"] = (DIST / "install.sh").read_bytes()
        tree["SHA256SUMS"] = checksums(tree)
        (OUTPUT / f"{name}.spdx.json").write_bytes(document)
        write_tar(OUTPUT / f"{name}.tar.gz", name, tree)
        if target.debian != "-":
            debian.write(target, tree)
        if target.wheel != "-":
            wheel.write(target, tree)
        if target.is_apple:
            apple.append((target, tree))
    if apple:
        xcframework.write(apple)
    shutil.rmtree(OUTPUT / "stage", ignore_errors=True)
    files = sorted(path for path in OUTPUT.iterdir() if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (OUTPUT / "SHA256SUMS").write_text("".join(lines))
    for path in files:
        print(f"{path.stat().st_size:>9}  {path.name}")


main()
