"""Each link of a page of the repository leads to a file that is there, and to a heading of it as GitHub writes its anchor; in
DocC's catalogues, too, whose links catalogue.py makes into DocC's own. Each target of make, filter of `swift test` and file of .ci
that a page's commands name is there, too.

    .ci/links.py [DIRECTORY]      DIRECTORY: an unpacked release, or another tree of pages, of which only links are looked at

HTML in a DIRECTORY is walked, too: each link leads to a page, and to a place in it; nothing is fetched from a network; and links
and the menu lead from the index to every page.
"""

import functools
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HREF = re.compile(r"<(\w+)\b[^>]*?\b(?:href|src)=\"([^\"]*)\"")


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


@functools.cache
def targets(directory):
    """The names and patterns of a makefile's rules."""
    said = subprocess.run(["make", "-pRrq", "-C", str(directory), "__none__"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace").stdout
    names = {name for line in re.findall(r"^([^#\s.=][^:=\n]*):(?!=)", said, re.M) for name in line.split()}
    return {name for name in names if "%" not in name}, [re.escape(name).replace("%", ".+") for name in names if "%" in name]


def missing(page):
    """What the commands of a page name that is not there, and how many commands there are."""
    text = page.read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    lines = "\n".join(blocks).splitlines() + re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    found, count = [], 0
    for line in lines:
        for command in re.split(r"&&|[;|#]", line):
            words = command.split()
            while words and (re.match(r"\w+=", words[0]) or words[0] == "sudo"):
                words.pop(0)
            if not words:
                continue
            count += words[0] in ("make", "swift") or words[0].startswith(".ci/")
            if words[0].startswith(".ci/") and not (ROOT / words[0]).exists():
                found.append(f"{command}: no such file")
            if words[:2] == ["swift", "test"] and "--filter" in words:
                for name in words[words.index("--filter") + 1].split("."):
                    if subprocess.run(["git", "-c", "safe.directory=*", "grep", "-qw", name, "--", "Package.swift", "Tests/*.swift"],
                                      cwd=ROOT).returncode:
                        found.append(f"{command}: no tests {name}")
            if words[0] != "make":
                continue
            place = words[words.index("-C") + 1] if "-C" in words else "."
            directory = next((path for path in ((ROOT / place, page.parent / place) if "-C" in words else (page.parent,))
                              if (path / "Makefile").exists()), None)
            if directory is None:
                if place.split("/")[0] in ("Sources", "Tests", "examples-c") and "…" not in place:
                    found.append(f"{command}: no makefile there")
                continue
            known, patterns = targets(directory.resolve())
            quoted = re.sub(r"'[^']*'|\"[^\"]*\"|\[.*", "", command).split()
            for word in quoted[quoted.index("make") + 1:]:
                if word in (place, "…") or re.match(r"-|\w+=|.*(NAME|…)", word):
                    continue
                if word not in known and not any(re.fullmatch(pattern, word) for pattern in patterns):
                    found.append(f"{command}: no target {word}")
    return found, count


@functools.cache
def places(page):
    """What the links of a page of HTML can lead to in it."""
    return set(re.findall(r"\b(?:id|name)=\"([^\"]+)\"", page.read_text()))


def walked(index):
    """What is wrong with the HTML behind an index, and how many links there are."""
    wrong, count, seen, following = [], 0, {index}, [index]
    menu = index.parent / "menudata.js"
    menu_links = [("a", to) for to in re.findall(r"url:\"([^\"]*)\"", menu.read_text())] if menu.exists() else []
    while following:
        page = following.pop()
        for element, to in HREF.findall(page.read_text()) + menu_links * (page == index):
            if re.match(r"\w+:|//", to):
                if element != "a" and not to.startswith("javascript:"):
                    wrong.append(f"{page.relative_to(ROOT)}: it fetches {to}")
                continue
            count += 1
            path, _, anchor = urllib.parse.unquote(to).partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: {to}: no such file")
            elif target.suffix == ".html":
                if anchor and anchor not in places(target):
                    wrong.append(f"{page.relative_to(ROOT)}: {to}: no such place")
                if target not in seen:
                    seen.add(target)
                    following.append(target)
    # The search's own pages are what its script shows.
    files = [str(path).lower() for path in index.parent.rglob("*")]
    wrong += [f"{path}: two names that some systems take for one" for path in set(files) if files.count(path) > 1]
    unseen = [page for page in sorted(index.parent.rglob("*.html")) if page not in seen and page.parent.name != "search"]
    return wrong + [f"{page.relative_to(ROOT)}: no link leads there" for page in unseen], count


def main():
    wrong, count, commands = [], 0, 0
    for page in pages():
        text = without_code(page.read_text())
        for to in LINK.findall(text) + re.findall(r"<(doc:[^>]*)>", text):
            if to.startswith("doc:"):
                wrong.append(f"{page.relative_to(ROOT)}: {to}: only DocC follows it: write [Title](Page.md#heading)")
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
        if len(sys.argv) == 1:
            found, number = missing(page)
            wrong += [f"{page.relative_to(ROOT)}: {what}" for what in found]
            commands += number
    for index in sorted(ROOT.rglob("index.html")) if len(sys.argv) > 1 else ():
        found, number = walked(index)
        wrong, count = wrong + found, count + number
    if wrong or not count:
        sys.exit("\n".join(wrong) or "no links")
    print(f"ok: {count} links" + (f", {commands} commands" if commands else ""))


main()
