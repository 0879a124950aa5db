"""Runs trace_faults.c in each of its ways and reads the files: all are JSON, and hold what was traced into them.

    trace_faults.py PROGRAM [NAME...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

program = pathlib.Path(sys.argv[1]).resolve()
wanted = sys.argv[2:]


def run(*arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (arguments, done)


def read(path):
    """Names, what events are called, and how many were dropped."""
    whole = json.loads(path.read_text())
    names = {event["args"]["name"] for event in whole["traceEvents"] if event["ph"] == "M"}
    events = [event["name"] for event in whole["traceEvents"] if event["ph"] in "iB"]
    return names - {"callbacks"}, events, whole["otherData"]["dropped"]


def read_soon(path, least_dropped):
    """The same once the writer has mended what a full disk took a part of."""
    for _ in range(3000):
        try:
            found = read(path)
            if found[2] >= least_dropped:
                return found
        except json.JSONDecodeError:
            pass
        time.sleep(0.01)
    return read(path)


def ticks_of(path, count):
    """Of a file with the ticks of one timer and nothing that was dropped: what else is in it."""
    names, events, dropped = read(path)
    assert dropped == 0, (path, dropped)
    assert events.count("tick") == count, (path, events)
    return names, [event for event in events if event not in ("tick", "timer", "child's")]


def forks(directory):
    run("forks", directory)
    names, events, _ = read(directory / "parent-0.json")
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
        assert read(file) == (set(), [], 0), file


def reopen(directory):
    path = directory / "trace.json"
    run("reopen", path)
    assert ticks_of(path, 5) == ({"queue", "timer"}, [])


def talk(answer, *arguments):
    """Runs the program; whenever it says something it waits for `answer`."""
    command = [program, *map(str, arguments)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for line in running.stdout:
            answer(line.strip())
            running.stdin.write("\n")
            running.stdin.flush()
        assert running.wait(60) == 0, (arguments, running.returncode)
    finally:
        running.kill()
        running.wait()


def fill(directory):
    """SIGXFSZ ignored, and not ignored."""
    for number, options in enumerate((["ignored"], [])):
        path = directory / f"{number}.json"
        dropped = [0]
        talk(lambda line: dropped.append(read_soon(path, dropped[-1] + 1)[2]), "fill", path, *options)
        _, events, all_dropped = read(path)
        assert len(dropped) == 3 and 0 < dropped[1] < dropped[2] <= all_dropped, (dropped, all_dropped)
        assert events.count("tick") == 3, events


def fill_disk(directory):
    """A disk of 512 KiB: full, and with room again; the file is completed by the program's end."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "trace", directory], capture_output=True).returncode:
        return "a disk that is full: not tried, none can be mounted"
    try:
        path, ballast = directory / "trace.json", directory / "ballast"

        def empty_when_full(line):
            if line == "full":
                seen.append(path.stat().st_size and read_soon(path, 1)[2])
                ballast.unlink()

        for size in (500000, 524288):  # at 524288 not even the header can be written
            seen = []
            path.unlink(missing_ok=True)
            with open(ballast, "wb", buffering=0) as file:
                file.write(bytes(size))
            talk(empty_when_full, "fill-disk", path)
            assert seen[0] > 0 if size < 524288 else seen == [0], seen
            names, events, dropped = read(path)
            assert dropped > 0 and events.count("tick") == 3, (dropped, events)
    finally:
        subprocess.run(["umount", directory], check=True)


def hang(directory):
    path = directory / "trace.json"
    run("hang", path)
    _, events, dropped = read(path)
    assert len(events) >= 8192 and dropped >= 20002 - len(events), (len(events), dropped)
    run("hang-at-exit", path)


def limit(directory):
    path = directory / "trace.json"
    run("limit", path)
    assert ticks_of(path, 3) == ({"queue", "timer"}, [])


skipped = ""
for test in (forks, openers, reopen, fill, fill_disk, hang, limit):
    if wanted and test.__name__ not in wanted:
        continue
    with tempfile.TemporaryDirectory() as directory:
        skipped = test(pathlib.Path(directory)) or skipped
print("ok trace files: forks, two openers at once, the same path again, a disk that is full or hangs, no memory", skipped)
