"""Prints the tables of README.md as Markdown, out of build/results.json: the least of all rounds.

    figures.py [RESULTS...]     of several runs, the least of all
"""
import json
import sys
from pathlib import Path

COLUMNS = [("create … release, 0 pending", "create + start + cancel + release, 0 pending"),
           ("10^6 pending", "create + start + cancel + release, 1,000,000 pending"),
           ("idle timeout, 10^3", "postpone a random timer, an idle timeout of 30 s, 1,000 pending"),
           ("10^5", "postpone a random timer, an idle timeout of 30 s, 100,000 pending"),
           ("10^6", "postpone a random timer, an idle timeout of 30 s, 1,000,000 pending"),
           ("by minutes, 10^6", "postpone a random timer, by minutes, 1,000,000 pending")]
# Where a timer is made and where it is moved, the same form has two names.
FORMS = {"deadline": "by deadline", "postpone_until": "by deadline", "delay": "by delay", "postpone": "by delay",
         "reschedule": "reschedule"}


def row_name(label):
    name, _, form = label.partition(", ")
    return f"{name}, {FORMS.get(form, form)}" if form else name


def rows_of(runs, title, key):
    """The least value of each row of the tables with that title."""
    found = {}
    for run in runs:
        for table in run["tables"]:
            if table["title"] != title:
                continue
            for row in table["rows"]:
                numbers = [result[key] for result in row["results"] if key in result]
                if numbers:
                    name = row_name(row["label"])
                    found[name] = min(numbers + [found[name]] if name in found else numbers)
    return found


def cell(number):
    return "–" if number is None else f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def costs(runs):
    columns = [rows_of(runs, title, "ns") for _, title in COLUMNS]
    names = list(dict.fromkeys(name for column in columns for name in column))
    print("| | " + " | ".join(heading for heading, _ in COLUMNS) + " |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for name in names:
        print(f"| {name} | " + " | ".join(cell(column.get(name)) for column in columns) + " |")


def expiries(runs):
    titles = dict.fromkeys(table["title"] for run in runs for table in run["tables"] if table["title"].startswith("expiry"))
    for title in titles:
        print(f"\n{title}: ns of CPU for each tick\n")
        for name, number in sorted(rows_of(runs, title, "cpu_ns").items(), key=lambda item: item[1]):
            print(f"- {name}: {number:,.0f}")


def main():
    paths = sys.argv[1:] or [Path(__file__).resolve().parent / "build" / "results.json"]
    runs = [json.loads(Path(path).read_text()) for path in paths]
    costs(runs)
    expiries(runs)


if __name__ == "__main__":
    main()
