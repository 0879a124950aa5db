"""What is believed of systems on which nothing has run, and the tests that decide it: the tables of Beliefs.md.

    beliefs.py    whether each test is there

In a row each test is `PROGRAM: NAME`, NAME a test, a pattern of tests, or all; `by hand: ...` comes last, and is what no program
decides. The section says of which system it is believed; where that is Linux, the belief names the processor.
"""

import fnmatch
import os
import re
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = os.path.join(TESTS, "Systems/Beliefs.md")
SECTIONS = {"macOS": ["macos"], "Windows": ["windows"]}
PROCESSORS = {"x86-64": "linux", "arm64": "arm64", "riscv64": "riscv64"}


class Belief:
    def __init__(self, section, text, decided_by):
        programs, _, self.by_hand = decided_by.partition("by hand: ")
        self.text = text
        self.systems = SECTIONS.get(section) or [PROCESSORS[name] for name in re.findall("|".join(PROCESSORS), text)]
        self.tests = []
        for program, names in re.findall(r"(\w+): (all|`[^`]+`(?:, `[^`]+`)*)", programs):
            self.tests += [f"{program} {name}" for name in re.findall("`([^`]+)`", names) or ["*"]]

    def tests_of(self, program):
        return [test.split(" ", 1)[1] for test in self.tests if test.split(" ", 1)[0] == program]


def read():
    found, section, is_table = [], "", False
    for line in open(PAGE, encoding="utf-8"):
        heading = re.match(r"#+ (\w+)", line)
        row = re.fullmatch(r"\| (.+) \| (.+) \|\n", line)
        section = heading[1] if heading else section
        if line == "| belief | test |\n":
            is_table = True
        elif not row:
            is_table = False
        elif is_table and row[1] != "---":
            found.append(Belief(section, row[1], row[2]))
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
    wrong, known, beliefs = [], names(), read()
    for belief in beliefs:
        for test in belief.tests:
            program, name = test.split(" ", 1)
            if not is_there(name, known.get(program, ()), known["queues"]):
                wrong.append(f"no test is called {test}")
        if not belief.systems or not belief.tests and not belief.by_hand:
            wrong.append(f"of no system, or nothing decides: {belief.text}")
    for system in ["macos", "windows", *PROCESSORS.values()]:
        if not of(system):
            wrong.append(f"Beliefs.md has no belief of {system}")
    for text in wrong:
        print(text)
    print(f"{len(beliefs)} beliefs, {sum(len(belief.tests) for belief in beliefs)} tests that decide them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(check())
