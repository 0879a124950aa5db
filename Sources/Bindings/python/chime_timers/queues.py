"""Queue and Timer: objects that own their ids, and functions that Chime owns from the call that takes them until it lets
go of them."""

import atexit
import ctypes
import itertools
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, TypeVar

from . import c
from .values import (FOREVER, Clock, Duration, Error, Outcome, QueueKind, QueueStats, Schedule, State, Tick, TickKind,
                     TimerInfo, nanoseconds, outcome)

Handler = Callable[[Tick], object]
Result = TypeVar("Result")

# The functions that Chime has, by the number that it has for a context. One is forgotten when Chime calls the finalizer,
# which it does once, after the last call; so closures live as long as their timers, and no longer.
_functions: Dict[int, Callable[..., object]] = {}
_numbers: Iterator[int] = itertools.count(1)


@c.HANDLER  # type: ignore[misc]
def _on_tick(tick: Any, context: int) -> None:
    at = tick[0]
    _functions[context](Tick(at.timer, TickKind(at.kind), at.sequence, at.missed, at.scheduled_ns, at.actual_ns,
                             at.generation, at.target or 0))


@c.FUNCTION  # type: ignore[misc]
def _on_function(context: int) -> None:
    _functions[context]()


@c.FUNCTION  # type: ignore[misc]
def _on_finalize(context: int) -> None:
    _functions.pop(context, None)


_no_handler, _no_function = c.HANDLER(), c.FUNCTION()


def _pass(function: Callable[..., object], call: Callable[[int], int]) -> None:
    """Passes a function to Chime, which has it from then on if `call`, given its number, succeeds."""
    number = next(_numbers)
    _functions[number] = function
    status = call(number)
    if status < 0:  # it stays the caller's
        error = Error(status)
        del _functions[number]
        raise error


def _text(function: Any, id: int) -> str:
    length = ctypes.c_uint64()
    outcome(function(id, None, 0, ctypes.byref(length)))
    text = ctypes.create_string_buffer(length.value + 1)
    outcome(function(id, text, len(text), None))
    return text.value.decode()


def _read(function: Any, *arguments: Any) -> int:
    """What the function writes through its last parameter."""
    value = function.argtypes[-1]._type_()
    outcome(function(*arguments, ctypes.byref(value)))
    number: int = value.value
    return number


class Timer:
    """A timer of its owner's: released when the last reference goes, by `release`, or at the end of a `with`.

    Its methods answer an Outcome, and raise an Error for what is a failure. IGNORED and RUNNING are none. Any thread may
    call them, and the timer's own handler.
    """

    def __init__(self, id: int) -> None:
        """Takes over an id of chime.h."""
        self.id = id
        self._owned = True

    @classmethod
    def borrow(cls, id: int) -> "Timer":
        """The methods of a timer that somebody else owns: of `tick.timer`, in its handler."""
        timer = cls(id)
        timer._owned = False
        return timer

    def activate(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Starts a timer that is at rest; without a schedule, with the one that it has."""
        return outcome(c.timer_activate(self.id, schedule.in_c() if schedule else None))

    def restart(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Makes the timer run from now on, whatever its state."""
        return outcome(c.timer_restart(self.id, schedule.in_c() if schedule else None))

    def reschedule(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Gives the timer another schedule; without one, its delay counts again. The state stays."""
        return outcome(c.timer_reschedule(self.id, schedule.in_c() if schedule else None))

    def suspend(self) -> Outcome:
        """Holds ticks back until `resume`. Once it has returned, none starts."""
        return outcome(c.timer_suspend(self.id))

    def resume(self) -> Outcome:
        """Lets ticks through again, by the schedule's ResumePolicy."""
        return outcome(c.timer_resume(self.id))

    def postpone(self, delay: Duration) -> Outcome:
        """Moves the next tick to now + delay, if that is later. IGNORED: it has started already."""
        return outcome(c.timer_postpone(self.id, nanoseconds(delay)))

    def postpone_until(self, deadline_ns: int) -> Outcome:
        """As `postpone`, to a deadline on the queue's clock."""
        return outcome(c.timer_postpone_until(self.id, nanoseconds(deadline_ns)))

    def fire(self) -> Outcome:
        """Requests an extra tick, of kind FIRED. It never runs inside this call."""
        return outcome(c.timer_fire(self.id))

    def cancel(self) -> Outcome:
        """Stops the timer. It can be activated again."""
        return outcome(c.timer_cancel(self.id))

    def cancel_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Cancels, then waits until no handler of the timer is running."""
        return outcome(c.timer_cancel_and_wait(self.id, nanoseconds(timeout)))

    def release(self) -> Outcome:
        """Cancels the timer and lets go of it, and of its function after the last call. Twice does nothing."""
        id, self.id = self.id, 0
        return outcome(c.timer_release(id if self._owned else 0))

    close = release

    def release_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Releases, then waits until no handler of the timer is running."""
        id, self.id = self.id, 0
        return outcome(c.timer_release_and_wait(id if self._owned else 0, nanoseconds(timeout)))

    def __del__(self) -> None:
        if self._owned:
            c.timer_release(self.id)

    def __enter__(self) -> "Timer":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def state(self) -> State:
        return State(_read(c.timer_state, self.id))

    @property
    def generation(self) -> int:
        """Changes with every accepted activate, restart, reschedule, suspend and cancel: compare `tick.generation`."""
        return _read(c.timer_generation, self.id)

    @property
    def next_deadline_ns(self) -> int:
        """On the queue's clock. FOREVER: the timer is not running."""
        return _read(c.timer_next_deadline, self.id)

    def info(self) -> TimerInfo:
        info = c.TimerInfo()
        outcome(c.timer_get_info(self.id, info))
        return TimerInfo(
            State(info.state), info.generation, info.sequence, info.next_deadline_ns, info.remaining_ns, info.interval_ns,
            info.leeway_ns, info.tick_limit, info.due_count, bool(info.busy), info.missed)

    def explain(self) -> str:
        """Says in one sentence why the timer does not fire."""
        return _text(c.timer_explain, self.id)


class Queue:
    """A queue of its owner's. It is shut down by `shutdown`, at the end of a `with`, when the last reference goes, and
    with the interpreter: after that CPython frees functions, which a timer must not call any more.

    Handlers that raise are reported by sys.unraisablehook; the timer goes on.
    """

    _alive: "weakref.WeakSet[Queue]" = weakref.WeakSet()
    id: int = 0

    def __init__(self, kind: QueueKind = QueueKind.SERIAL, *, label: Optional[str] = None,
                 clock: Optional[Clock] = None, timer_limit: int = 0, start_ns: int = 0, honour_leeway: bool = False,
                 bound: bool = False, records: bool = False, qos: int = 0, affinity: int = 0,
                 realtime_priority: int = 0) -> None:
        """Every option is one of chime_queue_options.

        label: for `dump` and debuggers
        clock: MONOTONIC unless given
        timer_limit: how many timers may exist at once
        start_ns, honour_leeway: of a virtual queue
        bound, records: of a host-driven one
        affinity, realtime_priority: of a precise one
        """
        flags = (honour_leeway and c.QUEUE_HONOUR_LEEWAY) | (bound and c.QUEUE_BOUND) | (records and c.QUEUE_RECORDS)
        options = c.QueueOptions(
            flags=flags, label=label.encode() if label else None, qos=qos, clock=clock or 0, timer_limit=timer_limit,
            start_ns=start_ns, affinity=affinity, realtime_priority=realtime_priority)
        self.id = _read(c.queue_create, kind, options)
        Queue._alive.add(self)

    def shutdown(self, timeout: Duration = FOREVER) -> Outcome:
        """Releases the queue and its timers, and waits until none of their functions runs or will run. Twice does
        nothing. Inside a handler of this queue it is released, and an Error (WOULD_DEADLOCK) says that it was not waited
        for."""
        id, self.id = self.id, 0
        return outcome(c.queue_shutdown(id, nanoseconds(timeout))) if id else Outcome.OK

    close = shutdown

    def __del__(self) -> None:
        if self.id:
            c.queue_shutdown(self.id, FOREVER)

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    # Timers

    def start(self, schedule: Schedule, function: Handler, *, label: Optional[str] = None, armed: bool = False,
              cancelled: bool = False, background: bool = False, target: int = 0) -> Timer:
        """A timer that calls function(tick).

        label: for `dump` and `explain`
        armed, cancelled: call it for ticks of those kinds, too
        background: `run` does not wait for the timer
        target: the id of a chime_target_t
        """
        return self._timer(c.timer_start, schedule, function, label, armed, cancelled, background, target)

    def create(self, function: Handler, *, label: Optional[str] = None, armed: bool = False, cancelled: bool = False,
               background: bool = False, target: int = 0) -> Timer:
        """The same, idle: `activate` or `restart` gives it its schedule."""
        return self._timer(c.timer_create, None, function, label, armed, cancelled, background, target)

    def _timer(self, make: Any, schedule: Optional[Schedule], function: Handler, label: Optional[str], armed: bool,
               cancelled: bool, background: bool, target: int) -> Timer:
        id = ctypes.c_uint64()

        def call(number: int) -> int:
            options = c.TimerOptions(
                flags=c.TIMER_BACKGROUND if background else 0, handler=_on_tick,
                registration_handler=_on_tick if armed else _no_handler,
                cancel_handler=_on_tick if cancelled else _no_handler, context=number, finalizer=_on_finalize,
                label=label.encode() if label else None, target=target)
            arguments = (options, schedule.in_c()) if schedule else (options,)
            status: int = make(self.id, *arguments, ctypes.byref(id))
            return status

        _pass(function, call)
        return Timer(id.value)

    def after(self, delay: Duration, function: Handler) -> Timer:
        """Calls function(tick) once. Keep the timer: it is released with its last reference."""
        id = ctypes.c_uint64()
        _pass(function, lambda number: int(c.timer_after(
            self.id, nanoseconds(delay), _on_tick, number, _on_finalize, ctypes.byref(id))))
        return Timer(id.value)

    def every(self, interval: Duration, function: Handler, *, first: Optional[Duration] = None) -> Timer:
        """Calls function(tick) again and again, for the first time after `first`, or one interval from now."""
        id = ctypes.c_uint64()
        _pass(function, lambda number: int(c.timer_after_every(
            self.id, nanoseconds(interval if first is None else first), nanoseconds(interval), _on_tick, number,
            _on_finalize, ctypes.byref(id))))
        return Timer(id.value)

    def once(self, delay: Duration, function: Handler) -> None:
        """Calls function(tick) once. Nobody holds the timer."""
        _pass(function, lambda number: int(c.timer_after(
            self.id, nanoseconds(delay), _on_tick, number, _on_finalize, None)))

    # Functions

    def run_soon(self, function: Callable[[], object]) -> None:
        """Calls the function on the queue as soon as possible."""
        _pass(function, lambda number: int(c.queue_async(self.id, _on_function, number, _on_finalize)))

    def sync(self, function: Callable[[], Result], timeout: Duration = FOREVER) -> Result:
        """Calls the function in mutual exclusion with the queue's handlers, and gives what it gives: the queue as a lock.
        Raises TimeoutError if it could not start in time; it will not run then."""
        results: List[Result] = []
        raised: List[BaseException] = []

        def call() -> None:
            try:
                results.append(function())
            except BaseException as error:
                raised.append(error)

        number = next(_numbers)
        _functions[number] = call
        try:
            answer = outcome(c.queue_sync(self.id, _on_function, number, nanoseconds(timeout)))
        finally:
            del _functions[number]
        if raised:
            raise raised[0]
        if answer is Outcome.TIMED_OUT:
            raise TimeoutError("the queue was busy until the timeout ended")
        return results[0]

    # Time

    @property
    def now_ns(self) -> int:
        """On the queue's clock."""
        return _read(c.queue_now, self.id)

    def advance(self, duration: Duration) -> None:
        """Moves a virtual queue's time from deadline to deadline. Each tick runs inside this call."""
        outcome(c.queue_advance(self.id, nanoseconds(duration)))

    def advance_to(self, deadline_ns: int) -> None:
        """As `advance`, up to a point in time."""
        outcome(c.queue_advance_to(self.id, nanoseconds(deadline_ns)))

    def jump(self, duration: Duration) -> None:
        """Moves a virtual queue's time and runs nothing, as a sleeping machine would."""
        outcome(c.queue_jump(self.id, nanoseconds(duration)))

    # Host-driven queues

    @property
    def fd(self) -> int:
        """The descriptor for a loop of one's own: readable when `process` has something to do."""
        return _read(c.queue_fd, self.id)

    def fileno(self) -> int:
        """The same, for `select` and `selectors`."""
        return self.fd

    def process(self, most: int = 0) -> int:
        """Runs what is due (at most so many; 0: all), on this thread; how many that were. 0, too, while another thread is
        inside the queue for a moment: the descriptor stays readable."""
        count = ctypes.c_uint32()
        status = c.queue_process(self.id, most, ctypes.byref(count))
        if status == c.ERROR_BUSY:
            return 0
        outcome(status)
        return count.value

    def run(self, *, until_stopped: bool = False) -> Outcome:
        """Processes and waits in turn, until no timer is running; or until `stop`."""
        return outcome(c.queue_run(self.id, c.RUN_UNTIL_STOPPED if until_stopped else 0))

    def stop(self) -> Outcome:
        """Makes `run` or `wait` return. From any thread, and from a handler."""
        return outcome(c.queue_stop(self.id))

    def wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Waits until something is due. Runs nothing."""
        return outcome(c.queue_wait(self.id, nanoseconds(timeout)))

    @property
    def next_deadline_ns(self) -> int:
        """When a host-driven or virtual queue next has something to do; FOREVER: never."""
        return _read(c.queue_next_deadline, self.id)

    # Seeing what happens

    def stats(self) -> QueueStats:
        stats = c.QueueStats()
        outcome(c.queue_get_stats(self.id, stats))
        return QueueStats(
            stats.timers, stats.running, stats.entries, stats.passes, stats.empty_passes, stats.ticks, stats.missed,
            stats.stale, stats.merged, tuple(stats.lateness))

    def dump(self) -> str:
        """A line of text for the queue, and one for each timer."""
        return _text(c.queue_dump, self.id)


@atexit.register
def _shut_down() -> None:
    for queue in list(Queue._alive):
        id, queue.id = queue.id, 0
        c.queue_shutdown(id, FOREVER)
