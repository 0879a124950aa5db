"""Holds the ABI of a header and of its library to what was recorded, by the rule of chime.h, "Version".

    abi.py check  RECORD HEADER LIBRARY [--beyond RECORD] [--beside HEADER]
    abi.py record RECORD HEADER LIBRARY [--beyond RECORD] [--beside HEADER] [--unreleased]

check fails when anything differs. record writes it down; it refuses when the version does not allow the difference,
but with --unreleased: nobody has the recorded version yet. --beyond: header and library must have all of that record, and only what they have
beyond it is recorded. --beside: the library has another header's functions, too, which that header's record holds.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import declarations

HEAD = """\
# The ABI of {header} and {library}, written by `make -C Tests/Packages/ABI record`.
# The rule for it stands in chime.h, under "Version".
version: {version}
"""
KINDS = ("function", "symbol", "type", "enumerator", "structure", "member", "macro")


def symbols(library):
    """What a library exports: {"symbol chime_now@CHIME_0.1": ""}. Without a version it is no symbol of ours."""
    command = ["nm", "--dynamic", "--defined-only", "--extern-only", "--with-symbol-versions", str(library)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = [line.split()[2].replace("@@", "@") for line in lines if line.split()[1] != "A"]
    return {f"symbol {name}": "" for name in names}


def name_of(line):
    return re.split(r"[ @]", line)[1]


def disagreements(lines):
    """What is exported and not declared, or the other way round."""
    declared = {name_of(line) for line in lines if line.startswith("function ")}
    exported = {name_of(line) for line in lines if line.startswith("symbol ")}
    found = [f"{name} is declared, and the library does not export it" for name in sorted(declared - exported)]
    found += [f"{name} is exported, and the header does not declare it" for name in sorted(exported - declared)]
    return found + [f"{line} has no version" for line in lines if line.startswith("symbol ") and "@" not in line]


def read(path):
    """The version and the lines of a record."""
    lines = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition(":")
            lines[name] = value.strip()
    return tuple(int(part) for part in lines.pop("version").split(".")), lines


def written(path, header, library, version, lines):
    text = HEAD.format(header=header.name, library=library.name, version=dotted(version))
    for kind in KINDS:
        text += "\n" + "".join(
            f"{name}: {value}".rstrip(": ") + "\n" for name, value in lines.items() if name.split()[0] == kind
        )
    path.write_text(text)


def dotted(version):
    return ".".join(str(part) for part in version)


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

    broke = [f"removed: {name}: {old[name]}".rstrip(": ") for name in sorted(removed)]
    broke += [f"changed: {name}: {old[name]} became {new[name]}" for name in sorted(changed)]
    return broke, sorted(notes + [f"added: {name}: {new[name]}".rstrip(": ") for name in added])


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
        if name.startswith("symbol ") and name not in old and name.split("@")[1] not in nodes and version != old_version:
            found.append(f"{name} came with {dotted(version)}: name it in a node of its own in exports.map")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["check", "record"])
    for name in ("record", "header", "library"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--beyond", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--unreleased", action="store_true")
    arguments = parser.parse_args()

    declared, exported = declarations.declarations(arguments.header), symbols(arguments.library)
    if arguments.beside:
        others = declarations.declarations(arguments.beside).keys() - declared.keys()
        exported = {name: value for name, value in exported.items() if f"function {name.split('@')[0].split()[-1]}" not in others}
    lines = {**declared, **dict(sorted(exported.items()))}
    if found := disagreements(lines):
        sys.exit("\n".join(found))
    if arguments.beyond:
        _, elsewhere = read(arguments.beyond)
        if missing := [line for line, value in elsewhere.items() if lines.get(line) != value]:
            sys.exit("\n".join(f"{line}: not as in {arguments.beyond.name}" for line in missing))
        lines = {line: value for line, value in lines.items() if line not in elsewhere}
    version = declarations.version(arguments.header)

    if arguments.task == "check":
        old_version, old = read(arguments.record)
        broke, added = compare(old, lines)
        if old_version != version:
            added.append(f"version: {dotted(old_version)} became {dotted(version)}")
        if broke or added:
            print(*broke, *added, sep="\n")
            sys.exit(f"{arguments.record.name} has it otherwise: see chime.h, \"Version\", and record it")
        print(f"ok {arguments.record.name}: {len(lines)} lines as recorded for {dotted(version)}")
        return

    if arguments.record.exists() and not arguments.unreleased:
        old_version, old = read(arguments.record)
        if found := refusals(old_version, version, old, lines):
            sys.exit("not recorded:\n" + "\n".join(found))
    written(arguments.record, arguments.header, arguments.library, version, lines)
    print(f"recorded {len(lines)} lines for {dotted(version)} in {arguments.record.name}")


if __name__ == "__main__":
    main()
