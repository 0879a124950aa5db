"""Draws the pictures of the two READMEs, pictures/*.svg, from the numbers in pictures/data.json. Standard library only.

    readme_pictures.py            draws
    readme_pictures.py --record   first takes the numbers from build/results.json, for the tables that are in it:
                                  make run ARGS='--only missed', make run ARGS='--only expiry --rounds 6'

At most eight rows a picture, each labelled where it ends, legible on light and dark pages, 30 KB or less.
"""
import json
import math
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parent / "pictures"
RESULTS = PICTURES.parent / "build/results.json"
DATA = PICTURES / "data.json"

# Rows of results.json, and how the pictures name them.
MISSED = {"chime serial": "Chime", "dispatch": "libdispatch", "tokio": "tokio", "libev *": "libev",
          "libuv *": "libuv", "libevent *": "libevent"}
EXPIRY = {"chime precise, leeway 0": "Chime, precise queue", "chime serial, leeway 0": "Chime, serial queue",
          "dispatch": "libdispatch", "go": "Go", "tokio": "tokio", "libev *": "libev", "libuv *": "libuv",
          "libevent *": "libevent"}

# Each colour can be read on white and on black; pages that say which they are get a better one.
STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7781 }
.title { font-size: 15px; font-weight: 600 } .chime { fill: #2f81f7; font-weight: 600 } .bad { fill: #e5534b }
.grid { stroke: #8b949e; stroke-opacity: 0.35 } .zero { stroke: #8b949e; stroke-width: 1.5 }
.bar { stroke: #8b949e; stroke-width: 8 } .bar.chime { stroke: #2f81f7 } .bar.bad { stroke: #e5534b }
.dot { fill: #8b949e } .dot.chime { fill: #2f81f7 } .dot.bad { fill: #e5534b } .slow { fill-opacity: 0.3 }
@media (prefers-color-scheme: dark) { text { fill: #b1bac4 } .chime { fill: #58a6ff } .bad { fill: #ff7b72 } }
@media (prefers-color-scheme: light) { text { fill: #424a53 } .chime { fill: #0969da } .bad { fill: #cf222e } }
</style>"""


class Picture:
    """SVG on a page of that size, in pixels: a line of the file for each row."""

    def __init__(self, width, height, title):
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img" aria-label="{title}">', STYLE]
        self.row()
        self.text(10, 22, title, "title")

    def row(self):
        self.lines.append("")

    def draw(self, element):
        self.lines[-1] += element

    def text(self, x, y, text, kind="", anchor="start"):
        self.draw(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{text}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.draw(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def dot(self, x, y, kind):
        self.draw(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')

    def box(self, x1, x2, y, kind):
        self.draw(f'<rect x="{x1:.1f}" y="{y - 4.5:.1f}" width="{x2 - x1:.1f}" height="9" class="{kind}"/>')

    def save(self, name):
        text = "\n".join(self.lines + ["</svg>", ""])
        assert len(text) <= 30_000, f"{name}: {len(text)} bytes"
        (PICTURES / name).write_text(text)
        print(PICTURES / name, len(text), "bytes")


def draw_missed(rows):
    """A dot where each tick's handler was called, on the grid of the schedule."""
    left, right, top, step, end_ms = 100, 640, 62, 30, 950
    bottom = top + step * len(rows)

    def x(ms):
        return left + (right - left) * ms / end_ms
    picture = Picture(890, bottom + 34, "A timer of 100 ms whose third handler takes 260 ms")
    for ms in range(0, end_ms, 100):
        picture.line(x(ms), top - 18, x(ms), bottom - 8, "grid")
        picture.text(x(ms), bottom + 10, str(ms), anchor="middle")
    picture.text(right + 12, bottom + 10, "ms after the start")
    for number, (name, row) in enumerate(rows.items()):
        y, own = top + step * number, "chime" if name == "Chime" else ""
        picture.row()
        at = [ms for ms in row["at_ms"] if ms < end_ms]
        counted = row["counted"]
        off_grid = at[-1] % 100 > 20
        together = at[4] - at[3] < 5
        picture.text(10, y + 4, name, own)
        picture.box(x(at[2]), x(at[2] + 260), y, f"dot slow {own}")
        for index, ms in enumerate(at):
            raised = 5 if together and index == 4 else 0
            picture.dot(x(ms), y - raised, own or ("bad" if off_grid and ms > 400 else ""))
        words = [f"grid {at[-1] % 100:.0f} ms late" if off_grid else "on the grid"]
        words += ["two ticks at once"] if together else []
        words += [f"{counted - 1:.0f} reported missed"] if counted > 1 else []
        picture.text(right + 12, y + 4, ", ".join(words), own or ("bad" if off_grid else ""))
    picture.save("missed.svg")


def draw_lateness(rows):
    """From the earliest tick to the 99th percentile, the median marked; early ones stand left of zero."""
    zero, right, top, step = 380, 700, 78, 28
    bottom = top + step * len(rows)

    def x(ns):
        """Linear up to 10 us, then as far again for each factor of ten."""
        size = min(abs(ns) / 1e4, 1) + max(0, math.log10(max(abs(ns), 1) / 1e4))
        return zero + math.copysign(size, ns) * (right - zero) / 4.6
    picture = Picture(890, bottom + 34, "100,000 timers due within one second: how late each tick was")
    picture.text(10, 42, "from the earliest tick to the 99th percentile; the mark is the median")
    for ns, label in ((-1e6, "1 ms early"), (0, "due"), (1e4, "10 µs"), (1e5, "100 µs"), (1e6, "1 ms"),
                      (1e7, "10 ms late")):
        picture.line(x(ns), top - 18, x(ns), bottom - 8, "grid" if ns else "zero")
        picture.text(x(ns), bottom + 10, label, anchor="middle")
    for number, (name, row) in enumerate(rows.items()):
        y, own = top + step * number, "chime" if name.startswith("Chime") else ""
        picture.row()
        first, median, last = row["late_ns"]
        picture.text(10, y + 4, name, own)
        picture.line(x(max(first, 0)), y, x(last), y, f"bar {own}")
        if first < 0:
            picture.line(x(first), y, zero, y, "bar bad")
        picture.line(x(median), y - 9, x(median), y + 9, "zero")
        early = row["early"]
        picture.text(right + 30, y + 4, f"{early:,} early" if early else "none early", "bad" if early else own)
    picture.save("lateness.svg")


def record(data):
    for table in json.loads(RESULTS.read_text())["tables"]:
        rows = {row["label"]: row["results"] for row in table["rows"] if row["results"]}
        if table["kind"] == "missed":
            data["missed"] = {name: {"at_ms": rows[label][0]["at_ms"], "counted": rows[label][0]["due_times"][3]}
                              for label, name in MISSED.items() if label in rows}
        elif table["kind"] == "expiry" and "100,000 " in table["title"]:
            data["expiry"] = {name: pooled(rows[label]) for label, name in EXPIRY.items() if label in rows}
    parts = [f' "{part}": {{\n' + ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n }"
             for part, rows in data.items()]
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def pooled(results):
    """Of all rounds together: earliest, median and 99th percentile; of the worst round: how many were early."""
    late = sorted(ns for result in results for ns in result["late_ns"])
    return {"rounds": len(results), "early": int(max(result["early"] for result in results)),
            "late_ns": [late[0], late[len(late) // 2], late[len(late) * 99 // 100]]}


if __name__ == "__main__":
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    if "--record" in sys.argv:
        record(data)
    draw_missed(data["missed"])
    draw_lateness(data["expiry"])
