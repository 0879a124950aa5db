"""Tables of what the programs have printed. A table knows which numbers of a row it shows and how it sums up rounds.

    tables.py [RESULTS...]     README.md's first table in Markdown, out of build/results.json, of several runs the least
"""
import json
import math
import sys
from pathlib import Path
from statistics import median


class Table:
    """Rows of turns, in columns: (heading, function of the turn that gives text)."""

    def __init__(self, kind, title, note, turns, columns):
        self.kind, self.title, self.note, self.turns, self.columns = kind, title, note, turns, columns

    def text(self):
        width = max([len(turn.label) for turn in self.turns] + [20])
        rounds = max((len(turn.results) for turn in self.turns), default=0)
        lines = [f"{self.title}; {rounds} round{'s' if rounds > 1 else ''}", f"  {self.note}",
                 f"  {'':{width}}" + "".join(f"{heading:>11}" for heading, _ in self.columns)]
        for turn in self.turns:
            if turn.results:
                cells = "".join(f"{cell(turn):>11}" for _, cell in self.columns)
            else:
                cells = f"{'-':>11}  {turn.left_out or 'failed: ' + str(turn.failed)}"
            lines.append(f"  {turn.label:{width}}{cells}")
        return "\n".join(lines)

    def failures(self):
        return [f"{self.title}: {turn.label}: {turn.failed}" for turn in self.turns if turn.failed]

    def as_dictionary(self):
        rows = [{"label": turn.label, "results": turn.results, "left_out": turn.left_out, "failed": turn.failed}
                for turn in self.turns]
        return {"kind": self.kind, "title": self.title, "rows": rows}


def values(turn, name):
    return [result[name] for result in turn.results]


def least(name, digits=1):
    return lambda turn: f"{min(values(turn, name)):.{digits}f}"


def middle(name, digits=1):
    return lambda turn: f"{median(values(turn, name)):.{digits}f}"


def most(name, digits=1):
    return lambda turn: f"{max(values(turn, name)):.{digits}f}"


def percentile(percent, combine=median, unit=1e3):
    """Of the quantiles of each round; in microseconds."""
    def cell(turn):
        number = combine(quantiles[percent] for quantiles in values(turn, "late_ns")) / unit
        return f"{number:.1f}" if number < 10_000 else f"{number:.0f}"
    return cell


def cost(title, turns):
    return Table("cost", title, "ns for each operation; CPU: of all threads, until the work left to others is done", turns,
                 [("min", least("ns")), ("median", middle("ns")), ("CPU", least("cpu_ns"))])


def expiry(title, turns):
    return Table("expiry", title, "CPU: ns for each tick, of all threads; late: us, p50 and p99 the rounds' median",
                 turns,
                 [("CPU", least("cpu_ns", 0)), ("median", middle("cpu_ns", 0)), ("wall s", middle("wall_s", 3)),
                  ("fired", least("fired", 0)), ("early", most("early", 0)), ("late p50", percentile(50)),
                  ("late p99", percentile(99)), ("late max", percentile(100, max))])


def memory(title, turns):
    return Table("memory", title, "bytes of resident memory for each pending timer, its handle included", turns,
                 [("bytes", least("bytes"))])


def beat(title, turns):
    return Table("beat", title, "late: us", turns,
                 [("p50 min", percentile(50, min)), ("p50", percentile(50)), ("p90", percentile(90)),
                  ("p99", percentile(99)), ("max", percentile(100, max)), ("early", most("early", 0))])


def missed(title, turns):
    def after(number):
        return lambda turn: f"{turn.results[0]['at_ms'][number - 1]:.1f}"
    return Table("missed", title, "ms from the start to the call of each tick's handler; counted: due times of tick 4",
                 turns, [(f"tick {number}", after(number)) for number in range(3, 9)] +
                 [("counted", lambda turn: f"{turn.results[0]['due_times'][3]:.0f}")])


def threads(title, turns):
    def times(name):
        return lambda turn: f"{max(values(turn, name)) / max(values(turn, 'one')):.2f}"
    return Table("threads", title, "millions of operations a second in all, best round; x: against one thread", turns,
                 [("one", most("one", 2)), ("2, 1 queue", most("shared", 2)), ("x", times("shared")),
                  ("2, 2 queues", most("own", 2)), ("x", times("own"))])


# ---- README.md -------------------------------------------------------------------------------------------------------

COLUMNS = {"create … release, 0 pending": "create + start + cancel + release, 0 pending",
           "10^6 pending": "create + start + cancel + release, 1,000,000 pending",
           "idle timeout, 10^3": "postpone a random timer, an idle timeout of 30 s, 1,000 pending",
           "10^5": "postpone a random timer, an idle timeout of 30 s, 100,000 pending",
           "10^6": "postpone a random timer, an idle timeout of 30 s, 1,000,000 pending"}
# Their rows are serial queues' over again.
LEFT_OUT = ("chime concurrent", "chime precise")
# Where a timer is made and where it is moved, the same form has two names.
FORMS = {"deadline": "by deadline", "postpone_until": "by deadline", "delay": "by delay", "postpone": "by delay"}


def markdown(runs):
    rows = {}
    for table in (table for run in runs for table in run["tables"] if table["title"] in COLUMNS.values()):
        for row in table["rows"]:
            name, comma, form = row["label"].partition(", ")
            if name in LEFT_OUT:
                continue
            if form == "postpone" and not name.startswith(("chime", "floor")):
                comma = form = ""  # libev's own call; it has no other for a deadline
            cells = rows.setdefault(name + comma + FORMS.get(form, form), {})
            cells[table["title"]] = min([result["ns"] for result in row["results"]] + [cells.get(table["title"], math.inf)])
    print("| | " + " | ".join(COLUMNS) + " |\n| --- |" + " ---: |" * len(COLUMNS))
    for name, cells in rows.items():
        numbers = [cells.get(title, math.inf) for title in COLUMNS.values()]
        print(f"| {name} | " + " | ".join("–" if number == math.inf else f"{number:.1f}" if number < 10 else f"{number:,.0f}"
                                          for number in numbers) + " |")


if __name__ == "__main__":
    markdown([json.loads(Path(path).read_text()) for path in sys.argv[1:] or [Path(__file__).parent / "build/results.json"]])
