"""Each link of a page of the repository leads to a file that is there, and to a heading of it as GitHub writes its anchor.

    .ci/links.py [DIRECTORY]      DIRECTORY: an unpacked release, or another tree of pages
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def pages():
    if len(sys.argv) > 1:
        return sorted(ROOT.rglob("*.md"))
    listed = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    return [ROOT / name for name in subprocess.check_output(listed, cwd=ROOT, text=True).split() if (ROOT / name).exists()]


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def anchors(path):
    """GitHub's: small letters, digits, hyphens and underscores stay, spaces become hyphens; the second of a name gets -1."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *#*$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {anchor if count == 0 else f"{anchor}-{count}" for anchor, last in found.items() for count in range(last + 1)}


def main():
    wrong, count = [], 0
    for page in pages():
        for to in LINK.findall(without_code(page.read_text())):
            if re.match(r"\w+:", to):
                continue
            count += 1
            path, _, anchor = to.partition("#")
            target = (page.parent / path).resolve() if path else page
            if path.startswith("/"):
                continue  # where a package has something
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: {to}: no such file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                wrong.append(f"{page.relative_to(ROOT)}: {to}: no such heading")
    if wrong or not count:
        sys.exit("\n".join(wrong) or "no links")
    print(f"ok: {count} links")


main()
