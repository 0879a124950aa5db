"""Whether the lists of functions go with the headers: names.txt has each function; the eight of include/README.md are those that
chime.h declares first; Limits.md names no function that is gone.

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
    names = (ROOT / "Sources/install/docs/names.txt").read_text()
    if differ := set(re.findall(r"^(chime_\w+)  ", names, re.M)) & set(chime + loops) ^ set(chime + loops):
        said.append(f"names.txt: missing {sorted(differ)}")
    table = re.findall(r"^\| `(chime_\w+)` \|", (ROOT / "include/README.md").read_text().split("## Functions\n")[1].split("\n## ")[0], re.M)
    first = [name for name in chime if not re.match("chime_(version|status|last|now|sleep|tick)", name)][: len(table) - 1]
    if len(table) != 8 or sorted(table) != sorted([*first, "chime_status_message"]):
        said.append(f"the first eight: {table}, but chime.h begins with {first}")
    limits = (ROOT / "Sources/Chime/Chime.docc/Limits.md").read_text()
    if gone := set(re.findall(r"`(chime_[a-z_]+[a-z])`", limits)) - set(chime) - set(loops):
        said.append(f"Limits: {sorted(gone)}")
    if said:
        sys.exit("\n".join(said))
    print(f"ok lists: {len(chime)} functions of chime.h, {len(loops)} of chime_run_loop.h")


main()
