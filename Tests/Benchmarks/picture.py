"""Draws the picture of the front page, pictures/missed.svg, from the numbers in pictures/data.json. Standard library only.

    picture.py            draws
    picture.py --record   first takes the numbers from build/results.json, of make run ARGS='--only missed'

At most eight rows, legible on light and dark pages and at the width of a phone, 30 KB or less.
"""
import json
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parent / "pictures"
RESULTS = PICTURES.parent / "build/results.json"
DATA = PICTURES / "data.json"

# Rows of results.json, how the picture names them, and what was called.
ROWS = {"chime serial": ("Chime", "chime_timer_every"), "dispatch": ("libdispatch", "DispatchSourceTimer"),
        "tokio": ("tokio", "time::interval"), "libev *": ("libev", "ev_timer"), "libuv *": ("libuv", "uv_timer_start"),
        "libevent *": ("libevent", "EV_PERSIST")}

# Each colour can be read on white and on black; pages that say which they are get a better one.
STYLE = """<style>
text { font: 15px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7781 }
.title { font-size: 16px; font-weight: 600 } .name { font-weight: 600 } .call { font: 12px ui-monospace, Menlo, Consolas, monospace } .chime { fill: #2f81f7; font-weight: 600 } .bad { fill: #e5534b }
.grid { stroke: #8b949e; stroke-opacity: 0.35 }
.dot { fill: #8b949e } .dot.chime { fill: #2f81f7 } .dot.bad { fill: #e5534b } .slow { fill-opacity: 0.3 }
.missed { fill: none; stroke: #8b949e; stroke-width: 2 } .missed.chime { stroke: #2f81f7 } .missed.bad { stroke: #e5534b }
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

    def ring(self, x, y, kind):
        self.draw(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="missed {kind}"/>')

    def box(self, x1, x2, y, kind):
        self.draw(f'<rect x="{x1:.1f}" y="{y - 4.5:.1f}" width="{x2 - x1:.1f}" height="9" class="{kind}"/>')

    def save(self, name):
        text = "\n".join(self.lines + ["</svg>", ""])
        assert len(text) <= 30_000, f"{name}: {len(text)} bytes"
        (PICTURES / name).write_text(text)
        print(PICTURES / name, len(text), "bytes")


def draw(rows):
    """A dot where each tick's handler was called, on the grid of the schedule; a ring where a tick was due and none came."""
    width, left, right, top, step, end_ms = 460, 16, 444, 104, 56, 950
    bottom = top + step * len(rows)

    def x(ms):
        return left + (right - left) * ms / end_ms
    picture = Picture(width, bottom + 26, "A 100 ms timer; its third handler takes 260 ms")
    picture.box(16, 44, 46, "dot slow")
    picture.text(50, 51, "the third handler runs")
    picture.dot(232, 46, "")
    picture.text(242, 51, "a tick")
    picture.ring(316, 46, "")
    picture.text(327, 51, "a missed one")
    for ms in range(0, end_ms, 100):
        picture.line(x(ms), top - 26, x(ms), bottom - 18, "grid")
        if ms % 200 == 0:
            picture.text(x(ms), bottom + 2, str(ms), anchor="middle" if ms else "start")
    picture.text(left, bottom + 20, "ms after the start")
    for number, (name, row) in enumerate(rows.items()):
        y = top + step * number
        picture.row()
        at = [ms for ms in row["at_ms"] if ms < end_ms]
        counted = row["counted"]
        is_off_grid = at[-1] % 100 > 20
        is_twice = at[4] - at[3] < 5
        own = "chime" if name == "Chime" else "bad" if is_off_grid or is_twice else ""
        words = [f"{at[-1] % 100:.0f} ms off grid" if is_off_grid else "on grid"]
        words += ["two at once"] if is_twice else []
        words += [f"{counted - 1:.0f} counted"] if counted > 1 else []
        picture.text(left, y - 11, f'{name} <tspan class="call">{row["call"]}</tspan>', f"name {own}")
        picture.text(right, y - 11, ", ".join(words), "bad" if own == "bad" else "", anchor="end")
        picture.box(x(at[2]), x(at[2] + 260), y + 8, f"dot slow {own}")
        for index, ms in enumerate(at):
            # Off the grid or at once: from the fourth tick on.
            picture.dot(x(ms), y + 8 - (6 if is_twice and index == 4 else 0), own if own != "bad" or index > 2 else "")
        # Two ticks fall due while the handler runs. Each that comes by the next due time stands for one of them.
        came = sum(400 < ms < 599 for ms in at)
        for due in (400, 500)[min(came, 2):]:
            picture.ring(x(due), y + 8, own)
    picture.save("missed.svg")


def recorded():
    table = next(table for table in json.loads(RESULTS.read_text())["tables"] if table["kind"] == "missed")
    rows = {row["label"]: row["results"][0] for row in table["rows"] if row["results"]}
    return {name: {"call": call, "at_ms": rows[label]["at_ms"], "counted": rows[label]["due_times"][3]}
            for label, (name, call) in ROWS.items() if label in rows}


if __name__ == "__main__":
    if "--record" in sys.argv:
        lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in recorded().items()]
        DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    draw(json.loads(DATA.read_text()))
