"""Whether the programs in a folder for macOS are what a Mac starts: mach_o.py DIR. They cannot run here."""

import os
import struct
import sys

SYMTAB, LOAD_DYLIB, ID_DYLIB, RPATH, SIGNATURE, BUILD_VERSION = 0x2, 0xC, 0xD, 0x1C, 0x1D, 0x32


def look(path):
    """What a Mach-O file of 64 bits says of itself; None of another one."""
    with open(path, "rb") as file:
        data = file.read()

    def text(at):
        return data[at : data.index(b"\0", at)].decode()

    magic, processor, _, kind, count = struct.unpack_from("<5I", data)
    if magic != 0xFEEDFACF:
        return None
    found = {"processor": processor, "kind": kind, "bytes": len(data), "name": None, "needs": [], "paths": [], "signed": False,
             "version": None, "exports": set(), "imports": set()}
    at = 32
    for _ in range(count):
        command, size, word = struct.unpack_from("<3I", data, at)
        command &= 0x7FFFFFFF
        if command in (LOAD_DYLIB, RPATH):
            found["needs" if command == LOAD_DYLIB else "paths"].append(text(at + word))
        elif command == ID_DYLIB:
            found["name"] = text(at + word)
        elif command == BUILD_VERSION:
            found["version"] = struct.unpack_from("<2I", data, at + 8)
        elif command == SIGNATURE:
            found["signed"] = True
        elif command == SYMTAB:
            symbols, amount, strings, _ = struct.unpack_from("<4I", data, at + 8)
            for i in range(amount):
                where, type_ = struct.unpack_from("<IB", data, symbols + 16 * i)
                if type_ & 1 and not type_ & 0xE0:
                    found["exports" if type_ & 0xE else "imports"].add(text(strings + where))
        at += size
    return found


def wrong_with(found):
    # Go's programs are for older ones, too.
    platform, minimum = found["version"] or (0, 0)
    if found["processor"] != 0x100000C or platform != 1 or minimum > 13 << 16:
        return "not for macOS 13 on arm64"
    if not found["signed"]:
        return "without a signature"
    if found["kind"] == 6:
        return None
    others = set(found["needs"]) - {"/usr/lib/libSystem.B.dylib", "@rpath/libchime.0.dylib"}
    if others:
        return f"needs {sorted(others)}"
    if "@rpath/libchime.0.dylib" in found["needs"] and "@loader_path" not in found["paths"]:
        return "does not look for the library beside itself"
    return None


def main():
    directory, wrong, count = sys.argv[1], [], 0
    for name in sorted(os.listdir(directory)):
        if name.endswith((".py", ".json")):
            continue
        count += 1
        found = look(os.path.join(directory, name))
        problem = wrong_with(found) if found else "no Mach-O file"
        if problem:
            wrong.append(f"{name}: {problem}")
    print("\n".join(wrong + [f"{directory}: {count} Mach-O files for arm64, signed, with the library beside them"] * (not wrong)))
    sys.exit(1 if wrong or count < 6 else 0)


if __name__ == "__main__":
    main()
