"""What the headers say, for man.py and pages.py: sections, functions, types, constants, each with its comment; and names.txt.

It knows the marks that the headers have (/**, @param, @return, two comments a struct member) and refuses any other.
"""

import dataclasses
import pathlib
import re

SECTION = re.compile(r"/\* -+ (.*?) -+ \*/")
TAG = re.compile(r"(?<![\w.])@(\w+)")
# How a comment ends: who may call, what runs inside, what is waited for.
FACTS = re.compile(r"^((?:[^\n.@]+\. )?Calls back: .*)\Z", re.S | re.M)


@dataclasses.dataclass
class Item:
    """A function, type, constant or structure."""

    name: str
    kind: str  # function, typedef, enum, struct, define
    header: str
    section: str
    declaration: str
    comment: str  # without the frame
    members: list = dataclasses.field(default_factory=list)  # (declaration, text, since)
    pieces: "Pieces" = None


@dataclasses.dataclass
class Pieces:
    """The parts of a function's comment."""

    brief: str
    body: str  # paragraphs
    parameters: list  # (names, text)
    returns: str
    facts: str


def frameless(comment):
    """A comment without its stars, whatever it begins with."""
    text = re.sub(r"^/\*\*?<? ?|\s*\*/$", "", comment)
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in text.split("\n")).strip("\n")


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def members_of(body, where):
    """(declaration, text, since) of each member of a structure, or constant of an enumeration."""
    found, since, before, at = [], "", "", 0
    while True:
        at += len(re.match(r"\s*", body[at:])[0])
        if at >= len(body):
            return found
        if body.startswith("/*", at):
            end = body.index("*/", at) + 2
            text = one_line(body[at + 2:end - 2])
            at = end
            if match := re.match(r"from version (\S+) on:", text):
                since = match[1]
            elif text.startswith("Reported to"):
                before = text
            else:
                before = text
            continue
        depth, end = 0, at
        while end < len(body) and (depth or body[end] not in ";,"):
            if body.startswith("/*", end) and not depth:
                break
            depth += (body[end] == "(") - (body[end] == ")")
            end += 1
        declaration = one_line(body[at:end])
        end += end < len(body) and body[end] in ";,"
        text = before
        before = ""
        if match := re.match(r"[ \t]*/\*(.*?)\*/", body[end:], re.S):
            text = one_line(match[1])
            end += match.end()
        found.append((declaration, text, since))
        at = end


def pieces_of(item):
    """Refuses what it does not understand."""
    known = {"param", "return"}
    for tag in TAG.findall(item.comment):
        if tag not in known:
            raise SystemExit(f"{item.name}: @{tag} is a tag that the manual has no place for")
    text = item.comment
    facts = FACTS.search(text)
    if item.kind == "function" and facts is None:
        raise SystemExit(f"man.py: {item.name}: its comment does not say what it calls back")
    fact_text = one_line(facts[1]) if facts else ""
    text = text[:facts.start()].rstrip() if facts else text
    parts = re.split(r"^@(?=param|return)", text, flags=re.M)
    lead = parts[0].strip("\n")
    parameters, returns, after = [], "", []
    for part in parts[1:]:
        # A paragraph behind the last tag's belongs to the description again.
        own, *rest = re.split(r"\n\s*\n", part, maxsplit=1)
        after += [paragraph for paragraph in rest if paragraph.strip()]
        word, _, said = one_line(own).partition(" ")
        if word == "return":
            returns = said
        else:
            match = re.match(r"((?:\w+, )*\w+)\s+(.*)", said)
            parameters.append((match[1], match[2]))
    # The first sentence, or all of it if it is one.
    first = re.match(r"(.*?[.:])(?:\s|\Z)(?!\))", lead, re.S)
    brief = one_line(first[1]) if first else one_line(lead)
    body = "\n\n".join([lead] + after).strip()
    return Pieces(brief, body, parameters, returns, fact_text)


def read(path):
    """The items of a header in their order; its overview; what stands on each section."""
    text = path.read_text(encoding="utf-8").replace("CHIME_NULLABLE ", "").replace("CHIME_NONNULL ", "")
    text = text.replace("\nCHIME_API ", "\n")
    text = re.sub(r" ?CHIME_(NULLABLE|NONNULL)\b", "", text)
    lines, items, sections, overview = text.split("\n"), [], {}, ""
    section, pending, i = None, None, 0
    while i < len(lines):
        line = lines[i]
        if match := SECTION.fullmatch(line):
            section, pending = match[1], None
            sections[section] = ""
            i += 1
        elif line.startswith("/*"):
            end = i
            while "*/" not in lines[end]:
                end += 1
            comment = "\n".join(lines[i:end + 1])
            i = end + 1
            is_doc = comment.startswith("/**")
            if "clang-format" in comment or "#endif" in comment:
                continue
            if section is None:
                overview = overview or frameless(comment)
            elif not is_doc and (i >= len(lines) or not lines[i].strip() or "\n\n" in frameless(comment)):
                sections[section] += ("\n\n" if sections[section] else "") + frameless(comment)
            else:
                pending = frameless(comment)
        elif section and re.match(r"(typedef |enum \{|#define CHIME_|(?:const )?\w+ \*?chime_\w+\()", line):
            start, depth = i, 0
            if line.startswith("#define"):
                while lines[i].endswith("\\"):
                    i += 1
            else:
                while True:
                    code = re.sub(r"/\*.*?\*/", "", lines[i])
                    depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
                    if depth == 0 and ";" in code:
                        break
                    i += 1
                # A comment behind the declaration.
            block = "\n".join(lines[start:i + 1])
            i += 1
            items.append(item_of(block, pending or "", path.name, section))
            pending = None
        else:
            if line.strip():
                pending = None
            i += 1
    for item in items:
        if item.comment or item.kind == "function":
            item.pieces = pieces_of(item)
    return items, overview, sections


def item_of(block, comment, header, section):
    if block.startswith("#define"):
        name = re.match(r"#define (\w+)", block)[1]
        said = re.search(r"/\*(.*?)\*/", block)
        return Item(name, "define", header, section, re.sub(r"\s*/\*.*?\*/", "", block), comment or (said and said[1].strip()) or "")
    if block.startswith("enum"):
        return Item("", "enum", header, section, "", comment, members_of(block[block.index("{") + 1:block.rindex("}")], header))
    if block.startswith("typedef struct"):
        name = re.match(r"typedef struct (\w+)", block)[1]
        return Item(name, "struct", header, section, "", comment, members_of(block[block.index("{") + 1:block.rindex("}")], header))
    if block.startswith("typedef"):
        said = re.search(r"/\*(.*?)\*/", block)
        declaration = one_line(re.sub(r"/\*.*?\*/", "", block))
        match = re.search(r"\(\*(\w+)\)|(\w+);$", declaration)
        return Item(match[1] or match[2], "typedef", header, section, declaration, comment or (said and one_line(said[1])) or "")
    declaration = one_line(block)
    return Item(re.search(r"\b(chime_\w+)\(", declaration)[1], "function", header, section, declaration, comment)


def names():
    """names.txt: [(subject, [(names of a family, pages that it goes with)])], and what each name is about."""
    subjects, about = [], {}
    for line in (pathlib.Path(__file__).resolve().parent / "names.txt").read_text().splitlines():
        if line.startswith("="):
            subjects.append((line[2:], [([], [])]))
        elif not line:
            if subjects:
                subjects[-1][1].append(([], []))
        elif line.startswith("also "):
            subjects[-1][1][-1][1].extend(line.split()[1:])
        elif not line.startswith("#"):
            name, text = line.split("  ")
            subjects[-1][1][-1][0].append(name)
            about[name] = text
    return [(title, [family for family in families if family[0]]) for title, families in subjects], about
