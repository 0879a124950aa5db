"""The tests of each promise of Sources/Chime/Chime.docc/Promises.md: those marked with its number, and those that turn red when
a mutation breaks it (Benchmarks/Mutations/table.py).

    promises.py [NUMBER...]    lists them
    promises.py check          prints only what is wrong: a promise without a mark or a mutation, a mark that is no promise

A mark is the number in brackets, such as [8], in the comment before a test or behind the brace that begins it. In any other
comment, and as "Promises 8 and 9" or "Promises 1 to 5" in a file's first comment, it stands for the file.
"""

import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "Benchmarks/Mutations"))
import table  # noqa: E402

PAGE = HERE.parent / "Sources/Chime/Chime.docc/Promises.md"
SOURCES = [path for pattern in ("C/*.[ch]", "Faults/*.[cp]*", "Model/**/*.[cs]*", "Threads/*/*.c", "Threads/**/*.swift", "Unit/**/*.swift")
           for path in sorted(HERE.glob(pattern)) if path.is_file() and not {"build", ".build"} & set(path.parts)]
TEST = re.compile(r"^(\w*(?:TEST|CASE)S?(?:_\w+)?)\((\w+)|\bfunc (\w+)\(|\b(?:struct|class) (\w+Tests)\b|\bstatic let (\w+): \[Scenario\]")
KINDS = {"TESTS_ON_ALL_QUEUES": ", every kind", "TESTS_ON_DISPATCH_QUEUES": ", every kind except virtual"}


def marks():
    """(number, where): each mark."""
    for path in SOURCES:
        file, waiting, inside = str(path.relative_to(HERE)), [], False
        text = path.read_text()
        said = re.search(r"\b[Pp]romises? (\d[^.:)]*)", re.sub(r"\s+\*?\s*", " ", text[:900]))
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", said[1] if said else ""):
            yield from ((n, file) for n in range(int(first), int(last or first) + 1))
        for line in text.split("\n"):
            code, opened, comment = ("", "", line) if inside else re.match(r"(.*?)(/\*|//|$)(.*)", line).groups()
            inside = (inside or opened == "/*") and "*/" not in comment
            waiting += [int(n) for mark in re.findall(r"(?<![\w\])])\[(\d[\d, ]*)\]", comment) for n in mark.split(",")]
            if code.strip() or not line:
                test = TEST.search(code)
                where = f"{file} {next(filter(None, test.groups()[1:]))}{KINDS.get(test[1], '')}" if test else file
                yield from ((n, where) for n in waiting)
                waiting = []


def main():
    promises = {int(n): title for title, numbers in re.findall(r"^- \*\*(.+?)\*\* \(([\d, ]+)\)", PAGE.read_text(), re.M)
                for n in numbers.split(",")}
    tests, mutations = collections.defaultdict(dict), collections.defaultdict(dict)
    for n, where in marks():
        tests[n][where] = None
    for mutation in table.ALL:
        for n in re.findall(r"\b\d+\b", mutation.promise or ""):
            mutations[int(n)].update((f"{suite} {name}", None) for suite, names, _ in mutation.runs for name in names or ["all"])
    wrong = [f"promise {n}: no {what}" for n in promises for what, known in (("mark", tests), ("mutation", mutations)) if n not in known]
    wrong += [f"{where}: {n} is no promise" for known in (tests, mutations) for n in sorted(known.keys() - promises) for where in known[n]]
    if sys.argv[1:] != ["check"]:
        for n in map(int, sys.argv[1:] or sorted(promises)):
            print(f"{n} {promises[n]}", *tests[n], *(f"by a mutation: {name}" for name in mutations[n]), sep="\n  ")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"ok: {len(promises)} promises, {sum(map(len, tests.values()))} marks, {sum(map(len, mutations.values()))} tests by mutations")


main()
