"""Manual pages out of Doxygen's XML: one for each function and structure, chime(7) for what holds for all of them.

    man.py XML MAN VERSION      reads XML/*.xml, writes MAN/man3 and MAN/man7
"""

import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree


def escaped(text):
    text = re.sub(r"\s+", " ", text).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"\b(chime_\w+|CHIME_\w+)", r"\\fB\1\\fP", text)


def lines_of(element):
    """The roff lines of a description; lists of parameters and results are left out."""
    out, text = [], ""

    def flush():
        nonlocal text
        if text.strip():
            out.append(escaped(text).strip())
        text = ""

    def walk(node):
        nonlocal text
        text += node.text or ""
        for child in node:
            if child.tag == "verbatim":
                flush()
                rows = textwrap.dedent(child.text).strip("\n").split("\n")
                out.extend([".PP", ".nf", *(row.replace("\\", "\\e").replace("-", "\\-") or "." for row in rows), ".fi"])
            elif child.tag == "itemizedlist":
                flush()
                for item in child:
                    out.append(".IP \\(bu 2")
                    walk(item)
                    flush()
                out.append(".PP")
            elif child.tag in ("parameterlist", "simplesect"):
                flush()
            elif child.tag == "para":
                flush()
                if out and not out[-1].startswith((".PP", ".IP")):
                    out.append(".PP")
                walk(child)
                flush()
            else:
                walk(child)
            text += child.tail or ""
        flush() if node.tag == "para" else None

    if element is not None:
        walk(element)
        flush()
    while out and out[-1] in (".PP",):
        out.pop()
    return out


def plain(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


def page(name, section, title, version, parts):
    out = [f'.TH {name} {section} "" "Chime {version}" "{title}"']
    for heading, lines in parts:
        if any(line not in ("", ".PP") for line in lines):
            out += [f".SH {heading}", *lines]
    return "\n".join(out) + "\n"


def statuses(text):
    """`STATUS: why; STATUS` as a list."""
    out = []
    for item in re.split(r"; (?=CHIME_)", text):
        status = re.match(r"(CHIME_\w+(?:, or CHIME_\w+)?)(:)? ?", item)
        out += [".TP", f"\\fB{status[1]}\\fP", escaped(item[status.end():]) or "\\&"] if status else [".PP", escaped(item)]
    return out


def function(member, header, title, siblings, version):
    name = member.findtext("name")
    brief = plain(member.find("briefdescription"))
    details = member.find("detaileddescription")
    declared = plain(member.find("type")) + " " + name + member.findtext("argsstring") + ";"
    parameters = []
    for item in details.iter("parameteritem"):
        parameters += [".TP", f"\\fI{item.findtext('parameternamelist/parametername')}\\fP",
                       escaped(plain(item.find("parameterdescription")))]
    result = next((plain(s) for s in details.iter("simplesect") if s.get("kind") == "return"), "")
    about = brief if brief else f"the {title.lower()} function {name}"
    return page(name, 3, title, version, [
        ("NAME", [f"{name} \\- {escaped(re.split(r'(?<=[.])', about)[0].rstrip('.'))}"]),
        ("SYNOPSIS", [".nf", f".B #include <{header}>", ".PP", *(f".B {row}" for row in textwrap.wrap(
            declared, 78, subsequent_indent="    ", break_long_words=False)), ".fi"]),
        ("DESCRIPTION", [escaped(brief), *[line for line in [".PP", *lines_of(details)]]]),
        ("PARAMETERS", parameters),
        ("RETURN VALUE", statuses(result) if result else []),
        ("SEE ALSO", [", ".join(f"\\fB{other}\\fP(3)" for other in siblings if other != name) + (
            ", " if len(siblings) > 1 else "") + "\\fBchime\\fP(7)"]),
    ])


def structure(compound, version):
    name = compound.findtext("compoundname")
    members = []
    for member in compound.iter("memberdef"):
        text = plain(member.find("briefdescription")) + " " + plain(member.find("detaileddescription"))
        members += [".TP", f"\\fB{plain(member.find('type'))} {member.findtext('name')}{member.findtext('argsstring')}\\fP",
                    escaped(text).strip() or "\\&"]
    return page(name, 3, "Structures", version, [
        ("NAME", [f"{name} \\- a structure of Chime's interface"]),
        ("SYNOPSIS", [".nf", ".B #include <chime.h>", ".fi"]),
        ("DESCRIPTION", [escaped(plain(compound.find("briefdescription"))), *lines_of(compound.find("detaileddescription"))]),
        ("MEMBERS", members),
        ("SEE ALSO", ["\\fBchime\\fP(7)"]),
    ])


def overview(compounds, groups, version):
    compound = next(c for c in compounds if c.findtext("compoundname") == "chime.h")
    parts = [("NAME", ["chime \\- an embeddable timer runtime"]),
             ("SYNOPSIS", [".nf", ".B #include <chime.h>", ".B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs chime)", ".fi"]),
             ("DESCRIPTION", [*lines_of(compound.find("briefdescription")), ".PP", *lines_of(compound.find("detaileddescription"))])]
    for title, names, lines in groups:
        listed = [", ".join(f"\\fB{name}\\fP(3)" for name in names)] if names else []
        parts.append((title.upper(), [*lines, *([".PP"] if lines and listed else []), *listed]))
    return page("chime", 7, "Chime", version, parts)


def main():
    xml, man, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    compounds = [ElementTree.parse(file).find("compounddef") for file in sorted(xml.glob("*.xml")) if file.stem not in
                 ("index", "Doxyfile")]
    for section in (3, 7):
        (man / f"man{section}").mkdir(parents=True, exist_ok=True)
    groups = []
    for compound in compounds:
        if compound.get("kind") == "struct":
            name = compound.findtext("compoundname")
            (man / "man3" / f"{name}.3").write_text(structure(compound, version))
        if compound.get("kind") != "group":
            continue
        title = compound.findtext("title")
        functions = [m for m in compound.iter("memberdef") if m.get("kind") == "function"]
        names = [member.findtext("name") for member in functions]
        place = [(m.find("location").get("file"), int(m.find("location").get("line"))) for m in compound.iter("memberdef")]
        groups.append((min(place), title, names, lines_of(compound.find("detaileddescription"))))
        for member in functions:
            header = member.find("location").get("file")
            text = function(member, header, title, names, version)
            (man / "man3" / f"{member.findtext('name')}.3").write_text(text)
    (man / "man7" / "chime.7").write_text(overview(compounds, [group[1:] for group in sorted(groups)], version))


main()
