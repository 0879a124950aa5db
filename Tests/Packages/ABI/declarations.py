"""What a header of Chime declares, as lines of the record: {"function chime_now": "chime_status (chime_clock, int64_t *)"}.

pycparser reads the declarations, out of the preprocessor; a program made by the C compiler tells sizes, offsets and
numbers.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from pycparser import c_ast, c_parser

CC = os.environ.get("CC", "cc")
STANDARD = "".join(
    f"typedef {kind} {sign}int{bits}_t;\n"
    for bits, kind in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
    for sign, kind in (("", f"signed {kind}"), ("u", f"unsigned {kind}"))
) + "typedef unsigned long size_t;\n"
GUARD = re.compile(r"CHIME_(\w+_)?H$")


def preprocess(header, *options):
    command = [CC, "-std=c99", "-E", *options, str(header)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def type_text(node):
    """A type as C writes it, without the names of parameters: those may change."""
    if isinstance(node, c_ast.TypeDecl):
        if not isinstance(node.type, c_ast.IdentifierType):
            raise ValueError(f"{node.coord}: name this type in a typedef of its own")
        return " ".join([*node.quals, *node.type.names])
    if isinstance(node, c_ast.FuncDecl):
        return f"{type_text(node.type)} ({parameters(node)})".replace("* (", "*(")
    if isinstance(node, c_ast.PtrDecl):
        qualifiers = "".join(f" {qualifier}" for qualifier in node.quals)
        if isinstance(node.type, c_ast.FuncDecl):
            return f"{type_text(node.type.type)} (*{qualifiers})({parameters(node.type)})"
        text = type_text(node.type)
        return f"{text}{'' if text.endswith('*') else ' '}*{qualifiers}"
    if isinstance(node, c_ast.ArrayDecl):
        return f"{type_text(node.type)}[{node.dim.value}]"
    raise ValueError(f"{node.coord}: {type(node).__name__} is not known here")


def parameters(function):
    return ", ".join(type_text(parameter.type) for parameter in function.args.params)


def parse(header):
    """What needs no compiler, and, for the rest, the C expression of each number: (name, template, expressions)."""
    lines, numbers = {}, []
    tree = c_parser.CParser().parse(STANDARD + preprocess(header, "-P", "-DCHIME_CDEF"))
    for node in tree.ext:
        if (node.name or "").endswith("_t") and not node.name.startswith("chime_"):
            continue  # STANDARD
        inner = node.type.type if isinstance(node, c_ast.Typedef) else node.type
        if isinstance(inner, c_ast.Enum):
            if isinstance(node, c_ast.Typedef) or inner.name:
                raise ValueError(f"{node.coord}: an enum has no name; its type is an integer's")
            for enumerator in inner.values.enumerators:
                numbers.append((f"enumerator {enumerator.name}", "{}", [enumerator.name]))
        elif isinstance(inner, c_ast.Struct):
            numbers.append((f"structure {node.name}", "{} bytes", [f"sizeof({node.name})"]))
            for member in inner.decls:
                name = f"{node.name}, {member.name}"
                numbers.append((
                    f"member {node.name}.{member.name}",
                    f"{type_text(member.type)}, at {{}}, {{}} bytes",
                    [f"offsetof({name})", f"sizeof((({node.name} *)0)->{member.name})"],
                ))
        elif isinstance(node, c_ast.Typedef):
            lines[f"type {node.name}"] = type_text(node.type)
        elif isinstance(node.type, c_ast.FuncDecl):
            lines[f"function {node.name}"] = type_text(node.type)
        else:
            raise ValueError(f"{node.coord}: neither type, enumerator nor function")
    return lines, numbers


def macros(header):
    """The same for macros. Those on the version have their values elsewhere, initialisers follow their structures."""
    lines, numbers = {}, []
    definition = re.compile(r"#define (CHIME_\w+)(\([^)]*\))? ?(.*)")
    for name, arguments, text in sorted(definition.findall(preprocess(header, "-dM"))):
        if GUARD.match(name):
            continue
        if re.fullmatch(r"CHIME_VERSION(_MAJOR|_MINOR|_PATCH|_NEXT_SERIES)?", name):
            lines[f"macro {name}"] = "follows from the version"
        elif text.startswith("{"):
            lines[f"macro {name}"] = "an initialiser"
        elif arguments or not text or text.startswith('"'):
            lines[f"macro {name}{arguments}"] = text
        else:
            numbers.append((f"macro {name}", "{}", [name]))
    return lines, numbers


def computed(header, numbers):
    """The lines of what parse and macros left to the compiler."""
    prints = "".join(
        f'  printf("%lld\\n", (long long)({expression}));\n' for _, _, all in numbers for expression in all
    )
    program = f'#include "{header.resolve()}"\n#include <stdio.h>\nint main(void) {{\n{prints}  return 0;\n}}\n'
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "numbers.c")
        source.write_text(program)
        binary = source.with_suffix("")
        subprocess.run([CC, "-std=c99", str(source), "-o", str(binary)], check=True)
        values = iter(subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout.split())
    return {name: template.format(*(next(values) for _ in all)) for name, template, all in numbers}


def declarations(header):
    """All lines of a header and of the ones it includes."""
    lines, numbers = parse(header)
    macro_lines, macro_numbers = macros(header)
    return {**lines, **computed(header, numbers + macro_numbers), **macro_lines}


def version(header):
    """(major, minor, patch)."""
    values = computed(header, [(part, "{}", [f"CHIME_VERSION_{part}"]) for part in ("MAJOR", "MINOR", "PATCH")])
    return tuple(int(value) for value in values.values())
