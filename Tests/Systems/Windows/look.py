"""What chime-0.dll says of itself, compared with what it should say.

    look.py DIR OBJDUMP BYTES    DIR: Sources/build/windows, with lib/chime-0.dll and chime.def
"""

import os
import re
import struct
import subprocess
import sys

directory, objdump, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(directory, "lib/chime-0.dll")
data = open(path, "rb").read()
wrong = []


def expect(what, is_so):
    if not is_so:
        wrong.append(what)


said = subprocess.run([objdump, "-p", path], check=True, capture_output=True, text=True).stdout
declared = set(open(os.path.join(directory, "chime.def")).read().split()[3:])
exported = set(re.findall(r"^\s+\[ *\d+\] (\w+)$", said, re.M))
needs = sorted(set(name.lower() for name in re.findall(r"DLL Name: (\S+)", said)))
header = struct.unpack_from("<I", data, 0x3C)[0]
machine, sections, stamp = struct.unpack_from("<HHI", data, header + 4)
magic = struct.unpack_from("<H", data, header + 24)[0]
flags = struct.unpack_from("<H", data, header + 24 + 70)[0]

expect("a DLL for x86-64", (machine, magic) == (0x8664, 0x20B))
expect(f"the headers' functions, no more: not declared {sorted(exported - declared)}, not exported {sorted(declared - exported)}",
       exported == declared and len(declared) > 90)
expect(f"the system's own libraries alone: {needs}", needs == ["advapi32.dll", "kernel32.dll", "msvcrt.dll"])
expect("no time of its making in it", stamp == 0 or not 1_500_000_000 < stamp < 2_500_000_000)
expect("anywhere in 64 bits of addresses, no code in data", flags & 0x160 == 0x160)
expect(f"{len(data):,} bytes, at most {most:,}", len(data) <= most)
tables = re.search(r"Entry 3 [0-9a-f]+ ([0-9a-f]+) Exception Directory", said)
expect("an unwind table of a thousand functions", tables and int(tables[1], 16) // 12 > 1000)

for line in wrong:
    print("not as it should be:", line)
if not wrong:
    print(f"chime-0.dll: {len(data):,} bytes, {len(exported)} functions as declared, {', '.join(needs)} alone")
sys.exit(len(wrong) > 0)
