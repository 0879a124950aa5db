"""The functions that Chime has, and the calls in which they run.

Chime owns a function from the call that takes it until it lets go of it. What a function raises goes where its user can
see it: an Exception is reported, and the timer goes on; KeyboardInterrupt, SystemExit and the like, and whatever the handler
of a signal raises, end the call that runs the function, or one that waits for it, and are raised from there.

Python handles signals on its main thread, between any two of its own instructions. So there a call that waits does it in
slices (SLICE), or in Python; what changes hands does so inside one instruction (`step`); and what has to be undone is undone
twice, because a signal may be handled in a `finally`, too.
"""

import contextvars
import ctypes
import functools
import inspect
import itertools
import queue
import signal
import sys
import threading
import time
import types
import weakref
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Set, Tuple

from . import c
from .values import FOREVER_NS, Error, State, Tick, TickKind

SLICE = 100_000_000
"""Nanoseconds that the main thread waits in C before Python looks for signals."""


class Owner(weakref.ref):  # type: ignore[type-arg]
    """A queue or a timer, weakly, and its id. When it is collected this waits in `collected` for `release_collected`: by then
    `__del__` has released the id, unless the handler of a signal has raised there. ctypes takes it for the id."""

    __slots__ = ("_as_parameter_", "release")

    def __new__(cls, owner: Any, id: Any, release: Any) -> "Owner":
        callback: Any = collected.append
        return super().__new__(cls, owner, callback)

    def __init__(self, owner: Any, id: Any, release: Any) -> None:
        super().__init__(owner, collected.append)  # type: ignore[call-arg]
        self._as_parameter_, self.release = id, release


collected: Deque[Owner] = deque()
# The queues, for the interpreter's end, by the id() of their owners: programs may say that two of their queues are equal.
alive: Dict[int, Owner] = {}


PORTION = 64


def release_collected() -> None:
    """Takes up what `__del__` may have left, a portion a call: a hundred thousand timers that were dropped hold up none. An id
    that was released is stale, and stays it: twice does nothing."""
    for _ in range(min(len(collected), PORTION)):
        try:
            owner = collected[0]
            owner.release(owner)
            alive.pop(id(owner), None)
            collected.remove(owner)
        except (IndexError, ValueError):  # another thread did so
            pass


class Life:
    """A queue as its functions know it. The queue has one reference and each function another one, so it goes when Chime
    has let go of the last function of a queue that has ended."""

    __slots__ = ("report", "owner", "silent", "waiting", "unsettled", "advancing", "__weakref__")

    def __init__(self, owner: Optional[Owner] = None) -> None:
        self.report: Callable[[BaseException, object], None] = report
        self.owner = owner  # of a queue whose handlers run inside calls: none runs inside the collector's
        self.silent = False
        self.waiting: "Set[weakref.ReferenceType[Call]]" = set()  # calls that wait for handlers of the queue
        self.unsettled = False  # a call has been interrupted: see `settle_all`
        self.advancing: Set[int] = set()  # threads, by their idents


class InContext:
    """A function as Chime calls it: in the context (contextvars) of the call that it was given to. Of a timer's function no two
    calls overlap, so one copy of the context is enough for all of them."""

    __slots__ = ("function", "context", "__weakref__")

    def __init__(self, function: Callable[..., object]) -> None:
        self.function, self.context = function, contextvars.copy_context()

    def __call__(self, *arguments: Any) -> object:
        return self.context.run(self.function, *arguments)

    def __repr__(self) -> str:
        return repr(self.function)


class Function:
    """A function that Chime has."""

    __slots__ = ("function", "life", "owner", "last", "busy", "silent", "once", "waiters", "__weakref__")

    def __init__(self, function: Callable[..., object], life: Life, owner: Optional[Owner] = None,
                 cancelled: bool = False) -> None:
        # None while its timer is at rest: then the Timer alone has it, so that Python's collector sees what holds what.
        self.function: Optional[Callable[..., object]] = function
        self.life, self.owner = life, owner
        self.last = cancelled  # a CANCELLED tick comes after the timer is at rest, and needs the function
        self.silent = False  # CANCELLED ticks are not its business
        self.busy = False
        self.once = False  # of `after`: it ticks even if nobody keeps the Timer, and is released then
        self.waiters: List["queue.SimpleQueue[None]"] = []  # told when the function returns

    def called(self) -> Optional[Callable[..., object]]:
        """What to call; None: the Timer that had it has been collected."""
        function = self.function
        if function is None and self.owner is not None:
            timer = self.owner()
            function = None if timer is None else timer._function
        return function

    def is_told_of(self, kind: int) -> bool:
        if kind != TickKind.CANCELLED:
            return True
        if self.silent or self.life.silent:
            return False
        queue = self.life.owner
        return queue is None or queue() is not None and (self.owner is None or self.owner() is not None)

    def settle(self, id: Any, function: Callable[..., object], kind: int = TickKind.DUE) -> None:
        """Holds the function if the timer runs, and only then. Whoever may have changed the timer's state calls it
        afterwards: of two that do so at the same time, the one that writes last reads the state once more. kind: of the tick
        that has ended."""
        state = ctypes.c_uint32()
        while c.timer_state(id, state) == c.OK:
            runs = state.value in (State.RUNNING, State.SUSPENDED)
            if runs == (self.function is not None):
                return
            if state.value == State.CANCELLED and self.last and kind != TickKind.CANCELLED:
                return
            self.function = function if runs else None
            if not runs and self.once and self.owner is not None and self.owner() is None:
                c.timer_release(id)
                return


def settle_all(life: Life) -> None:
    """After an interrupted call, of whose ticks one may not have got as far as its own `settle`."""
    for function in list(functions.values()):
        timer = None if function.life is not life or function.owner is None else function.owner()
        if timer is not None and not function.busy:
            function.settle(timer._cell, timer._function, TickKind.CANCELLED)
        elif timer is None and function.once and function.function is not None and not function.busy:
            function.settle(function.owner, function.function)
    life.unsettled = False


# By the number that Chime has for a context. The finalizer, which Chime calls once, after the last call, is dict.pop
# itself: no line of Python in which a signal could be handled before the function is forgotten.
functions: Dict[int, Function] = {}
_numbers: Iterator[int] = itertools.count(1)


class Call:
    """A call in C in which functions run, or which waits for them, and what they raised to end it."""

    __slots__ = ("halt", "raised", "number", "wake", "answers", "life", "__weakref__")

    def __init__(self, halt: Optional[Callable[[], object]] = None, number: int = 0) -> None:
        self.halt = halt  # makes the call end early
        self.number = number  # of the one function that it waits for; 0: any of the queue's
        self.raised: List[BaseException] = []
        self.answers: List[int] = []  # what C has answered, even where the call has been interrupted
        self.wake: Optional["queue.SimpleQueue[None]"] = None
        self.life: Optional[Life] = None

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


def step(answers: List[int], function: Any, arguments: Tuple[Any, ...]) -> None:
    """Calls C and keeps its answer, in one instruction of Python's: no signal is handled in between."""
    answers.extend(itertools.starmap(function, (arguments,)))


def calling(call: Call, function: Any, *arguments: Any, life: Optional[Life] = None) -> int:
    """Calls C. What functions raise on this thread meanwhile, to end it, is the call's. life: of the queue whose functions
    it may run."""
    stack, before = _calls.stack, sys.unraisablehook
    depth, main = len(stack), on_main_thread()
    if life is not None and (not main or any(outer.life is life for outer in stack)):
        life = None  # the outer call settles
    call.life = life
    release_collected()
    try:
        try:
            stack.append(call)
            if main and not isinstance(before, _Unraisable):
                sys.unraisablehook = _Unraisable(before)
            if life is not None:
                if life.unsettled:
                    settle_all(life)
                life.unsettled = True
            step(call.answers, function, arguments)
            if life is not None and not call.raised:
                life.unsettled = False
            return call.answers[-1]
        finally:
            _called(stack, depth, before)
    finally:
        _called(stack, depth, before)
        if life is not None and life.unsettled:
            settle_all(life)


def _called(stack: List[Call], depth: int, before: Any) -> None:
    del stack[depth:]
    hook = sys.unraisablehook
    if isinstance(hook, _Unraisable) and hook.before is before:
        sys.unraisablehook = before


def by_a_signal(error: BaseException) -> bool:
    """Whether the handler of a signal has raised it: a function in the traceback has as arguments the number of a signal and,
    behind that, a frame further out, which the signal has interrupted."""
    trace, outer = error.__traceback__, set()
    while trace is not None:
        frame, code = trace.tb_frame, trace.tb_frame.f_code
        values = [frame.f_locals.get(name) for name in code.co_varnames[:code.co_argcount]]
        if code.co_flags & inspect.CO_VARARGS:
            values.extend(frame.f_locals.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount]) or ())
        for number, interrupted in zip(values, values[1:]):
            if isinstance(interrupted, types.FrameType) and interrupted in outer and isinstance(number, int):
                return number in signal.valid_signals() and callable(signal.getsignal(number))
        outer.add(frame)
        trace = trace.tb_next
    return False


class _Unraisable:
    """What ctypes reports of a callback. A signal that arrived while C ran is handled at the callback's first
    instruction, before its `try`: what the signal's handler raised ends up here instead."""

    def __init__(self, before: Callable[[Any], object]) -> None:
        self.before = before

    def __call__(self, unraisable: Any) -> None:
        kind = unraisable.exc_type
        # From Python 3.13 on the function is named in the message only.
        error = unraisable.exc_value if unraisable.exc_value is not None else kind()
        if not _calls.stack or "ctypes callback" not in (unraisable.err_msg or "") or (
                isinstance(error, Exception) and not by_a_signal(error)):
            self.before(unraisable)
            return
        try:
            caught(None, error)
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


def caught(function: Optional[Function], error: BaseException, called: object = None) -> None:
    """Hands over what a function raised."""
    if not isinstance(error, Exception) or on_main_thread() and by_a_signal(error):
        if _calls.stack:
            _calls.stack[-1].take(error)
            return
        if function is not None:
            for waiting in list(function.life.waiting):
                call = waiting()
                if call is not None and (call.number == 0 or functions.get(call.number) is function):
                    call.take(error)
                    return
    tell = report if function is None else function.life.report
    function = None  # who keeps the error keeps this frame
    tell(error, called)


def _tick(tick: Any, context: int) -> None:
    function = called = None
    depth = len(_calls.stack)
    try:
        function = functions[context]
        at = tick[0]
        called = function.called()
        if called is not None and function.is_told_of(at.kind):
            function.busy = True
            result = called(Tick(
                at.timer, TickKind(at.kind), at.sequence, at.missed, at.scheduled_ns, at.actual_ns, at.generation,
                at.target or 0))
            if result is not None:
                _refuse_coroutine(result)
    except BaseException as error:
        del _calls.stack[depth:]  # of a call in the function that was interrupted
        caught(function, error, called)
    finally:
        if function is not None:
            function.busy = False
            for waiter in function.waiters:
                waiter.put(None)
            if called is not None and function.owner is not None:
                function.settle(at.timer, called, at.kind)
            function = called = None  # a traceback may keep this frame


def _function(context: int) -> None:
    function = called = None
    depth = len(_calls.stack)
    try:
        function = functions[context]
        called = function.function
        assert called is not None
        result = called()
        if result is not None:
            _refuse_coroutine(result)
    except BaseException as error:
        del _calls.stack[depth:]
        caught(function, error, called)
    finally:
        function = called = None


on_tick: Any = c.HANDLER(_tick)
on_function: Any = c.FUNCTION(_function)
on_finalize: Any = c.FUNCTION(functions.pop)
no_handler: Any = c.HANDLER()


def _refuse_coroutine(result: object) -> None:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the function returned a coroutine, which nothing awaits: see chime_timers.aio")


def checked(function: Callable[..., object], name: str = "function", allows_async: bool = False) -> None:
    """Refuses what is not a function that does its work when it is called."""
    if not callable(function):
        raise TypeError(f"{name} must be callable, not {type(function).__name__}")
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    for one in (inner, getattr(type(inner), "__call__", None)):
        if inspect.iscoroutinefunction(one) and not allows_async or inspect.isasyncgenfunction(one):
            raise TypeError(f"{name} must not be an async function, because nothing would await it: see chime_timers.aio")
        if inspect.isgeneratorfunction(one):
            raise TypeError(f"{name} must not be a generator function, because nothing would iterate over it")


def passed(function: Function, make: Any, arguments: Callable[[int], Tuple[Any, ...]],
           makes_room: Callable[[], bool] = lambda: False) -> int:
    """Passes a function to Chime, which has it from then on if `make` succeeds; its number, which is one of the arguments.
    makes_room: at a limit, whether to try again."""
    answers: List[int] = []
    number = next(_numbers)
    release_collected()
    try:
        functions[number] = function
        step(answers, make, arguments(number))
        while answers[0] == c.ERROR_LIMIT and makes_room():
            answers.clear()
            step(answers, make, arguments(number))
        if answers[0] < 0:
            raise Error(answers[0])
        return number
    except BaseException:
        if not answers or answers[0] < 0:  # it stays the caller's
            functions.pop(number, None)
        raise


def waits(waiting: "Set[weakref.ReferenceType[Call]]", call: Call) -> None:
    """What functions raise to end the program ends this call, until `waits_no_more`, or until it is collected."""
    waiting.add(weakref.ref(call, waiting.discard))


def waits_no_more(waiting: "Set[weakref.ReferenceType[Call]]", call: Call) -> None:
    waiting.discard(weakref.ref(call))


def left(deadline: Optional[float]) -> Optional[float]:
    """Seconds from now, for the waits of Python; None: without limit."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def deadline_after(nanoseconds: int) -> Optional[float]:
    """On time.monotonic; None: never."""
    return None if nanoseconds == FOREVER_NS else time.monotonic() + nanoseconds / 1e9


def slices(nanoseconds: int) -> Iterator[int]:
    """Pieces of a timeout, for C. Other threads have no signals to look for."""
    if not on_main_thread() or nanoseconds <= SLICE:
        yield nanoseconds
        return
    deadline = None if nanoseconds == FOREVER_NS else time.monotonic_ns() + nanoseconds
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
