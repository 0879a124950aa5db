"""Instructions that a call of Chime executes, counted by callgrind: they do not depend on the machine's load.

    counts.py LIB [LIB ...]     a table with a column for each directory of a libchime.so.1
    counts.py --limits FILE LIB the counts of LIB; red if one is more than 3 % above what FILE says
    counts.py --record FILE LIB writes FILE

`make counts` builds what this runs. Wants valgrind.
"""

import os
import re
import subprocess
import sys
import tempfile

N = 2000
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "build", "counts")
LIBEV = os.path.join(HERE, "build", "counts_libev")


def works(library):
    out = subprocess.run([PROGRAM], check=True, capture_output=True, text=True, env=environment(library)).stdout
    return [(name, int(per)) for name, per in (line.split("\t") for line in out.splitlines())]


def environment(library):
    return {**os.environ, "LD_LIBRARY_PATH": library}


def count(library, name, per, program=PROGRAM):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=counted", "--callgrind-out-file=" + directory + "/out",
                   program, name, str(N)]
        text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(library)).stderr
    return round(int(re.search(r"Collected : (\d+)", text)[1]) / (N * per))


def compare(file, library):
    limits = dict(line.rstrip("\n").split("\t") for line in open(file))
    names = {name for name, _ in works(library)}
    if names != set(limits):
        sys.exit(f"{file} has other kinds of work: {', '.join(sorted(names ^ set(limits)))}; record it anew")
    more = []
    for name, per in works(library):
        counted, limit = count(library, name, per), int(limits[name])
        print(f"{name:45}{counted:8}{limit:8}", flush=True)
        if counted > limit * 1.03:
            more.append(name)
    if more:
        sys.exit(f"more instructions than {file} allows: {', '.join(more)}")


def record(file, library):
    with open(file, "w") as out:
        for name, per in works(library):
            out.write(f"{name}\t{count(library, name, per)}\n")


def main():
    if sys.argv[1] == "--limits":
        compare(*sys.argv[2:])
    elif sys.argv[1] == "--record":
        record(*sys.argv[2:])
    else:
        for name, per in works(sys.argv[1]):
            print(f"{name:45}" + "".join(f"{count(library, name, per):8}" for library in sys.argv[1:]), flush=True)
        if os.path.exists(LIBEV):
            for others in ("0", "100000"):
                print(f"{'libev: ev_timer_again, beside ' + others:45}{count('', others, 1, LIBEV):8}", flush=True)


main()
