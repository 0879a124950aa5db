"""The figures of README.md, of one run of `make figures`: what each is called, and where it goes. Other pages quote README.md;
.ci/figures.py says where one differs.

    figures.py            prints them, out of build/
    figures.py --places   only whether each place is still in its page
"""
import json
import sys
from pathlib import Path

import tables

HERE = Path(__file__).resolve().parent
ROOT, BUILD = HERE.parent.parent, HERE / "build"
CHIME = ("serial", "concurrent", "precise", "shared", "bound")
EXPIRY = "expiry of {} one-shots spread over one second"
BENCHMARKS = "Tests/Benchmarks/README.md"


class Results:
    def __init__(self):
        path = BUILD / "results.json"
        run = json.loads(path.read_text()) if path.exists() else {}
        found, self.machine = run.get("tables", []), run.get("machine", "not measured")
        self.rows = {(table["title"], row["label"]): row["results"] for table in found for row in table["rows"]}
        path = BUILD / "sizes.json"
        self.sizes = json.loads(path.read_text()) if path.exists() else {}

    def least(self, title, *labels, name="ns"):
        """Of several rows a range."""
        numbers = sorted(min(result[name] for result in self.rows[title, label]) for label in labels if self.rows.get((title, label)))
        return "not measured" if not numbers else to(numbers[0], numbers[-1])

    def late(self, *labels):
        """The median of the rounds' medians, in microseconds."""
        title = next((title for title, _ in self.rows if title.startswith("lateness")), "")
        numbers = sorted(tables.median(result["late_ns"][50] for result in self.rows[title, label]) / 1e3
                         for label in labels if self.rows.get((title, label)))
        return "not measured" if not numbers else to(numbers[0], numbers[-1])

    def size(self, kind, name):
        return f"{self.sizes[kind][name]:,}" if kind in self.sizes else "not measured"


def to(least, most):
    first, last = (f"{number:.1f}" if number < 10 else f"{number:,.0f}" for number in (least, most))
    return first if first == last else f"{first} to {last}"


def chime(form):
    return [f"chime {kind}{form}" for kind in CHIME]


def expiry(results, number):
    title = EXPIRY.format(number)
    return [(f"chime {kind}, leeway {leeway}", results.least(title, f"chime {kind}, leeway {leeway}", name="cpu_ns"))
            for leeway in ("1 ms", "0") for kind in CHIME] + [
        (label, results.least(title, label, name="cpu_ns")) for label in (
            "libev *", "asio", "glib", "tokio", "libuv *", "libevent *", "go", "dispatch")]


def output(name, command):
    path = BUILD / name
    return lambda results: [(command, path.read_text().rstrip() if path.exists() else "not measured")]


# (page, a text there, what stands beside it): each figure with the call that it is of.
PLACES = [
    (BENCHMARKS, "| memory of a queue:", lambda results: [
        *((f"chime_memory_used, a queue, {kind}", results.size(kind, "used")) for kind in ("serial", "host", "virtual")),
        *((f"resident, a queue, {kind}", results.size(kind, "resident")) for kind in ("serial", "host", "virtual"))]),
    (BENCHMARKS, "| of a pending timer, by `chime_memory_used`", lambda results: [
        ("chime_memory_used, a pending timer", results.size("timer", "used"))]),
    (BENCHMARKS, "| size on x86-64", lambda results: [
        ("libchime.so.0, bytes", f"{(ROOT / 'examples-c/build/lib/libchime.so.0').stat().st_size:,}")]),
    (BENCHMARKS, "`pictures/data.json` (version", lambda results: [("missed.svg", "picture.py --record has drawn it")]),
    (BENCHMARKS, "The machine:", lambda results: [("processor and kernel", results.machine)]),
    (BENCHMARKS, "| | create … release, 0 pending |", output("first-table.txt", "tables.py")),
    (BENCHMARKS, "| 10^6 one-shots", lambda results: expiry(results, "1,000,000")),
    (BENCHMARKS, "| 10^5 one-shots", lambda results: expiry(results, "100,000")),
    (BENCHMARKS, "| memory of a pending timer", lambda results: [
        (label, results.least("memory, 1,000,000 pending", label, name="bytes")) for label in (
            "chime serial", "libev *", "go", "libuv *", "libevent *", "glib", "asio", "dispatch", "tokio")]),
    (BENCHMARKS, "| lateness of a 10 ms timer", lambda results: [
        (label, results.late(label)) for label in (
            *chime(""), "nanosleep", "timerfd", "dispatch", "asio", "libev *", "tokio", "go", "glib", "libuv *")]),
    (BENCHMARKS, "| two threads", lambda results: [
        (f"{label}, millions a second", to(*[max(result["shared"] for result in results.rows[title, label])] * 2))
        for title, label in results.rows if title.startswith("threads") and results.rows[title, label]]),
    (BENCHMARKS, "| loading the library", output("first-tick.txt", "make first-tick")),
    (BENCHMARKS, "## Swift, side by side", output("swift-costs.txt", "make swift-costs")),
    (BENCHMARKS, "## Instructions", output("counts-now.txt", "make counts")),
    (BENCHMARKS, "## Threads of its own", output("wakeups.txt", "make wakeups")),
]


def main():
    results = Results()
    for page, text, figures in PLACES:
        lines = [number for number, line in enumerate((ROOT / page).read_text().splitlines(), 1) if text in line]
        if not lines:
            sys.exit(f"figures.py: {page} has no {text!r} any more")
        if "--places" not in sys.argv:
            print(f"\n{page}:{lines[0]}: {text}")
            for call, figure in figures(results):
                print(f"    {call}: {figure}" if "\n" not in figure else f"    {call}:\n{figure}")
    if "--places" in sys.argv:
        print(f"ok: {len(PLACES)} places of figures are in their pages")


main()
