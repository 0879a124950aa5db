"""Whether the functions that the table of protocols (Sources/README.md) names are where it says.

A token `File:function` names a function, initialiser, variable or constant of Sources/ChimeCore/*/File.swift.
"""

import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
files = {os.path.basename(path)[:-6]: path for path in glob.glob("Sources/ChimeCore/*/*.swift")}
wrong = count = 0
for line in open("Sources/README.md"):
    row = re.match(r"\| (P\d+[a-z]?) ", line)
    if not row:
        continue
    for name, function in re.findall(r"`([A-Z][A-Za-z]*(?:\+[A-Za-z]+)?):([A-Za-z]+)`", line):
        count += 1
        text = open(files[name]).read() if name in files else ""
        declared = function == "init" or re.search(rf"\b(func|var|let) {function}\b", text)
        if not text or not declared:
            wrong += 1
            print(f"{row[1]}: there is no {function} in {name}.swift")
if count < 100:
    sys.exit(f"only {count} tokens found: has the form of the table changed?")
print(f"{count} tokens, {wrong} wrong")
sys.exit(wrong > 0)
