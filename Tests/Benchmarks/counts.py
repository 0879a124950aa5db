"""Instructions that a call of Chime executes, counted by callgrind: they do not depend on the machine's load.

    counts.py LIB [LIB ...]            a table with a column for each directory of a libchime.so.1
    counts.py LIB --limits FILE        fails where a count is more than 3 % above the one recorded there
    counts.py LIB --record FILE        writes the counts there
"""

import json
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
    libraries = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    limits = record = None
    if "--limits" in sys.argv:
        limits = libraries.pop()
    if "--record" in sys.argv:
        record = libraries.pop()
    recorded = json.load(open(limits)) if limits else {}
    counts, failed = {}, False
    for name, per in works():
        counted = [count(library, name, per) for library in libraries]
        counts[name] = counted[0]
        limit = recorded.get(name)
        is_above = limit is not None and counted[0] > limit * 1.03
        failed |= is_above
        print(f"{name:45}" + "".join(f"{one:8}" for one in counted)
              + (f"   recorded: {limit}" if limit is not None else "") + ("   MORE" if is_above else ""), flush=True)
    if record:
        with open(record, "w") as file:
            json.dump(counts, file, indent=2)
            file.write("\n")
    return 1 if failed else 0


sys.exit(main())
