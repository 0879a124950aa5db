"""Prints a header as Doxygen wants it: its sections become groups, and what stands behind a member, or above something without
being a doc comment, becomes documentation. So the headers have no marks of Doxygen's but /**, @param and @return."""

import re
import sys

SECTION = re.compile(r"/\* -+ (.*?) -+ \*/")


def prepared(comment):
    """The text of a comment, without its frame; tables and code are left as they are."""
    lines = [re.sub(r"^ \* ?", "", line) for line in comment]
    out = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = paragraph.split("\n")
        is_table = sum(bool(re.search(r"\S {3,}\S", row)) for row in rows) > 2
        if is_table or all(row.startswith("    ") for row in rows):
            paragraph = "@verbatim\n" + paragraph + "\n@endverbatim"
        out.append(paragraph)
    return "\n\n".join(out)


def filtered(lines):
    group = None
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
                yield f"/** @file\n{text}\n*/"
            elif lines[i] == "":  # on the section
                yield f"/** @}} */\n/** @addtogroup {group}\n{text}\n@{{ */"
            else:
                yield f"/**\n{text}\n*/"
        elif line.startswith("#if defined(__cplusplus)") and group:
            yield "/** @} */"
            group = None
            yield line
        elif re.match(r"(  |typedef |#define )\S.*\S\s+/\* ", line):
            yield re.sub(r"/\* ", "/**< ", line, count=1)
        elif re.match(r" \* (Any thread|The main thread|The child's|Calls back)\b", line) and i > 1 and lines[i - 2] != " *":
            yield " *"  # these facts are no part of @return
            yield line
        elif re.match(r"/\* .*\*/$", line) and i < len(lines) and lines[i].startswith("#define"):
            yield line.replace("/*", "/**", 1)
        else:
            yield line


sys.stdout.write("\n".join(filtered(open(sys.argv[1], encoding="utf-8").read().split("\n"))))
