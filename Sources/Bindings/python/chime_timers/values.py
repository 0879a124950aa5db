"""What goes in and comes out of queues and timers: durations, schedules, ticks, outcomes, errors."""

import ctypes
import math
import numbers
import operator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Type, Union

from . import c

if TYPE_CHECKING:
    from .timers import Timer

Duration = Union[float, timedelta]
"""Seconds, as everywhere in Python, or a timedelta. FOREVER is a delay that does not end, and a timeout without limit."""

FOREVER = math.inf
FOREVER_NS = c.FOREVER
"""The same where nanoseconds are counted: `next_deadline_ns` of what is not running."""


def _no_duration(duration: object, name: str) -> TypeError:
    return TypeError(f"{name} must be a number of seconds or a timedelta, not {type(duration).__name__}")


def nanoseconds(duration: Duration, name: str = "duration") -> int:
    """The duration as Chime counts it: the nearest nanosecond, and one at least for what is above 0; what is beyond 292 years
    saturates. A float of seconds is exact to the nanosecond up to 104 days. name: the argument's, for the TypeError."""
    if isinstance(duration, timedelta):
        count = ((duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds) * 1_000
    elif isinstance(duration, int):
        count = duration * 1_000_000_000
    elif hasattr(type(duration), "__float__"):
        try:
            seconds = float(duration)
        except OverflowError:  # of a Fraction
            seconds = math.inf if duration > 0 else -math.inf
        except TypeError:
            raise _no_duration(duration, name) from None
        if math.isnan(seconds):
            raise refused(f"{name} must not be NaN")
        if abs(seconds) >= 2**63 / 1e9:
            return FOREVER_NS if seconds > 0 else -FOREVER_NS - 1
        count = round(seconds * 1e9)
        if count == 0 and isinstance(duration, numbers.Number):  # also of what is 0 as a float: a Decimal, a Fraction
            count = int(duration > 0)
    elif hasattr(type(duration), "__index__"):
        number: Any = duration
        count = operator.index(number) * 1_000_000_000
    else:
        raise _no_duration(duration, name)
    return max(-FOREVER_NS - 1, min(count, FOREVER_NS))


def since_1970_ns(when: Union[datetime, float]) -> int:
    """A time of day in nanoseconds; what is beyond 292 years saturates."""
    if isinstance(when, datetime):
        if when.utcoffset() is None:
            try:  # before Python 3.13 `astimezone` is an hour off in an hour that the clocks leave out
                return int(when.replace(microsecond=0).timestamp()) * 10**9 + when.microsecond * 1000
            except (OverflowError, ValueError):  # of a local time at the ends of the calendar
                when = when.replace(tzinfo=timezone.utc)
        return nanoseconds(when - datetime(1970, 1, 1, tzinfo=timezone.utc))
    if not hasattr(type(when), "__float__"):
        raise TypeError(f"when must be a datetime or a number of seconds since 1970, not {type(when).__name__}")
    return nanoseconds(when, "when")


def instant(value: int, name: str) -> int:
    """A point in time: an int of nanoseconds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int of nanoseconds, not {type(value).__name__}") from None
    return max(-FOREVER_NS - 1, min(number, FOREVER_NS))


def number_in(value: int, name: str, end: int) -> int:
    """An int from 0 to `end`, which is not included."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not 0 <= number < end:
        raise refused(f"{name} must be from 0 to {end - 1}, not {number}")
    return number


def text_in_c(value: Optional[str], name: str) -> Optional[bytes]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise refused(f"{name} must not have a null character")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise refused(f"{name} must be valid Unicode, and is {value!a}") from None


class Named(IntEnum):
    """Reads as its name in every version of Python."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, form: str) -> str:
        return format(int(self) if form and form[-1] in "bcdnoxX" else self.name, form)


class QueueKind(Named):
    """Where a queue's handlers run, and on which clock (include/README.md, "Queues")."""

    SERIAL = c.QUEUE_SERIAL
    """On threads of Chime's, one handler at a time. The queue for nearly everything."""
    CONCURRENT = c.QUEUE_CONCURRENT
    """On threads of Chime's; handlers of different timers may overlap."""
    HOST = c.QUEUE_HOST
    """Inside `process` or `run`, on the thread that calls them."""
    PRECISE = c.QUEUE_PRECISE
    """On a thread of the queue's own."""
    VIRTUAL = c.QUEUE_VIRTUAL
    """Inside `advance`, on virtual time: for tests and simulations."""


class Clock(Named):
    """What a queue's times count from."""

    MONOTONIC = c.CLOCK_MONOTONIC
    """As time.monotonic_ns."""
    BOOTTIME = c.CLOCK_BOOTTIME
    """The same, and goes on while the system sleeps."""
    WALL = c.CLOCK_WALL
    """As time.time_ns."""


class Outcome(IntFlag):
    """What became of a call that did not fail: a set. IGNORED and RUNNING come together where nothing was changed while a handler
    runs, so ask for one of them by `in`: `if Outcome.IGNORED in timer.cancel():`. OK is the empty set."""

    OK = c.OK
    """It took effect, and no handler runs."""
    IGNORED = c.IGNORED
    """It means nothing in this state, and changed nothing: there was no tick to take back."""
    RUNNING = c.RUNNING
    """A handler that had started has not returned yet: what it uses is still in use."""
    STOPPED = c.STOPPED
    """Of `run`: a stop was requested."""

    def __str__(self) -> str:
        return "|".join(name for name, one in Outcome.__members__.items() if one and one in self) or "OK"


class State(Named):
    """Of a timer."""

    IDLE = c.STATE_IDLE
    RUNNING = c.STATE_RUNNING
    SUSPENDED = c.STATE_SUSPENDED
    FINISHED = c.STATE_FINISHED
    CANCELLED = c.STATE_CANCELLED


class TickKind(Named):
    """Why a handler is called."""

    DUE = c.TICK_DUE
    """The schedule's deadline was reached."""
    FIRED = c.TICK_FIRED
    """An extra tick, requested by `fire`."""
    ARMED = c.TICK_ARMED
    """The timer was activated; only with `armed=True`."""
    CANCELLED = c.TICK_CANCELLED
    """The timer was cancelled; only with `cancelled=True`."""


class MissedPolicy(Named):
    """What a repeating timer does about due times that passed while it could not tick."""

    COALESCE = c.MISSED_COALESCE
    """One tick that says how many; the grid stands."""
    DELAY = c.MISSED_DELAY
    """The interval counts from the end of the handler."""


class ResumePolicy(Named):
    """What `resume` does."""

    COALESCE = c.RESUME_COALESCE
    """The grid stands; what was missed comes as one tick at once."""
    REMAINING = c.RESUME_REMAINING
    """The time that was left is kept, and the grid moves."""


# What Chime says of an id that the classes have set to 0, and of a call.
_NO_ID = "is 0, which is no id: it was not made, or has ended"
_IN_PYTHON = ((f"queue {_NO_ID}", "the queue was closed"), (f"timer {_NO_ID}", "the timer was released"),
              ("chime_reinitialize", "chime_timers.reinitialize()"), ("schedule is NULL", "schedule is None"))


class Error(Exception):
    """A call failed and changed nothing, except where its kind says otherwise. The message is the status, what it means and,
    where Chime has one, a sentence on the argument: "CHIME_ERROR_INVALID_ARGUMENT: schedule.leeway_ns (5 ms) is not below
    interval_ns (1 ms)". The kinds below are what programs tell apart; the others are this class itself."""

    status: int
    """CHIME_ERROR_*, as `c.ERROR_BUSY`."""
    detail: str
    """The sentence alone."""

    def __new__(cls, status: int, detail: Optional[str] = None) -> "Error":
        kind = _KINDS.get(status, cls) if cls is Error else cls
        return super().__new__(cls) if kind is cls else kind.__new__(kind, status, detail)

    def __init__(self, status: int, detail: Optional[str] = None) -> None:
        if detail is None:
            sentence: bytes = c.last_error_detail()
            detail = (sentence or c.status_message(status)).decode()
            for in_c, in_python in _IN_PYTHON:
                detail = detail.replace(in_c, in_python)
        self.status, self.detail = status, detail
        self.args = (f"{c.name(status)}: {detail}",)  # an OSError, as TimedOut is, has them from its `__new__` otherwise

    def __reduce__(self) -> Tuple[object, ...]:  # pickled by multiprocessing: with the sentence that it has
        return type(self), (self.status, self.detail), self.__dict__


class InvalidArgument(Error, ValueError):
    """An argument that Chime refuses."""


def refused(sentence: str) -> Error:
    """An argument that has not got as far as C."""
    return InvalidArgument(c.ERROR_INVALID_ARGUMENT, sentence)


class Closed(Error):
    """A queue that was closed, or a timer that was released, by itself or with its queue."""


class LimitReached(Error):
    """The queue's `timer_limit`, or an instant that does not end in `advance`."""


class WouldDeadlock(Error, RuntimeError):
    """The call would wait for its own caller."""


class TimedOut(Error, TimeoutError):
    """The handler or function that the call waited for had not returned when the timeout ended. What else the call does is in
    effect: the timer is cancelled or released, the queue is released, the function of `sync` will not run."""


class Unsupported(Error, NotImplementedError):
    """Not on this kind of queue, or not on this system."""


class Forked(Error, RuntimeError):
    """In a forked child, before `reinitialize`."""


_KINDS: Dict[int, Type[Error]] = {
    c.ERROR_INVALID_ARGUMENT: InvalidArgument, c.ERROR_INVALID_HANDLE: Closed, c.ERROR_SHUT_DOWN: Closed,
    c.ERROR_LIMIT: LimitReached, c.ERROR_WOULD_DEADLOCK: WouldDeadlock, c.ERROR_UNSUPPORTED: Unsupported,
    c.ERROR_FORKED: Forked, c.ERROR_TIMED_OUT: TimedOut,
}


def outcome(status: int, waited: Optional[str] = None) -> Outcome:
    """The answer of a call, or its Error. waited: the sentence of a call that waits in slices, whose own names the last one."""
    if status < 0:
        raise Error(status, waited if status == c.ERROR_TIMED_OUT else None)
    return Outcome(status)


def read(function: Any, *arguments: Any) -> int:
    """What the function writes through its last parameter."""
    value = function.argtypes[-1]._type_()
    outcome(function(*arguments, ctypes.byref(value)))
    number: int = value.value
    return number


def text(function: Any, id: Any) -> str:
    """What the function writes as text, all of it, even if it grows meanwhile."""
    length = ctypes.c_size_t()
    outcome(function(id, None, 0, length))
    while True:
        buffer = ctypes.create_string_buffer(length.value + 1)
        outcome(function(id, buffer, len(buffer), length))
        if length.value < len(buffer):
            return buffer.value.decode(errors="replace")


@dataclass(frozen=True)
class Tick:
    """One call of a handler. Times are nanoseconds on the queue's clock."""

    timer_id: int
    kind: TickKind
    sequence: int
    """Counts the ticks of this activation from 1."""
    missed: int
    """Due times since the tick before that got none of their own."""
    scheduled_ns: int
    actual_ns: int
    """When it started; never before `scheduled_ns`."""
    generation: int
    target: int
    """The address of the target's object; 0 without one."""

    @property
    def timer(self) -> "Timer":
        """The timer, borrowed: `tick.timer.cancel()`. Releasing it does nothing; that is for whoever has the one that the queue
        gave."""
        from .timers import Timer
        return Timer.borrow(self.timer_id)


@dataclass(frozen=True)
class Schedule:
    """When a timer ticks. Each member's default is none."""

    first: Duration = 0
    """The delay of the first tick."""
    interval: Duration = 0
    """From then on; 0: only once."""
    leeway: Duration = 0
    """How late a tick may be in order to share a wake-up; below the interval."""
    limit: int = 0
    """The timer finishes after this many due times; 0: never."""
    deadline_ns: Optional[int] = None
    """In place of `first`: the first tick's point on the queue's clock."""
    missed: MissedPolicy = MissedPolicy.COALESCE
    resume: ResumePolicy = ResumePolicy.COALESCE
    jitter: Duration = 0
    """Each tick comes at its time of the grid plus a random part, up to this; at most the interval."""

    def __post_init__(self) -> None:
        for name in "first", "interval", "leeway", "jitter":
            nanoseconds(getattr(self, name), name)
        if self.deadline_ns is not None:
            instant(self.deadline_ns, "deadline_ns")
            if nanoseconds(self.first) != 0:
                raise refused("first and deadline_ns exclude each other")
        number_in(self.limit, "limit", 2**64)
        for name, kind in ("missed", MissedPolicy), ("resume", ResumePolicy):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")

    @staticmethod
    def every(interval: Duration, *, leeway: Duration = 0, limit: int = 0,
              missed: MissedPolicy = MissedPolicy.COALESCE, resume: ResumePolicy = ResumePolicy.COALESCE,
              jitter: Duration = 0) -> "Schedule":
        """The first tick comes one interval from now."""
        return Schedule(interval, interval, leeway, limit, missed=missed, resume=resume, jitter=jitter)

    @classmethod
    def out_of_c(cls, inner: c.Schedule) -> "Schedule":
        """A duration comes back in seconds, exact to the nanosecond up to 104 days; one of CHIME_FOREVER as FOREVER."""
        def seconds(count: int) -> float:
            return FOREVER if count == FOREVER_NS else count / 1e9

        at = bool(inner.flags & c.SCHEDULE_DEADLINE)
        return cls(
            0 if at else seconds(inner.first_ns), seconds(inner.interval_ns), seconds(inner.leeway_ns), inner.tick_limit,
            inner.first_ns if at else None, MissedPolicy(inner.missed_policy), ResumePolicy(inner.resume_policy),
            seconds(inner.jitter_ns))

    def in_c(self) -> c.Schedule:
        return c.Schedule(
            flags=0 if self.deadline_ns is None else c.SCHEDULE_DEADLINE,
            first_ns=nanoseconds(self.first) if self.deadline_ns is None else instant(self.deadline_ns, "deadline_ns"),
            interval_ns=nanoseconds(self.interval), leeway_ns=nanoseconds(self.leeway), tick_limit=self.limit,
            missed_policy=self.missed, resume_policy=self.resume, jitter_ns=nanoseconds(self.jitter))


@dataclass(frozen=True)
class TimerInfo:
    """A timer at one instant."""

    state: State
    generation: int
    sequence: int
    """Ticks delivered in this activation."""
    next_deadline_ns: int
    """FOREVER_NS: it is not running."""
    remaining_ns: int
    """As `Timer.remaining_ns`."""
    interval_ns: int
    leeway_ns: int
    tick_limit: int
    due_count: int
    """Due times counted against the limit."""
    busy: bool
    """A handler that has started has not returned."""
    missed: int
    """Due times of this activation that got no tick of their own."""
    jitter_ns: int
    background: bool
    """`Queue.run` does not wait for it."""
    has_schedule: bool


@dataclass(frozen=True)
class QueueStats:
    """What a queue has done since it was made."""

    timers: int
    """Those that exist."""
    running: int
    entries: int
    passes: int
    """Wake-ups."""
    empty_passes: int
    ticks: int
    missed: int
    """Due times that got no tick of their own."""
    stale: int
    merged: int
    """Callbacks that shared another one's wake-up."""
    lateness: Tuple[int, ...]
    """Ticks by how late they were: [0] by less than 1,024 ns, [1] by less than 2,048 ns, and so on, doubling."""
