"""Chime for Python: timers that may be used in any order and from any thread, do not fire early and do not drift.

    import chime_timers as chime

    with chime.Queue(label="sessions") as queue:
        idle = queue.after(30, lambda tick: print("idle"))
        idle.postpone(30)  # at each sign of life

Durations are seconds, or timedeltas; what ends in `_ns` is an int of nanoseconds. Chime has a function from the call that takes
it until its timer is at rest. `chime_timers.aio` is for asyncio, `chime_timers.c` has what the classes do not.
"""

import ctypes as _ctypes
import os as _os
from typing import Union as _Union

from . import c
from .functions import SLICE as _SLICE
from .functions import functions as _functions
from .functions import on_main_thread as _on_main_thread
from .queues import Handler, Queue
from .queues import forget_all as _forget_all
from .timers import Timer
from .values import (FOREVER, FOREVER_NS, Clock, Closed, Duration, Error, Forked, InvalidArgument, LimitReached,
                     MissedPolicy, Outcome, QueueKind, QueueStats, ResumePolicy, Schedule, State, Tick, TickKind, TimedOut,
                     TimerInfo, Unsupported, WouldDeadlock, outcome)
from .values import instant as _instant
from .values import refused as _refused

__version__ = "0.9.0"
__all__ = [
    "FOREVER", "FOREVER_NS", "Clock", "Closed", "Duration", "Error", "Forked", "Handler", "InvalidArgument", "LimitReached",
    "MissedPolicy", "Outcome", "Queue", "QueueKind", "QueueStats", "ResumePolicy", "Schedule", "State", "Tick", "TickKind",
    "TimedOut", "Timer", "TimerInfo", "Unsupported", "WouldDeadlock", "c", "library_version", "memory_used", "now_ns",
    "reinitialize", "sleep_until_ns", "trace_to_file",
]


def library_version() -> str:
    """The version of the libchime that is loaded."""
    number = c.version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _check_clock(clock: Clock) -> None:
    if not isinstance(clock, Clock):
        raise TypeError(f"clock must be a Clock, not {type(clock).__name__}")


def now_ns(clock: Clock = Clock.MONOTONIC) -> int:
    """The time on a clock of the system."""
    _check_clock(clock)
    value = _ctypes.c_int64()
    outcome(c.now(clock, _ctypes.byref(value)))
    return value.value


def sleep_until_ns(deadline_ns: int, clock: Clock = Clock.MONOTONIC) -> None:
    """Puts this thread to sleep until a point on a clock of the system. Other threads of Python go on. What the handler of
    a signal raises ends the sleep; on the main thread signals are handled a tenth of a second later at most."""
    _check_clock(clock)
    deadline = _instant(deadline_ns, "deadline_ns")
    if not _on_main_thread():
        outcome(c.sleep_until(clock, deadline))
        return
    while True:
        end = min(deadline, now_ns(clock) + _SLICE)
        outcome(c.sleep_until(clock, end))
        if end >= deadline:
            return


def memory_used() -> int:
    """How many bytes libchime holds."""
    number: int = c.memory_used()
    return number


def trace_to_file(path: "_Union[str, bytes, _os.PathLike[str], _os.PathLike[bytes], None]") -> Outcome:
    """Writes what happens to all timers from now on to a file for Perfetto (ui.perfetto.dev). None ends it."""
    name = None if path is None else _os.fsencode(path)
    if name is not None and b"\0" in name:
        raise _refused("path must not have a null character")
    return outcome(c.trace_to_file(name))


def reinitialize() -> Outcome:
    """Lets a forked child use Chime: queues and timers from before the fork are closed there."""
    answer = outcome(c.reinitialize())
    if answer is Outcome.OK:
        _forget_all()
        _functions.clear()
    return answer
