#!/usr/bin/env python3
"""What the process has once, all threads together, is known where forks are: every type of ChimeCore that has a static
Atomic, Locked, Condition or HandleTable, or a nonisolated(unsafe) variable, is in the list of `Fork.inEach`, or the
comment of the variable says what a fork means to it.

With an object file as argument, the one of `make -C Sources`: so is every type that has a variable which is made by the
first who asks for it, since a child could ask while another thread was making it.
"""
import pathlib, re, subprocess, sys

core = pathlib.Path(__file__).resolve().parents[2] / "Sources/ChimeCore"
kinds = re.compile(r"\bstatic (?:let|var) (\w+)\b.*(?:\b(?:Atomic|Locked|Condition|HandleTable)\b[<(])")
unsafe = re.compile(r"\bnonisolated\(unsafe\) static (?:let|var) (\w+)\b")
declaration = re.compile(r"^( *)(?:[@\w()]+ )*(?:enum|struct|class|actor|extension) (\w+)")


def list_of_fork():
    text = (core / "Process/Fork+Variables.swift").read_text()
    return re.findall(r"^ +step\.take\(in: (\w+)\.self\)$", text, re.MULTILINE)


def variables():
    """(type, variable, place, comment) of each variable that the process has once."""
    for path in sorted(core.rglob("*.swift")):
        lines = path.read_text().split("\n")
        types = []  # of the lines around this one: indentation and name
        for number, line in enumerate(lines):
            if (opened := declaration.match(line)) and "{" in line:
                while types and types[-1][0] >= len(opened[1]):
                    types.pop()
                types.append((len(opened[1]), opened[2]))
                continue
            found = kinds.search(line) or unsafe.search(line)
            if not found or "{ get" in line:
                continue
            indentation = len(line) - len(line.lstrip())
            owner = next(name for width, name in reversed(types) if width < indentation)
            first = number
            while lines[first - 1].lstrip().startswith("//"):
                first -= 1
            yield owner, found[1], f"{path.relative_to(core)}:{number + 1}", " ".join(lines[first:number])


def made_by_the_first(object_file):
    """Of each variable for which the code of the object file asks `swift_once`: the names of its type, and its own."""
    relocations = output("objdump", "-r", object_file)
    tokens = sorted(set(re.findall(r"\$e\w+Wz\b", relocations)))
    trees = output("swift-demangle", "-tree-only", *tokens).split("kind=Global\n")[1:]
    return [re.findall(r'kind=Identifier, text="(?!_[0-9A-F]{32}")(\w+)"', tree) for tree in trees]


def output(*command):
    return subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout


listed = list_of_fork()
# The standard library's seed of hash tables, of which libchime has none: the linker drops it. And what makes all the others.
exempt = [["_swift_stdlib_Hashing_parameters"], ["Fork", "globals"]]
wrong, count = [], 0
for owner, name, place, comment in variables():
    count += 1
    if owner not in listed and not re.search(r"\bfork", comment):
        wrong.append(f"{place}: {owner}.{name}: {owner} is not in the list of Fork.inEach, and no comment speaks of a fork")
if not listed or count < 20:
    sys.exit(f"only {len(listed)} types and {count} variables were found: does this script still read the sources?")
for path in sys.argv[1:]:
    made = made_by_the_first(path)
    if len(made) < 10:
        sys.exit(f"only {len(made)} variables were found in {path}: does this script still read its relocations?")
    for names in made:
        if not set(names) & set(listed) and names not in exempt:
            wrong.append(f"{'.'.join(names)} is made by the first who asks, and its type is not in the list of Fork.inEach")
for line in wrong:
    print(line)
if wrong:
    sys.exit(1)
print(f"ok process_state: {count} variables of the process, in the list of forks or said to need nothing")
