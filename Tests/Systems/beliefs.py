"""What is believed of systems on which nothing has run, and the tests that decide it: beliefs.txt.

    beliefs.py           whether the tables of Limits.md say the same, and each test is there
    beliefs.py SYSTEM    prints that system's table, as Limits.md has it

A belief is a block: its systems in brackets, the belief, and lines `test: PROGRAM NAME`, NAME a test or a pattern of tests; and
`by hand: ...` for what no program decides. Without tests it stays a matter of hands. Text after a `#` at the beginning of a
line is a comment.
"""

import fnmatch
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..")
LIMITS = os.path.join(HERE, "../../Sources/Chime/Chime.docc/Limits.md")
PROCESSORS = ("linux", "musl", "arm64", "riscv64")


class Belief:
    def __init__(self, systems, text):
        self.systems, self.text, self.tests, self.by_hand = systems, text, [], ""

    def tests_of(self, program):
        return [test.split(" ", 1)[1] for test in self.tests if test.split(" ", 1)[0] == program]

    def row(self):
        programs = {}
        for test in self.tests:
            program, name = test.split(" ", 1)
            programs.setdefault(program, []).append(f"`{name}`" if name != "*" else "all")
        shown = [f"{program}: {', '.join(names)}" for program, names in programs.items()]
        return f"| {self.text} | {'; '.join(shown + ['by hand: ' + self.by_hand] * bool(self.by_hand))} |"


def read():
    found = []
    for number, line in enumerate(open(os.path.join(HERE, "beliefs.txt"), encoding="utf-8"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        begins = re.fullmatch(r"\[([a-z0-9 ]+)\] (.+)", line)
        if begins:
            found.append(Belief(begins[1].split(), begins[2]))
        elif line.startswith("test: ") and re.fullmatch(r"\w+ [\w* ]+", line[6:]):
            found[-1].tests.append(line[6:])
        elif line.startswith("by hand: "):
            found[-1].by_hand = line[9:]
        else:
            sys.exit(f"beliefs.txt:{number}: neither a belief nor what decides one: {line}")
    return found


def of(system):
    return [belief for belief in read() if system in belief.systems]


def names():
    """Of each program, its tests, as its sources have them."""

    def in_files(pattern, *files):
        return set(re.findall(pattern, "\n".join(open(os.path.join(TESTS, file), encoding="utf-8").read() for file in files)))

    def sources(directory):
        return [os.path.join(directory, name) for name in os.listdir(os.path.join(TESTS, directory)) if name.endswith(".c")]

    found = {
        "csuite": in_files(r"\b[A-Z_]*(?:TEST|TIMELINE)[A-Z_]*\((\w+)", *sources("C")) | {"*"},
        "storms": in_files(r"\bTEST[A-Z_]*\((\w+)", *sources("Threads/Storms")) | {"*"},
        "faults": in_files(r'\{"(\w+)", \w+, ', "Systems/Windows/faults.c"),
        "loads": {"loads"},
        "seeds": {"*"},
        "queues": in_files(r"\bTEST_ON\(\w+, (\w+),", "C/harness.h"),
    }
    for file in sources("Faults"):
        found[os.path.basename(file)[:-2]] = in_files(r"\bCASE[A-Z_]*\((\w+)", file) | {"*"}
    return found


def is_there(name, tests, queues):
    """A test of several queues has a name for each, which ends with the queue's."""
    begin, _, queue = name.rpartition("_on_")
    if queue in queues:
        name = begin
    return name in tests or any(fnmatch.fnmatch(test, name) for test in tests if test != "*" and name != "*")


def check():
    wrong, page, known, beliefs = [], open(LIMITS, encoding="utf-8").read(), names(), read()
    for belief in beliefs:
        for test in belief.tests:
            program, name = test.split(" ", 1)
            if not is_there(name, known.get(program, ()), known["queues"]):
                wrong.append(f"no test is called {test}")
        if not belief.tests and not belief.by_hand:
            wrong.append(f"nothing decides: {belief.text}")
        if belief.row() not in page:
            wrong.append(f"Limits.md has no row\n{belief.row()}")
    rows = re.findall(r"^\| belief \| test \|\n\| --- \| --- \|\n((?:\|.*\n)+)", page, re.M)
    count = sum(len(table.splitlines()) for table in rows)
    if count != len(beliefs):
        wrong.append(f"Limits.md has {count} beliefs, beliefs.txt {len(beliefs)}")
    for text in wrong:
        print(text)
    print(f"{len(beliefs)} beliefs, {sum(len(belief.tests) for belief in beliefs)} tests that decide them")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(check())
    print("\n".join(belief.row() for belief in of(sys.argv[1])))
