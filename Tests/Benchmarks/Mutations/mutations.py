#!/usr/bin/env python3
"""Breaks each line of table.py in a scratch copy of the tree, runs the tests that are to go red, and prints what went red.

    mutations.py [NAME...]      some mutations; else all that have no result yet
    mutations.py --check        whether each piece of text is still there once, and each test; whether the mutations compile;
                                whether each file of the core has one, or a reason (compiles.py)
    mutations.py --refused      whether the compiler refuses each mistake of the list "does not compile" (compiles.py)
    mutations.py --orders       whether .ci/orders.py sees each of the list "another order"
    mutations.py --matrix       which whole suites see which mutations (matrix.py)

Mutations that do not touch the same text are built together, with a switch between them (CHIME_MUTATION), so that a few
builds serve all. Results stand in build/results; one that is there is not made again until its mutation or a file of its
tests changes, or AGAIN=1 or its name asks for it. Ends with 1 when a run of a mutation's tests is green, or when it is red
without any.
"""

import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = HERE / "build"
RESULTS = BUILD / "results"
CORE = pathlib.Path("Sources/ChimeCore")
LONGEST = int(os.environ.get("LONGEST", "60"))  # seconds for one run of tests, or four times what it takes without a mutation: more is red
BESIDE = int(os.environ.get("BESIDE", "2"))  # mutations at a time: most of their runs wait for time to pass

# A header of its own, which each broken file of C begins with: it includes none, so that what follows it may still say
# which of the system's functions it wants. Not getenv: libchime is linked with one to which no variable means anything.
PLATFORM = "Sources/CPlatform/include"
SWITCH_IN_C = """#ifndef CHIME_MUTATION_H
#define CHIME_MUTATION_H
extern char *secure_getenv(const char *);
static inline int chime_mutation(void) {
  static int number = -1;
  if (number < 0) {
    int found = 0;
    for (const char *text = secure_getenv("CHIME_MUTATION"); text && *text; text++) found = 10 * found + *text - '0';
    number = found;
  }
  return number;
}
#endif
"""
SWITCH_IN_SWIFT = """internal import CPlatform

@inline(never)
package func isBroken(_ mutation: Int32) -> Bool { chime_mutation() == mutation }
"""


def apply(text, mutation, number):
    """Gives the changed files, or None when a piece of text is not there once."""
    changed = dict(text)
    for path, old, new in mutation.edits:
        before = changed.get(path) or (ROOT / CORE / path).read_text()
        if before.count(old) != 1:
            return None
        changed[path] = before.replace(old, new.replace("BROKEN", f"isBroken({number})" if path.endswith(".swift") else f"(chime_mutation() == {number})"))
    return changed


def not_there(mutation):
    """The pieces of text that are not in their file once, as (path, text, how often)."""
    found = []
    for path, old, _ in mutation.edits:
        file = ROOT / CORE / path
        count = file.read_text().count(old) if file.exists() else 0
        if count != 1:
            found.append((path, old, count))
    return found


def layers(mutations):
    """Sets of mutations that can be built together, each with its files."""
    made = []
    lines = [
        f"{mutation.name}: {count} times in {path}: {old!r}"
        for mutation in mutations
        for path, old, count in not_there(mutation)
    ]
    if lines:
        sys.exit("\n".join(lines))
    for mutation in mutations:
        number = table.ALL.index(mutation) + 1
        if apply({}, mutation, number) is None:
            sys.exit(f"{mutation.name}: its text is not there once in {', '.join(e[0] for e in mutation.edits)}")
        for layer in made:
            files = apply(layer["files"], mutation, number)
            if files is not None:
                layer["files"] = files
                layer["mutations"].append(mutation)
                break
        else:
            made.append({"files": apply({}, mutation, number), "mutations": [mutation]})
    return made


def run(command, log, cwd=None, environment=None, limit=3600):
    """True when the command ends with 0 in time. What it prints is added to the log. What is broken on purpose may warn."""
    with open(log, "ab") as output:
        output.write(f"\n$ {' '.join(map(str, command))} {environment or ''}\n".encode())
        output.flush()
        process = subprocess.Popen(
            command, cwd=cwd, stdout=output, stderr=output, env={**os.environ, "CHIME_WARNINGS": "", **(environment or {})},
            start_new_session=True)
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            output.write(f"*** hangs: ended after {limit:.0f} s\n".encode())
            # The whole session: swift test puts what it runs into a process group of its own.
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)])
            process.wait()
            return False


@functools.cache
def files_of_the_tree():
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
        capture_output=True, text=True).stdout.split("\n")
    return [name for name in listed if name]


def copy(scratch, files):
    """The tree as it is, with the mutated files. What is the same keeps its time, so that builds go on."""
    wanted = {}
    for name in files_of_the_tree():
        path = ROOT / name
        if path.is_symlink():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).unlink(missing_ok=True)
            (scratch / name).symlink_to(os.readlink(path))
        elif path.is_file():
            wanted[name] = path.read_bytes()
    for path, text in files.items():
        wanted[os.path.normpath(CORE / path)] = text.encode()
        if path.endswith((".c", ".h")):
            wanted[os.path.normpath(CORE / path)] = ('#include "mutation.h"\n' + text).encode()
    wanted[f"{PLATFORM}/mutation.h"] = SWITCH_IN_C.encode()
    modules = wanted[f"{PLATFORM}/module.modulemap"].decode()
    wanted[f"{PLATFORM}/module.modulemap"] = modules.replace("{", '{\n  header "mutation.h"', 1).encode()
    wanted[str(CORE / "Broken.swift")] = SWITCH_IN_SWIFT.encode()
    # What the tree does not have any more goes.
    for path in scratch.glob("*/**/*") if scratch.exists() else []:
        name = str(path.relative_to(scratch))
        if path.suffix in (".swift", ".c", ".h") and name not in wanted and "build" not in name and path.is_file() \
                and path.resolve() == path.absolute():
            path.unlink()
    for name, content in wanted.items():
        target = scratch / name
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        shutil.copymode(ROOT / name, target) if (ROOT / name).exists() else None


BUILT = ("csuite", "model", "storms", "faults", "refused", "headers", "interleavings", "swift")  # in this order


class Suites:
    """The built tests of one scratch copy."""

    def __init__(self, scratch, number):
        self.scratch, self.log = scratch, BUILD / f"build{number}.log"
        self.lib = scratch / "Sources/build/lib"
        self.is_built, self.failed = {suite: threading.Event() for suite in ("library", *BUILT)}, None
        self.green, self.asking = {}, {}

    def need(self, suite):
        """Waits until another thread has built it."""
        self.is_built[suite].wait()
        if self.failed:
            sys.exit(self.failed)

    def build_all(self, wanted):
        """Builds what is wanted and what that needs, in the order of BUILT."""
        try:
            for suite in wanted:
                self.build(suite)
        finally:
            for event in self.is_built.values():
                event.set()

    def build(self, suite):
        if self.is_built[suite].is_set():
            return
        begun = time.time()
        tests = self.scratch / "Tests"
        commands = {
            "library": [["make", "-C", self.scratch / "Sources"]],
            "csuite": [["make", "-C", tests / "C", "build/csuite", f"LIB={self.lib}"]],
            "refused": [["make", "-C", tests / "Faults", "refusing"]],
            "headers": [],
            "storms": [["make", "-C", tests / "Threads/Storms", "all", f"LIB={self.lib}"]],
            "faults": [["make", "-C", tests / "Faults", "all", f"LIB={self.lib}"]],
            "model": [["make", "-C", tests / "Model", "build/seeds", f"LIB={self.lib}"]],
            "interleavings": [["make", "-C", tests / "Threads/Interleavings", "build"]],
            "swift": [["swift", "build", "--build-tests", "--package-path", self.scratch]],
        }
        if suite in ("csuite", "storms", "faults", "model", "headers"):
            self.build("library")
        if suite == "refused":
            self.build("csuite")
        for command in commands[suite]:
            if not run(command, self.log):
                self.failed = f"{suite} does not build: {self.log}"
                sys.exit(self.failed)
        self.is_built[suite].set()
        print(f"  {suite}: built in {time.time() - begun:.0f} s", flush=True)

    def command(self, suite, names):
        tests = self.scratch / "Tests"
        if suite in ("csuite", "refused", "storms"):
            program = tests / ("Threads/Storms/build/storms" if suite == "storms" else "C/build/csuite")
            listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
            chosen = [test for test in listed if any(test.startswith(name) for name in names)]
            missing = [name for name in names if not any(test.startswith(name) for test in listed)]
            if missing:
                sys.exit(f"there is no test that begins with {missing}")
            return [program] + chosen
        if suite == "faults":
            return [tests / "Faults/build" / names[0], *names[1:]]
        if suite == "headers":
            return ["make", "-C", tests / "C", *names, f"LIB={self.lib}"]
        if suite == "model":
            return [tests / "Model/build/seeds", "20", "100000"]
        if suite == "interleavings":
            return [self.scratch / ".build-interleavings/release/ChimeInterleavings", "short"]
        # What `swift test` runs, without its lock. It fails when no test has such a name.
        program = self.scratch / ".build/debug/chimePackageTests.xctest"
        return [program, "--testing-library", "swift-testing", "--filter", "|".join(names)]

    def try_tests(self, suite, names, environment, number, log, longest):
        """Whether all were green, with mutation `number` switched on. A run of so many seconds is red."""
        self.need(suite)
        common = {"CHIME_MUTATION": str(number), "CSUITE_PATIENCE": "20", "STORM_SECONDS": "5",
                  "SWIFT_BACKTRACE": "enable=no", "CSUITE_SCALE": "20", **environment}
        if suite == "refused":
            common["LD_PRELOAD"] = str(self.scratch / "Tests/Faults/build/librefusing.so")
        if suite != "interleavings":
            return run(self.command(suite, names), log, cwd=self.scratch / "Tests" / "Faults", environment=common,
                       limit=longest)
        return all([run(self.command(suite, ()), log, environment={**common, "ONLY": name}, limit=longest)
                    for name in names])

    def green_seconds(self, suite, names, environment):
        """How long the same takes with no mutation; None if it is red then, too, which says nothing."""
        key = (suite, names, tuple(sorted(environment.items())))
        with self.asking.setdefault(key, threading.Lock()):
            if key not in self.green:
                self.need(suite)
                begun = time.time()
                is_green = self.try_tests(suite, names, environment, 0, BUILD / "green.log", 10 * LONGEST)
                self.green[key] = time.time() - begun if is_green else None
            return self.green[key]

    def judge(self, mutation):
        """Runs the tests of a mutation and keeps the result; gives what is to be looked at, or None."""
        begun, key = time.time(), key_of(mutation)
        log = RESULTS / f"{mutation.name}.log"
        log.write_text("")
        green = []
        for suite, tests, environment in mutation.runs:
            seconds = self.green_seconds(suite, tests, environment)
            if seconds is None:
                return f"red without a mutation: {suite} {tests}; see build/green.log"
            number, longest = table.ALL.index(mutation) + 1, max(LONGEST, 4 * seconds)
            if self.try_tests(suite, tests, environment, number, log, longest):
                green.append(f"{suite} {' '.join(tests)}")
        seen = reds(log) or ["ends by a signal"]
        said = "GREEN: " + ", ".join(green) if green else f"red: {', '.join(seen[:3])}{', ...' if len(seen) > 3 else ''}"
        (RESULTS / f"{mutation.name}.json").write_text(json.dumps({"key": key, "said": said}))
        print(f"{mutation.name}, {mutation.where}: {mutation.what}: {said}, {time.time() - begun:.0f} s", flush=True)
        return "GREEN" if green else None


# What a line of a log names as red: a test, a case, a scenario.
RED = re.compile(r"FAILED (\S+:|\S+ \S+|\S+)|✘ Test (\w+)\(|.{0,40}?\bRED ([^:]{1,70})|(\w+ \w+) \d+: |\*\*\* (hangs)|"
                 r".*(does not end|takes longer)")


def reds(log):
    matches = map(RED.match, log.read_text(errors="replace").split("\n"))
    return list(dict.fromkeys(match[match.lastindex].strip(" :") for match in matches if match))


FOLDERS = {"csuite": "Tests/C/", "refused": "Tests/C/", "headers": "Tests/C/headers/", "storms": "Tests/Threads/Storms/", "faults": "Tests/Faults/",
           "model": "Tests/Model/", "interleavings": "Tests/Threads/Interleavings/", "swift": "Tests/"}


def files_of(suite, names):
    """The files in which tests of these names stand: all of the suite where a file does not tell."""
    files = [ROOT / name for name in files_of_the_tree()
             if name.startswith(FOLDERS[suite]) and name.endswith((".c", ".h", ".swift")) and (ROOT / name).is_file()]
    if suite == "faults":
        return [path for path in files if path.stem in (names[0], "fault", "fault_linux")]
    if suite in ("csuite", "refused", "swift"):
        names = [name.split("_on_")[0] for name in names]
        return [path for path in files if any(name in path.read_text(errors="replace") for name in names)
                or path.stem in names]
    return files


def tests_not_there(mutation):
    """The names of tests that stand in no file of their suite. (Scenarios put theirs together, and
    `allocations` has a case for each function.)"""
    for suite, names, _ in mutation.runs:
        if suite in ("model", "interleavings", "headers"):
            continue
        files = files_of(suite, names)
        for name in names:
            text = name.split("_on_")[0]
            if not text.startswith("chime_") and not any(text in path.read_text(errors="replace") or path.stem == text for path in files):
                yield f"{mutation.name}: {suite} has no {name}"


def files_without_reason():
    """Files of the core and of the C interface that have neither a mutation nor a reason; reasons without such a file."""
    files = {os.path.relpath(path, ROOT / CORE) for folder in (CORE, CORE.parent / "ChimeC")
             for path in (ROOT / folder).rglob("*.swift")}
    broken = {edit[0] for mutation in table.ALL + table.REFUSED for edit in mutation.edits}
    for path in sorted(files - broken - table.NOT_BROKEN.keys()):
        yield f"{path} has no mutation, and no reason in NOT_BROKEN of table.py"
    for path in sorted(table.NOT_BROKEN.keys() - files):
        yield f"NOT_BROKEN of table.py names {path}, which is not there"
    for path in sorted(table.NOT_BROKEN.keys() & broken):
        yield f"NOT_BROKEN of table.py names {path}, which has a mutation"


def key_of(mutation):
    hashed = hashlib.sha256(repr((mutation.edits, mutation.runs)).encode())
    for suite, names, _ in mutation.runs:
        for path in files_of(suite, names):
            hashed.update(path.read_bytes())
    return hashed.hexdigest()


def result_of(mutation):
    path = RESULTS / f"{mutation.name}.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    return result["said"] if result["key"] == key_of(mutation) else None


def orders():
    """Nothing is compiled: the check reads the core with each mistake, and is to name its row and function."""
    sys.path.insert(0, str(ROOT / ".ci"))
    from orders import Code, wrong
    if said := list(wrong(Code())):
        sys.exit("\n".join(["red without a mutation:", *said]))
    missed = []
    for mutation in table.REORDERED:
        changed = apply({}, mutation, 0)
        said = changed and list(wrong(Code({os.path.normpath(CORE / path): text for path, text in changed.items()})))
        if not any(re.match(mutation.says, each) for each in said or ()):
            missed.append(mutation.name)
            print(f"{mutation.name}: not seen: {said or not_there(mutation)}")
    print(f"{len(table.REORDERED) - len(missed)} of {len(table.REORDERED)} other orders are seen")
    return len(missed) > 0


def main():
    if "--help" in sys.argv:
        return print(__doc__)
    if "--refused" in sys.argv:
        import compiles
        return compiles.refused()
    if "--orders" in sys.argv:
        return orders()
    if "--matrix" in sys.argv:
        import matrix
        return matrix.main()
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    chosen = [m for m in table.ALL if not names or m.name in names]
    if not os.environ.get("AGAIN") and not names:
        chosen = [m for m in chosen if result_of(m) is None]
    made = layers(chosen)
    if "--check" in sys.argv:
        lines = [f"{mutation.name}: {count} times in {path}: {old!r}"
                 for mutation in table.REFUSED + table.REORDERED for path, old, count in not_there(mutation)]
        lines += [line for mutation in chosen for line in tests_not_there(mutation)]
        lines += files_without_reason()
        if not lines:
            import compiles
            lines = compiles.check(made)
        if lines:
            sys.exit("\n".join(lines))
        print(f"{len(chosen)} mutations, {len(made)} builds: each text is there once, and each test; all compile")
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    bad = []
    for number, layer in enumerate(made):
        scratch = BUILD / f"scratch{number}"
        print(f"build {number + 1} of {len(made)}, for {len(layer['mutations'])} mutations", flush=True)
        copy(scratch, layer["files"])
        suites = Suites(scratch, number)
        # What is built first is tried while the rest is built.
        wanted = [suite for suite in BUILT if any(suite == run[0] for m in layer["mutations"] for run in m.runs)]
        order = sorted(layer["mutations"], key=lambda m: max(BUILT.index(run[0]) for run in m.runs))
        with ThreadPoolExecutor(1 + BESIDE) as threads:
            builds = threads.submit(suites.build_all, wanted)
            for mutation, seen in zip(order, threads.map(suites.judge, order)):
                if seen:
                    print(f"{mutation.name}: {seen}", flush=True)
                    bad.append(mutation.name)
            builds.result()
    said = {mutation.name: result_of(mutation) or "" for mutation in table.ALL}
    green = [name for name, seen in said.items() if seen.startswith("GREEN")]
    print(f"{sum(seen.startswith('red') for seen in said.values())} of {len(said)} are red; green: {' '.join(green) or 'none'}")
    return 1 if bad or green else 0


if __name__ == "__main__":
    sys.exit(main())
