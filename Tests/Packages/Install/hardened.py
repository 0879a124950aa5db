"""Compares how a library is protected with another one, by one list; fails where it is less so.

    hardened.py LIBRARY PEER    libchime, and Debian's libuv
"""
import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def protections(library):
    segments, dynamic = run("readelf", "--segments", "--wide", library), run("readelf", "--dynamic", "--wide", library)
    imports = set(re.findall(r" U (\w+)", run("nm", "--dynamic", "--undefined-only", library)))
    names = re.findall(r" [TWDBRVi] (\w+)", run("nm", "--dynamic", "--defined-only", library))
    stack = re.search(r"GNU_STACK.* ([R ][W ][E ]) 0x\w+$", segments, re.MULTILINE)
    loaded = re.findall(r"^ *LOAD .* ([R ][W ][E ]) 0x\w+$", segments, re.MULTILINE)
    properties = run("readelf", "--notes", "--wide", library)
    return {
        "RELRO": "GNU_RELRO" in segments,
        "NOW": "BIND_NOW" in dynamic or " NOW" in dynamic,
        "no executable stack": stack is not None and "E" not in stack[1],
        "no page both written and executed": not any("W" in flags and "E" in flags for flags in loaded) and loaded != [],
        "no relocation in the code": "TEXTREL" not in dynamic,
        "no search path of its own": "RPATH" not in dynamic and "RUNPATH" not in dynamic,
        "stack canaries": "__stack_chk_fail" in imports,
        "fortified calls": any(name.endswith("_chk") for name in imports),
        "only its own names": all(name.startswith(("chime_", "uv_", "CHIME_")) for name in names),
        "CET": "IBT" in properties and "SHSTK" in properties,
    }


library, peer = map(pathlib.Path, sys.argv[1:3])
own, other = protections(library), protections(peer)
for name, is_there in own.items():
    print(f"{name:35}{library.name}: {'yes' if is_there else 'no':5}{peer.name}: {'yes' if other[name] else 'no'}")
less = [name for name, is_there in own.items() if other[name] and not is_there]
# What each build sees to itself, whatever the peer does.
less += [name for name in own if name != "CET" and not own[name] and name not in less]
sys.exit(f"missing: {', '.join(less)}" if less else 0)
