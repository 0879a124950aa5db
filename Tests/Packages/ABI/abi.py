"""Holds the ABI of the headers and of the library to what was recorded, by the rule of chime.h, "Version".

    abi.py check INCLUDE LIBRARY
    abi.py record INCLUDE LIBRARY [--unreleased]
    abi.py before RELEASE [BEFORE]

check fails when anything differs from chime.abi. record writes that file; it refuses when the version does not allow the
difference. It keeps in before.abi what the version before had otherwise, and with --unreleased compares with that: nobody has
the recorded version yet. The first version has none before it, and no such file. before compares a release with the record,
and with the release BEFORE, or with the version before as it was recorded: each a tarball, or the directory that it was
unpacked in.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import declarations

PLACE = pathlib.Path(os.environ.get("RECORDS", pathlib.Path(__file__).parent))
RECORD, BEFORE = PLACE / "chime.abi", PLACE / "before.abi"
HEADERS = ("chime.h", "chime_run_loop.h")
HEAD = """\
# The ABI of chime.h, chime_run_loop.h and libchime.so.0, written by `make -C Tests/Packages/ABI record`.
# The rule for it stands in chime.h, under "Version".
"""
HEAD_BEFORE = """\
# What the version before had otherwise than chime.abi, by `make -C Tests/Packages/ABI record`, too: `-` lines are its own, and
# it had none of the `+` lines.
"""
KINDS = ("function", "type", "enumerator", "structure", "member", "macro")


# ---- What there is ---------------------------------------------------------------------------------------------------


def symbols(library):
    """What a library exports, and under which version: {"chime_now": "CHIME_0.9"}."""
    command = ["nm", "--dynamic", "--defined-only", "--extern-only", "--with-symbol-versions", str(library)]
    rows = [line.split() for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]
    return dict(row[2].replace("@@", "@").partition("@")[::2] for row in rows if row[1] != "A")


def described(include, library):
    """The version, and the lines of a record: {"function chime_now": "chime_status (chime_clock, int64_t *), CHIME_0.9"}."""
    lines, exported = {}, symbols(library)
    for header in HEADERS:  # the second one includes the first
        found = declarations.declarations(include / header)
        where = f"; {header}" if lines else ""
        lines |= {name: value + where for name, value in found.items() if name not in lines}
    declared = {name_of(line) for line in lines if line.startswith("function ")}
    wrong = [f"{name} is declared, and the library does not export it" for name in sorted(declared - exported.keys())]
    wrong += [f"{name} is exported, and no header declares it" for name in sorted(exported.keys() - declared)]
    wrong += [f"{name} has no version" for name in sorted(exported) if not exported[name]]
    if wrong:
        sys.exit("\n".join(wrong))
    for name in declared:
        lines[f"function {name}"] += f", {exported[name]}"
    return declarations.version(include / HEADERS[0]), lines


def of_release(path):
    """The same of a release."""
    with tempfile.TemporaryDirectory() as directory:
        if path.is_file():
            with tarfile.open(path) as archive:
                archive.extractall(directory)
            (path,) = pathlib.Path(directory).iterdir()
        return described(path / "include", path / "lib/libchime.so.0")


def name_of(line):
    return line.split(" ")[1]


# ---- Records ---------------------------------------------------------------------------------------------------------


def read(path):
    """The version and the lines of a record, by their names."""
    rows = [line.partition(":") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    lines = {name: value.strip() for name, _, value in rows}
    return tuple(int(part) for part in lines.pop("version").split(".")), lines


def version_before():
    """The version before, as it was recorded: its own lines, and of the record those that it had, too; None: there was none."""
    if not BEFORE.exists():
        return None
    version, differing = read(BEFORE)
    lines = {name: value for name, value in read(RECORD)[1].items() if f"+ {name}" not in differing}
    return version, lines | {name[2:]: value for name, value in differing.items() if name.startswith("- ")}


def write(version, lines, before):
    text = HEAD + f"version: {dotted(version)}\n"
    for kind in KINDS:
        text += "\n" + "".join(row(name, value) for name, value in lines.items() if name.split()[0] == kind)
    RECORD.write_text(text)
    if before is None:
        return
    before_version, before = before
    own = [row(f"- {name}", value) for name, value in before.items() if lines.get(name) != value]
    without = [row(f"+ {name}", "") for name in lines if name not in before]
    BEFORE.write_text(HEAD_BEFORE + f"version: {dotted(before_version)}\n" + "".join(own + without))


def node_of(value):
    """The version under which a function is exported; None for other lines."""
    found = re.search(r", (CHIME_[\d.]+)$", value)
    return found and found[1]


def row(name, value):
    return f"{name}: {value}".rstrip(": ") + "\n"


def dotted(version):
    return ".".join(str(part) for part in version)


# ---- The rule --------------------------------------------------------------------------------------------------------


def place(member):
    """Of "int64_t, at 8, 8 bytes": (8, 8)."""
    return tuple(int(number) for number in re.search(r"at (\d+), (\d+) bytes", member).groups())


def compare(old, new):
    """Two lists of sentences: what broke, and what was added. A structure may grow at its end; a member `reserved` may
    get a name."""
    added = {name for name in new if name not in old}
    removed = {name for name in old if name not in new}
    changed = {name for name in new if name in old and new[name] != old[name]}
    notes = []

    for name in [name for name in removed if name.endswith(".reserved")]:
        structure = name.removesuffix("reserved")
        for other in [other for other in added if other.startswith(structure)]:
            if place(new[other]) == place(old[name]):
                removed.discard(name)
                added.discard(other)
                notes.append(f"added: {other}: {new[other]}; it was reserved")

    for name in [name for name in changed if name.startswith("structure ")]:
        prefix = f"member {name_of(name)}."
        size = int(old[name].split()[0])
        kept = not any(member.startswith(prefix) for member in removed | changed)
        tail = [member for member in added if member.startswith(prefix)]
        if kept and tail and all(place(new[member])[0] >= size for member in tail):
            changed.discard(name)
            notes.append(f"added: {name}: {old[name]} became {new[name]}")

    broke = [f"removed: {row(name, old[name])}".rstrip() for name in sorted(removed)]
    broke += [f"changed: {name}: {old[name]} became {new[name]}" for name in sorted(changed)]
    return broke, sorted(notes + [f"added: {row(name, new[name])}".rstrip() for name in added])


def series(version):
    """Versions of one series only add to each other."""
    return version[:1] if version[0] else version[:2]


def refusals(old_version, version, old, new):
    """Why the difference may not be recorded under that version; empty: it may."""
    broke, added = compare(old, new)
    found = []
    if version < old_version:
        found.append(f"{dotted(version)} is before the recorded {dotted(old_version)}")
    if broke and series(version) == series(old_version):
        found += [*broke, f"that needs another {'major' if version[0] else 'minor'} version than {dotted(old_version)}"]
    same = version[:2] == old_version[:2] if version[0] else version == old_version
    if added and same:
        found += [*added, f"that needs another {'minor' if version[0] else 'patch'} version than {dotted(old_version)}"]
    nodes = {f"CHIME_{dotted(version)}", f"CHIME_{dotted(version[:2])}" if version[2] == 0 else ""}
    for name in new:
        node = node_of(new[name])
        if node != node_of(old.get(name, "")) and node not in nodes and version != old_version:
            found.append(f"{name} came with {dotted(version)}: name it in a node of its own in exports.map")
    return found


# ---- Tasks -----------------------------------------------------------------------------------------------------------


def check(version, lines):
    old_version, old = read(RECORD)
    broke, added = compare(old, lines)
    if old_version != version:
        added.append(f"version: {dotted(old_version)} became {dotted(version)}")
    if broke or added:
        print(*broke, *added, sep="\n")
        sys.exit(f"{RECORD.name} has it otherwise: see chime.h, \"Version\", and record it")
    print(f"ok {RECORD.name}: {len(lines)} lines as recorded for {dotted(version)}")


def record(version, lines, is_unreleased):
    recorded = read(RECORD) if RECORD.exists() else (version, lines)
    before = version_before() if version == recorded[0] else recorded
    held_to = before if is_unreleased else recorded
    if held_to and (found := refusals(held_to[0], version, held_to[1], lines)):
        sys.exit("not recorded:\n" + "\n".join(found))
    write(version, lines, before)
    print(f"recorded {len(lines)} lines for {dotted(version)} in {RECORD.name}")


def compare_releases(release, before):
    version, new = of_release(release)
    check(version, new)
    found = of_release(before) if before else version_before()
    if found is None:
        print(f"ok {dotted(version)} is the first version: there is none before it")
        return
    old_version, old = found
    what = before.name if before else "as it was recorded"
    if version <= old_version:
        sys.exit(f"{dotted(version)} is not after {dotted(old_version)} ({what})")
    broke, added = compare(old, new)
    print(*(f"  {line}" for line in (*broke, *added)), sep="\n")
    if found := refusals(old_version, version, old, new):
        sys.exit("\n".join(found))
    print(f"ok {dotted(version)} may follow {dotted(old_version)} ({what}): {len(broke)} lines removed or changed,"
          f" {len(added)} added, {len(new)} in all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["check", "record", "before"])
    parser.add_argument("paths", type=pathlib.Path, nargs="+")
    parser.add_argument("--unreleased", action="store_true")
    given = parser.parse_args()
    if given.task == "before":
        compare_releases(given.paths[0], *given.paths[1:] or [None])
    elif given.task == "check":
        check(*described(*given.paths))
    else:
        record(*described(*given.paths), given.unreleased)


if __name__ == "__main__":
    main()
