"""What a libchime.0.dylib says of itself, compared with what it should say.

    look.py VARIANT DIR    DIR: Sources/build/VARIANT, with lib/libchime.0.dylib and exports
"""

import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import mach_o  # noqa: E402

EXPECTED = {"macos": (1, 13 << 16), "ios": (2, 16 << 16)}
MOST_BYTES = {"macos": 465_000, "ios": 480_000}

variant, directory = sys.argv[1:]
path = os.path.join(directory, "lib/libchime.0.dylib")
wrong = []


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


found = mach_o.look(path)
needs, exports, imports = found["needs"], found["exports"], found["imports"]
expect("a library for arm64", (found["processor"], found["kind"]) == (0x100000C, 6))
system = variant.split("-")[0]
declared = set(open(os.path.join(directory, "exports")).read().split())
expect(f"exports that no header declares: {sorted(exports - declared)}", exports <= declared)
expect(f"functions of the headers that are missing: {sorted(declared - exports)}", declared <= exports)
expect("more than 90 functions in the headers", len(declared) > 90)
expect(f"libSystem alone is needed, not {needs}", needs == ["/usr/lib/libSystem.B.dylib"])
expect(f"the name @rpath/libchime.0.dylib, not {found['name']}", found["name"] == "@rpath/libchime.0.dylib")
version = EXPECTED[system][1] >> 16
expect(f"{system} {version} or later, not {found['version']}", found["version"] == EXPECTED[system])
expect("a signature, without which arm64 Macs load nothing", found["signed"])
expect(f"at most {MOST_BYTES[system]} bytes, not {found['bytes']}", found["bytes"] <= MOST_BYTES[system])
of_dispatch = sorted(i for i in imports if i.startswith(("_dispatch_", "__dispatch_")))
if "no-dispatch" in variant:
    expect(f"nothing of libdispatch, not {of_dispatch}", not of_dispatch)
else:
    expect("libdispatch's sources", "_dispatch_source_create" in of_dispatch)
    undeclared = [i for i in of_dispatch if i.endswith("_4CF")]
    expect(f"no function that no header declares, not {undeclared}", not undeclared)
# Apple's systems keep register x18 for themselves, and change it at any time.
code = subprocess.run(["llvm-objdump", "-d", path], check=True, capture_output=True, text=True).stdout
lines = code.split("\n")
uses = [line for line in lines if re.search(r"\b[xw]18\b", line)]
expect(f"no use of x18, not {uses[:3]}", not uses)
expect("more than 20,000 instructions", len(lines) > 20_000)

for what in wrong:
    print(f"{variant}: expected: {what}")
if not wrong:
    print(f"{variant}: {found['bytes']:,} bytes, {len(exports)} functions as declared, {len(imports)} imports, {needs[0]} alone, "
          f"{system} {version} or later, signed, x18 untouched")
sys.exit(len(wrong) > 0)
