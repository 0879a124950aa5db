"""What a folder for another machine holds: manifest.json, for run.

    manifest.py SYSTEM DIR [FAULTS...]    FAULTS: programs of Tests/Faults that are in it
    manifest.py windows-own DIR           the programs of Windows/ alone
"""

import json
import os
import re
import sys

import beliefs

HERE = os.path.dirname(os.path.abspath(__file__))
# What a program can do under an emulator, where it cannot start itself anew, case by case: as in Tests/Faults/Makefile.
ENDING = ("handler_of_a_one_shot", "handler_of_a_repeating_timer", "finalizer", "destructor", "trace_of_a_callback")
EACH = {
    "callback_end": [f"{case}:{place}" for case in ENDING for place in (0, 2, 6, 10, 14)]
    + ["function_of_sync:0", "function_of_sync:6", "enter:6"],
    "thread_end": ["who_made_it:0", "who_is_bound:0"],
    "fork": ["a_child_that_does_nothing:0", "in_a_handler:0", "in_a_handler:1", "descriptors:0"],
}
# Of these the others need libdispatch in a place where Apple's ends the process: see Platforms.md.
EACH_ALWAYS = {"macos": ("callback_end", "fork")}
# What loading tries without libraries in Swift.
LOADING = ["closed", "a_copy", "in_a_namespace"]


def windows_own():
    yield {"name": "faults", "cases": ["faults.exe"], "seconds": 90, "why": "what is Windows' own, a process for each case"}
    for name, why in (
        ("loads", "FreeLibrary with armed timers"), ("hpp", "chime.hpp, with a queue's handle"),
        ("wall_idle", "a wall clock's queue that waits for nothing"),
    ):  # fmt: skip
        yield {"name": name, "run": [name + ".exe"], "seconds": 90, "why": why, "in": "long"}


def programs(system, directory, faults):
    here = set(os.listdir(directory))
    exe = ".exe" if system == "windows" else ""
    quick_tests = sorted({name for belief in beliefs.of(system) for name in belief.tests_of("csuite") if "*" not in name})
    yield {
        "name": "csuite", "run": ["csuite" + exe], "seconds": 3600, "why": "the C suite",
        "quick": quick_tests or ["no_one_shot_is_early_on_a_serial_queue"],
        "environment": {"CSUITE_PATIENCE": "900"}, "emulated": {"CSUITE_SCALE": "10"},
    }  # fmt: skip
    yield {
        "name": "storms", "run": ["storms" + exe], "seconds": 3600, "why": "threads that meet, a minute each",
        "environment": {"STORM_SECONDS": "60"}, "emulated": {"STORM_SECONDS": "5"},
        "hurried": {"STORM_SECONDS": "1"},
    }  # fmt: skip
    yield {
        "name": "seeds", "run": ["seeds" + exe, "100", "100000"], "seconds": 3600,
        "why": "random calls held against the model", "quick": ["2", "20000"],
    }  # fmt: skip
    for name in faults:
        row = {"name": name, "run": [name], "seconds": 1800, "why": "Tests/Faults, a process for each case", "in": "long"}
        if name == "loading":
            row["run"] += LOADING
        if name in ("callback_end", "fork", "loading"):
            row["in"] = "all"
            row["quick"] = {"callback_end": ["handler_of_a_one_shot"], "fork": ["in_a_handler"], "loading": ["closed"]}[name]
        row["each"] = EACH.get(name, [])
        row["always"] = name in EACH_ALWAYS.get(system, ())
        yield row
    if system == "windows":
        yield from windows_own()
    for peer in ("chime", "libevent", "go"):
        if f"scaling_{peer}{exe}" in here:
            yield {"name": f"scaling_{peer}", "scaling": [f"scaling_{peer}{exe}"], "seconds": 1800, "why": "measures"}


def main():
    system, directory, *faults = sys.argv[1:]
    rows = [belief.__dict__ for belief in beliefs.of(system)]
    version = re.findall(r"define CHIME_VERSION_[A-Z]* +(\d+)", open(os.path.join(HERE, "../../include/chime.h")).read())
    chosen = list(windows_own() if system == "windows-own" else programs(system, directory, faults))
    manifest = {"system": system, "version": ".".join(version), "beliefs": rows, "programs": chosen}
    for program in manifest["programs"]:
        for file in (program.get("run") or program.get("cases") or program.get("scaling"))[:1]:
            if not os.path.exists(os.path.join(directory, file)):
                sys.exit(f"{file} is not in {directory}")
    with open(os.path.join(directory, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
    print(f"{directory}: {len(manifest['programs'])} programs, {len(rows)} beliefs")


if __name__ == "__main__":
    main()
