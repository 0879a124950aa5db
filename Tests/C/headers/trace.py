"""Runs trace.c in each of its ways and reads what it has traced, as whoever opens the file does: forks, full disks and disks
that hang included.

    trace.py PROGRAM [NAME...]
"""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

program = pathlib.Path(sys.argv[1]).resolve()


def run(*arguments, program=program, status=0, **environment):
    command, variables = [program, *map(str, arguments)], {**os.environ, **environment}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (arguments, done)
    return done


def read(path):
    """The file's events by track, its names, and what was dropped."""
    whole = json.loads(path.read_text())
    tracks, names = {}, {}
    for event in whole["traceEvents"]:
        track = (event["pid"], event["tid"])
        if event["ph"] == "M":
            names[(event["name"], *track)] = event["args"]["name"]
        else:
            tracks.setdefault(track, []).append(event)
    for events in tracks.values():
        depth = 0
        for before, event in zip([None, *events], events):
            assert before is None or before["ts"] <= event["ts"], (before, event)
            depth += {"B": 1, "E": -1}.get(event["ph"], 0)
            assert whole["otherData"]["dropped"] or depth in (0, 1), events
    return tracks, names, whole["otherData"]["dropped"]


def expect_ticks(output, tracks, names):
    """As many ticks of each timer as the program says; each with its lateness, beside it on the queue's track."""
    wanted = {int(line.split()[1]): int(line.split()[2]) for line in output.splitlines()}
    assert wanted
    for timer, count in wanted.items():
        of_timer = [e for events in tracks.values() for e in events if e.get("args", {}).get("timer") == timer]
        ticks = [e for e in of_timer if e["ph"] == "B" and e["name"] == "tick"]
        assert len(ticks) == count, (timer, count, len(ticks))
        assert [e["args"]["sequence"] for e in ticks] == list(range(ticks[0]["args"]["sequence"], ticks[0]["args"]["sequence"] + count))
        assert all(e["args"]["at"] >= e["args"]["due"] for e in ticks)
        assert ("thread_name", ticks[0]["pid"], ticks[0]["tid"]) in names
        late = [e for e in tracks[(ticks[0]["pid"], 0)] if e.get("name") == "lateness"]
        assert len(late) >= count and all(e["args"]["us"] >= 0 for e in late)
    return wanted


def expect_three_queues(done, path):
    tracks, names, dropped = read(path)
    assert dropped == 0, dropped
    wanted = expect_ticks(done.stdout, tracks, names)
    assert list(wanted.values())[2] == 2 and all(count > 0 for count in wanted.values()), wanted
    processes = [name for what, name in ((key[0], value) for key, value in names.items()) if what == "process_name"]
    assert processes[:2] == ["first", "se\tcond"] and processes[2].startswith("queue "), processes
    labels = [value for key, value in names.items() if key[0] == "thread_name" and key[2] != 0]
    assert labels[0] == 'say "hello"\\\x7f\x9b\u202e' and labels[2] == "c", labels
    assert not {"\x7f", "\x9b", "\u202e"} & set(path.read_text()), "what a terminal obeys stands in the file"
    assert labels[1].startswith("\u23f0 with a label of more") and len(labels[1].encode()) <= 39, labels
    missed = [e for events in tracks.values() for e in events if e.get("args", {}).get("missed", 0) > 0]
    assert any(e["args"]["missed"] == 3 for e in missed), missed
    merged = [e["args"] for events in tracks.values() for e in events if e["ph"] == "C" and e["name"] == "wake-ups"]
    assert all(m["all"] > 0 and m["merged"] >= 0 for m in merged)
    # The second queue's callbacks overlap, so its own track, which is one line, has none.
    pids = [key[1] for key in names if key[0] == "process_name"]
    assert [any(e["ph"] == "B" for e in tracks[(pid, 0)]) for pid in pids[:2]] == [True, False]
    for name in ("created", "activated", "finished", "suspended", "released"):
        assert any(e["name"] == name for events in tracks.values() for e in events if e["ph"] == "i"), name


def variable(directory):
    done = run("env", CHIME_TRACE=str(directory / "by-%p.json"))
    (written,) = directory.glob("by-*.json")
    assert written.stem.removeprefix("by-").isdigit()
    expect_three_queues(done, written)
    # No pipe: nobody reads this one, and nothing waits for that.
    os.mkfifo(directory / "pipe")
    assert "cannot be written" in run("env", CHIME_TRACE=str(directory / "pipe")).stderr
    done = run("env", CHIME_TRACE=str(directory / "missing" / "x.json"))
    assert "CHIME_TRACE" in done.stderr, done
    done = run("env", CHIME_TRACE=str(directory / 'missing' / 'a\x1b[31m"\n\udc9b\u202e'))
    assert '/missing/a\\u001b[31m\\"\\u000a\\ufffd\\u202e"; ' in done.stderr and done.stderr.count("\n") == 1, done


def locks(directory):
    """A reader's lock keeps nobody from writing; a symbolic link is no name for a file."""
    for kind in ("flock", "lockf"):
        path = directory / f"{kind}.json"
        path.write_text("old")
        with path.open("rb") as reader:
            getattr(fcntl, kind)(reader, fcntl.LOCK_SH | fcntl.LOCK_NB)
            expect_three_queues(run("env", CHIME_TRACE=str(path)), path)
    precious, link = directory / "precious", directory / "link"
    precious.write_text("precious")
    link.symlink_to(precious)
    assert "cannot be written" in run("env", CHIME_TRACE=str(link)).stderr and precious.read_text() == "precious"


def kill(directory):
    path = directory / "trace.json"
    expect_three_queues(run("kill", status=-9, CHIME_TRACE=str(path)), path)


def rights(directory):
    """With another user's rights the variable is ignored; without, the same copy writes."""
    if os.geteuid() != 0:
        return "another user's rights: not tried, not root"
    directory.chmod(0o777)
    copy = directory / "copy"
    shutil.copy(program, copy)
    os.chown(copy, 65534, 65534)
    for mode, expected in ((0o755, True), (0o4755, False)):
        copy.chmod(mode)
        made = directory / f"{mode:o}.json"
        done = run("env", program=copy, CHIME_TRACE=str(made))
        if not expected and os.statvfs(directory).f_flag & os.ST_NOSUID:
            return "another user's rights: not tried, nosuid"
        assert made.exists() == expected, (mode, done)


def names_and_events(path):
    """Names, what events are called, and how many were dropped."""
    tracks, names, dropped = read(path)
    events = [event["name"] for events in tracks.values() for event in events if event["ph"] in "iB"]
    return set(names.values()) - {"callbacks"}, events, dropped


def read_soon(path, least_dropped):
    """The same once the writer has mended what a full disk took a part of."""
    for _ in range(3000):
        try:
            found = names_and_events(path)
            if found[2] >= least_dropped:
                return found
        except json.JSONDecodeError:
            pass
        time.sleep(0.01)
    return names_and_events(path)


def ticks_of(path, count):
    """Of a file with the ticks of one timer and nothing that was dropped: what else is in it."""
    names, events, dropped = names_and_events(path)
    assert dropped == 0, (path, dropped)
    assert events.count("tick") == count, (path, events)
    return names, [event for event in events if event not in ("tick", "timer", "child's")]


def forks(directory):
    run("forks", directory)
    names, events, _ = names_and_events(directory / "parent-0.json")
    assert names == {"parent", "parent's"} and len(events) > 1000, (names, len(events))
    children = list(directory.glob("child-*.json"))
    assert len(children) == 40, children
    for child in children:
        assert ticks_of(child, 3) == ({"child", "child's"}, ["created", "activated"]), child


def openers(directory):
    run("openers", directory)
    files = list(directory.glob("*.json"))
    assert len(files) == 400
    for file in files:
        assert names_and_events(file) == (set(), [], 0), file


def reopen(directory):
    path = directory / "trace.json"
    run("reopen", path)
    assert ticks_of(path, 5) == ({"queue", "timer"}, [])


def talk(answer, *arguments, **environment):
    """Runs the program; whenever it says something it waits for `answer`."""
    command = [program, *map(str, arguments)]
    running = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for line in running.stdout:
            answer(line.strip())
            running.stdin.write("\n")
            running.stdin.flush()
        assert running.wait(60) == 0, (arguments, running.returncode)
    finally:
        running.kill()
        running.wait()


def beside(directory):
    """Another process does not write into a file that one writes, and says so once."""
    path = directory / "trace.json"

    def refused(line):
        done = run("env", CHIME_TRACE=str(path))
        if line == "ended":
            return expect_three_queues(done, path)
        assert "another process" in done.stderr and done.stderr.count("\n") == 1, (line, done)
        for _ in range(3000):  # the writer comes to it
            try:
                return ticks_of(path, 2 if line == "begun" else 3)
            except (AssertionError, json.JSONDecodeError):
                time.sleep(0.01)
        return ticks_of(path, 2 if line == "begun" else 3)

    talk(refused, "beside", path, CHIME_TRACE=str(path))


def fill(directory):
    """SIGXFSZ ignored, and the file ended by a call; and neither."""
    for number, options in enumerate((["ignored"], [])):
        path = directory / f"{number}.json"
        dropped = [0]
        talk(lambda line: dropped.append(read_soon(path, dropped[-1] + 1)[2]), "fill", path, *options)
        _, events, all_dropped = names_and_events(path)
        assert len(dropped) == 3 and 0 < dropped[1] < dropped[2] <= all_dropped, (dropped, all_dropped)
        assert events.count("tick") == 3, events


def hang(directory):
    path = directory / "trace.json"
    run("hang", path)
    _, events, dropped = names_and_events(path)
    assert len(events) >= 8192 and dropped >= 20002 - len(events), (len(events), dropped)
    run("hang-at-exit", path)


left_out = []
for test in (variable, locks, kill, rights, forks, openers, reopen, beside, fill, hang):
    if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
        continue
    with tempfile.TemporaryDirectory() as directory:
        left_out.append(test(pathlib.Path(directory)))
print("ok trace files: all are JSON, in each of the ways of trace.c", *filter(None, left_out), sep="; ")
