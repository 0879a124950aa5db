"""Instructions that calls of Chime execute, counted by callgrind, and for Swift allocations, counted by memcheck: they do not
depend on the machine's load.

    counts.py LIB [LIB ...]          C's: a table with a column for each directory of a libchime.so.0, then libev's
    counts.py --limits FILE LIB      the counts of LIB; red if one is more than FILE says: instructions by more than 3 %,
                                     or 10 % where several threads execute them; or more than CEILINGS
    counts.py --record FILE LIB      writes FILE
    counts.py swift                  Swift's; so with --limits FILE swift, --record FILE swift

`make counts` and `make swift-counts` build what this runs. Wants valgrind.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "build"
LIBEV = BUILD / "peer-libev"
# Whatever is recorded.
CEILINGS = {
    "start, without an id": 280, "postpone_until, to no later time": 120,
    "one-shot, with its pass": 1600, "one-shot, with its pass, host": 2200, "one-shot, in chime_queue_run": 4200,
    "one-shot, a hundred in a pass": 1000, "one-shot, a hundred in a pass, host": 1100,
    "one-shot, a hundred in a pass, serial": 1300, "one-shot, a hundred in a pass, concurrent": 1500,
    "repeating, with its pass": 1350, "repeating, with its pass, host": 1700,
    "repeating, a hundred in a pass": 650, "repeating, a hundred in a pass, host": 880,
}


def output(*command, library=None):
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "LD_LIBRARY_PATH": library} if library else None)


def instructions(times, function, *command, library=None):
    """For one time of what the program does in `function`, or in all, if that is None."""
    with tempfile.TemporaryDirectory() as directory:
        done = output("valgrind", "--tool=callgrind", *([f"--toggle-collect={function}"] if function else []),
                      f"--callgrind-out-file={directory}/out", *command, library=library)
    return round(int(re.search(r"Collected : (\d+)", done.stderr)[1]) / times)


def allocations(*command):
    text = output("valgrind", "--leak-check=no", *command).stderr
    return int(re.search(r"total heap usage: ([\d,]+) allocs", text)[1].replace(",", ""))


def c_counts(library):
    """(name, [instructions]) of each kind of work."""
    times = 2000
    program = BUILD / "counts"
    for line in output(program, library=library).stdout.splitlines():
        name, per, all_threads = line.split("\t")
        if all_threads == "0":
            yield name, [instructions(times * int(per), "counted", program, name, times, library=library)]
        else:
            # What is made once goes away in the difference. How the threads meet differs: the least of five.
            found = []
            for _ in range(5):
                few, many = (instructions(int(per), None, program, name, rounds, library=library) for rounds in (100, 400))
                found.append(round((many - few) / 300))
            yield name, [min(found)]


def all_instructions(*command):
    with tempfile.TemporaryDirectory() as directory:
        # In turn, so that what is counted does not hang on how long a thread waits for the next.
        done = output(
            "valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={directory}/out", *command)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def swift_counts():
    """(name, [instructions, allocations]); of what several threads do, instructions only: the rest depends on how they meet."""
    times = 1000
    package = HERE / "swift-counts"
    built = output("swift", "build", "-c", "release", "--show-bin-path", "--package-path", package).stdout.strip()
    with tempfile.TemporaryDirectory() as directory:
        # This valgrind cannot read Swift's debugging information.
        program = pathlib.Path(directory) / "SwiftCounts"
        output("strip", "-g", "-o", program, pathlib.Path(built) / "SwiftCounts")
        for name in output(program).stdout.splitlines():
            if name.endswith("\t"):
                name, few = name.rstrip("\t"), 320
                more = all_instructions(program, name, 2 * few) - all_instructions(program, name, few)
                yield name, [round(more / (2 * few))]
                continue
            # What is made once goes away in the difference. A program does all twice, once inside `counted`.
            made = allocations(program, name, 2 * times) - allocations(program, name, times)
            yield name, [instructions(times, "counted", program, name, times), round(made / (2 * times), 1)]


def counts(what):
    return swift_counts() if what == "swift" else c_counts(what)


def row(name, columns):
    return f"{name:45}" + "".join(f"{column:>14}" for column in columns)


def compare(file, what):
    lines = [line.split("\t") for line in pathlib.Path(file).read_text().splitlines()]
    limits = {name: [float(number) for number in numbers] for name, *numbers in lines}
    seen, more = set(), []
    for name, found in counts(what):
        seen.add(name)
        allowed = limits.get(name, found)
        print(row(name, [*found, *(f"{limit:g}" for limit in allowed)]), flush=True)
        alone = what != "swift" or len(found) > 1
        most = min(allowed[0] * (1.03 if alone else 1.1), CEILINGS.get(name, found[0]))
        if found[0] > most or found[1:] > allowed[1:]:
            more.append(name)
    if seen != set(limits):
        sys.exit(f"{file} has other kinds of work: {', '.join(sorted(seen ^ set(limits)))}; record it anew")
    if more:
        sys.exit(f"more than {file} allows: {', '.join(more)}")


def record(file, what):
    lines = ["\t".join(map(str, [name, *found])) + "\n" for name, found in counts(what)]
    pathlib.Path(file).write_text("".join(lines))


def main():
    if sys.argv[1] in ("--limits", "--record"):
        return {"--limits": compare, "--record": record}[sys.argv[1]](*sys.argv[2:])
    for rows in zip(*map(counts, sys.argv[1:])):
        print(row(rows[0][0], [number for _, found in rows for number in found]), flush=True)
    if sys.argv[1] != "swift" and LIBEV.exists():
        for pending in (1, 100_000):
            counted = instructions(2000, "peer_postpone", LIBEV, "postpone", f"pending={pending}", "operations=2000",
                                   "seconds=600")
            print(row(f"libev: ev_timer_again, {pending:,} pending", [counted]), flush=True)


main()
