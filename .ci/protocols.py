"""Whether the functions that the rows of Sources/Protocols.md name are where it says, and whether every function with a
compare-and-swap is in one of them; and whether a row says "scenarios" where scenarios are marked with it (`// P4b, P14e` above
them), and only there.

A token `File:function` names a function, initialiser, variable or constant of Sources/ChimeCore/*/File.swift; one whose
file ends in .c or .h, of that file in CPlatform, with its folder, or CSwiftTasks.
"""

import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
files = {os.path.basename(path)[:-6]: path for path in glob.glob("Sources/ChimeCore/*/*.swift")}
files.update({path.split("/", 2)[2]: path for path in glob.glob("Sources/C[PS]*/**/*.[ch]", recursive=True)})
in_c = re.compile(r"^[a-z](?:[\w ]|\*)*?\b(\w+)\([^;{]*(?:\{.*)?$")
wrong = count = 0
named, with_scenarios = set(), set()
marked = {row for path in glob.glob("Tests/Threads/Interleavings/Runner/Scenarios+*.swift")
          for line in re.findall(r"^ *// (P\d+\w?(?:, P\d+\w?)*)$", open(path).read(), re.M) for row in line.split(", ")}
for line in open("Sources/Protocols.md"):
    row = re.match(r"- \*\*(P\d+[a-z]?) ", line)
    if not row:
        continue
    if re.search(r"\([^()]*\bscenarios\b[^()]*\)", line):
        with_scenarios.add(row[1])
    for name, function in re.findall(r"`([A-Z][A-Za-z]*(?:\+[A-Za-z]+)?|[a-z_/]+\.[ch]):(\w+)`", line):
        count += 1
        named.add((name, function))
        text = open(files[name]).read() if name in files else ""
        declared = function == "init" or re.search(rf"\b(func|var|let) {function}\b", text)
        if name.endswith((".c", ".h")):
            declared = any(found[1] == function for found in map(in_c.match, text.splitlines()) if found)
        if not text or not declared:
            wrong += 1
            print(f"{row[1]}: there is no {function} in {name}")
swaps = 0
for name, path in sorted(files.items()):
    function = None
    for number, line in enumerate(open(path), 1):
        declared = in_c.match(line) if name.endswith((".c", ".h")) else re.search(r"\bfunc (\w+)", line)
        function = declared[1] if declared else function
        if re.search(r"\b(?:weakC|c)ompareExchange\(|_compare_exchange_", line):
            swaps += 1
            if (name, function) not in named:
                wrong += 1
                print(f"{path}:{number}: {name}:{function} swaps, and is in no protocol")

for row in sorted(with_scenarios ^ marked):
    wrong += 1
    print(f"{row}: " + ("no scenario is marked with it" if row in with_scenarios else "scenarios are marked with it, and it does not say so"))
if swaps < 15:
    sys.exit(f"only {swaps} compare-and-swaps found")
if count < 100:
    sys.exit(f"only {count} tokens found: has the form of the rows changed?")
print(f"{count} tokens, {swaps} compare-and-swaps, {wrong} wrong")
sys.exit(wrong > 0)
