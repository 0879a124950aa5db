"""Compares the functions of chime.h and chime_run_loop.h with what each wrapper calls: fails if a function is neither called
by a wrapper nor in its list of those left out.

The lists are Sources/Bindings/LANGUAGE/left_out.txt and, for chime.hpp, include/left_out.txt: a function and the reason, a
line each. Comments begin with #. A function that is called after all, that the headers do not have, or without a reason, is
a failure, too.
"""
import os, pathlib, re, subprocess, sys

root = pathlib.Path(__file__).resolve().parents[3]
bindings = root / "Sources/Bindings"

# What calls a function. Declarations alone do not count: those of Rust are in sys.rs. Python's count, because those of
# chime_timers.c are functions of Python's by then.
wrappers = {
    "C++": (root / "include/left_out.txt", [root / "include/chime.hpp"]),
    "Go": (bindings / "go/left_out.txt",
           [file for file in bindings.glob("go/*.*") if file.suffix in (".go", ".c") and not file.name.endswith("_test.go")]),
    "Node": (bindings / "node/left_out.txt", [bindings / "node/addon.c"]),
    "Python": (bindings / "python/left_out.txt", [bindings / "python/chime_timers/c.py"]),
    "Rust": (bindings / "rust/left_out.txt", [file for file in bindings.glob("rust/src/*.rs") if file.name != "sys.rs"]),
}


def functions():
    text = subprocess.run([root / "Tests/C/headers/probe.sh", "functions", root / "include/chime_run_loop.h"], check=True,
                          capture_output=True, text=True, env=os.environ | {"CC": "cc"}).stdout
    return set(text.split())


def without_comments(text, suffix):
    if suffix == ".py":
        return re.sub(r'_declared\("(\w+)"', r"(chime_\1,", text)
    return re.sub(r"//.*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S) if suffix != ".go" else text)


def called(text):
    """Names in calls, and those that are given to another function; not those of declarations."""
    text = re.sub(r"^\s*(?:extern|pub fn)\b.*", "", text, flags=re.M)
    return set(re.findall(r"\b(chime_[a-z_]+)(?=\s*[(,)])", text))


def faults(language, declared, used, lines):
    listed = set()
    for line in lines:
        name, _, reason = line.partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        if name not in declared:
            yield f"{language}: {name} is left out, and in no header"
        elif name in used:
            yield f"{language}: {name} is left out, and called"
        elif len(reason.split()) < 2:
            yield f"{language}: {name} is left out without a reason"
        if name in listed:
            yield f"{language}: {name} is left out twice"
        listed.add(name)
    for name in sorted(declared - used - listed):
        yield f"{language}: {name} is neither called nor left out for a reason"


def compare():
    declared, found = functions(), []
    for language, (left_out, sources) in wrappers.items():
        used = set().union(*(called(without_comments(file.read_text(), file.suffix)) for file in sources)) & declared
        found += faults(language, declared, used, left_out.read_text().splitlines())
        print(f"{language}: {len(used)} of {len(declared)} functions are called")
    print(*found, sep="\n")
    return not found


sys.exit(not compare())
