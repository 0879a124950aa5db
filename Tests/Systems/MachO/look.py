"""What a libchime.1.dylib says of itself, compared with what it should say.

    look.py VARIANT DIR    DIR: Sources/build/VARIANT, with lib/libchime.1.dylib and exports
"""

import os
import re
import struct
import subprocess
import sys

SEGMENT, SYMTAB, BUILD_VERSION, ID_DYLIB, LOAD_DYLIB, SIGNATURE = 0x19, 2, 0x32, 0xD, 0xC, 0x1D
EXPECTED = {"macos": (1, "13.0"), "ios": (2, "16.0")}
MOST_BYTES = {"macos": 400_000, "ios": 420_000}

variant, directory = sys.argv[1:]
path = os.path.join(directory, "lib/libchime.1.dylib")
data = open(path, "rb").read()
wrong = []


def text(at):
    return data[at : data.index(b"\0", at)].decode()


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


needs, name, version, is_signed, exports, imports = [], None, None, False, set(), set()
magic, processor, _, kind, count = struct.unpack_from("<5I", data)
expect("a library for arm64", (magic, processor, kind) == (0xFEEDFACF, 0x100000C, 6))
at = 32
for _ in range(count):
    command, size = struct.unpack_from("<2I", data, at)
    command &= 0x7FFFFFFF
    if command == LOAD_DYLIB:
        needs.append(text(at + struct.unpack_from("<I", data, at + 8)[0]))
    elif command == ID_DYLIB:
        name = text(at + struct.unpack_from("<I", data, at + 8)[0])
    elif command == BUILD_VERSION:
        platform, minimum = struct.unpack_from("<2I", data, at + 8)
        version = platform, f"{minimum >> 16}.{minimum >> 8 & 255}"
    elif command == SIGNATURE:
        is_signed = True
    elif command == SYMTAB:
        symbols, amount, strings, _ = struct.unpack_from("<4I", data, at + 8)
        for i in range(amount):
            where, type_ = struct.unpack_from("<IB", data, symbols + 16 * i)
            if type_ & 1 and not type_ & 0xE0:
                (exports if type_ & 0xE else imports).add(text(strings + where))
    at += size

system = variant.split("-")[0]
declared = set(open(os.path.join(directory, "exports")).read().split())
expect(f"exports that no header declares: {sorted(exports - declared)}", exports <= declared)
expect(f"functions of the headers that are missing: {sorted(declared - exports)}", declared <= exports)
expect("more than 90 functions in the headers", len(declared) > 90)
expect(f"libSystem alone is needed, not {needs}", needs == ["/usr/lib/libSystem.B.dylib"])
expect(f"the name @rpath/libchime.1.dylib, not {name}", name == "@rpath/libchime.1.dylib")
expect(f"{system} {EXPECTED[system][1]} or later, not {version}", version == EXPECTED[system])
expect("a signature, without which arm64 Macs load nothing", is_signed)
expect(f"at most {MOST_BYTES[system]} bytes, not {len(data)}", len(data) <= MOST_BYTES[system])
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
    print(f"{variant}: {len(data):,} bytes, {len(exports)} functions as declared, {len(imports)} imports, {needs[0]} alone, "
          f"{system} {version[1]} or later, signed, x18 untouched")
sys.exit(len(wrong) > 0)
