"""That abi.py notices what it is for. Headers and a library of three or four functions stand in for Chime's: each case
changes one thing, and says what abi.py must answer to it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
WORK = pathlib.Path(tempfile.mkdtemp())

HEADER = """\
#ifndef CHIME_H
#define CHIME_H
#include <stddef.h>
#include <stdint.h>
#define CHIME_VERSION_MAJOR 0
#define CHIME_VERSION_MINOR 1
#define CHIME_VERSION_PATCH 0
#define CHIME_SECOND INT64_C(1000)
typedef uint64_t chime_timer_t;
typedef int32_t chime_kind;
enum { CHIME_FIRST = 0, CHIME_SECOND_KIND = 1 };
typedef struct chime_info { uint32_t size; uint32_t reserved; int64_t interval_ns; } chime_info;
typedef void (*chime_handler)(chime_timer_t timer, void *context);
int32_t chime_start(chime_timer_t timer, int64_t delay_ns);
int32_t chime_stop(chime_timer_t timer);
#endif
"""
RUN_LOOP_HEADER = """\
#include "chime.h"
int32_t chime_run_loop_stop(chime_timer_t timer);
"""
MAP = "CHIME_0.1 { global: chime_*; local: *; };\n"

# Changes of the header, each from a text to another.
REMOVED = ("int32_t chime_stop(chime_timer_t timer);\n", "")
PARAMETER = ("int64_t delay_ns", "int32_t delay_ns")
NAME = ("int64_t delay_ns", "int64_t delay")
GROWN = ("int64_t interval_ns; }", "int64_t interval_ns; int64_t leeway_ns; }")
INSERTED = ("int64_t interval_ns; }", "int64_t leeway_ns; int64_t interval_ns; }")
NAMED = ("uint32_t reserved;", "uint32_t flags;")
ENUMERATOR = ("CHIME_SECOND_KIND = 1", "CHIME_SECOND_KIND = 2")
MORE_ENUMERATORS = ("CHIME_SECOND_KIND = 1", "CHIME_SECOND_KIND = 1, CHIME_THIRD = 2")
CALLBACK = ("void *context", "const void *context")
TYPE = ("typedef int32_t chime_kind", "typedef uint32_t chime_kind")
MACRO = ("INT64_C(1000)", "INT64_C(1001)")
ADDED = ("#endif", "int32_t chime_pause(chime_timer_t timer);\n#endif")
PATCH = ("PATCH 0", "PATCH 1")
MINOR = ("MINOR 1", "MINOR 2")
FROM_1_0 = (("MAJOR 0", "MAJOR 1"), ("MINOR 1", "MINOR 0"))  # the recorded one, then: 1.0.0

OWN_NODE = MAP + "CHIME_0.1.1 { global: chime_pause; } CHIME_0.1;\n"
NODE_0_2 = "CHIME_0.1 { local: *; };\nCHIME_0.2 { global: chime_*; };\n"

failures = 0
cases = 0


def state(name, changes=(), version_script=MAP, without=(), extra="", run_loop_header=RUN_LOOP_HEADER):
    """A release in a directory: a header with those changes and a library that exports its functions but `without`."""
    text = HEADER
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    for part in ("include", "lib"):
        (directory / part).mkdir(parents=True)
    (directory / "include/chime.h").write_text(text)
    (directory / "include/chime_run_loop.h").write_text(run_loop_header)
    names = set(re.findall(r"(chime_\w+)\(chime", text + run_loop_header)) - set(without)
    (directory / "library.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names) + extra)
    (directory / "exports.map").write_text(version_script)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "library.c", "-o", "lib/libchime.so.1", "-Wl,--version-script=exports.map"],
        cwd=directory, check=True,
    )
    return directory


def abi(task, directory, *options):
    words = [HERE / "abi.py", task, directory / "include", directory / "lib/libchime.so.1", *options]
    result = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=os.environ | {"RECORDS": str(WORK)})
    return result.returncode == 0, result.stdout + result.stderr


def expect(what, answer, accepted, *sentences):
    global failures, cases
    cases += 1
    passed, text = answer
    if passed == accepted and all(sentence in text for sentence in sentences):
        return
    failures += 1
    print(f"FAILED {what}: {'accepted' if passed else 'refused'}; expected {sentences}; it said:\n{text}")


def recorded(*changes, **library):
    """The record that the next case begins with."""
    for name in ("chime.abi", "before.abi"):
        (WORK / name).unlink(missing_ok=True)
    expect("a first record", abi("record", state("old", changes, **library)), True, "recorded")


def refused(what, changes, sentence, record="needs another minor version", **library):
    """check goes red, and record does not hide it under the version that there was."""
    new = state("new", changes, **library)
    expect(f"check, {what}", abi("check", new), False, sentence)
    expect(f"record, {what}", abi("record", new), False, sentence, record)


recorded()
expect("nothing changed", abi("check", state("new")), True, "ok")
expect("a parameter's name", abi("check", state("new", [NAME])), True, "ok")
refused("a removed function", [REMOVED], "removed: function chime_stop: int32_t (chime_timer_t)")
refused("a parameter's type", [PARAMETER],
        "changed: function chime_start: int32_t (chime_timer_t, int64_t), CHIME_0.1 became int32_t (chime_timer_t, int32_t)")
refused("a callback's type", [CALLBACK], "changed: type chime_handler: void (*)(chime_timer_t, void *) became")
refused("a type", [TYPE], "changed: type chime_kind: int32_t became uint32_t")
refused("an enumerator", [ENUMERATOR], "changed: enumerator CHIME_SECOND_KIND: 1 became 2")
refused("a macro", [MACRO], "changed: macro CHIME_SECOND: 1000 became 1001")
refused("a member in the middle", [INSERTED], "changed: member chime_info.interval_ns: int64_t, at 8, 8 bytes became")
refused("a structure that grew", [GROWN], "added: structure chime_info: 16 bytes became 24 bytes", "patch version")
refused("a reserved member named", [NAMED], "added: member chime_info.flags", "patch version")
refused("an added enumerator", [MORE_ENUMERATORS], "added: enumerator CHIME_THIRD: 2", "patch version")
refused("an added function", [ADDED], "added: function chime_pause: int32_t (chime_timer_t)", "patch version")
refused("a change in a patch version", [PARAMETER, PATCH], "changed: function chime_start")
refused("the other header", [REMOVED], "changed: function chime_stop", run_loop_header=RUN_LOOP_HEADER + REMOVED[0])
refused("another symbol version", [], "changed: function chime_stop: int32_t (chime_timer_t), CHIME_0.1 became",
        version_script="CHIME_9 { global: chime_*; local: *; };")

# Header and library must agree, whatever is recorded.
for task in ("check", "record"):
    expect("not exported", abi(task, state("new", without=["chime_stop"])), False, "does not export it")
    expect("not declared", abi(task, state("new", extra="void chime_secret(void) {}")), False, "no header declares it")
    expect("no version", abi(task, state("new", version_script="{ global: chime_*; local: *; };")), False, "no version")

# What the version allows is recorded, and check is content then.
expect("a new patch version is to be recorded", abi("check", state("new", [PATCH])), False, "0.1.0 became 0.1.1")
expect("an addition under an old symbol version", abi("record", state("new", [ADDED, PATCH])), False, "exports.map")
new = state("new", [ADDED, GROWN, NAMED, MORE_ENUMERATORS, PATCH], version_script=OWN_NODE)
expect("additions in a patch version", abi("record", new), True, "recorded")
expect("as recorded", abi("check", new), True, "ok")
expect("back to an earlier version", abi("record", state("new")), False, "is before the recorded")
recorded()
new = state("new", [REMOVED, PARAMETER, ENUMERATOR, MINOR], version_script=NODE_0_2)
expect("anything in a minor version before 1.0", abi("record", new), True, "recorded")
recorded()
expect("a version nobody has", abi("record", state("new", [ENUMERATOR, ADDED]), "--unreleased"), True, "recorded")

# From 1.0 additions need a minor version, changes a major one.
NODE_1 = MAP.replace("0.1", "1.0")
recorded(*FROM_1_0, version_script=NODE_1)
new = [*FROM_1_0, MORE_ENUMERATORS, PATCH]
refused("1.0: an addition in a patch version", new, "added: enumerator", version_script=NODE_1)
new = [*FROM_1_0, ENUMERATOR, ("MINOR 0", "MINOR 1")]
refused("1.0: a change in a minor version", new, "changed: enumerator", "major version", version_script=NODE_1)
new = [*FROM_1_0, MORE_ENUMERATORS, ("MINOR 0", "MINOR 1")]
expect("1.0: an addition in a minor version", abi("record", state("new", new, NODE_1)), True, "recorded")

# What nobody has yet is held to the version before, whatever was recorded of this version meanwhile.
recorded(*FROM_1_0, version_script=NODE_1)
minor = [*FROM_1_0, ("MINOR 0", "MINOR 1")]
for changes in ([MORE_ENUMERATORS, TYPE], [MORE_ENUMERATORS], []):
    new = state("new", [*minor, *changes], NODE_1)
    expect("unreleased", abi("record", new, "--unreleased"), TYPE not in changes, "changed: type" if TYPE in changes else "recorded")

shutil.rmtree(WORK)
print(f"{cases - failures} of {cases} cases as they should be")
sys.exit(failures > 0)
