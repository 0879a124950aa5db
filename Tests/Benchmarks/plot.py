"""Draws build/results.json: cost against the number of pending timers, and distributions of lateness. Writes SVG files
to build/. Needs matplotlib (apt-get install python3-matplotlib)."""
import json
from pathlib import Path

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (after use)

BUILD = Path(__file__).resolve().parent / "build"
STYLES = {"chime": {"linewidth": 2.2, "linestyle": "-"}, "peer": {"linewidth": 1, "linestyle": "--"},
          "floor": {"linewidth": 1, "linestyle": ":", "color": "black"}}


def style(group, number):
    chosen = dict(STYLES.get(group, STYLES["peer"]))
    chosen.setdefault("color", plt.get_cmap("tab20")(number % 20))
    return chosen


def save(figure, axes, name):
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    path = BUILD / f"{name}.svg"
    figure.savefig(path, bbox_inches="tight")
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
    for number, ((label, group), points) in enumerate(lines.items()):
        axes.plot(*zip(*points), marker=".", label=label, **style(group, number))
    axes.set_xscale("symlog", linthresh=1000)
    axes.set_yscale("log")
    title = tables[0]["title"].rpartition(", ")[0]  # without the number
    axes.set(title=title, xlabel="timers pending", ylabel="ns for each operation, smallest of the rounds")
    save(figure, axes, name)


def draw_lateness(name, table):
    """How many of the ticks were at most so late; of the last round."""
    figure, axes = plt.subplots(figsize=(8, 6))
    for number, row in enumerate(table["rows"]):
        if row["results"]:
            late_us = [ns / 1e3 for ns in row["results"][-1]["late_ns"]]
            axes.plot(late_us, range(len(late_us)), label=row["label"], **style(row["group"], number))
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
