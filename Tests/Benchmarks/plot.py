"""Draws build/results.json: cost against the number of pending timers, and distributions of lateness. Writes SVG files
to build/, with every row. The pictures for readers are readme_pictures.py's. Needs matplotlib (apt-get install
python3-matplotlib)."""
import json
from pathlib import Path

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (after use)

BUILD = Path(__file__).resolve().parent / "build"
# Text stays text, and the same numbers give the same file.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "chime"})


class Styles:
    """Chime's rows are thick; a floor is dotted, in the colour of Chime's rows of the same form (by deadline, by delay,
    rescheduled); each peer has a colour of its own."""
    FORMS = {"deadline": "Blues", "delay": "Greens", "postpone_until": "Blues", "postpone": "Greens",
             "reschedule": "Purples", "leeway 1 ms": "Greens"}
    PEERS = ("tab:red", "tab:orange", "tab:brown", "tab:pink", "tab:olive", "goldenrod", "black", "tab:gray", "darkred",
             "teal", "magenta", "indigo")

    def __init__(self):
        self.seen = {}

    def next(self, label, group):
        form = self.FORMS.get(label.rpartition(", ")[2], "Blues")
        number = self.seen[group, form] = self.seen.get((group, form), -1) + 1
        if group == "chime":
            return {"linewidth": 2, "color": plt.get_cmap(form)(0.95 - 0.1 * number)}
        if group == "floor":
            return {"linewidth": 1.5, "linestyle": ":", "color": plt.get_cmap(form)(0.9)}
        return {"linewidth": 1, "linestyle": "--", "color": self.PEERS[number % len(self.PEERS)]}


def save(figure, axes, name):
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    path = BUILD / f"{name}.svg"
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None}, facecolor="white")
    plt.close(figure)
    print(path)


def draw_cost(name, tables):
    """A line for each row that the tables, one for each number of pending timers, have in common."""
    lines = {}
    for table in tables:
        for row in table["rows"]:
            if row["results"]:
                cost = min(result["ns"] for result in row["results"])
                lines.setdefault((row["label"], row["group"]), []).append((table["pending"], cost))
    figure, axes = plt.subplots(figsize=(8, 6))
    styles = Styles()
    for (label, group), points in lines.items():
        axes.plot(*zip(*points), marker=".", label=label, **styles.next(label, group))
    axes.set_xscale("symlog", linthresh=1000)
    axes.set_yscale("log")
    title = tables[0]["title"].rpartition(", ")[0]  # without the number
    axes.set(title=title, xlabel="timers pending", ylabel="ns for each operation, smallest of the rounds")
    save(figure, axes, name)


def draw_lateness(name, table):
    """How many of the ticks were at most so late; of the last round."""
    figure, axes = plt.subplots(figsize=(8, 6))
    rows = [row for row in table["rows"] if row["results"]]
    styles = Styles()
    for row in rows:
        late_us = [ns / 1e3 for ns in row["results"][-1]["late_ns"]]
        axes.plot(late_us, range(len(late_us)), label=row["label"], **styles.next(row["label"], row["group"]))
    axes.set_xscale("symlog", linthresh=1)
    axes.axvline(0, color="black", linewidth=0.5)
    axes.set(title=table["title"], xlabel="us late (below 0: early)", ylabel="% of ticks")
    save(figure, axes, name)


def main():
    costs = {}
    for table in json.loads((BUILD / "results.json").read_text())["tables"]:
        if table["kind"] == "cost":
            costs.setdefault(table["plot"], []).append(table)
        elif "plot" in table:
            draw_lateness(table["plot"], table)
    for name, tables in costs.items():
        draw_cost(name, tables)


if __name__ == "__main__":
    main()
