"""The functions of Chime's headers as C that tests include: functions.py HEADER... prints it, for a build folder.

    FUNCTIONS_OF_CHIME(F), FUNCTIONS_OF_CHIME_RUN_LOOP(F), ALL_FUNCTIONS(F)
                            F(name) for each function, without its chime_: what a test says of each of them, by names that
                            end in these, does not compile where a function is missing
    WAITING_FUNCTIONS(F)    those whose comment says what they wait for
    arguments               what the functions that answer a status take, a member for each kind of parameter
    call_NAME(a)            such a function, called with them
    functions[]             those functions, the statuses that their comments name, and of each parameter its name, its kind,
                            its place in `arguments`, whether its comment lets it be NULL, and its structure
    structures[]            the structures that say their size, and their members as parameters are described; of those
                            that are filled in, the size alone

A parameter or member whose kind the type does not tell needs a line in NUMBERS.
"""
import pathlib
import re
import sys

from pycparser import c_ast, c_parser

import declarations

IDS = ["queue", "timer", "weak_timer", "run_loop", "target", "expiring"]
POINTERS_WITH_A_SIZE = {"char *": "text", "chime_tick *": "ticks", "chime_queue_t *": "queues", "chime_timer_t *": "timers"}
CALLBACKS = {"chime_handler": "handler", "chime_function": "function", "chime_finalizer": "finalizer"}
FACTS = re.compile(r"Calls back: (.*?)\. Waits: (.*?)\.", re.S)
NUMBERS = {
    **dict.fromkeys(("bytes", "capacity", "generation", "max", "realtime_priority", "seed", "tick_limit",
                     "timer_limit"), "A_NUMBER"),
    "flags": "FLAGS", "background": "A_TRUTH", "repeats": "A_TRUTH", "reserved": "A_ZERO", "size": "A_SIZE", "tick_size": "A_SIZE",
}
OPTIONAL = re.compile(r"may be NULL|\bNULL( for|:| keeps| is the| removes)")
NAMES = re.compile(r"\bCHIME_(OK|IGNORED|RUNNING|STOPPED|TIMED_OUT|ERROR_\w+)")


def kind_of(name, kind):
    """What values of a parameter or member make sense."""
    if kind in (f"chime_{id}_t" for id in IDS):
        return "AN_ID"
    if "(" in kind or kind in CALLBACKS:
        return "A_CALLBACK"
    if kind in POINTERS_WITH_A_SIZE and (not kind.endswith("_t *") or name == POINTERS_WITH_A_SIZE[kind]):
        return "AN_ARRAY"
    if kind == "void *":
        return "A_CONTEXT" if name in ("context", "user_info") else "A_POINTER"
    if kind == "const char *":
        return "A_TEXT"
    if kind.endswith("*"):
        return "A_STRUCTURE" if kind.startswith("const ") else "AN_ANSWER"
    if kind == "int64_t":
        return "A_POINT_IN_TIME" if name.endswith("deadline_ns") else "A_DURATION"
    if kind.startswith("chime_"):
        return "A_CONSTANT"
    if name not in NUMBERS:
        raise ValueError(f"{name}, {kind}: NUMBERS does not say what kind of number it is")
    return NUMBERS[name]


def member(name, kind):
    """The member of `arguments` that a parameter takes, and its type."""
    what = kind_of(name, kind)
    if what == "AN_ID":
        return kind[len("chime_"):-len("_t")], "uint64_t"
    if what == "A_CALLBACK":
        return CALLBACKS[kind], kind
    if what == "AN_ARRAY":
        return POINTERS_WITH_A_SIZE[kind], kind
    if what == "A_CONTEXT":
        return "context", kind
    if what == "A_STRUCTURE":
        return kind[len("const chime_"):-len(" *")], kind
    if what == "AN_ANSWER":
        return "out", "void *"
    return "object" if (name, kind) == ("value", "void *") else name, kind


class Comment:
    """What the comment above a function says: what it calls back and waits for, the statuses, and of its parameters."""

    all = {}

    def __init__(self, name, text):
        fact, answer = FACTS.search(text), re.search(r"(?:@return|\* As) (.*)", text)
        if fact is None:
            raise ValueError(f"{name}: its comment says neither what it calls back nor what it waits for")
        self.calls_back, self.waits = fact.groups()
        self.answer = answer.group(1) if answer else ""
        self.parameters = dict(re.findall(r"@param (\w+) +(.*?)(?= @|$)", text))
        self.all[name] = self

    def like(self, text):
        found = re.search(r"(?:^|\bas |\bas for )chime_(\w+)", text)
        return self.all[found.group(1)] if found else None

    def statuses(self):
        """None is named where the answer is not a status."""
        other = self.like(self.answer)
        return set(NAMES.findall(self.answer)) | (other.statuses() if other else set())

    def may_be_null(self, parameter):
        text = self.parameters.get(parameter, self.answer)
        other = self.like(text)
        if parameter in self.parameters and OPTIONAL.search(text):
            return True
        return other is not None and other.may_be_null(parameter)


def parse(header):
    return c_parser.CParser().parse(declarations.STANDARD + declarations.preprocess(header, "-P", "-DCHIME_CDEF"))


def functions(header):
    """(name, result, [(name, type)], Comment) of each function that this header itself declares."""
    text = header.read_text()
    for node in parse(header).ext:
        if not isinstance(node, c_ast.Decl) or not isinstance(node.type, c_ast.FuncDecl):
            continue
        at = re.search(rf"^(?:CHIME_API )?[a-z].*\b{node.name}\(", text, re.M)
        if at is None:
            continue  # of a header that this one includes
        comment = re.sub(r"\s*\n \*(?= @|$| \w| )\s*", " ", text[text.rindex("/**", 0, at.start()):at.start()])
        parameters = [
            (parameter.name, declarations.type_text(parameter.type))
            for parameter in node.type.args.params
            if parameter.name
        ]
        name = node.name[len("chime_"):]
        yield name, declarations.type_text(node.type.type), parameters, Comment(name, comment)


def structures(header, text):
    """(name, [(name, type)]) of each structure that says its size, and of members that Chime reads; `text`: of all headers."""
    for node in parse(header).ext:
        if isinstance(node, c_ast.Typedef) and isinstance(node.type.type, c_ast.Struct):
            members = [(each.name, declarations.type_text(each.type)) for each in node.type.type.decls]
            if members[0] == ("size", "uint32_t"):
                yield node.name, members if f"const {node.name} *" in text else members[:1]


def described(name, kind, of, place, may_be_null, known=()):
    """A row of C for a parameter, or a member of a structure."""
    structure = kind.removeprefix("const ").removesuffix(" *")
    return (
        f'{{"{name}", "{kind}", {kind_of(name, kind)}, offsetof({of}, {place}), sizeof ((({of} *)0)->{place}), '
        f'{int(may_be_null)}, {f"&structures[OF_{structure}]" if structure in known else 0}}}'
    )


def macro(name, rows):
    return f"#define {name}(F)" + "".join(f" \\\n  {row}" for row in rows) + "\n"


TYPES = """
enum { AN_ID, A_CALLBACK, AN_ARRAY, A_POINTER, A_CONTEXT, A_TEXT, A_STRUCTURE, AN_ANSWER, A_POINT_IN_TIME, A_DURATION,
  A_CONSTANT, FLAGS, A_TRUTH, A_ZERO, A_SIZE, A_NUMBER };
enum { MOST_PARAMETERS = 8, MOST_MEMBERS = 24 };
typedef struct parameter {
  const char *name, *type;
  int kind;
  size_t place, size; /* in arguments, or in the structure */
  int may_be_null;
  const struct structure *structure;
} parameter;
typedef struct structure {
  const char *name;
  size_t size, count;
  parameter members[MOST_MEMBERS];
} structure;
typedef struct function_of_chime {
  const char *name;
  chime_status (*call)(const arguments *a);
  int calls_back;
  uint32_t statuses; /* status_set.h */
  size_t count;
  parameter parameters[MOST_PARAMETERS];
} function_of_chime;
"""


def main():
    headers = [pathlib.Path(name) for name in sys.argv[1:]]
    print(f"/* Generated by functions.py from {' and '.join(header.name for header in headers)}. */")
    print("#include <stddef.h>\n#include <stdint.h>\n")
    members, calls, rows, waiting = {}, [], [], []
    text = "".join(header.read_text() for header in headers)
    known = dict(structure for header in headers for structure in structures(header, text))
    for header in headers:
        print(f'#include "{header.name}"')
    print('#include "status_set.h"\n')
    found = {f"FUNCTIONS_OF_{header.stem.upper()}": list(functions(header)) for header in headers}
    for of_header, those in found.items():
        print(macro(of_header, [f"F({name})" for name, *_ in those]))
        for name, result, parameters, comment in those:
            if comment.waits.startswith("for"):
                waiting.append(f"F({name})")
            if result != "chime_status":
                continue
            if not (statuses := comment.statuses()):
                raise ValueError(f"{name}: its comment does not say what it answers")
            given, of_each = [], []
            for parameter, kind in parameters:
                to, as_type = member(parameter, kind)
                if members.setdefault(to, as_type) != as_type:
                    raise ValueError(f"{name}: {to} is {members[to]} elsewhere")
                given.append(f"(uint32_t)a->{to}" if kind == "uint32_t" else f"a->{to}")
                may_be_null = kind == "chime_finalizer" or comment.may_be_null(parameter)
                of_each.append(described(parameter, kind, "arguments", to, may_be_null, known))
            calls.append(
                f"static inline chime_status call_{name}(const arguments *a) {{\n  (void)a;\n"
                f"  return chime_{name}({', '.join(given)});\n}}"
            )
            rows.append(
                f'    {{"{name}", call_{name}, {int(not comment.calls_back.startswith("no"))}, '
                f'{" | ".join(f"STATUS_SET(CHIME_{status})" for status in sorted(statuses))}, '
                f'{len(of_each)}, {{{", ".join(of_each) or "{0}"}}}}},'
            )
    print(macro("ALL_FUNCTIONS", [f"{name}(F)" for name in found]))
    print(macro("WAITING_FUNCTIONS", waiting))
    print("typedef struct arguments {")
    for name, as_type in members.items():
        print(f"  {as_type} {name};".replace("* ", "*"))
    print("} arguments;\n")
    print("\n".join(calls))
    print(TYPES)
    print(f"enum {{ {', '.join(f'OF_{name}' for name in known)} }};")
    print("__attribute__((unused)) static const structure structures[] = {")
    for name, of_it in known.items():
        each = ", ".join(described(part, kind, name, part, True) for part, kind in of_it)
        print(f'    {{"{name}", sizeof({name}), {len(of_it)}, {{{each}}}}},')
    print("};\n__attribute__((unused)) static const function_of_chime functions[] = {")
    print("\n".join(rows))
    print("};\nenum { FUNCTIONS = sizeof functions / sizeof functions[0] };")


if __name__ == "__main__":
    main()
