"""Draws the pictures of the front page. Standard library only.

    picture.py            draws all
    picture.py --record   first takes the numbers of missed.svg from build/results.json, of make run ARGS='--only missed'
    picture.py --check    fails if a picture is not the one that would be drawn

missed.svg shows pictures/data.json, cost.svg the first table of README.md, queues.svg which thread calls what. Legible on
light and dark pages and at the width of a phone, 30 KB or less.
"""
import json
import math
import re
import sys
from pathlib import Path

PICTURES = Path(__file__).resolve().parent / "pictures"
RESULTS = PICTURES.parent / "build/results.json"
DATA = PICTURES / "data.json"
README = PICTURES.parent / "README.md"

# Rows of results.json, how the picture names them, and what was called.
ROWS = {"chime serial": ("Chime", "chime_timer_every"), "dispatch": ("libdispatch", "DispatchSourceTimer"),
        "tokio": ("tokio", "time::interval"), "libev *": ("libev", "ev_timer"), "libuv *": ("libuv", "uv_timer_start"),
        "libevent *": ("libevent", "EV_PERSIST")}

# Each colour can be read on white and on black; pages that say which they are get a better one.
STYLE = """<style>
text { font: 15px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7781 }
.title { font-size: 16px; font-weight: 600 } .name { font-weight: 600 } .call { font: 12px ui-monospace, Menlo, Consolas, monospace } .chime { fill: #2f81f7; font-weight: 600 } .bad { fill: #e5534b }
.grid { stroke: #8b949e; stroke-opacity: 0.35 }
.dot { fill: #8b949e } .dot.chime, .dot.own { fill: #2f81f7 } .dot.bad { fill: #e5534b } .slow { fill-opacity: 0.3 }
.curve { fill: none; stroke: #8b949e; stroke-width: 1.5 } .curve.own { stroke: #2f81f7; stroke-width: 2.5 } .queue { fill: none; stroke: #2f81f7; stroke-width: 1.5 }
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

    def arrow(self, x1, y1, x2, y2, kind=""):
        turn = math.atan2(y2 - y1, x2 - x1)
        head = " ".join(f"L{x2 - 8 * math.cos(turn + side):.1f} {y2 - 8 * math.sin(turn + side):.1f}" for side in (0.4, -0.4))
        self.draw(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="curve {kind}"/>'
                  f'<path d="M{x2:.1f} {y2:.1f}{head}Z" class="dot {kind}"/>')

    def frame(self, x, y, width, height, kind):
        self.draw(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6" class="{kind}"/>')

    def save(self, name):
        text = "\n".join(self.lines + ["</svg>", ""])
        assert len(text) <= 30_000, f"{name}: {len(text)} bytes"
        if "--check" in sys.argv:
            if (PICTURES / name).read_text() != text:
                sys.exit(f"{PICTURES / name} is not what picture.py draws")
            return
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


# How README.md's first table names the curves of cost.svg, and how the picture does.
CURVES = {"Chime serial, by deadline": "Chime", "libev 4.33 *": "libev *", "tokio 1.24.2": "tokio", "Go 1.19.8": "Go",
          "libuv 1.44.2 *": "libuv *", "libdispatch": "libdispatch", "libevent with locks": "libevent, locks"}


def draw_cost():
    """What it costs to move an idle timeout, by the number of timers: both axes are logarithmic."""
    table = re.search(r"^\| \| create … release, 0 pending.*?\n\n", README.read_text(), re.M | re.S)[0]
    rows = {cells[0]: [float(cell.replace(",", "")) for cell in cells[3:6]]
            for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
            if cells[0] in CURVES}
    assert len(rows) == len(CURVES), f"README.md's first table has no {', '.join(CURVES.keys() - rows.keys())}"
    left, right, top, bottom, least, most = 52, 330, 56, 316, 10, 2000

    def x(timers):
        return left + (right - left) * (math.log10(timers) - 3) / 3

    def y(ns):
        return bottom - (bottom - top) * math.log10(ns / least) / math.log10(most / least)
    picture = Picture(500, 362, "Moving one of many idle timeouts")
    for ns in (10, 100, 1000):
        picture.line(left, y(ns), right, y(ns), "grid")
        picture.text(left - 8, y(ns) + 5, f"{ns:,}", anchor="end")
    picture.text(10, top - 8, "ns")
    for power, number in ((3, "1,000"), (4, "10,000"), (5, "100,000"), (6, "1,000,000")):
        picture.line(x(10**power), top, x(10**power), bottom, "grid")
        picture.text(x(10**power), bottom + 20, number, anchor="middle")
    picture.text(left, bottom + 40, "timers; * not thread-safe")
    below = math.inf
    for label, numbers in sorted(rows.items(), key=lambda row: row[1][-1]):
        is_own = label.startswith("Chime")
        points = [(x(timers), y(ns)) for timers, ns in zip((1e3, 1e5, 1e6), numbers)]
        picture.row()
        curve = "curve own" if is_own else "curve"
        line = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        picture.draw(f'<path d="M{line}" class="{curve}"/>')
        for point in points:
            picture.dot(*point, "chime" * is_own)
        below = min(points[-1][1] + 5, below - 17)
        picture.text(right + 10, below, f"{CURVES[label]}, {numbers[-1]:,.0f}", "chime" * is_own)
    picture.save("cost.svg")


# Queues, and what runs their handlers.
QUEUES = (("serial, concurrent", "threads of Chime's own"), ("precise", "a thread of its own"),
          ("host-driven", "your loop, by one descriptor"), ("main, run loop, dispatch", "the thread that has it"),
          ("virtual", "the test that moves time"))


def draw_queues():
    step, top, middle = 44, 74, 160
    bottom = top + step * len(QUEUES)
    picture = Picture(624, bottom + 6, "Any thread calls; the queue says which thread runs the handlers")
    for x, heading in ((10, "your threads"), (middle, "queues, with their timers"), (392, "handlers run on")):
        picture.text(x, 52, heading, "name")
    centre = (top + bottom - 10) / 2
    for number, call in enumerate(("start", "postpone", "cancel")):
        y = centre + 70 * (number - 1)
        picture.row()
        picture.frame(10, y - 16, 92, 32, "missed")
        picture.text(56, y + 5, call, anchor="middle")
        picture.line(102, y, 122, centre, "missed")
    for number, (queue, place) in enumerate(QUEUES):
        y = top + step * number + 17
        picture.row()
        picture.arrow(122, centre, middle - 4, y)
        picture.frame(middle, y - 17, 190, 34, "queue")
        picture.text(middle + 95, y + 5, queue, anchor="middle")
        picture.arrow(middle + 194, y, 386, y, "own")
        picture.text(394, y + 5, place)
    picture.save("queues.svg")


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
    draw_cost()
    draw_queues()
    if "--check" in sys.argv:
        print("ok: the pictures show what is recorded")
