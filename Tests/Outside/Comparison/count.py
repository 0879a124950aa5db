"""How many lines of the program with twenty downloads concern timers: on Chime, libev and libuv.

    count.py

A line concerns timers if it names a function, type or constant of the library's timers, its loop's turn apart, or says so in
a comment (/* timers */). For Chime that is every line with chime_ or CHIME_, those of the loop that it is a guest of
(examples-c/loop.h) among them: there its queue is made, watched, processed and ended. Comments do not count, nor do CHECK and
what else the programs do. Red if Chime's has more than one of the others.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples-c"
PROGRAMS = {
    "Chime": ([EXAMPLES / "curl_multi.c", EXAMPLES / "loop.h"], r"chime_|CHIME_"),
    "libev": ([HERE / "curl_libev.c"], r"ev_timer|/\* timers \*/"),
    "libuv": ([HERE / "curl_libuv.c"], r"uv_timer|/\* timers \*/"),
}


def lines(files, pattern):
    text = "\n".join(file.read_text() for file in files).replace("/* timers */", "@timers@")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("@timers@", "/* timers */")
    return [line for line in text.splitlines() if re.search(pattern, line)]


counts = {name: len(lines(*program)) for name, program in PROGRAMS.items()}
for name, count in counts.items():
    print(f"{name:8}{count:4} lines that concern timers")
if counts["Chime"] > min(counts.values()):
    sys.exit("FAILED: more on Chime")
