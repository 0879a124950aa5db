"""Has misuse.c make each of its mistakes, reads the trace, has gdb look at it, and compares all with the list in Troubleshooting.md.

    check.py BUILD [--list]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[3]
build = pathlib.Path(sys.argv[1]).resolve()
page = root / "Sources/Chime/Chime.docc/Troubleshooting.md"
HEADING = "### What each mistake looks like\n"
# What is listed of a mistake; what is empty is left out.
PARTS = ("calls", "explain", "dump", "trace", "gdb")


def run(mistake, trace, *before):
    environment = {**os.environ, "CHIME_TRACE": str(trace), "MISUSE_PLUGIN": str(build / "plugin.so")}
    if before:
        environment |= {"MISUSE_DEBUGGER": "1"}
    return subprocess.run([*before, build / "misuse", mistake], env=environment, capture_output=True, text=True, timeout=120)


def plain(text):
    """Without what differs from run to run."""
    text = re.sub(r"timer \d{10,}|(?<=\()\d{10,}(?=\))|(?<=thread )\d+", lambda found: "timer …" if found[0][0] == "t" else "…", text)
    return re.sub(r"(was (?:due|suspended)|, due(?: in)?|processed) [\d.]+ (?:ns|us|ms|s|min)\b", r"\1 …", text)


def cell(lines):
    if lines is None:
        return None
    return "; ".join(lines) or "–"


def timers(lines):
    """The lines of timers, without the ids; how many ticks there were until then does not matter."""
    found = [re.sub(r"^timer \S+ ", "", plain(line)) for line in lines if line.startswith("timer ")]
    return [re.sub(r"(every .*), \d+ ticks", r"\1, … ticks", line) for line in found] or ["no line"]


def of_trace(path, crashes):
    """What there is on the track of each timer."""
    tracks, names = {}, {}
    for event in json.loads(path.read_text())["traceEvents"]:
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            names[track] = event["args"]["name"]
        elif event["tid"] and event["ph"] in "iBE":
            events = tracks.setdefault(track, [])
            what = {"E": "its end"}.get(event["ph"]) or event["name"]
            if not (crashes and what in events):
                events.append(what)
    # Two threads that report may do so in either order.
    order = "created activated suspended released finished tick".split()
    place = {event: position for position, event in enumerate(order)}
    for events in tracks.values():
        events.sort(key=lambda event: place.get(event, len(order)))
    found = [f'"{names[track]}": {", ".join(events)}' for track, events in tracks.items()]
    return found or ["nothing"]


def row(mistake):
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory) / "trace.json"
        done = run(mistake, trace)
        crashes = mistake.endswith("it crashes")
        assert done.returncode == (-11 if crashes else 0), (mistake, done)
        said = {"answer": [], "explain": [], "dump": []}
        for line in done.stdout.splitlines():
            what, text = line.split(": ", 1)
            said[what].append(text)
        traced = of_trace(trace, crashes)
        dump = ["–"] if crashes else timers(said["dump"])
        in_gdb = gdb(mistake, trace, crashes, dump)
    answers = [re.sub(r"^(\w+) (\w+)", r"`\1`: `\2`", plain(answer)) for answer in said["answer"]]
    explained = [re.sub(r"^CHIME_\w+$", r"`\g<0>`", plain(text)) for text in said["explain"]]
    return [mistake, *map(cell, (answers, explained, dump, traced, in_gdb))]


def gdb(mistake, trace, crashes, dump):
    if shutil.which("gdb") is None:
        return None
    done = run(mistake, trace, "gdb", "-q", "-batch", "-iex", "set debuginfod enabled off",
               "-x", root / "Sources/install/chime.gdb", "-ex", "run", "-ex", "chime-dump", "--args")
    if "not permitted" in done.stderr:
        return None
    assert crashes or "SIGTRAP" in done.stdout, done
    found = timers(done.stdout.splitlines())
    if found == dump:
        return ["as the dump"]
    if crashes:
        assert re.search(r"SIGSEGV.*\n(\[.*\n)*0x\w+ in \?\? \(\)", done.stdout), done
        # It depends on gdb how late the next tick is meanwhile.
        late = r"due (?:in …|… ago)(.*?)(?:, \d+ missed while its handler runs|, its handler runs)"
        return ["SIGSEGV in ??", *(re.sub(late, r"due …\1, its handler runs", line) for line in found)]
    return found


def written(mistake, *parts):
    """A mistake as the page has it. gdb says what the dump does, unless the page says otherwise."""
    lines = [f"- {name}: {text}" for name, text in zip(PARTS, parts) if text not in (None, "–", "as the dump")]
    return "\n".join([f"**{mistake[0].upper()}{mistake[1:]}**", "", *lines, ""])


wanted = {}
section = page.read_text().partition(HEADING)[2].partition("\n### ")[0]
for title, lines in re.findall(r"^\*\*(.+)\*\*\n\n((?:- .+\n)+)", section, re.M):
    wanted[title.lower()] = dict(line[2:].split(": ", 1) for line in lines.splitlines())
mistakes = subprocess.run([build / "misuse"], capture_output=True, text=True, check=True).stdout.splitlines()
wrong = 0
if not sys.argv[2:]:
    assert [mistake.lower() for mistake in mistakes] == list(wanted), f"{mistakes}, and {page.name} has {list(wanted)}"
for mistake in mistakes:
    found = row(mistake)
    if sys.argv[2:]:
        print(written(*found))
        continue
    without_gdb = found[-1] is None or found[-1] == "–"
    on_page = wanted[mistake.lower()]
    expected = [on_page.get(name, "as the dump" if name == "gdb" else "–") for name in PARTS]
    compared = slice(-1 if without_gdb else None)
    if found[1:][compared] != expected[compared]:
        wrong += 1
        print(f"of {mistake} Chime says\n  {found[1:]}\nand {page.name}\n  {expected}")
    else:
        print(f"ok {mistake}{': gdb left out, ptrace is not permitted' if without_gdb else ''}")
sys.exit(wrong > 0)
