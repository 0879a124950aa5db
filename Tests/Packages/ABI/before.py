"""Compares the ABI of a release with that of the version before, by the rule of chime.h, "Version".

    before.py RELEASE [BEFORE]

Each is a release's tarball, or the directory that it was unpacked in. Without BEFORE the version before is what before/*.abi
have recorded of it: for 0.3.0, of which there is no release.
"""
import pathlib
import sys
import tarfile
import tempfile

import abi
import declarations

RECORDS = pathlib.Path(__file__).parent / "before"


def of_release(path, place):
    """The version, and the lines that a record would have."""
    if path.is_file():
        with tarfile.open(path) as archive:
            archive.extractall(place)
        (path,) = place.iterdir()
    header = path / "include/chime_run_loop.h"  # which includes the other one
    lines = {**declarations.declarations(header), **abi.symbols(path / "lib/libchime.so.1")}
    if found := abi.disagreements(lines):
        sys.exit("\n".join(found))
    return declarations.version(path / "include/chime.h"), lines


def of_records():
    lines = {}
    for path in sorted(RECORDS.glob("*.abi")):
        version, found = abi.read(path)
        lines.update(found)
    return version, lines


def main():
    release, *before = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        version, new = of_release(release, pathlib.Path(one))
        old_version, old = of_release(before[0], pathlib.Path(other)) if before else of_records()
    what = before[0].name if before else "the record: there is no release of it"
    if version <= old_version:
        sys.exit(f"{abi.dotted(version)} is not after {abi.dotted(old_version)} ({what})")
    broke, added = abi.compare(old, new)
    for line in (*broke, *added):
        print(f"  {line}")
    if found := abi.refusals(old_version, version, old, new):
        sys.exit("\n".join(found))
    print(f"ok {abi.dotted(version)} may follow {abi.dotted(old_version)} ({what}): {len(broke)} lines removed or changed,"
          f" {len(added)} added, {len(new)} in all")


if __name__ == "__main__":
    main()
