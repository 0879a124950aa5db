"""Whether the lists of functions go with the headers: the card in include/README.md names each function of chime.h, in italics
if it is provisional; its first eight are those that chime.h declares first; Limits.md's table names what is provisional, which
all of chime_run_loop.h is.

    listed.py       run in Sources
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def functions(header):
    """The functions of a header in their order; whether each is provisional."""
    text = (ROOT / "include" / header).read_text()
    blocks = re.findall(r"/\*\*\n((?: \*.*\n)*?) \*/\n[^\n;#]*?\b(chime_\w+)\(", text)
    return {name: "Provisional." in comment for comment, name in blocks}


def main():
    said = []
    chime, loops = functions("chime.h"), functions("chime_run_loop.h")
    card = (ROOT / "include/README.md").read_text().split("## A card\n")[1].split("\n## ")[0]
    plain = set(re.findall(r"(?<!\*)`(chime_\w+)`(?!\*)", card))
    italics = set(re.findall(r"\*`(chime_\w+)`\*", card))
    provisional = {name for name, is_so in chime.items() if is_so}
    for what, found, expected in (("the card", plain, set(chime) - provisional), ("the card, in italics", italics, provisional)):
        if found != expected:
            said.append(f"{what}: missing {sorted(expected - found)}, too many {sorted(found - expected)}")
    table = re.findall(r"^\| `(chime_\w+)` \|", card, re.M)
    first = [name for name in chime if not re.match("chime_(version|status|last|now|sleep|tick)", name)][: len(table) - 1]
    if len(table) != 8 or sorted(table) != sorted([*first, "chime_status_message"]):
        said.append(f"the first eight: {table}, but chime.h begins with {first}")
    limits = (ROOT / "Sources/Chime/Chime.docc/Limits.md").read_text().split("### What 1.0 freezes")[1].split("### ")[0]
    cells = " ".join(row.split("|")[3] for row in limits.splitlines() if row.startswith("| "))
    if set(re.findall(r"`(chime_[a-z_]+)`", cells)) != provisional:
        said.append(f"Limits: {sorted(set(re.findall(r'`(chime_[a-z_]+)`', cells)) ^ provisional)}")
    if not all(loops.values()):
        said.append(f"chime_run_loop.h: not all are provisional: {[name for name, is_so in loops.items() if not is_so]}")
    if said:
        sys.exit("\n".join(said))
    print(f"ok lists: {len(chime)} functions of chime.h, {len(provisional)} of them provisional")


main()
