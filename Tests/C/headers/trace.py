"""Runs trace.c in each of its ways and reads what it has traced, as whoever opens the file does.

    trace.py PROGRAM
"""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1]).resolve()


def run(*arguments, program=program, **environment):
    return subprocess.run(
        [program, *map(str, arguments)], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


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
    assert labels[0] == 'say "hello"\\' and labels[2] == "c", labels
    assert labels[1].startswith("\u23f0 with a label of more") and len(labels[1].encode()) <= 39, labels
    missed = [e for events in tracks.values() for e in events if e.get("args", {}).get("missed", 0) > 0]
    assert any(e["args"]["missed"] == 3 for e in missed), missed
    merged = [e["args"] for events in tracks.values() for e in events if e["ph"] == "C" and e["name"] == "wake-ups"]
    assert all(m["all"] > 0 and m["merged"] >= 0 for m in merged)
    for name in ("created", "activated", "finished", "suspended", "released"):
        assert any(e["name"] == name for events in tracks.values() for e in events if e["ph"] == "i"), name


with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    directory.chmod(0o777)
    path = directory / "trace.json"

    done = run("env", CHIME_TRACE=str(directory / "by-%p.json"))
    assert done.returncode == 0, done
    (written,) = directory.glob("by-*.json")
    assert written.stem.removeprefix("by-").isdigit()
    expect_three_queues(done, written)

    done = run("kill", CHIME_TRACE=str(path))
    assert done.returncode == -9, done
    expect_three_queues(done, path)

    done = run("call", path)
    assert done.returncode == 0, done
    tracks, names, dropped = read(path)
    assert dropped == 0 and list(expect_ticks(done.stdout, tracks, names).values()) == [2]
    assert "older" in names.values() and "before" in names.values(), names

    done = run("flood", path)
    assert done.returncode == 0, done
    tracks, names, dropped = read(path)
    seen = sum(len(events) for events in tracks.values())
    assert dropped > 0 and seen >= 8191 and seen + dropped == int(done.stdout.split()[1]), (seen, dropped)

    done = run("fork", path)
    assert done.returncode == 0, done
    tracks, names, dropped = read(path)
    assert dropped == 0 and list(expect_ticks(done.stdout, tracks, names).values()) == [3]
    assert not any("child" in name for name in names.values()), names

    done = run("env", CHIME_TRACE=str(directory / "missing" / "x.json"))
    assert done.returncode == 0 and "CHIME_TRACE" in done.stderr, done

    # With another user's rights the variable is ignored; without, the same copy writes.
    rights = "not tried: not root"
    if os.geteuid() == 0:
        copy = directory / "copy"
        shutil.copy(program, copy)
        os.chown(copy, 65534, 65534)
        for mode, expected in ((0o755, True), (0o4755, False)):
            copy.chmod(mode)
            made = directory / f"{mode:o}.json"
            done = run("env", program=copy, CHIME_TRACE=str(made))
            assert done.returncode == 0, done
            if not expected and os.statvfs(directory).f_flag & os.ST_NOSUID:
                rights = "not tried: nosuid"
            else:
                assert made.exists() == expected, (mode, done)
                rights = "ignored with another user's rights"

print(f"ok trace files: all are JSON, that of a killed program, too; CHIME_TRACE is {rights}")
