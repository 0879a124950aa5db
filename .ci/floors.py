"""Whether the rooms of ChimeCore are floors: a file refers to the rooms of its own floor and to those below.

A file refers to another one if it names a type that only that one declares, or a member of six letters or more that only
that one declares. What every type has (`init`) and what the standard library has too (`append`) prove nothing, and a name
that several files declare is not seen: so this is a lower bound, and a review still reads imports of mind.

Prints how many files of each room (rows) refer to how many of each other (columns), and the largest circle of files.
"""

import collections
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Sources", "ChimeCore"))

# Bottom to top. Two rooms share a floor where one memory, or one wait, is of both.
FLOORS = [["Values"], ["Platform"], ["Storage", "Slot", "Wheel"], ["Pool"], ["Waiting", "Queue"], ["Kinds"], ["Timer"], ["Adapters"], ["Objects"],
          ["Diagnostics"], ["Process"]]
ROOMS = sum(FLOORS, [])

# References upwards, each with its reason.
ALLOWED = {}

MOST_IN_CIRCLE = 10

OF_SWIFT = set("append remove insert removeAll allocate deallocate initialize deinitialize indices".split())


def code_of(text):
    """Without comments and without the words of strings, but with what these interpolate."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//.*", "", text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda found: '"' + " ".join(re.findall(r"\\\((.*?)\)", found[0])) + '"', text)


declaration = re.compile(
    r"^( *)(?:@\w+(?:\([^)]*\))? +)*((?:(?:public|package|internal|private|fileprivate|final|static|unsafe|mutating|borrowing|consuming"
    r"|indirect|override|lazy|weak|unowned\(unsafe\)|nonisolated\(unsafe\)|(?:private|fileprivate|package)\(set\)) +)*)"
    r"(struct|class|enum|protocol|typealias|extension|func|let|var|case)\b *(.*)$")

files = {path[:-6]: code_of(open(path).read()) for path in sorted(glob.glob("*/*.swift"))}
types = collections.defaultdict(set)  # name: the files that declare it
members = collections.defaultdict(set)  # name: (file, type)
own = collections.defaultdict(set)  # file: the types that it declares or extends
for file, text in files.items():
    around = []  # the types around a line: indentation, name
    for line in text.split("\n"):
        found = declaration.match(line)
        if not found:
            continue
        indentation, hidden, kind, rest = len(found[1]), "private " in found[2], found[3], found[4]
        while around and around[-1][0] >= indentation:
            around.pop()
        if kind in ("struct", "class", "enum", "protocol", "typealias", "extension"):
            name = re.match(r"[\w.]+", rest)[0].split(".")[-1]
            if kind != "extension" and not hidden:
                types[name].add(file)
            if kind != "typealias":
                around.append((indentation, name))
                own[file].add(name)
        elif not hidden and (not around and indentation == 0 or around and indentation <= around[-1][0] + 2):
            names = re.findall(r"(?:^|, *)(\w+)", re.sub(r"\(.*?\)", "", rest)) if kind == "case" else re.findall(r"^`?(\w+)", rest)
            for name in names:
                members[name].add((file, around[-1][1] if around else None))

refers = {file: set() for file in files}
why = collections.defaultdict(list)


def note(file, other, name):
    if file != other:
        refers[file].add(other)
        why[file, other].append(name)


for name, declaring in types.items():
    if len(declaring) == 1:
        for file, text in files.items():
            if re.search(rf"(?<![\w.]){name}\b", text):
                note(file, *declaring, name)
for name, declaring in members.items():
    if len(name) < 6 or name in OF_SWIFT or len({file for file, _ in declaring}) != 1:
        continue
    other, type = next(iter(declaring))
    as_member, bare = re.compile(rf"\.{name}\b"), re.compile(rf"(?<![\w.]){name}\b(?!:)")
    local = re.compile(rf"\b(?:let|var|func|for|in|case) +{name}\b|\b{name} *:")
    for file, text in files.items():
        if as_member.search(text) or (type is None or type in own[file]) and bare.search(text) and not local.search(text):
            note(file, other, "." + name)


def circles():
    """Tarjan's strongly connected components."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in refers[file]:
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            at = stack.index(file)
            found.append(stack[at:])
            del stack[at:]

    for file in files:
        if file not in index:
            visit(file)
    return sorted(found, key=len, reverse=True)


wrong = []
room = {file: file.split("/")[0] for file in files}
for unknown in sorted(set(room.values()) - set(ROOMS)):
    sys.exit(f"{unknown} is on no floor")
height = {name: number for number, names in enumerate(FLOORS) for name in names}
matrix = collections.Counter((room[file], room[other]) for file in files for other in refers[file])
print(f"{'':<12}" + "".join(f"{name[:8]:>9}" for name in ROOMS))
for name in ROOMS:
    print(f"{name:<12}" + "".join(f"{matrix[name, other] or '.':>9}" for other in ROOMS))
upwards = {(file, other) for file in files for other in refers[file] if height[room[other]] > height[room[file]]}
for file, other in sorted(upwards - set(ALLOWED)):
    wrong.append(f"{file} refers upwards to {other}: {', '.join(sorted(why[file, other]))}")
for file, other in sorted(set(ALLOWED) - upwards):
    wrong.append(f"{file} no longer refers to {other}: take it off the list")
largest = circles()[0]
if len(largest) > MOST_IN_CIRCLE:
    wrong.append(f"a circle of {len(largest)} files: {', '.join(sorted(largest))}")
for line in wrong:
    print(line)
print(f"{len(files)} files, {len(upwards)} references upwards, {len(largest)} files in the largest circle, {len(wrong)} wrong")
sys.exit(1 if wrong else 0)
