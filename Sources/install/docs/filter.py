"""Prints a header as Doxygen wants it: its sections become groups, and what stands behind a member, or above something without
being a doc comment, becomes documentation. So the headers have no marks of Doxygen's but /**, @param and @return. Names of the
headers are links, and the overview's paragraphs have their headings."""

import pathlib
import re
import sys

import headers

SECTION = re.compile(r"/\* -+ (.*?) -+ \*/")
HEADING = re.compile(r"(Purpose|Threads of Chime's own|Threads|Time|When the clock is set|Ownership|The end of the process|Structures|"
                     r"Descriptors|Fork|Stability)\b\.?")


def linked(text):
    """The names that stand in prose, but not in code, lead to what they name; a percent sign is one."""
    parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"(?<![\w#])((?:chime|CHIME)_[a-zA-Z_]+)\b(?!\.h)", lambda match: ("#" if match[1] in NAMES else "") + match[1], parts[index])
    parts = [re.sub(r"^`(.*)`$", r"<code>\1</code>", part) if "%" in part else part for part in parts]
    return re.sub(r"\b([A-Z]\w+)\.md\b", r'@ref \1 "\1"', "".join(parts)).replace("%", r"\%")


def prepared(comment):
    """The text of a comment, without its frame; tables and code are left as they are."""
    lines = [re.sub(r"^ \* ?", "", line) for line in comment]
    out = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = paragraph.split("\n")
        is_table = sum(bool(re.search(r"\S {3,}\S", row)) for row in rows) > 2
        if is_table or all(row.startswith("    ") for row in rows):
            paragraph = "@verbatim\n" + paragraph + "\n@endverbatim"
        else:
            paragraph = linked(paragraph)
        out.append(paragraph)
    return "\n\n".join(out)


def headed(text):
    """The overview, whose paragraphs begin with what they are about."""
    out = []
    for paragraph in text.split("\n\n"):
        match = HEADING.match(paragraph)
        if match and match[1] != "Purpose":
            out.append(f"@par {match[1]}")
        out.append(paragraph[match.end():].lstrip() if match and match[0].endswith(".") else paragraph)
    return "\n\n".join(out)


def filtered(lines):
    group, is_code = None, False
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if section := SECTION.fullmatch(line):
            if group:
                yield "/** @} */"
            group = re.sub(r"\W+", "_", section[1].lower())
            yield f"/** @defgroup {group} {section[1]}\n@{{ */"
        elif line == "/*":
            end = lines.index(" */", i)
            text = prepared(lines[i:end])
            i = end + 1
            if group is None:
                yield f"/** @file\n{headed(text)}\n*/"
            elif lines[i] == "" or "\n\n" in text:  # on the section
                yield f"/** @}} */\n/** @addtogroup {group}\n{text}\n@{{ */"
            else:
                yield f"/**\n{text}\n*/"
        elif line.startswith("#if defined(__cplusplus)") and group:
            yield "/** @} */"
            group = None
            yield line
        elif re.match(r"(  |typedef |#define )\S.*\S\s+/\* ", line):
            code, _, said = line.partition("/* ")
            yield f"{code}/**< {linked(said)}"
            while "*/" not in said:
                said = lines[i]
                i += 1
                yield linked(said)
        elif line.startswith(" * "):
            if re.match(r" \* (Any thread|The main thread|The child's|Calls back)\b", line) and i > 1 and lines[i - 2] != " *":
                yield " *"  # these facts are no part of @return
            is_code = line.startswith(" *     ") and (is_code or lines[i - 2] == " *")
            yield line if is_code else linked(line)
        elif re.match(r"/\* (?!clang-format).*\*/$", line) and i < len(lines) and lines[i].startswith("#define"):
            yield line.replace("/*", "/**", 1)
        else:
            yield line


def names():
    """Functions, types that are no structures, constants and macros."""
    found = set()
    for path in pathlib.Path(sys.argv[1]).parent.glob("chime*.h"):
        for item in headers.read(path)[0]:
            found |= {item.name} if item.kind != "struct" else set()
            found |= {declaration.split(" ")[0] for declaration, _, _ in item.members if item.kind == "enum"}
    return found


NAMES = names()
sys.stdout.write("\n".join(filtered(open(sys.argv[1], encoding="utf-8").read().split("\n"))))
