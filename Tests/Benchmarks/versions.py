"""Two versions of libchime beside each other: rows that are measured with the other one are named (old). The program is
the same, and the dynamic linker finds the other library first; so that one must have all functions that it uses."""
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

MARK = " (old)"
NAME = "libchime.so.1"

# What the comparison shows of a table, by its kind: (name in the results, whether more is better).
SHOWN = {"cost": [("ns", False), ("cpu_ns", False)], "expiry": [("cpu_ns", False)], "memory": [("bytes", False)],
         "beat": [("late_ns", False)], "threads": [("one", True), ("shared", True), ("own", True)],
         "start": [("ms", False)], "calls": [("state", False), ("postpone_until", False)], "missed": []}


def label(name, old):
    return name + MARK if old else name


def environment(old):
    """Of a program that is to use the library in that directory."""
    if old is None:
        return None
    return {**os.environ, "LD_LIBRARY_PATH": str(old), "CHIME_LIBRARY": str(Path(old) / NAME)}


def check(program, old):
    """Ends when a program would not use it: then both rows would be of one library."""
    if not (Path(old) / NAME).exists():
        sys.exit(f"--old: no {NAME} in {old}")
    found = subprocess.run([str(program)], env={**environment(old), "LD_TRACE_LOADED_OBJECTS": "1"},
                           stdout=subprocess.PIPE, text=True, check=False).stdout
    if str(old) not in found:
        sys.exit(f"--old: {program.name} does not use {NAME} in {old}:\n{found}")


def both(make, turns, groups, old):
    """The turns; after each that is of one of those groups the same with the other library."""
    pairs = []
    for turn in turns:
        pairs.append(turn)
        if old and turn.group in groups:
            pairs.append(make(label(turn.label, old), turn.command, turn.group, old))
    return pairs


def number(result, name):
    value = result[name]
    return median(value) if isinstance(value, list) else value  # of quantiles, or of several starts


def compared(shown, old, new):
    """One row's cells, of its rounds' results with both libraries."""
    measured, more = shown
    pairs = [(number(one, measured), number(other, measured)) for one, other in zip(old, new)]
    ratios = [(a / b if more else b / a) for a, b in pairs if a > 0 and b > 0]
    cells = [f"{median(column):11.4g}" for column in zip(*pairs)]
    cells += [f"{choose(ratios):9.3f}" if ratios else f"{'-':>9}" for choose in (median, min, max)]
    return "".join(cells)


def comparison(done):
    """Lines of a table: for each row that has both libraries the medians of the rounds, and of the rounds' ratios, new to
    old, or old to new where more is better, the median, the least and the most."""
    lines = []
    for table in done:
        rows = {row["label"]: row["results"] for row in table["rows"]}
        found = []
        for name, new in rows.items():
            first, comma, form = name.partition(", ")
            old = rows.get(first + MARK + comma + form) or rows.get(name + MARK)
            if old and new:
                found += [f"    {name:32} {shown[0]:14}" + compared(shown, old, new)
                          for shown in SHOWN[table["kind"]]]
        lines += [f"  {table['title']}", *found] if found else []
    if not lines:
        return []
    heading = f"    {'':32} {'':14}{'old':>11}{'new':>11}{'ratio':>9}{'least':>9}{'most':>9}"
    return ["", "old and new: medians of the rounds; ratios of each round, above 1: worse", heading, *lines]
