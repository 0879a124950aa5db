"""That abi.py notices what it is for. A header of three functions stands in for Chime's: each case changes one thing, and says
what abi.py must answer to it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

WORK = pathlib.Path(tempfile.mkdtemp())
os.environ["RECORDS"] = str(WORK)
import abi  # noqa: E402 (after that)
import declarations  # noqa: E402

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
RUN_LOOP_HEADER = '#include "chime.h"\nint32_t chime_run_loop_stop(chime_timer_t timer);\n'

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

NO_CHANGE = [[], [NAME]]
# What check says of a change, and which version record asks for.
CHANGES = [
    ([REMOVED], "removed: function chime_stop: int32_t (chime_timer_t)", "minor"),
    ([PARAMETER], "changed: function chime_start: int32_t (chime_timer_t, int64_t), CHIME_0.1 became int32_t (chime_timer_t, int32_t)",
     "minor"),
    ([CALLBACK], "changed: type chime_handler: void (*)(chime_timer_t, void *) became", "minor"),
    ([TYPE], "changed: type chime_kind: int32_t became uint32_t", "minor"),
    ([ENUMERATOR], "changed: enumerator CHIME_SECOND_KIND: 1 became 2", "minor"),
    ([MACRO], "changed: macro CHIME_SECOND: 1000 became 1001", "minor"),
    ([INSERTED], "changed: member chime_info.interval_ns: int64_t, at 8, 8 bytes became", "minor"),
    ([GROWN], "added: structure chime_info: 16 bytes became 24 bytes", "patch"),
    ([GROWN, ("uint32_t size;", "int32_t size;")], "changed: structure chime_info: 16 bytes became 24 bytes", "minor"),
    ([NAMED], "added: member chime_info.flags", "patch"),
    ([MORE_ENUMERATORS], "added: enumerator CHIME_THIRD: 2", "patch"),
    ([ADDED], "added: function chime_pause: int32_t (chime_timer_t)", "patch"),
]
# From a version to another, the changes, nodes of functions other than CHIME_0.1, and why they are refused; None: they are not.
OF_0_2 = dict.fromkeys(("chime_start", "chime_stop"), "CHIME_0.2")
VERSIONS = [
    ((0, 1, 0), (0, 1, 0), [], {"chime_stop": "CHIME_9"}, "needs another minor version"),
    ((0, 1, 0), (0, 1, 1), [PARAMETER], {}, "needs another minor version"),
    ((0, 1, 0), (0, 1, 1), [ADDED], {}, "exports.map"),
    ((0, 1, 0), (0, 1, 1), [ADDED, GROWN, NAMED, MORE_ENUMERATORS], {"chime_pause": "CHIME_0.1.1"}, None),
    ((0, 1, 1), (0, 1, 0), [], {}, "is before the recorded 0.1.1"),
    ((0, 1, 0), (0, 2, 0), [REMOVED, PARAMETER, ENUMERATOR], OF_0_2, None),
    ((1, 0, 0), (1, 0, 1), [MORE_ENUMERATORS], {}, "needs another minor version"),
    ((1, 0, 0), (1, 1, 0), [ENUMERATOR], {}, "needs another major version"),
    ((1, 0, 0), (1, 1, 0), [MORE_ENUMERATORS], {}, None),
]


def lines(changes=(), nodes={}):
    """The record's lines of a header with those changes."""
    text = HEADER
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (WORK / "chime.h").write_text(text)
    found = declarations.declarations(WORK / "chime.h")
    return {name: value + (f", {nodes.get(abi.name_of(name), 'CHIME_0.1')}" if name.startswith("function ") else "")
            for name, value in found.items()}


def said(task, *arguments):
    """What a task ends with; None: it is content."""
    try:
        task(*arguments)
    except SystemExit as end:
        return str(end)


def described(without=None, more="", version_script="CHIME_0.1 { global: chime_*; local: *; };"):
    """Of the headers and a library that exports their functions but one, and more."""
    (WORK / "chime.h").write_text(HEADER)
    (WORK / "chime_run_loop.h").write_text(RUN_LOOP_HEADER)
    names = re.findall(r"int32_t (chime_\w+)\(", HEADER + RUN_LOOP_HEADER)
    (WORK / "library.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names if name != without) + more)
    (WORK / "exports.map").write_text(version_script)
    subprocess.run(["cc", "-shared", "-fPIC", "library.c", "-o", "library.so", "-Wl,--version-script=exports.map"], cwd=WORK,
                   check=True)
    return abi.described(WORK, WORK / "library.so")


old = lines()
for changes in NO_CHANGE:
    assert abi.compare(old, lines(changes)) == ([], []), changes
for changes, sentence, version in CHANGES:
    broke, added = abi.compare(old, lines(changes))
    assert any(line.startswith(sentence) for line in broke + added), (changes, broke, added)
    refusals = "\n".join(abi.refusals((0, 1, 0), (0, 1, 0), old, lines(changes)))
    assert f"needs another {version} version" in refusals, (changes, refusals)
for before, version, changes, nodes, reason in VERSIONS:
    refusals = "\n".join(abi.refusals(before, version, old, lines(changes, nodes)))
    assert reason in refusals if reason else not refusals, (before, version, changes, refusals)

# Header and library must agree.
version, found = described()
assert version == (0, 1, 0) and found["function chime_run_loop_stop"] == "int32_t (chime_timer_t); chime_run_loop.h, CHIME_0.1"
assert "chime_stop is declared, and the library does not export it" in said(described, "chime_stop")
assert "chime_secret is exported, and no header declares it" in said(described, None, "void chime_secret(void) {}")
assert "has no version" in said(described, None, "", "{ global: chime_*; local: *; };")

# Records: what is recorded is what there is, or check is red; what nobody has yet is held to the version before.
assert said(abi.record, (1, 0, 0), old, False) is None and said(abi.check, (1, 0, 0), old) is None
assert "has it otherwise" in said(abi.check, (1, 0, 0), lines([TYPE]))
assert "has it otherwise" in said(abi.check, (1, 0, 1), old)
assert "changed: type chime_kind" in said(abi.record, (1, 0, 0), lines([TYPE]), False)
assert said(abi.record, (1, 1, 0), lines([MORE_ENUMERATORS]), False) is None
assert "removed: enumerator CHIME_THIRD" in said(abi.record, (1, 1, 0), old, False)
assert "changed: type chime_kind" in said(abi.record, (1, 1, 0), lines([TYPE]), True)
assert said(abi.record, (1, 1, 0), old, True) is None and said(abi.check, (1, 1, 0), old) is None

# A release is held to the record, and to the one before. The first version has none.
for name, script in ("before", "CHIME_0.1 { global: chime_*; local: *; };"), ("after", "CHIME_0.2 { global: chime_*; local: *; };"):
    described(version_script=script)
    (WORK / name / "include").mkdir(parents=True)
    (WORK / name / "lib").mkdir()
    for header in WORK.glob("chime*.h"):
        text = header.read_text().replace("MINOR 1", "MINOR 2" if name == "after" else "MINOR 1")
        (WORK / name / "include" / header.name).write_text(text)
    shutil.copy(WORK / "library.so", WORK / name / "lib/libchime.so.0")
abi.BEFORE.unlink()
abi.RECORD.unlink()
before, after = (abi.of_release(WORK / name) for name in ("before", "after"))
assert said(abi.record, *before, True) is None and not abi.BEFORE.exists()
assert said(abi.compare_releases, WORK / "before", None) is None
assert "has it otherwise" in said(abi.compare_releases, WORK / "after", WORK / "before")
assert "0.1.0 is not after 0.2.0" in said(abi.compare_releases, WORK / "before", WORK / "after")
assert said(abi.record, *after, False) is None and abi.BEFORE.exists()
assert said(abi.compare_releases, WORK / "after", WORK / "before") is None
assert said(abi.compare_releases, WORK / "after", None) is None

shutil.rmtree(WORK)
print(f"ok: {len(NO_CHANGE) + len(CHANGES) + len(VERSIONS)} changes, and what header, library and record must agree on")
