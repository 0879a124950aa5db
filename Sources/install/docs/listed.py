"""Whether the lists of functions go with the header: the card in include/README.md names each function of chime.h, by the subjects
of names.txt; its first eight are those that chime.h declares first; Limits.md names no function that is gone.

    listed.py       run in Sources
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def functions(header):
    """The functions of a header in their order."""
    text = (ROOT / "include" / header).read_text()
    blocks = re.findall(r"/\*\*\n((?: \*.*\n)*?) \*/\n[^\n;#]*?\b(chime_\w+)\(", text)
    return [name for _, name in blocks]


def main():
    said = []
    chime, loops = functions("chime.h"), functions("chime_run_loop.h")
    card = (ROOT / "include/README.md").read_text().split("## A card\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(chime_\w+)`", card))
    if named != set(chime):
        said.append(f"the card: missing {sorted(set(chime) - named)}, too many {sorted(named - set(chime))}")
    table = re.findall(r"^\| `(chime_\w+)` \|", card, re.M)
    first = [name for name in chime if not re.match("chime_(version|status|last|now|sleep|tick)", name)][: len(table) - 1]
    if len(table) != 8 or sorted(table) != sorted([*first, "chime_status_message"]):
        said.append(f"the first eight: {table}, but chime.h begins with {first}")
    subjects = {title: set(re.findall(r"^chime_\w+", rest, re.M)) & set(chime) - set(table) for title, rest in re.findall(
        r"^= (.*)\n((?:(?!= ).*\n)*)", (ROOT / "Sources/install/docs/names.txt").read_text(), re.M)}
    bullets = {title: set(re.findall(r"`(chime_\w+)`", rest)) for title, rest in re.findall(r"^- \*\*([^*`]+)\*\*: (.*)$", card, re.M)}
    for title in bullets.keys() | {title for title, names in subjects.items() if names}:
        if bullets.get(title) != subjects.get(title):
            said.append(f"the card, {title}: {sorted(bullets.get(title, set()) ^ subjects.get(title, set())) or 'no such subject'}")
    limits = (ROOT / "Sources/Chime/Chime.docc/Limits.md").read_text()
    if gone := set(re.findall(r"`(chime_[a-z_]+[a-z])`", limits)) - set(chime) - set(loops):
        said.append(f"Limits: {sorted(gone)}")
    if said:
        sys.exit("\n".join(said))
    print(f"ok lists: {len(chime)} functions of chime.h, {len(loops)} of chime_run_loop.h")


main()
