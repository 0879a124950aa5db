"""Which suites see which mutations: each mutation before each whole suite, for matrix.md. Run by mutations.py --matrix.

    mutations.py --matrix [NAME...]    some mutations; else those without a result, then those whose suite's files have changed
    BUDGET=SECONDS                     begins no more runs after that; BESIDE=2: runs at a time; SUITES="csuite model": some

A run ends with its first red, and is red after four times what it takes without a mutation. Results stand in build/matrix: what
was red counts as long as the mutation is the same, what was green as long as the suite is. Hours for all, so it is made in pieces.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mutations as m
import table

KEPT = m.BUILD / "matrix"
PAGE = m.HERE / "matrix.md"
# Of each suite what it is, and how its log names the tests that were green.
SUITES = {
    "csuite": ("C suite, a twentieth of its rounds", r"ok (\w+)"),
    "model": ("model, five seeds", None),
    "storms": ("storms, quick", r"ok (\w+)"),
    "faults": ("faults", r"ok (\w+ \w+):"),
    "interleavings": ("interleavings, short", r"ok +(.+)"),
    "swift": ("Swift, ChimeCoreTests", r"✔ Test (\w+)\("),
}
ENVIRONMENT = {"CSUITE_PATIENCE": "20", "CSUITE_SCALE": "20", "STORM_SECONDS": "2", "STORM_TIMERS": "20000", "STORM_CALLS": "20000",
               "SWIFT_BACKTRACE": "enable=no"}


def commands(suites, suite):
    """The programs of a suite; what they print is the same as in the other runs."""
    tests = suites.scratch / "Tests"
    if suite == "faults":
        return [[path] for path in sorted((tests / "Faults/build").iterdir())
                if (tests / f"Faults/{path.name}.c").exists() and "CASE" in (tests / f"Faults/{path.name}.c").read_text()]
    return [{"csuite": [tests / "C/build/csuite"], "storms": [tests / "Threads/Storms/build/storms"],
             "model": [tests / "Model/build/seeds", "5", "100000"],
             "interleavings": [suites.scratch / ".build-interleavings/release/ChimeInterleavings", "short"],
             "swift": [suites.scratch / ".build/debug/chimePackageTests.xctest", "--testing-library", "swift-testing",
                       "--filter", "ChimeCoreTests"]}[suite]]


def run_to_first_red(suites, suite, number, log, limit, known=()):
    """What is red first, "" if nothing is. Lines of the log that are known from green runs say nothing."""
    end = time.time() + limit
    environment = {**os.environ, **ENVIRONMENT, "CHIME_MUTATION": str(number), "FAULTS_LIBRARIES": str(suites.lib)}
    with open(log, "wb") as output:
        for command in commands(suites, suite):
            process = subprocess.Popen(command, cwd=suites.scratch / "Tests/Faults", stdout=output, stderr=output, env=environment,
                                       start_new_session=True)
            try:
                while True:
                    try:
                        status = process.wait(0.3)
                    except subprocess.TimeoutExpired:
                        status = None
                    seen = [name for name in m.reds(log) if name not in known]
                    if seen:
                        return seen[0]
                    if status is not None:
                        break
                    if time.time() > end:
                        return "hangs"
                if status != 0:
                    return f"ends with {signal.Signals(-status).name if status < 0 else status}"
            finally:
                # The whole session, as in mutations.run.
                subprocess.run(["pkill", "-KILL", "-s", str(process.pid)])
                process.wait()
    return ""


def key_of_suite(suite):
    hashed = hashlib.sha256()
    for path in m.files_of(suite, ("",)) if suite != "faults" else (m.ROOT / "Tests/Faults").glob("*.[ch]"):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def key_of_row(row):
    return hashlib.sha256(repr(row.edits).encode()).hexdigest()


def result_of(row, suite):
    """What was red first, and whether the suite is still the same; None where that mutation was not tried."""
    path = KEPT / suite / f"{row.name}.json"
    kept = json.loads(path.read_text()) if path.exists() else {"row": None}
    return kept if kept["row"] == key_of_row(row) else None


class Green:
    """How long each suite takes without a mutation, found once a suite and copy."""

    def __init__(self, suites):
        self.suites, self.locks, self.kept = suites, {suite: threading.Lock() for suite in SUITES}, {}

    def of(self, suite):
        with self.locks[suite]:
            if suite not in self.kept:
                self.suites.need(suite)
                log, begun = KEPT / f"green-{suite}.log", time.time()
                seen = run_to_first_red(self.suites, suite, 0, log, 3600, known=Everything())
                if seen:
                    sys.exit(f"{suite} is red without a mutation, {seen}: {log}")
                self.kept[suite] = (time.time() - begun, m.reds(log))
                print(f"  {suite}: green in {self.kept[suite][0]:.0f} s", flush=True)
            return self.kept[suite]


class Everything:
    def __contains__(self, _):
        return True


def try_one(row, suite, suites, green, end):
    if time.time() > end:
        return
    seconds, known = green.of(suite)
    log, begun = KEPT / suite / f"{row.name}.log", time.time()
    log.parent.mkdir(parents=True, exist_ok=True)
    seen = run_to_first_red(suites, suite, table.ALL.index(row) + 1, log, max(m.LONGEST, 4 * seconds), known)
    (KEPT / suite / f"{row.name}.json").write_text(
        json.dumps({"row": key_of_row(row), "suite": key_of_suite(suite), "seen": seen}))
    print(f"{row.name}, {suite}: {seen or 'green'}, {time.time() - begun:.0f} s", flush=True)


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    end = time.time() + float(os.environ.get("BUDGET", "1e9"))
    columns = os.environ.get("SUITES", " ".join(SUITES)).split()
    KEPT.mkdir(parents=True, exist_ok=True)
    wanted, keys = [], {suite: key_of_suite(suite) for suite in SUITES}
    for row in table.ALL:
        for suite in columns:
            kept = result_of(row, suite)
            if row.name in names or not names and (kept is None or kept["suite"] != keys[suite]):
                wanted.append((kept is not None, row, suite))
    for number, layer in enumerate(m.layers(table.ALL)):
        mine = sorted((task for task in wanted if task[1] in layer["mutations"]), key=lambda task: task[0])
        if not mine or time.time() > end:
            continue
        scratch = m.BUILD / f"whole{number}"  # not mutations.py's, which has other mutations in its layers
        m.copy(scratch, layer["files"])
        suites = m.Suites(scratch, number)
        green = Green(suites)
        # First what is built first.
        mine.sort(key=lambda task: (task[0], m.BUILT.index(task[2])))
        with ThreadPoolExecutor(1 + m.BESIDE) as threads:
            builds = threads.submit(suites.build_all, [suite for suite in m.BUILT if any(suite == task[2] for task in mine)])
            list(threads.map(lambda task: try_one(task[1], task[2], suites, green, end), mine))
            builds.result()
    write()
    return 0


def names_a_test(row, suite):
    """The names that a mutation's runs have for tests of a suite, as patterns of whole names."""
    for kind, names, _ in row.runs:
        if suite == "csuite" and kind in ("csuite", "refused") or suite == kind == "storms":
            yield from (re.escape(name) + ".*" for name in names)
        elif suite == kind == "faults":
            yield from (f"{names[0]} {case}" for case in names[1:] or [".*"])
        elif suite == kind == "interleavings":
            yield from (f".*{re.escape(name)}.*" for name in names)
        elif suite == kind == "swift":
            yield from (f".*(?:{name.split('/')[-1]}).*" for name in names)


def write():
    """The page: what was tried so far, and the tests that no mutation names and none has made red first."""
    lines = ["# Which suites see which mutations", "",
             "Made by `make matrix`, in pieces (see [matrix.py](matrix.py)). ● the suite is red; · it is green; nothing: not tried yet. Each run "
             "ends with its first red, so a suite may have more tests that see a mutation than are known here.", "",
             "| mutation | " + " | ".join(SUITES) + " |", "| --- |" + " --- |" * len(SUITES)]
    keys = {suite: key_of_suite(suite) for suite in SUITES}
    seen, count = {suite: set() for suite in SUITES}, 0
    for row in table.ALL:
        kept = {suite: result_of(row, suite) for suite in SUITES}
        # Green before a suite has changed says nothing of it now.
        kept = {suite: k if k and (k["seen"] or k["suite"] == keys[suite]) else None for suite, k in kept.items()}
        if not any(kept.values()):
            continue
        count += 1
        lines.append(f"| {row.name} | " + " | ".join("" if k is None else "●" if k["seen"] else "·" for k in kept.values()) + " |")
        for suite, k in kept.items():
            seen[suite].add(k["seen"] if k else "")
    lines += ["", f"{count} of {len(table.ALL)} mutations were tried."]
    # Before all were, the list of tests that see none would be of those that nobody has asked yet.
    if count == len(table.ALL):
        lines += free_tests(seen)
    PAGE.write_text("\n".join(lines).rstrip() + "\n")
    print(f"{PAGE.name}: {count} of {len(table.ALL)} mutations")


def free_tests(seen):
    """By suite, the tests that no mutation names."""
    lines = ["", "## Tests that no mutation names", "",
             "Neither in table.py nor as the first red above. Names without the ending for the kind of queue.", ""]
    for suite, (what, pattern) in SUITES.items():
        log = KEPT / f"green-{suite}.log"
        if pattern is None or not log.exists():
            continue
        tests = list(dict.fromkeys(re.findall(f"^.{{0,3}}?{pattern}", log.read_text(errors="replace"), re.M)))
        known = [re.compile(name) for row in table.ALL for name in names_a_test(row, suite)]
        free = [test for test in tests if test not in seen[suite] and not any(name.fullmatch(test) for name in known)]
        bases = list(dict.fromkeys(re.sub("_on_(a|the)_.*", "", test) for test in free)) if suite == "csuite" else free
        lines += [f"**{what}**, {len(free)} of {len(tests)}: " + (", ".join(f"`{test}`" for test in bases) or "none") + ".", ""]
    return lines
