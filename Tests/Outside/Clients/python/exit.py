"""Ends with timers that tick on other threads. The wrapper shuts their queues down with the interpreter; with
`--without-atexit` nobody does, and the program must end with its own status all the same.
"""
import atexit
import sys
import time

import chime_timers as chime
from chime_timers import queues as wrapper

if "--without-atexit" in sys.argv:
    atexit.unregister(wrapper._shut_down)
    chime.Queue.__del__ = chime.Timer.__del__ = lambda self: None
ticks = []
kinds = chime.QueueKind.SERIAL, chime.QueueKind.CONCURRENT, chime.QueueKind.PRECISE
queues = [chime.Queue(kind) for kind in kinds]
timers = [queue.every(100_000, lambda tick: ticks.append(tick.sequence)) for queue in queues]
deadline = time.monotonic() + 30
while len(ticks) < 20 and time.monotonic() < deadline:
    time.sleep(0.001)
sys.exit(0 if len(ticks) >= 20 else 3)
