"""Ends with timers that tick on other threads. The wrapper shuts their queues down with the interpreter; with
`--without-atexit` nobody does, and the program must end with its own status all the same.
"""
import atexit
import sys
import time

import chime

if "--without-atexit" in sys.argv:
    atexit.unregister(chime._shut_down)
    chime.Queue.__del__ = chime.Timer.__del__ = lambda self: None
ticks = []
queues = [chime.Queue(kind) for kind in (0, 1, 3)]  # serial, concurrent, precise
timers = [queue.every(100_000, lambda tick: ticks.append(tick.sequence)) for queue in queues]
deadline = time.monotonic() + 30
while len(ticks) < 20 and time.monotonic() < deadline:
    time.sleep(0.001)
sys.exit(0 if len(ticks) >= 20 else 3)
