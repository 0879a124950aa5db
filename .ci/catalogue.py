"""Copies a documentation catalogue for DocC, whose pages link to each other as GitHub and editors follow it:

    .ci/catalogue.py CATALOGUE TO

`[Limits](Limits.md#time)` becomes `<doc:Limits#Time>`, or keeps what it shows where that is not the page's title. A link that
leaves the catalogue, which DocC cannot follow, becomes what it shows.
"""

import pathlib
import re
import shutil
import sys

LINK = re.compile(r"(?<!!)\[((?:[^\]`\n]|`[^`\n]*`)+)\]\(([^)\s]+)\)")


def headings(text):
    """By the anchor that GitHub makes of a heading: the one that DocC makes, and what the heading says."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        words = re.sub(r"['\"`]", "", shown).strip(" .,:;!?()")
        found[anchor] = (re.sub(r"\s+", "-", words), shown)
    return found


def converted(page, pages):
    def link(match):
        shown, to = match.groups()
        if re.match(r"\w+:", to):
            return match[0]
        name, _, anchor = to.partition("#")
        target = pages.get(name, None) if name else pages[page.name]
        if target is None:
            return shown
        fragment, said = headings(target[1])[anchor] if anchor else ("", target[0])
        place = (name or page.name).removesuffix(".md") + (f"#{fragment}" if fragment else "")
        return f"<doc:{place}>" if shown == said else f"[{shown}](doc:{place})"

    # Code may be a part of what a link shows, but a link is no part of code.
    text, out, at = page.read_text(), [], 0
    fences = [match.span() for match in re.finditer(r"^```.*?^```$", text, re.M | re.S)]
    for match in LINK.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if any(begin <= match.start() < end for begin, end in fences) or before.replace("``", "").count("`") % 2:
            continue
        out += [text[at:match.start()], link(match)]
        at = match.end()
    return "".join(out) + text[at:]


def main():
    source, to = map(pathlib.Path, sys.argv[1:])
    pages = {path.name: (re.search(r"^# (.*)$", path.read_text(), re.M)[1], path.read_text()) for path in source.glob("*.md")}
    shutil.copytree(source, to)
    for path in to.glob("*.md"):
        path.write_text(converted(path, pages))


main()
