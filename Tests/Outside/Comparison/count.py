"""How many lines of the program with twenty downloads concern timers, on Chime and on libuv.

A line concerns timers if it names a function, type or constant of the library's timers, its loop's turn apart, or says so in
a comment (/* timers */). For Chime that is every line with chime_ or CHIME_, those of the loop that it is a guest of
(examples-c/loop.h) among them: there its queue is made, watched, processed and ended. Comments do not count, nor do CHECK and
what else the programs do. Red if Chime's has more.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples-c"


def lines(pattern, *files):
    text = "\n".join(file.read_text() for file in files).replace("/* timers */", "@timers@")
    return sum(bool(re.search(pattern, line)) for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines())


chime = lines("chime_|CHIME_", EXAMPLES / "curl_multi.c", EXAMPLES / "loop.h")
libuv = lines("uv_timer|@timers@", HERE / "curl_libuv.c")
print(f"lines that concern timers: {chime} on Chime, {libuv} on libuv")
if chime > libuv:
    sys.exit("FAILED: more on Chime")
