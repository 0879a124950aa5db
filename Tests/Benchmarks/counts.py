"""Instructions that a call of Chime executes, counted by callgrind: they do not depend on the machine's load.

    counts.py LIB [LIB ...]     a table with a column for each directory of a libchime.so.1

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


def works():
    out = subprocess.run([PROGRAM], check=True, capture_output=True, text=True, env=environment(sys.argv[1])).stdout
    return [(name, int(per)) for name, per in (line.split("\t") for line in out.splitlines())]


def environment(library):
    return {**os.environ, "LD_LIBRARY_PATH": library}


def count(library, name, per):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=counted", "--callgrind-out-file=" + directory + "/out",
                   PROGRAM, name, str(N)]
        text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(library)).stderr
    return round(int(re.search(r"Collected : (\d+)", text)[1]) / (N * per))


def main():
    for name, per in works():
        print(f"{name:45}" + "".join(f"{count(library, name, per):8}" for library in sys.argv[1:]), flush=True)


main()
