"""The functions that Chime has, and the calls in which they run.

Chime owns a function from the call that takes it until it lets go of it. What a function raises goes where its user can
see it: an Exception is reported, and the timer goes on; KeyboardInterrupt, SystemExit and the like end the call that runs
the function, or one that waits for it, and are raised from there.

Python handles signals on its main thread, between two of its own instructions. So there a call that waits does it in
slices (SLICE), or in Python.
"""

import ctypes
import inspect
import itertools
import queue
import sys
import threading
import time
import weakref
from ctypes import ArgumentError
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import c
from .values import FOREVER, Error, Tick, TickKind

SLICE = 100_000_000
"""Nanoseconds that the main thread waits in C before Python looks for signals."""


class Life:
    """A queue as its functions know it. The queue has one reference and each function another one, so it goes when Chime
    has let go of the last function of a queue that has ended."""

    __slots__ = ("report", "silent", "waiting", "__weakref__")

    def __init__(self) -> None:
        self.report: Callable[[BaseException, object], None] = report
        self.silent = False  # collected: a cancel handler would run wherever the collector does
        self.waiting: List["Call"] = []  # calls that wait for handlers of the queue


class Function:
    """A function that Chime has."""

    __slots__ = ("function", "life", "busy", "silent", "waiters", "__weakref__")

    def __init__(self, function: Callable[..., object], life: Life) -> None:
        self.function, self.life = function, life
        self.busy = self.silent = False
        self.waiters: List["queue.SimpleQueue[None]"] = []  # told when the function returns


# By the number that Chime has for a context. The finalizer, which Chime calls once, after the last call, is dict.pop
# itself: no line of Python in which a signal could be handled before the function is forgotten.
functions: Dict[int, Function] = {}
_numbers: Iterator[int] = itertools.count(1)


class Call:
    """A call in C in which functions run, or which waits for them, and what they raised to end it."""

    __slots__ = ("halt", "raised", "number", "wake")

    def __init__(self, halt: Optional[Callable[[], object]] = None, number: int = 0) -> None:
        self.halt = halt  # makes the call end early
        self.number = number  # of the one function that it waits for; 0: any of the queue's
        self.raised: List[BaseException] = []
        self.wake: Optional["queue.SimpleQueue[None]"] = None

    def take(self, error: BaseException) -> None:
        self.raised.append(error)
        if self.halt is not None and len(self.raised) == 1:
            self.halt()
        if self.wake is not None:
            self.wake.put(None)

    def finish(self) -> None:
        """Raises what ended the call."""
        if self.raised:
            error = self.raised[0]
            del self.raised[:]
            try:
                raise error
            finally:
                del error  # its traceback has this frame


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: List[Call] = []


_calls = _Calls()


def on_main_thread() -> bool:
    """Whether signals are handled on this thread."""
    return threading.get_ident() == threading.main_thread().ident


def calling(call: Call, function: Any, *arguments: Any) -> int:
    """Calls C. What functions raise on this thread meanwhile, to end it, is the call's."""
    stack, hooked = _calls.stack, False
    depth, before = len(stack), sys.unraisablehook
    try:
        stack.append(call)
        if on_main_thread() and not isinstance(before, _Unraisable):
            hooked = True
            sys.unraisablehook = _Unraisable(before)
        status: int = function(*arguments)
        return status
    finally:
        del stack[depth:]
        if hooked and isinstance(sys.unraisablehook, _Unraisable):
            sys.unraisablehook = before


class _Unraisable:
    """What ctypes reports of a callback. A signal that arrived while C ran is handled at the callback's first
    instruction, before its `try`: what the signal's handler raised ends up here instead."""

    def __init__(self, before: Callable[[Any], object]) -> None:
        self.before = before

    def __call__(self, unraisable: Any) -> None:
        kind = unraisable.exc_type
        # From Python 3.13 on the function is named in the message only.
        if not _calls.stack or issubclass(kind, Exception) or "ctypes callback" not in (unraisable.err_msg or ""):
            self.before(unraisable)
            return
        try:
            caught(None, unraisable.exc_value if unraisable.exc_value is not None else kind())
        except BaseException as another:  # of the next signal
            caught(None, another)


class _Raiser:
    """Raises once more what a function raised, where ctypes reports it, and reads as that function."""

    def __init__(self, error: BaseException, function: object) -> None:
        self.error, self.function = error, function

    def __call__(self) -> None:
        raise self.error

    def __repr__(self) -> str:
        return repr(self.function)


_REPORTING: Any = ctypes.CFUNCTYPE(None)


def report(error: BaseException, function: object) -> None:
    """Reports by sys.unraisablehook what a function raised."""
    _REPORTING(_Raiser(error, function))()


def caught(function: Optional[Function], error: BaseException) -> None:
    """Hands over what a function raised."""
    if not isinstance(error, Exception):
        if _calls.stack:
            _calls.stack[-1].take(error)
            return
        if function is not None:
            for call in list(function.life.waiting):
                if call.number == 0 or functions.get(call.number) is function:
                    call.take(error)
                    return
    if function is None:
        report(error, None)
        return
    target, tell = function.function, function.life.report
    function = None  # who keeps the error keeps this frame
    tell(error, target)


def _tick(tick: Any, context: int) -> None:
    function = None
    try:
        function = functions[context]
        at = tick[0]
        if at.kind != TickKind.CANCELLED or not (function.silent or function.life.silent):
            function.busy = True
            result = function.function(Tick(
                at.timer, TickKind(at.kind), at.sequence, at.missed, at.scheduled_ns, at.actual_ns, at.generation,
                at.target or 0))
            if result is not None:
                _refuse_coroutine(result)
    except BaseException as error:
        caught(function, error)
    finally:
        if function is not None:
            function.busy = False
            for waiter in function.waiters:
                waiter.put(None)
            function = None  # a traceback may keep this frame


def _function(context: int) -> None:
    function = None
    try:
        function = functions[context]
        result = function.function()
        if result is not None:
            _refuse_coroutine(result)
    except BaseException as error:
        caught(function, error)
    finally:
        function = None


on_tick: Any = c.HANDLER(_tick)
on_function: Any = c.FUNCTION(_function)
on_finalize: Any = c.FUNCTION(functions.pop)
no_handler: Any = c.HANDLER()


def _refuse_coroutine(result: object) -> None:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the function returned a coroutine, which nothing awaits: see chime_timers.aio")


def checked(function: Callable[..., object], name: str = "function") -> None:
    """Refuses what is not a function that does its work when it is called."""
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")
    inner: Any = function
    while hasattr(inner, "func") and hasattr(inner, "keywords"):  # functools.partial
        inner = inner.func
    for one in (inner, getattr(type(inner), "__call__", None)):
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            raise TypeError(f"{name} must not be an async function, because nothing would await it: see chime_timers.aio")
        if inspect.isgeneratorfunction(one):
            raise TypeError(f"{name} must not be a generator function, because nothing would iterate over it")


def passed(function: Callable[..., object], life: Life, make: Callable[[int], int], id: Any = None) -> int:
    """Passes a function to Chime, which has it from then on if `make`, given its number, succeeds. id: where `make` puts
    a timer's. `make` only calls C: its arguments have the right types."""
    number = next(_numbers)
    functions[number] = Function(function, life)
    try:
        status = make(number)
    except BaseException as error:
        if isinstance(error, (TypeError, ArgumentError)):  # C has not been called
            functions.pop(number, None)
        elif id is not None and id.value:  # a signal was handled when C had returned: the caller gets no timer
            c.timer_release(id.value)
        raise
    if status < 0:  # it stays the caller's
        refused = Error(status)
        functions.pop(number, None)
        raise refused
    return number


def left(deadline: Optional[float]) -> Optional[float]:
    """Seconds from now, for the waits of Python; None: without limit."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def deadline_after(nanoseconds: int) -> Optional[float]:
    """On time.monotonic; None: never."""
    return None if nanoseconds == FOREVER else time.monotonic() + nanoseconds / 1e9


def slices(nanoseconds: int) -> Iterator[int]:
    """Pieces of a timeout, for C. Other threads have no signals to look for."""
    if not on_main_thread() or nanoseconds <= SLICE:
        yield nanoseconds
        return
    deadline = None if nanoseconds == FOREVER else time.monotonic_ns() + nanoseconds
    while True:
        rest = SLICE if deadline is None else deadline - time.monotonic_ns()
        yield max(0, min(rest, SLICE))
        if rest <= SLICE and deadline is not None:
            return


def woken(wake: "queue.SimpleQueue[None]", deadline: Optional[float]) -> bool:
    """Waits in Python, where a signal ends the wait at once. False: the time is over."""
    while True:
        seconds = left(deadline)
        try:
            wake.get(timeout=min(3600.0, 3600.0 if seconds is None else seconds))
            return True
        except queue.Empty:
            if seconds is not None and seconds <= 3600:
                return False


class Ending:
    """Sees from outside when the function of a timer whose id is stale has returned."""

    def __init__(self, number: int) -> None:
        self.wake: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        function = functions.get(number)
        self.function = None if function is None else weakref.ref(function, self.wake.put)
        if function is not None:
            function.waiters.append(self.wake)

    def wait(self, call: Call, deadline: Optional[float]) -> bool:
        """False: the time is over, or something ended the call."""
        call.wake = self.wake
        function = None if self.function is None else self.function()
        if function is not None and not function.busy:
            # C knows it as running: it waits for the GIL, before the call or after it, for a moment.
            soon = time.monotonic() + 1
            deadline = soon if deadline is None else min(soon, deadline)
        if function is not None and not call.raised:
            runs, function = function.busy, None
            return (woken(self.wake, deadline) or not runs) and not call.raised
        return not call.raised


def until_gone(kept: "weakref.ReferenceType[Any]", wake: "queue.SimpleQueue[Any]", call: Call,
               deadline: Optional[float]) -> bool:
    """Waits until an object is gone, whose weak reference calls wake.put. False: the time is over,
    or something ended the call."""
    call.wake = wake
    while kept() is not None and not call.raised:
        if not woken(wake, deadline):
            return kept() is None
    return not call.raised
