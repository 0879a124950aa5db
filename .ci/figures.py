"""Each figure of the front page and the guides is one of Tests/Benchmarks/README.md, or a number that the sources have.

A figure is a number with a unit: nanoseconds, bytes, millions. Every line with one is in `MEASURED`, which names the rows of
Tests/Benchmarks/README.md that its numbers are from, or the figure is in `BUILT_IN`, which names the source that has it. The
front page's table is compared cell by cell: a cell that stands for several rows is their least and their most. The ratios
below "Where Chime loses" are those of the first table, and the pictures those of picture.py.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "Tests/Benchmarks/README.md"
FRONT = "README.md"
GUIDES = ["include/README.md", "examples-c/README.md", "Sources/Bindings/README.md"]
GUIDES += sorted(str(path.relative_to(ROOT)) for pattern in ("*/*.docc/*.md", "Bindings/*/README.md")
                 for path in (ROOT / "Sources").glob(pattern))
NUMBER = re.compile(r"(?<![\w.^])\d+(?:,\d{3})*(?:\.\d+)?(?![\w^]|\.\d)")
RANGE = re.compile(rf"{NUMBER.pattern} to {NUMBER.pattern}")
FIGURE = re.compile(r"(?<![\w.^])(\d[\d,]*(?:\.\d+)?(?: ns| µs| us| kB| KiB| MB| MiB| bytes| million| ×))\b")

TWO_THREADS, LATE = "two threads, millions", "lateness of a 10 ms timer"
QUEUE, TIMER, SIZE = "memory of a queue", "memory of a pending timer", "size on x86-64"
STAYS = "what stays of queues that have ended"
# (page, words of a line, the rows that its numbers are from)
MEASURED = [
    (FRONT, "Two threads start and cancel", [TWO_THREADS]),
    (FRONT, "**Lateness** of a 10 ms timer", [LATE]),
    (FRONT, "**Memory**:", [TIMER, QUEUE, SIZE]),
    ("Sources/Chime/Chime.docc/Limits.md", "| memory of a queue |", [QUEUE]),
    ("Sources/Chime/Chime.docc/Limits.md", "| what a program weighs |", [SIZE]),
    ("Sources/Chime/Chime.docc/Limits.md", "| how memory grows |", [STAYS]),
    ("Sources/Chime/Chime.docc/Limits.md", "| cost of a call |", ["Chime serial, by deadline"]),
]
# Lines that another check compares with what a program prints: Tests/C/Misuse.
PRINTED = re.compile(r"^- (calls|explain|dump|trace|gdb): ")
# The rows of the first table that a row of the front page's stands for; and how the row on two threads names it.
ROWS = {
    "Chime, by deadline": (["Chime serial, by deadline", "Chime shared, by deadline", "Chime bound, by deadline"], "on one queue"),
    "Chime, by delay": (["Chime serial, by delay", "Chime shared, by delay", "Chime bound, by delay"], None),
    "libevent with locks": (["libevent with locks"], "libevent with locks"), "Go": (["Go 1.19.8"], "Go"),
    "tokio": (["tokio 1.24.2"], "tokio"), "libdispatch": (["libdispatch"], None), "libev": (["libev 4.33 *"], None),
    "libuv": (["libuv 1.44.2 *"], None),
}
# Figures that are no measurements, and a source that says so.
BUILT_IN = {
    "1,024 ns": ("Sources/README.md", "*wheel tick*, of 1,024 ns"),
    "1 ns": ("Sources/ChimeCore/Kinds/PreciseDriver.swift", "chime_set_timer_slack(1)"),
    "50 µs": ("Sources/README.md", "timer slack of 50 us"),
    "33 million": ("Sources/ChimeCore/Values/Durations.swift", "1 part in 33 million"),
    "350 bytes": ("Sources/ChimeRunLoop/TimerQueue+RunLoop.swift", "about 350 bytes"),
    "160 bytes": ("Sources/CPlatform/include/thread_locals.h", "<= 64"),  # and 96 of libdispatch's
    "8 MiB": ("Sources/CPlatform/posix/threads.c", "(size_t)8 << 20"),
    "64 KiB": ("Sources/CPlatform/common/memory.c", "SLAB = 64 << 10"),
    "1.5 MB": ("Sources/ChimeCore/Storage/QueueControlBlocks.swift", "keptChunks: Int { 64 }"),
    "1.6 kB": ("Sources/CPlatform/include/thread_locals.h", "shares some 1.6 kB"),
}


def number(text):
    return float(text.replace(",", ""))


def prose(page):
    """The lines that are not in a block."""
    return re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S).splitlines()


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main():
    wrong, compared = [], 0
    lines = BENCHMARKS.read_text().splitlines()
    rows = {cells(line)[0]: cells(line)[1:] for line in lines if line.startswith("| ")}

    def row(beginning):
        found = [name for name in rows if name.startswith(beginning)]
        if not found:
            sys.exit(f"{BENCHMARKS.relative_to(ROOT)} has no row {beginning!r}")
        return f"{found[0]} {' '.join(rows[found[0]])}"

    used, built_in = set(), {figure.split()[0] for figure in BUILT_IN}
    for page in [FRONT, *GUIDES]:
        for line in prose(page):
            sources = [(words, named) for place, words, named in MEASURED if place == page and words in line]
            if sources:
                used |= {(page, words) for words, _ in sources}
                texts = " ".join(row(name) for _, named in sources for name in named)
                known = {number(found) for found in NUMBER.findall(texts)}
                shown = re.sub(r"\]\([^)]*\)|`[^`]*`", "", line)
                for found in NUMBER.findall(shown):
                    compared += 1
                    if number(found) not in known and found not in built_in:
                        wrong.append(f"{page}: {found} is in no row of {sources[0][1]}: {line[:70]}")
                wrong += [f"{page}: no row of {sources[0][1]} has {found}" for found in RANGE.findall(shown) if found not in texts]
                continue
            for found in () if PRINTED.match(line) else FIGURE.findall(re.sub(r"`[^`]*`", "", line)):
                compared += 1
                if found not in BUILT_IN:
                    wrong.append(f"{page}: {found} has no row in {BENCHMARKS.relative_to(ROOT)}: {line[:70]}")
    wrong += [f"{page}: no line has {words!r} any more" for page, words, _ in MEASURED if (page, words) not in used]
    for figure, (source, text) in BUILT_IN.items():
        if text not in (ROOT / source).read_text():
            wrong.append(f"{source} has no {text!r} any more, so {figure} is nobody's")

    # The front page's table. Its columns: thread-safe; two threads; 0 pending; 10^6 pending; an idle timeout of 10^6.
    table = {cells(line)[0]: cells(line)[1:] for line in prose(FRONT) if line.startswith("| ")}
    for name, (sources, among_threads) in ROWS.items():
        if name not in table:
            wrong.append(f"{FRONT}: its table has no row {name!r}")
            continue
        is_safe = not sources[0].endswith("*")
        expected = ["yes" if is_safe else "no"]
        expected.append(re.search(rf"{among_threads} ([\d.]+(?: to [\d.]+)?)", row(TWO_THREADS))[1] if among_threads else "–")
        for column in (0, 1, 4):
            found = sorted((rows[source][column] for source in sources), key=number)
            expected.append(found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}")
        compared += len(expected)
        if table[name] != expected:
            wrong.append(f"{FRONT}: {name}: {table[name]} should be {expected}")

    # How much faster libev is, by deadline and by delay.
    libev, told = rows["libev 4.33 *"], next(line for line in lines if "**libev creates and cancels faster**" in line)
    for form in ("deadline", "delay"):
        ratios = sorted(number(rows[f"Chime {kind}, by {form}"][column]) / number(libev[column])
                        for kind in ("serial", "shared", "bound") for column in (0, 1))
        text = f"{ratios[0]:.1f} to {ratios[-1]:.1f} times as fast as by {form}"
        compared += 2
        if text not in told:
            wrong.append(f"{BENCHMARKS.relative_to(ROOT)}: libev creates and cancels {text}")
    if wrong:
        sys.exit("\n".join(wrong))
    subprocess.run([sys.executable, "-B", str(ROOT / "Tests/Benchmarks/picture.py"), "--check"], check=True)
    print(f"ok: {compared} figures are those of their rows, or of the sources")


main()
