"""The oldest glibc that a library could be linked with and run on: each of its undefined symbols is one that glibc had by then.

    python3 glibc.py LIBRARY VERSION    fails when a symbol came after VERSION, 2.31 for example

Linked with a newer glibc, the library asks for the newest version of each symbol, so that it needs that glibc or a newer
one. What is asked here is whether it would have to: glibc keeps the older versions of a symbol, by which its age is known.
"""
import re, subprocess, sys

# Of these the first version is not their age: programs before 2.33 got them from libc_nonshared.a.
OLDER = {"stat": (2, 0), "fstat": (2, 0), "lstat": (2, 0)}


def output(*command):
    return subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


library, limit = sys.argv[1], number(sys.argv[2])
ages = {}
for path in re.findall(r"(/\S+) \(0x", output("ldd", library)):
    for name, version in re.findall(r" [TtWwiuVBDR] (\w+)@@?GLIBC_([\d.]+)$", output("nm", "-D", path), re.MULTILINE):
        ages[name] = min(ages.get(name, (9,)), number(version))
ages.update(OLDER)

# Not the weak ones, without which it runs, too.
needed = re.findall(r"^ +U (\w+)", output("nm", "-D", library), re.MULTILINE)
if len(needed) < 50:
    sys.exit(f"only {len(needed)} undefined symbols were found in {library}")
unknown = [name for name in needed if name not in ages]
late = [name for name in needed if ages.get(name, (0,)) > limit]
for name in unknown:
    print(f"{name}: not glibc's")
for name in late:
    print(f"{name}: came with glibc {'.'.join(map(str, ages[name]))}")
if unknown or late:
    sys.exit(f"{library} needs what glibc {sys.argv[2]} does not have")
newest = max(needed, key=lambda name: ages[name])
print(f"ok glibc: {len(needed)} symbols, the youngest is {newest}, of {'.'.join(map(str, ages[newest]))}")
