"""What the compilers say of the mutations: all of table.ALL must compile, none of table.REFUSED may. Run by mutations.py.

A mutation that does not compile any more would be noticed only by the next whole run: so each layer of mutations that can be
built together is compiled without code. The first, with nearly all of them, as libchime is (Embedded Swift, the core and
the C interface as one module); of the others only the files that they change, as ordinary Swift.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys

import table
from mutations import BUILD, CORE, PLATFORM, ROOT, SWITCH_IN_C, SWITCH_IN_SWIFT, apply

COMMON = ["-module-name", "ChimeCore", "-package-name", "chime", "-swift-version", "6", "-parse-as-library", "-Onone",
          "-strict-memory-safety", "-diagnostic-style", "llvm", "-module-cache-path", BUILD / "modules"]
# As Package.swift has it where CHIME_WARNINGS=errors; without code, but with all that the compiler refuses before that.
AS_PACKAGE = ["swiftc", "-emit-sil", "-wmo", *COMMON, "-warnings-as-errors", "-D", "DEBUG", "-Xcc", "-D_GNU_SOURCE",
              "-I", ROOT / PLATFORM, "-o", os.devnull]
# As Sources/Makefile has it.
LIBRARY = [*COMMON, "-suppress-warnings", "-I", ROOT / "include", "-Xcc", "-fblocks", "-Xcc", "-DCHIME_OWN_MEMORY"]
AS_LIBRARY = ["swiftc", "-emit-sil", "-wmo", "-enable-experimental-feature", "Embedded", *LIBRARY, "-o", os.devnull]
IN_PART = ["swiftc", "-frontend", "-emit-sil", *LIBRARY]
C = ["clang", "-fsyntax-only", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-DCHIME_OWN_MEMORY"]


def files_of(folders, changed, scratch):
    """The Swift files of these folders, each where it is or, when it has changed, in the scratch directory."""
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.swift")):
        name = os.path.relpath(path, ROOT / CORE)
        yield (written(scratch, name, changed[name]), name) if name in changed else (path, name)


def written(scratch, name, text):
    """Where the changed file is: paths of table.py begin in the core."""
    path = scratch / os.path.normpath(CORE / name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def complaints(command, scratch):
    """What a compiler says: of each error its words, and the (path, line) of it and its notes."""
    done = subprocess.run(command, capture_output=True, text=True)
    said = []
    for path, line, kind, words in re.findall(r"^(/\S+?):(\d+):\d+: (?:fatal )?(error|note): (.*)$", done.stderr, re.M):
        place = (os.path.relpath(path, scratch / CORE), int(line))
        if kind == "error":
            said.append((words, [place]))
        elif said:
            said[-1][1].append(place)
    if (done.returncode == 0) == bool(said):
        sys.exit(done.stderr)
    return said


def lines_of(text, piece):
    first = text[:text.index(piece)].count("\n") + 1
    return range(first, first + piece.count("\n") + 1)


# ---- All compile -----------------------------------------------------------------------------------------------------


def check(layers):
    """What does not compile, a line each. What was compiled before is known by its texts."""
    hashed = hashlib.sha256(repr([sorted(layer["files"].items()) for layer in layers]).encode())
    for folder in ("ChimeCore", "ChimeC", "CPlatform"):
        for path in sorted((ROOT / "Sources" / folder).rglob("*.*")):
            hashed.update(path.read_bytes())
    hashed.update((ROOT / "include/chime.h").read_bytes() + (ROOT / "include/chime_run_loop.h").read_bytes())
    known = BUILD / "compiles"
    if known.exists() and known.read_text() == hashed.hexdigest():
        return []
    lines = [line for number, layer in enumerate(layers) for line in complaints_of(layer, BUILD / f"compiles{number}", number == 0)]
    if not lines:
        known.write_text(hashed.hexdigest())
    return lines


def complaints_of(layer, scratch, whole):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(ROOT / "Sources/CPlatform", scratch / "Sources/CPlatform")
    (scratch / "include").symlink_to(ROOT / "include")
    include = scratch / PLATFORM
    (include / "mutation.h").write_text(SWITCH_IN_C)
    modules = include / "module.modulemap"
    modules.write_text(modules.read_text().replace("{", '{\n  header "mutation.h"', 1))
    changed = layer["files"]
    in_c = [written(scratch, name, f'#include "mutation.h"\n#line 1\n{text}') for name, text in changed.items() if name.endswith((".c", ".h"))]
    switch = written(scratch, "Broken.swift", SWITCH_IN_SWIFT)
    swift = [*files_of(("Sources/ChimeCore", "Sources/ChimeC"), changed, scratch), (switch, "Broken.swift")]
    if whole:
        command = [*AS_LIBRARY, "-I", include, *(path for path, _ in swift)]
    else:
        mine = [path for path, name in swift if name in changed]
        command = [*IN_PART, "-I", include, *(word for path in mine for word in ("-primary-file", path, "-o", os.devnull)),
                   *(path for path, name in swift if name not in changed)]
    said = complaints(command, scratch) if whole or mine else []
    for path in in_c:
        said += complaints([*C, "-I", include, *(["-x", "c", "-Wno-unused-function"] if path.suffix == ".h" else []), path], scratch)
    for words, places in said:
        rows = [m.name for m in layer["mutations"] if any(
            path == edit and line in lines_of(changed[edit], written_out(new, changed[edit])) for path, line in places
            for edit, _, new in m.edits)]
        yield f"{', '.join(rows) or 'no mutation stands there'}: does not compile: {words}: {places[0][0]}:{places[0][1]}"


def written_out(new, text):
    """The new text as it is in the file, with the question that stands for BROKEN."""
    if "BROKEN" not in new:
        return new
    pattern = re.escape(new).replace("BROKEN", r"\(?(?:isBroken\(\d+\)|chime_mutation\(\) == \d+)\)?")
    return re.search(pattern, text)[0]


# ---- None compiles ---------------------------------------------------------------------------------------------------


def of_package(changed, scratch):
    files = [path for path, _ in files_of(("Sources/ChimeCore",), changed, scratch)]
    return complaints([*AS_PACKAGE, *files], scratch)


def refused():
    """All mistakes at once, then those that were not reached: what comes before (types) hides what comes after (ownership)."""
    scratch, left = BUILD / "refused", table.REFUSED
    shutil.rmtree(scratch, ignore_errors=True)
    if of_package({}, scratch):
        sys.exit("the core does not compile as it is")
    while left:
        changed, made = {}, []
        for mutation in left:
            more = apply(changed, mutation, 0)
            if more is not None:
                changed, made = more, made + [mutation]
        said = of_package(changed, scratch)
        seen = [m for m in made if any(re.search(m.says, words) and any(
            path == edit and line in lines_of(changed[edit], new) for path, line in places for edit, _, new in m.edits)
            for words, places in said)]
        if not seen:
            print(*[f"{words}: {places}" for words, places in said], sep="\n")
            sys.exit(f"not refused: {', '.join(m.name for m in left)}")
        left = [m for m in left if m not in seen]
    print(f"{len(table.REFUSED)} mistakes do not compile")
    return 0
