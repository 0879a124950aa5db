"""What Doxygen shows beside the headers: a front page, the guides of a release, the examples (Programs: Doxygen has an examples.html
of its own, and some systems tell no capitals).

    pages.py HEADERS PAGES      writes Markdown for Doxygen, examples and pictures to PAGES

The guides are those that lie in share/doc/chime of a release, by dist/release.py: their links lead from there to where Doxygen
has the same thing. What it does not have is named, not linked.
"""

import html
import os
import pathlib
import re
import sys

import headers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "dist"))
os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # nothing here has a date
import release  # noqa: E402

# The guides in the order of the front page, each with what it is for; those that are not named follow.
GUIDES = {
    "C": "how to link Chime, the kinds of queues, C++",
    "Promises": "what holds for every call, on every queue, by number",
    "Limits": "what Chime cannot do, and what it costs",
    "Platforms": "what differs between systems, and what has run where",
    "Troubleshooting": "when a timer does not do what you expect, or a program hangs",
    "ComingFrom": "libuv, libev, Asio, Go, tokio, asyncio, Node and others: call for call",
    "GameTime": "for games: a clock of your own, advanced by frames, paused, slowed down, replayed",
    "Languages": "Python, Go, Rust, Node, Java, LuaJIT and Ruby",
    "ReleaseNotes": "what there is, and what changed",
    "Bundled": "parts that are not Chime's own, and their licences",
}
PLAIN = "{.unparsed}"


def place(name, to):
    """Where Doxygen has what a guide of that name links to; None: nowhere."""
    path, _, anchor = to.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if path == "examples/README.md":
        return "Programs.html"
    if re.match(r"examples/.*\.(c|cpp|h)$", path):
        return f"{path[len('examples/'):].replace('.', '_8')}-example.html"
    if path.endswith("include/chime.h") or path.endswith("include/chime_run_loop.h"):
        return f"{pathlib.PurePath(path).stem.replace('_', '__')}_8h.html"
    if path.endswith("../README.md"):
        return "index.html"
    page = path.removesuffix(".md")
    if "/" in page or not path.endswith(".md"):
        return None
    return f"{page}.html" + (f"#{page}_{anchor}" if anchor else "")


def code(text, names):
    """A span of code: names of the headers are links, and nothing is a command of Doxygen's."""
    def piece(word):
        if word in names:
            return f'@ref {word} "{word}"'
        return re.sub(r"[@\\%#|*]|--+|(?<!\w)_|_(?!\w)", r"\\\g<0>", html.escape(word, quote=False))
    # In a table a bar of code is written with a backslash.
    return "<code>" + "".join(piece(word) for word in re.split(r"\b((?:chime|CHIME)_\w+)", text.replace("\\|", "|"))) + "</code>"


def inline(text, name, names):
    """Links and spans of code of a line, and what Doxygen would take for commands."""
    def link(match):
        shown, to = match.groups()
        if re.match(r"\w+:", to):
            return f'<a href="{to}">{shown}</a>'
        target = place(name, to)
        return f'<a href="{target}">{shown}</a>' if target else shown

    def plain(part):
        return re.sub(r"([@%])(?=\w)", r"\\\1", part)

    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", re.sub(r"``([^`]+)``", r"`\1`", text))
    text = re.sub(r"(?<!!)\[((?:[^\]`\n]|`[^`]*`)*)\]\(([^)\s]+)\)", link, text)
    text = re.sub(r"!\[([^\]\n]*)\]\(([^)\s]+)\)", lambda match: f'<img src="{match[2]}" alt="{html.escape(match[1])}"/>', text)
    out, inside = [], 0  # what a link shows leads nowhere else
    for part in re.split(r"(`[^`]*`|</?a\b[^>]*>)", text):
        if part.startswith("<a "):
            inside += 1
        elif part == "</a>":
            inside -= 1
        if part.startswith("`"):
            out.append(code(part[1:-1], () if inside else names))
        else:
            out.append(part if part.startswith("<") else plain(part))
    return "".join(out)


def anchors(heading, seen):
    """As GitHub makes an anchor of a heading."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
    seen[anchor] = seen.get(anchor, -1) + 1
    return f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor


def converted(name, text, names):
    """A guide as Doxygen's Markdown, whose page is called as its file."""
    page, out, seen, fence = "Programs" if name.startswith("examples/") else name.removesuffix(".md"), [], {}, None
    for line in text.splitlines():
        if match := re.match(r"```(\S*)$", line):
            if fence is None:
                fence = match[1]
                out.append("@code" + ({"c": "{.c}", "cpp": "{.cpp}", "python": "{.py}"}.get(fence, PLAIN)))
            else:
                fence = None
                out.append("@endcode")
        elif fence is not None:
            out.append(line)
        elif match := re.match(r"(#+) +(.*?) *#*$", line):
            # A title has no markup in Doxygen's index.
            title = re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[2]))
            anchor = anchors(match[2], seen)
            out.append(f"{match[1]} {title} {{#{page if match[1] == '#' else f'{page}_{anchor}'}}}")
        else:
            out.append(inline(line, name, names))
    return "\n".join(out) + "\n"


def front(overview, about, subjects):
    """The front page: what Chime is, a first program, the functions by subject, guides, examples."""
    program, output = release.first_program()
    purpose = re.search(r"^Purpose\. (.*?)(?:\n\n|\Z)", overview, re.M | re.S)[1].replace("\n", " ")
    rows = []
    for title, families in subjects:
        rows += [f"### {title}", "", "| | |", "| --- | --- |"]
        rows += [f'| @ref {name} "{name}" | {about[name]} |' for family, _ in families for name in family]
        rows.append("")
    order = [*GUIDES, *(name for name in (path.removesuffix(".md") for path in release.GUIDES) if name not in GUIDES)]
    guides = [f"- @subpage {name}" + (f" - {GUIDES[name]}" if name in GUIDES else "") for name in order]
    return "\n".join([
        "# Chime {#mainpage}", "", purpose, "", "@code{.c}", program.rstrip("\n"), "@endcode", "", "It prints:", "",
        f"@code{PLAIN}", output.rstrip("\n"), "@endcode", "",
        'With an installed Chime, ' + code("cc tick.c $(pkg-config --cflags --libs chime) -o tick", ()) + ' builds it. What holds'
        ' for all functions (threads, time, ownership, fork, versions) <a href="chime_8h.html#details">stands at the top of'
        ' chime.h</a>.', "",
        "## Guides {#guides}", "", *guides, "- @subpage Programs - small programs, the simplest first", "",
        "## Functions by subject {#subjects}", "", *rows])


def main():
    include, out = map(pathlib.Path, sys.argv[1:3])
    (out / "examples").mkdir(parents=True, exist_ok=True)
    subjects, about = headers.names()
    names, overview = set(about), ""
    for header in ("chime.h", "chime_run_loop.h"):
        items, said, _ = headers.read(include / header)
        overview = overview or said
        names |= {item.name for item in items if item.name}
        names |= {declaration.split(" ")[0] for item in items if item.kind == "enum" for declaration, _, _ in item.members}
    (out / "index.md").write_text(front(overview, about, subjects))
    tree = release.guides() | {"share/doc/chime/Bundled.md": release.documents()["share/doc/chime/Bundled.md"]}
    programs = []
    for path, content in tree.items():
        name = path.removeprefix("share/doc/chime/")
        if name.endswith(".md"):
            (out / name.replace("examples/README.md", "Programs.md")).write_text(converted(name, content.decode(), names))
        elif name.startswith("examples/"):
            (out / name).write_bytes(content)
            if name.endswith((".c", ".cpp", ".h")):
                programs.append(name.removeprefix("examples/"))
        else:
            (out / name).write_bytes(content)  # a picture
    (out / "examples.dox").write_text("".join(f"/** @example {name} */\n" for name in sorted(programs)))


main()
