"""Draws the picture of the front page, pictures/missed.svg, from the numbers in pictures/data.json. Standard library only.

    picture.py            draws
    picture.py --record   first takes the numbers from build/results.json, of make run ARGS='--only missed'

At most eight rows, each labelled where it ends, legible on light and dark pages, 30 KB or less.
"""
import json
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parent / "pictures"
RESULTS = PICTURES.parent / "build/results.json"
DATA = PICTURES / "data.json"

# Rows of results.json, and how the picture names them.
ROWS = {"chime serial": "Chime", "dispatch": "libdispatch", "tokio": "tokio", "libev *": "libev", "libuv *": "libuv",
        "libevent *": "libevent"}

# Each colour can be read on white and on black; pages that say which they are get a better one.
STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7781 }
.title { font-size: 15px; font-weight: 600 } .chime { fill: #2f81f7; font-weight: 600 } .bad { fill: #e5534b }
.grid { stroke: #8b949e; stroke-opacity: 0.35 }
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


def draw(rows):
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


def recorded():
    table = next(table for table in json.loads(RESULTS.read_text())["tables"] if table["kind"] == "missed")
    rows = {row["label"]: row["results"][0] for row in table["rows"] if row["results"]}
    return {name: {"at_ms": rows[label]["at_ms"], "counted": rows[label]["due_times"][3]}
            for label, name in ROWS.items() if label in rows}


if __name__ == "__main__":
    if "--record" in sys.argv:
        lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in recorded().items()]
        DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    draw(json.loads(DATA.read_text()))
