"""Queue: an object that owns its id, makes timers, and is where their functions run."""

import atexit
import ctypes
import gc
import queue
import sys
import threading
import time
import warnings
import weakref
from datetime import datetime
from typing import (TYPE_CHECKING, Any, Callable, List, NoReturn, Optional, Set, Sized, SupportsFloat, SupportsInt, Tuple, TypeVar,
                    Union)

from . import c
from .functions import (SLICE, Call, Function, InContext, Life, Owner, alive, calling, checked, collected, deadline_after, no_handler,
                        on_finalize, on_function, on_main_thread, on_tick, passed, release_collected, slices, until_gone, waits,
                        waits_no_more, woken)
from .timers import Timer, release_unless_it_ticks_once, schedule_in_c
from .values import (FOREVER, Clock, Duration, Error, Outcome, QueueKind, QueueStats, Schedule, Tick, instant, nanoseconds,
                     number_in, outcome, read, refused, since_1970_ns, text, text_in_c)

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

# What an expression at the end of a lambda usually is. No type says "anything but a coroutine or a generator"; these are none.
Dropped = Union[None, SupportsInt, SupportsFloat, Sized, Timer, "Queue", threading.Thread, "asyncio.Future[Any]",
                "asyncio.Handle", "concurrent.futures.Future[Any]"]
Handler = Callable[[Tick], Dropped]
"""What a timer calls. What it returns is dropped; a function that returns an object of a class of yours is a `def` without
`return`. An `async def` or a generator function is a TypeError, and refused by type checkers: nothing would await it or iterate
over it (chime_timers.aio is for those)."""
Result = TypeVar("Result")


class Queue:
    """A queue of its owner's. It is shut down by `shutdown`, at the end of a `with`, and with the interpreter: after that
    CPython frees functions, which a timer must not call any more. With its last reference (timers have one each) it is
    released, and nothing waits for its handlers; if timers that nobody holds are running then, that is a ResourceWarning.
    Once the interpreter is ending, in a `__del__` say, only host-driven and virtual queues can be made.

    A duration is a number of seconds or a timedelta. What ends in `_ns` is an int of nanoseconds: points in time, and what
    Chime has measured.

    An Exception that a handler raises is reported by sys.unraisablehook, and the timer goes on. KeyboardInterrupt,
    SystemExit and other exceptions that are no Exception end the call in which the handler runs (`run`, `process`,
    `advance`, `sync`, a release), or else one that waits for it (`shutdown`, `cancel_and_wait`, `release_and_wait`), and are
    raised from that; if there is none, they are reported like the others.

    Functions are called in a copy of the context (contextvars) of the call that they were given to, one copy for all ticks of a
    timer.

    Signals, Ctrl-C among them, are handled while the main thread waits in one of these calls: a tenth of a second later at
    most. What the signal's handler raises, an Exception included, ends the call, also where it interrupts a timer's handler
    that runs inside. (Not what it raises where it interrupts the `__del__` of a timer: that can only be reported.)
    """

    _cell = ctypes.c_uint64()  # the id; C writes it when it makes the queue
    _kind = QueueKind.SERIAL
    _label: Optional[str] = None
    _has_dates = False
    _is_full_until = 0.0
    _life: Optional[Life] = None

    def __init__(self, kind: QueueKind = QueueKind.SERIAL, *, label: Optional[str] = None,
                 clock: Optional[Clock] = None, timer_limit: int = 0, start_ns: int = 0, honour_leeway: bool = False,
                 bound: bool = False, records: bool = False, qos: int = 0,
                 realtime_priority: int = 0, seed: int = 0) -> None:
        """Every option is one of chime_queue_options.

        label: for `dump` and debuggers
        clock: MONOTONIC unless given
        timer_limit: how many timers may exist at once; at the limit, timers at rest that nobody holds are collected first
        start_ns, honour_leeway, seed: of a virtual queue; the seed is that of Schedule.jitter
        bound, records: of a host-driven one
        realtime_priority: of a precise one
        """
        if "_cell" in vars(self):
            raise RuntimeError("the queue has been made already")
        if not isinstance(kind, QueueKind):
            raise TypeError(f"kind must be a QueueKind, not {type(kind).__name__}")
        if clock is not None and not isinstance(clock, Clock):
            raise TypeError(f"clock must be a Clock, not {type(clock).__name__}")
        flags = (
            (honour_leeway and c.QUEUE_FLAG_HONOUR_LEEWAY) | (bound and c.QUEUE_FLAG_BOUND)
            | (records and c.QUEUE_FLAG_RECORDS))
        options = c.QueueOptions(
            flags=flags, label=text_in_c(label, "label"), qos=number_in(qos, "qos", 2**31), clock=clock or 0,
            timer_limit=number_in(timer_limit, "timer_limit", 2**64), start_ns=instant(start_ns, "start_ns"),
            realtime_priority=number_in(realtime_priority, "realtime_priority", 2**31),
            seed=number_in(seed, "seed", 2**64))
        calls_here = kind in (QueueKind.HOST, QueueKind.VIRTUAL)
        if not calls_here and sys.is_finalizing():
            raise Error(c.ERROR_SHUT_DOWN, f"the interpreter is ending, and no thread of a {kind.name} queue may call a function")
        release_collected()
        self._kind, self._label, self._cell = kind, label, ctypes.c_uint64()
        self._has_dates = clock == Clock.WALL or kind is QueueKind.VIRTUAL
        owner = Owner(self, self._cell, c.queue_release)
        self._life = Life(owner if calls_here else None)  # a release calls back there
        self._waiting = self._life.waiting
        alive[id(owner)] = owner
        outcome(c.queue_create(kind, options, self._cell))

    @property
    def id(self) -> int:
        """The chime_queue_t; 0: closed."""
        return self._cell.value

    def __repr__(self) -> str:
        label = "" if self._label is None else f" {self._label!r}"
        return f"<{type(self).__name__} {self._kind.name}{label}{'' if self.id else ' closed'}>"

    def shutdown(self, timeout: Duration = FOREVER) -> Outcome:
        """Releases the queue and its timers, and waits until none of their functions runs or will run. Twice does
        nothing. Inside a handler of this queue it is released, and an Error (WOULD_DEADLOCK) says that it was not waited
        for. Where an exception or the timeout (TimedOut) ends the wait, the queue is released.

        On the main thread, functions that were given to `chime_timers.c` are waited for a tenth of a second only.
        """
        limit = nanoseconds(timeout, "timeout")
        if limit < 0 and self.id:
            return outcome(c.queue_shutdown(self._cell, limit))  # its sentence; nothing is released
        if not self.id:
            return Outcome.OK
        call, deadline = Call(), deadline_after(limit)
        wake: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        kept = None if self._life is None else weakref.ref(self._life, wake.put)
        try:
            self._ending()
            waits(self._waiting, call)
            calling(call, c.queue_shutdown, self._cell, next(slices(limit)))
            self._life = None
            if call.answers[-1] == c.ERROR_TIMED_OUT and kept is not None and limit > SLICE and on_main_thread():
                if until_gone(kept, wake, call, deadline):
                    call.answers.append(c.OK)
        finally:
            self._has_ended(call)
            waits_no_more(self._waiting, call)
        call.finish()
        status = call.answers[-1]
        # It had ended before: a shutdown was interrupted when C had returned.
        return Outcome.OK if status in (c.IGNORED, c.ERROR_INVALID_HANDLE) else outcome(
            status, "the queue is released, and a function of it has not returned before the timeout ended")

    def _has_ended(self, call: Call) -> None:
        """After C has been asked to end the queue; an interrupt before that changes nothing."""
        if call.answers and call.answers[-1] != c.ERROR_FORKED:
            self._cell.value, self._life = 0, None

    close = shutdown

    def _ending(self) -> None:
        """Called before the queue ends."""

    def __del__(self) -> None:
        # Nothing here waits, and no handler is called on this thread: the collector calls it anywhere.
        id, life = self._cell.value, self._life
        if not id:
            return
        stats = c.QueueStats()
        running = stats.running if c.queue_get_stats(id, stats) == c.OK else 0
        if life is not None and life.owner is not None:
            life.silent = True
        c.queue_release(id)
        self._cell.value = 0
        if running:
            warnings.warn(f"a {self._kind.name} queue was collected with {running} running timers, which tick no more",
                          ResourceWarning, source=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Queue owns its id and cannot be copied or pickled")

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Shuts the queue down. An Error of that does not replace what the body raised. In a forked child there is nothing
        to shut down."""
        try:
            self.shutdown()
        except Error as raised:
            if kind is None and raised.status != c.ERROR_FORKED:
                raise

    # Timers

    def start(self, schedule: Schedule, function: Handler, *, label: Optional[str] = None, armed: bool = False,
              cancelled: bool = False, background: bool = False, target: int = 0) -> Timer:
        """A timer that calls function(tick).

        label: for `dump` and `explain`
        armed, cancelled: call it for ticks of those kinds, too
        background: `run` does not wait for the timer
        target: the id of a chime_target_t
        """
        if schedule is None:
            raise TypeError("schedule must be a Schedule, not NoneType")
        return self._make(c.timer_start, schedule, function, label, armed, cancelled, background, target)

    def create(self, function: Handler, *, label: Optional[str] = None, armed: bool = False, cancelled: bool = False,
               background: bool = False, target: int = 0) -> Timer:
        """The same, idle: `activate` or `restart` gives it its schedule."""
        return self._make(c.timer_create, None, function, label, armed, cancelled, background, target)

    def _make(self, make: Any, schedule: Optional[Schedule], function: Handler, label: Optional[str], armed: bool,
               cancelled: bool, background: bool, target: int, once: bool = False) -> Timer:
        checked(function)
        options = c.TimerOptions(
            flags=c.TIMER_BACKGROUND if background else 0, handler=on_tick,
            registration_handler=on_tick if armed else no_handler,
            cancel_handler=on_tick if cancelled or target else no_handler,  # a target that goes cancels its timers
            finalizer=on_finalize, label=text_in_c(label, "label"), target=number_in(target, "target", 2**64))
        settings = (options,) if schedule is None else (options, schedule_in_c(schedule))

        def arguments(timer: Timer, number: int) -> Tuple[Any, ...]:
            options.context = number
            return (self._cell, *settings, timer._cell)

        return self._timer(function, make, arguments, cancelled, bool(target), once)

    def _timer(self, function: Handler, make: Any, arguments: Callable[[Timer, int], Tuple[Any, ...]],
               cancelled: bool = False, target: bool = False, once: bool = False) -> Timer:
        """The timer is there before C makes it, and has its id the moment that C has: whatever interrupts this, somebody
        has it, or nobody, and then it is released."""
        timer, called = Timer(0, self), InContext(function)
        timer._function = called
        kept = Function(called, self._living(), Owner(timer, timer._cell, release_unless_it_ticks_once if once else c.timer_release),
                        cancelled or target)
        kept.once = once
        kept.silent = target and not cancelled
        try:
            timer._number = passed(kept, make, lambda number: arguments(timer, number), self._makes_room)
            if make is c.timer_create:
                kept.settle(timer._cell, called)
            return timer
        except BaseException:
            timer.release()
            raise

    def _makes_room(self) -> bool:
        """At timer_limit: whether a collection has found timers at rest that nobody holds, such as those of objects that hold
        their own. Not where the limit is one of running timers, and not again at once after one that has found none."""
        stats = c.QueueStats()
        if not gc.isenabled() or time.monotonic() < self._is_full_until or c.queue_get_stats(self._cell, stats) != c.OK:
            return False
        timers = stats.timers
        if stats.running < timers:
            gc.collect()
            while collected:
                release_collected()
            if c.queue_get_stats(self._cell, stats) == c.OK and stats.timers < timers:
                return True
            self._is_full_until = time.monotonic() + 0.1
        return False

    def _living(self) -> Life:
        """Of a queue that has ended, one that it will refuse."""
        return self._life or Life()

    def after(self, delay: Duration, function: Handler) -> Timer:
        """Calls function(tick) once, whether or not the timer is kept; while it is, it can be stopped, moved and set again."""
        checked(function)
        first = nanoseconds(delay, "delay")
        return self._timer(function, c.timer_after, lambda timer, number: (
            self._cell, first, on_tick, number, on_finalize, timer._cell), once=True)

    def at(self, when: "Union[datetime, float]", function: Handler) -> Timer:
        """Calls function(tick) once, as `after` does, at a time of day: a datetime (a naive one is local time), or seconds as
        time.time() counts them. The queue's clock is the wall clock, whose steps the timer follows, or it is a virtual queue,
        whose time 0 is the beginning of 1970 then."""
        checked(function)
        schedule = Schedule(deadline_ns=since_1970_ns(when))
        if not self._has_dates:
            raise refused(f"a {self._kind.name} queue knows the time of day if it is made with clock=Clock.WALL")
        return self._make(c.timer_start, schedule, function, None, False, False, False, 0, once=True)

    def every(self, interval: Duration, function: Handler, *, first: Optional[Duration] = None) -> Timer:
        """Calls function(tick) again and again, for the first time after `first`, or one interval from now."""
        checked(function)
        period = nanoseconds(interval, "interval")
        delay = period if first is None else nanoseconds(first, "first")
        if delay != period and period > 0:
            return self.start(Schedule(first=0 if first is None else first, interval=interval), function)
        return self._timer(function, c.timer_every, lambda timer, number: (
            self._cell, period, on_tick, number, on_finalize, timer._cell))

    def once(self, delay: Duration, function: Handler) -> None:
        """Calls function(tick) once. Nobody holds the timer."""
        checked(function)
        first = nanoseconds(delay, "delay")
        passed(Function(InContext(function), self._living()), c.timer_after, lambda number: (
            self._cell, first, on_tick, number, on_finalize, None), self._makes_room)

    # Functions

    def run_soon(self, function: Callable[[], Dropped]) -> None:
        """Calls the function on the queue as soon as possible."""
        checked(function)
        passed(Function(InContext(function), self._living()), c.queue_async, lambda number: (
            self._cell, on_function, number, on_finalize))

    def sync(self, function: Callable[[], Result], timeout: Duration = FOREVER) -> Result:
        """Calls the function in mutual exclusion with the queue's handlers, in a copy of the caller's context, and gives what
        it gives: the queue as a lock. Raises TimedOut, a TimeoutError, if it could not start in time; it will not run then.

        On the main thread an exception of a signal's handler ends the wait. A function that the queue's own thread is
        running then goes on, and what it gives is dropped; one that has not started will not run.
        """
        checked(function)
        limit = nanoseconds(timeout, "timeout")
        sync = _Sync(InContext(function))
        id, call, status = self.id, Call(), c.OK
        try:
            for slice in slices(limit):
                waited = status == c.ERROR_TIMED_OUT
                status = calling(call, c.queue_sync, id, sync.entry, None, slice)
                if waited and status == c.ERROR_INVALID_HANDLE:
                    status = c.ERROR_SHUT_DOWN
                if status != c.ERROR_TIMED_OUT or call.raised:
                    break
            if status == c.OK and sync.elsewhere and not call.raised:
                # The queue has a thread of its own, on which C would wait for the function.
                status = sync.on_the_queue(self, call, deadline_after(limit))
        finally:
            sync.claim()  # from here on it does not start
        call.finish()
        if status == c.ERROR_UNSUPPORTED:
            raise Error(status, "a CONCURRENT queue is no lock, because its handlers may overlap: use a SERIAL queue"
                        if self._kind is QueueKind.CONCURRENT else
                        f"a {self._kind.name} queue has no thread that could run it: whoever calls its run(), process() or"
                        " advance() calls the function instead, between two of those calls; other threads give it to run_soon()")
        outcome(status, "the function will not run: it had no turn on the queue before the timeout ended")
        result: Result = sync.result()
        return result

    # Time

    @property
    def now_ns(self) -> int:
        """On the queue's clock."""
        return read(c.queue_now, self._cell)

    def advance(self, duration: Duration) -> None:
        """Moves a virtual queue's time from deadline to deadline. Each tick runs inside this call. Where a handler raises
        what is no Exception (KeyboardInterrupt), time stands. FOREVER is refused, because a timer that repeats would tick for 292
        years: to run until no timer is left, advance to `next_deadline_ns` as long as that is not FOREVER_NS. BUSY: another thread
        is advancing the queue."""
        brakes: List[Timer] = []
        distance, call = nanoseconds(duration, "duration"), Call(halt=lambda: self._brake(brakes))
        try:
            status = self._advance(call, distance)
        finally:
            for brake in brakes:
                brake.release()
        call.finish()
        outcome(status)

    def _advance(self, call: Call, distance: int) -> int:
        """A release on another thread, of what was collected there, too, is inside the queue for a moment. It is waited for: a
        second at most."""
        threads: Set[int] = set() if self._life is None else self._life.advancing
        this, late = threading.get_ident(), 0.0
        is_inside = this in threads
        try:
            threads.add(this)
            while True:
                status = calling(call, c.queue_advance, self._cell, distance, life=self._life)
                if status != c.ERROR_BUSY or call.raised or len(threads) > 1:
                    return status
                now = time.monotonic()
                late = late or now + 1
                if now > late:
                    return status
                time.sleep(20e-6)
        finally:
            if not is_inside:
                threads.discard(this)

    def _brake(self, brakes: List[Timer]) -> None:
        """Makes `advance` end where it is: it gives up at an instant that does not end. Handlers that are due at that
        instant still run."""
        brake = Timer(0)
        brakes.append(brake)
        c.timer_start(self._cell, c.TimerOptions(handler=_on_brake), c.Schedule(), brake._cell)

    def jump(self, duration: Duration) -> None:
        """Moves a virtual queue's time and runs nothing, as a sleeping machine would."""
        outcome(c.queue_jump(self._cell, nanoseconds(duration, "duration")))

    # Host-driven queues

    @property
    def fd(self) -> int:
        """The descriptor for a loop of one's own: readable when `process` has something to do."""
        return read(c.queue_fd, self._cell)

    def fileno(self) -> int:
        """The same, for `select` and `selectors`."""
        return self.fd

    def process(self, most: int = 0) -> int:
        """Runs what is due (at most so many; 0: all), on this thread; how many that were. 0, too, while another thread is
        inside the queue for a moment: the descriptor stays readable."""
        count, call = ctypes.c_uint32(), Call()
        status = calling(call, c.queue_process, self._cell, number_in(most, "most", 2**32), count, life=self._life)
        call.finish()
        if status == c.ERROR_BUSY:
            return 0
        outcome(status)
        return count.value

    def run(self, *, until_stopped: bool = False, once: bool = False) -> Outcome:
        """Processes and waits in turn, until no timer is running; or until `stop`. once: until something has been called, all
        that was due then; IGNORED: there was nothing to wait for. It does not wait for `background` timers. On the main thread it may be a tenth of
        a second until it sees that another thread has ended the last timer. A daemon thread that is in it at the
        interpreter's end is ended by SystemExit."""
        id, life, flags = self.id, self._life, (c.QUEUE_RUN_UNTIL_STOPPED if until_stopped else 0) | (
            c.QUEUE_RUN_ONCE if once else 0)
        call = Call(halt=lambda: c.queue_stop(id))
        if on_main_thread():  # waits in Python, which looks for signals
            fd, status = self.fd, c.TIMED_OUT
            while True:
                waited = bool(call.answers)
                status = calling(call, c.queue_run, id, flags | c.QUEUE_RUN_NO_WAIT, life=life)
                if status != c.TIMED_OUT or call.raised:
                    break
                c.wait_readable(fd, SLICE // 1_000_000)
            if status == c.ERROR_INVALID_HANDLE and waited:
                status = c.ERROR_SHUT_DOWN
        else:
            status = calling(call, c.queue_run, id, flags)
            if status in (c.ERROR_SHUT_DOWN, c.ERROR_INVALID_HANDLE) and at_exit.is_set():
                raise SystemExit
        call.finish()
        return outcome(status)

    def suspend(self) -> Outcome:
        """No callback of the queue begins until as many calls of `resume`, or the queue's end; time goes on, and what was
        missed comes as one tick. RUNNING: one has not returned."""
        return outcome(c.queue_suspend(self._cell))

    def resume(self) -> Outcome:
        """Takes one `suspend` back. IGNORED: the queue is not suspended."""
        return outcome(c.queue_resume(self._cell))

    def stop(self) -> Outcome:
        """Makes `run` return. From any thread, and from a handler."""
        return outcome(c.queue_stop(self._cell))

    @property
    def next_deadline_ns(self) -> int:
        """When a host-driven or virtual queue next has something to do; FOREVER_NS: never."""
        return read(c.queue_next_deadline, self._cell)

    # Seeing what happens

    def stats(self) -> QueueStats:
        stats = c.QueueStats()
        outcome(c.queue_get_stats(self._cell, stats))
        return QueueStats(
            stats.timers, stats.running, stats.entries, stats.passes, stats.empty_passes, stats.ticks, stats.missed,
            stats.stale, stats.merged, tuple(stats.lateness))

    def timers(self) -> List[Timer]:
        """The queue's timers that have not been released, borrowed, those that nobody holds among them."""
        count = ctypes.c_size_t()
        outcome(c.queue_list_timers(self._cell, None, 0, count))
        while True:
            ids = (ctypes.c_uint64 * (count.value + 8))()
            outcome(c.queue_list_timers(self._cell, ids, len(ids), count))
            if count.value <= len(ids):
                return [Timer.borrow(id) for id in ids[:count.value]]

    def dump(self) -> str:
        """A line of text for the queue, and one for each timer."""
        return text(c.queue_dump, self._cell)


def _brake(tick: Any, context: object) -> None:
    c.timer_restart_after(tick[0].timer, 0)


_on_brake = c.HANDLER(_brake)


class _Sync:
    """A function that `sync` calls, once: on the caller's thread inside C, or on the queue's while the caller waits in
    Python."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function, self.caller = function, threading.get_ident()
        self.elsewhere = self.ended = False
        self.turn = [self]  # whoever takes it decides: the function starts, or never will
        self.results: List[Any] = []
        self.raised: List[BaseException] = []
        self.main = on_main_thread()
        self.entry = c.FUNCTION(self._in_c)

    def claim(self) -> bool:
        try:
            self.turn.pop()
            return True
        except IndexError:
            return False

    def _in_c(self, context: object) -> None:
        try:
            if self.main and threading.get_ident() != self.caller:
                self.elsewhere = True
            else:
                self.call()
        except BaseException as error:
            self.raised.append(error)

    def call(self) -> None:
        if not self.claim():
            return
        try:
            self.results.append(self.function())
        except BaseException as error:
            self.raised.append(error)

    def on_the_queue(self, queue_: Queue, call: Call, deadline: Optional[float]) -> int:
        wake: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        later = _Later(self, wake)
        kept = weakref.ref(later, wake.put)
        queue_.run_soon(later)
        del later
        self.await_end(kept, wake, call, deadline)
        if call.raised or self.ended:
            return c.OK
        if not self.claim():  # it has started
            self.await_end(kept, wake, call, None)
            return c.OK
        return c.ERROR_SHUT_DOWN if kept() is None else c.ERROR_TIMED_OUT

    def await_end(self, kept: "weakref.ReferenceType[_Later]", wake: "queue.SimpleQueue[Any]", call: Call,
                  deadline: Optional[float]) -> None:
        call.wake = wake
        while not self.ended and kept() is not None and not call.raised:
            if not woken(wake, deadline):
                return

    def result(self) -> Any:
        if self.raised:
            error = self.raised.pop()
            try:
                raise error
            finally:
                del error
        return self.results[0]


class _Later:
    """The function of `sync`, as the queue has it. It goes when the queue has called it, or has ended."""

    def __init__(self, sync: _Sync, wake: "queue.SimpleQueue[Any]") -> None:
        self.sync, self.wake = sync, wake

    def __call__(self) -> None:
        try:
            self.sync.call()
        finally:
            self.sync.ended = True
            self.wake.put(None)


# Set when all queues are being shut down, with the interpreter: the threads that are left are daemons.
at_exit = threading.Event()


def forget_all() -> None:
    """In a forked child: no id from before the fork names anything."""
    for owner in list(alive.values()):
        queue_ = owner()
        if queue_ is not None:
            queue_._cell.value = 0
    alive.clear()
    collected.clear()


@atexit.register
def _shut_down() -> None:
    """Waits for handlers that are running. An exception, by Ctrl-C say, ends that."""
    at_exit.set()
    try:
        for owner in list(alive.values()):
            queue_ = owner()
            if queue_ is not None:
                try:
                    queue_.shutdown()
                except Error:
                    pass
    except BaseException:
        for owner in list(alive.values()):
            c.queue_release(owner)
        raise
