"""Has an object file of Mach-O say that it is for another platform, or another minimum version.

    mach_o_platform.py FILE macos|ios MINIMUM

The Swift toolchain for Linux has Embedded Swift for iOS 18 and for no Apple system else. The code is the same on each: one
calling convention, no function of the system but those that CPlatform's headers name.
"""

import struct
import sys

PLATFORMS = {"macos": 1, "ios": 2}
BUILD_VERSION = 0x32

path, platform, minimum = sys.argv[1:]
with open(path, "rb") as file:
    data = bytearray(file.read())
magic, _, _, _, count = struct.unpack_from("<5I", data)
if magic != 0xFEEDFACF:
    sys.exit(f"{path} is no Mach-O file of 64 bits")
major, minor = map(int, minimum.split("."))
offset, found = 32, 0
for _ in range(count):
    command, size = struct.unpack_from("<2I", data, offset)
    if command == BUILD_VERSION:
        version = major << 16 | minor << 8
        struct.pack_into("<3I", data, offset + 8, PLATFORMS[platform], version, version)
        found += 1
    offset += size
if found != 1:
    sys.exit(f"{path}: {found} build versions, not one")
with open(path, "wb") as file:
    file.write(data)
