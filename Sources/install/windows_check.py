"""What windows.mk asks before it makes Windows' code of the Swift compiler's: python3 windows_check.py IR TYPES.

IR: the Swift code in LLVM's intermediate language, for no system; TYPES: clang's JSON of all declarations that this code sees. There
a call looks as on Windows as long as each argument and result is a pointer or a number of at most 64 bits; and a header means
the same to Swift and to C as long as there is no long in it, which has 64 bits for one and 32 for the other. What is passed by
value as a structure, by a variable number of arguments, or in 128 bits has been lowered by another system's rules, and nothing in
the language would say so: it is refused here, in the declarations as in the code.
"""

import json
import re
import sys

code, types = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
wrong = []

# ---- The declarations -------------------------------------------------------------------------------------------------

NUMBERS = {"void", "char", "short", "int", "long", "long long", "signed char", "_Bool", "bool", "float", "double"}
NUMBERS |= {f"unsigned {name}" for name in ("char", "short", "int", "long", "long long")}
declared = set()
BUILTIN = {"malloc", "calloc", "strlen"}  # clang has its own type for these, by size_t
enums = set()
typedefs = {}


def parts(text):
    """What is between commas that are in no parentheses."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    yield part.strip()


def has_long(text):
    return re.search(r"\blong\b", text.replace("long long", "")) is not None


def look(name, text, written):
    """A type as clang has it (text), and as the header has it (written)."""
    text = re.sub(r"__attribute__\(\([^()]*(\([^()]*\))?\)\)", "", text)
    text = re.sub(r"\b(const|volatile|restrict|_Nullable|_Nonnull|_Null_unspecified|__restrict)\b", "", text).strip()
    if has_long(written):
        wrong.append(f"{name}: a long, in {written}")
    function = re.match(r"([^()]*?)\(\s*(?:\*|\^)?\s*\)\s*\((.*)\)$", text) or re.match(r"([^()]*?)\s*\((.*)\)$", text)
    if function:
        look(name, function[1], "")
        for part in parts(function[2]):
            if part == "...":
                wrong.append(f"{name}: a variable number of arguments")
            elif part:
                look(name, part, "")
        return
    text = re.sub(r"\s+", " ", text)
    if text.endswith("*") or text.endswith("]"):
        return
    if text in typedefs and typedefs[text] != text:
        return look(name, typedefs[text], "")
    if not (text in NUMBERS or text in enums or text.startswith("enum ")):
        wrong.append(f"{name}: {text} by value")


def type_of(node):
    return node["type"].get("desugaredQualType", node["type"]["qualType"]), node["type"]["qualType"]


def walk(node, file):
    """clang says in which file something is where that differs from what was before."""
    for inner in node.get("inner", []):
        place = inner.get("loc", {})
        place = place.get("expansionLoc", place)
        if "file" in place:
            file = place["file"]
        kind, name = inner.get("kind"), inner.get("name", "?")
        is_ours = file is not None and "/clang/" not in file
        if kind == "TypedefDecl":
            typedefs[name] = type_of(inner)[0]
        if kind == "EnumDecl":
            enums.add(name)
        if kind == "FunctionDecl" and not inner.get("isImplicit"):
            declared.add(name)
            if is_ours and name not in BUILTIN:
                text, written = type_of(inner)
                look(name, text, written)
                if inner.get("variadic"):
                    wrong.append(f"{name}: a variable number of arguments")
                for argument in inner.get("inner", []):
                    if argument.get("kind") == "ParmVarDecl":
                        look(name, *type_of(argument))
        elif kind == "FieldDecl" and is_ours:
            text, written = type_of(inner)
            if has_long(written):
                wrong.append(f"a member {name}: a long, in {written}")
            if "(" in text:
                look(name, text, written)
        elif kind == "TypedefDecl" and is_ours and not inner.get("isImplicit"):
            text, written = type_of(inner)
            if has_long(written):
                wrong.append(f"{name}: a long, in {written}")
            if "(" in text:
                look(name, text, written)
            if text.startswith("enum "):
                enums.add(name)
        elif kind == "VarDecl" and inner.get("tls"):
            wrong.append(f"{name}: thread-local")
        if kind in ("RecordDecl", "LinkageSpecDecl", "EnumDecl"):
            file = walk(inner, file)
    return file


walk(types, None)

# ---- The code ---------------------------------------------------------------------------------------------------------

# Of the compiler's own making, and what Embedded Swift's library calls: memory by a size_t, ceil of a double.
OF_COMPILER = {"memcpy", "memmove", "memset", "memcmp", "bcmp", "ceil", "arc4random_buf", "chime_trap", "library_of_chime_was_loaded",
               "putchar", "main"}
count = 0
for line in re.findall(r"^(?:declare|define) .*", code, re.M):
    name = re.search(r'@("?)([^"( ]+)\1\(', line)[2]
    if name.startswith(("$", "llvm.", "swift_", "_swift_", "__swift_", "_emit", "get_enum", "__get")) or re.search(r"\b(internal|private) ", line.split("@")[0]):
        continue
    count += 1
    shown = line.split(" {")[0]
    if re.search(r"\b(byval|sret|i128|fp128|x86_fp80)\b|\.\.\.|[{\[<]", shown):
        wrong.append(f"passed otherwise: {shown}")
    if name not in declared and name not in OF_COMPILER:
        wrong.append(f"declared in no header: {shown}")
for line in re.findall(r"^@.*\bthread_local\b.*", code, re.M):
    wrong.append(line)

for line in wrong:
    print(line)
if count < 100 or len(declared) < 150:
    sys.exit(f"only {count} functions in the code and {len(declared)} in the headers: is this the right file?")
print(f"{count} functions of C in the code, {len(declared)} declared: {len(wrong)} that Windows passes otherwise")
sys.exit(len(wrong) > 0)
