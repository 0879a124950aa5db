"""Draws Chime.docc/trace.svg, the picture of a trace in Troubleshooting.md: runs a program with CHIME_TRACE and draws
a track for each timer, as Perfetto does. Standard library only.

    LIB=../../examples-c/build/lib python3 trace_picture.py
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import readme_pictures
from readme_pictures import Picture

ROOT = Path(__file__).resolve().parent.parent.parent
MARKS = {"suspended": "suspended", "resumed": "resumed", "cancelled": "cancelled"}


def program():
    """Two queues for 400 ms: on one, a handler takes 130 ms of its second call, and a timer behind it is late."""
    import time
    import chime_timers as chime
    ms = chime.MILLISECOND
    polls, jobs = chime.Queue(label="sensors"), chime.Queue(label="jobs")

    def start(queue, label, first_ms, interval_ms, function):
        return queue.start(chime.Schedule(first=first_ms * ms, interval=interval_ms * ms), function, label=label)

    held = [start(polls, "thermometer", 50, 100, lambda tick: time.sleep(0.13 if tick.sequence == 2 else 0.01)),
            start(polls, "fan", 20, 40, lambda tick: time.sleep(0.003)),
            start(jobs, "backup", 30, 60, lambda tick: time.sleep(0.005))]
    time.sleep(0.19)
    held[2].suspend()
    time.sleep(0.21)
    for queue in (polls, jobs):
        queue.shutdown()


def draw(events):
    def named(kind, *key):
        return {tuple(event[part] for part in key): event["args"]["name"]
                for event in events if event.get("name") == kind}

    queues, tracks = named("process_name", "pid"), named("thread_name", "pid", "tid")
    timers = [key for key, name in tracks.items() if name != "callbacks"]
    begin = min(event["ts"] for event in events if event.get("name") == "created")
    left, right, top, step, end_ms = 180, 660, 62, 34, 400
    bottom = top + step * len(timers)

    def x(ts):
        return left + (right - left) * min((ts - begin) / 1000, end_ms) / end_ms

    picture = Picture(890, bottom + 34, "A trace: what each timer did")
    for ms in range(0, end_ms + 1, 50):
        picture.line(x(begin + 1000 * ms), top - 18, x(begin + 1000 * ms), bottom - 8, "grid")
        picture.text(x(begin + 1000 * ms), bottom + 10, str(ms), anchor="middle")
    picture.text(right + 22, bottom + 10, "ms")
    for number, key in enumerate(timers):
        y = top + step * number
        picture.row()
        own = [event for event in events
               if (event["pid"], event["tid"]) == key and event["ts"] <= begin + 1000 * end_ms]
        picture.text(left - 14, y + 5, f"{queues[key[:1]]}: {tracks[key]}", anchor="end")
        opened, missed, last = None, 0, ""
        for event in own:
            if event["ph"] == "B":
                opened = event
                missed += event.get("args", {}).get("missed", 0)
            elif event["ph"] == "E" and opened:
                slow = event["ts"] - opened["ts"] > 50_000
                picture.box(x(opened["ts"]), max(x(event["ts"]), x(opened["ts"]) + 1.5), y, "bad" if slow else "chime")
                if slow:
                    last = "its handler takes 130 ms"
            elif event.get("name") in MARKS:
                picture.dot(x(event["ts"]), y, "bad")
                last = MARKS[event["name"]]
        if missed and not last:
            last = f"{missed} missed, behind that handler"
        picture.text(right + 22, y + 5, last, "bad" if last else "")
    readme_pictures.PICTURES = ROOT / "Sources/Chime/Chime.docc"
    picture.save("trace.svg")


def main():
    library = Path(os.environ.get("LIB", ROOT / "examples-c/build/lib")).resolve() / "libchime.so.1"
    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory) / "trace.json"
        subprocess.run([sys.executable, __file__, "--program"], check=True, timeout=60, env=os.environ | {
            "CHIME_TRACE": str(trace), "CHIME_LIBRARY": str(library), "PYTHONPATH": str(ROOT / "Sources/Bindings/python"),
            "PYTHONDONTWRITEBYTECODE": "1"})
        draw(json.loads(trace.read_text())["traceEvents"])


if __name__ == "__main__":
    program() if sys.argv[1:] == ["--program"] else main()
