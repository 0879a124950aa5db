"""Timer: an object that owns its id and keeps its queue."""

import ctypes
import warnings
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from . import c
from .functions import (SLICE, Call, Ending, calling, deadline_after, functions, on_main_thread, slices, step, waits,
                        waits_no_more)
from .values import (FOREVER, Duration, Error, Outcome, Schedule, State, TimerInfo, instant, nanoseconds, number_in, outcome,
                     read, text)

if TYPE_CHECKING:
    from .functions import Life
    from .queues import Queue


def schedule_in_c(schedule: Optional[Schedule]) -> Optional[c.Schedule]:
    if schedule is None:
        return None
    if not isinstance(schedule, Schedule):
        shown = repr(schedule) if isinstance(schedule, (int, float)) else "30"
        raise TypeError(f"schedule must be a Schedule, not {type(schedule).__name__}: write Schedule(first={shown}) for one tick, or"
                        f" Schedule.every({shown})")
    return schedule.in_c()


def release_unless_it_ticks_once(id: Any) -> bool:
    """False: it runs, and for one tick only."""
    info = c.TimerInfo()
    if c.timer_get_info(id, info) == c.OK and ticks_once(info):
        return False
    c.timer_release(id)
    return True


def ticks_once(info: c.TimerInfo) -> bool:
    """Whether it runs, and for one tick only."""
    return bool(info.state == State.RUNNING and info.interval_ns == 0)


class Timer:
    """A timer of its owner's: released by `release`, or at the end of a `with`. It keeps its queue. With its last
    reference it is released, too; if it is running then, that is a RuntimeWarning, because it stops. (One of `after` ticks
    first: nobody has to keep it.)

    While the timer runs or is suspended Chime keeps its function. A timer at rest (idle, finished, cancelled) keeps it
    itself, so an object that holds its own timer and is the timer's handler is collected like any other cycle; a restart
    gives the function to Chime again.

    Its methods return an Outcome, and raise an Error for what is a failure. IGNORED and RUNNING are none, and may come
    together. Any thread may call them, and the timer's own handler.
    """

    _cell = ctypes.c_uint64()  # the id; C writes it when it makes the timer
    _owned = False
    _queue: "Optional[Queue]" = None
    _number = 0
    _function: Any = None

    def __init__(self, id: int, queue: "Optional[Queue]" = None) -> None:
        """Takes over an id of chime.h, of a timer on that queue."""
        if "_cell" in vars(self):
            raise RuntimeError("the timer has been made already")
        self._queue = queue
        self._cell = ctypes.c_uint64(number_in(id, "id", 2**64))
        self._owned = True

    @classmethod
    def borrow(cls, id: "Union[int, Timer]") -> "Timer":
        """The methods of a timer that somebody else owns, as `tick.timer` is one. Releasing it does nothing."""
        if isinstance(id, Timer):
            id = id.id
        timer = cls.__new__(cls)
        timer._cell = ctypes.c_uint64(number_in(id, "id", 2**64))
        return timer

    @property
    def id(self) -> int:
        """The chime_timer_t; 0: released."""
        return self._cell.value

    def _starts(self, make: Any, *arguments: Any) -> Outcome:
        """A call that may start the timer: Chime has the function from before it on."""
        function = functions.get(self._number)
        if function is None or function.owner is None:
            return outcome(make(self._cell, *arguments))
        called = self._function
        try:
            function.function = called
            return outcome(make(self._cell, *arguments))
        finally:
            if make is not c.timer_fire:  # its tick does so
                function.settle(self._cell, called)

    def _ended(self) -> None:
        """After a call that may have stopped the timer."""
        function = functions.get(self._number)
        if function is not None and function.owner is not None and not function.busy:
            function.settle(self._cell, self._function)

    def __repr__(self) -> str:
        info = c.TimerInfo()
        if not self.id:
            return f"<{type(self).__name__} released>"
        state = State(info.state).name if c.timer_get_info(self._cell, info) == c.OK else "gone"
        return f"<{type(self).__name__} {self.id} {state}>"

    @property
    def queue(self) -> "Optional[Queue]":
        """The queue that made the timer; None for one that is borrowed."""
        return self._queue

    def activate(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Starts a timer that is at rest; without a schedule, with the one that it has."""
        return self._starts(c.timer_activate, schedule_in_c(schedule))

    def restart(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Makes the timer run from now on, whatever its state."""
        return self._starts(c.timer_restart, schedule_in_c(schedule))

    def restart_after(self, delay: Duration) -> Outcome:
        """Makes the timer run from now on, whatever its state, with its first tick after the delay: the call that sets a
        timer again. The interval and everything else of its schedule stay; without a schedule it ticks once."""
        return self._starts(c.timer_restart_after, nanoseconds(delay, "delay"))

    def restart_until_ns(self, deadline_ns: int) -> Outcome:
        """As `restart_after`, with the first tick at a deadline on the queue's clock."""
        return self._starts(c.timer_restart_until, instant(deadline_ns, "deadline_ns"))

    def reschedule(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Gives the timer another schedule; without one, its delay counts again. The state stays."""
        return outcome(c.timer_reschedule(self._cell, schedule_in_c(schedule)))

    def set_interval(self, interval: Duration) -> Outcome:
        """Changes the interval and nothing else: the next tick is due when it was. IGNORED: the timer ticks once."""
        return outcome(c.timer_set_interval(self._cell, nanoseconds(interval, "interval")))

    def set_background(self, background: bool = True) -> None:
        """Whether `Queue.run` returns although the timer is running."""
        outcome(c.timer_set_background(self._cell, int(background)))

    def suspend(self) -> Outcome:
        """Holds ticks back until `resume`. Once it has returned, none starts. RUNNING, IGNORED: as of `cancel`."""
        return outcome(c.timer_suspend(self._cell))

    def resume(self) -> Outcome:
        """Lets ticks through again, by the schedule's ResumePolicy."""
        return outcome(c.timer_resume(self._cell))

    def postpone(self, delay: Duration) -> Outcome:
        """Moves the next tick to now + delay, if that is later. RUNNING: a call of the handler has not returned. IGNORED: the
        timer is not waiting for a tick, as when that of a one-shot has started."""
        return outcome(c.timer_postpone(self._cell, nanoseconds(delay, "delay")))

    def postpone_until_ns(self, deadline_ns: int) -> Outcome:
        """As `postpone`, to a deadline on the queue's clock."""
        return outcome(c.timer_postpone_until(self._cell, instant(deadline_ns, "deadline_ns")))

    def fire(self) -> Outcome:
        """Requests an extra tick, of kind FIRED. It never runs inside this call."""
        return self._starts(c.timer_fire)

    def cancel(self) -> Outcome:
        """Stops the timer. It can be activated again. RUNNING: a handler that had started has not returned, whatever the
        timer's state; IGNORED: there was nothing to stop, because the last tick has started already."""
        try:
            return outcome(c.timer_cancel(self._cell))
        finally:
            self._ended()

    def cancel_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Cancels, then waits until no handler of the timer is running; what that has started again meanwhile is cancelled,
        too. TimedOut: it is cancelled, and a handler still runs. A signal's handler that raises ends the wait (the timer is
        cancelled), and so does a handler of the timer that raises SystemExit or KeyboardInterrupt: it is raised here."""
        pieces = slices(nanoseconds(timeout, "timeout"))
        call = Call(number=self._number or -1)
        first, status = True, c.ERROR_TIMED_OUT
        try:
            self._waits(call)
            for piece in pieces:
                status = calling(call, c.timer_cancel_and_wait, self._cell, piece)
                if not first and status in (c.IGNORED, c.ERROR_INVALID_HANDLE):
                    status = c.OK  # the handler has returned since, or has released the timer
                if status != c.ERROR_TIMED_OUT or call.raised:
                    break
                first = False
        finally:
            self._waits_no_more(call)
            self._ended()
        call.finish()
        return outcome(status, "the timer is cancelled, and its handler has not returned before the timeout ended")

    def release(self) -> Outcome:
        """Cancels the timer and lets go of it, and of its function after the last call. IGNORED: its queue has ended, and
        the timer with it. Twice does nothing."""
        if not self._owned or not self._cell.value:
            return Outcome.OK
        call, life = Call(), self._life()
        try:
            if life is not None and life.owner is not None:  # handlers may run inside the call
                calling(call, c.timer_release, self._cell, life=life)
            else:
                step(call.answers, c.timer_release, (self._cell,))
        finally:
            status = self._released(call)
        call.finish()
        return outcome(status)

    close = release

    def release_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Releases, then waits until no handler of the timer is running. TimedOut, and what ends `cancel_and_wait`: the timer is
        released."""
        limit = nanoseconds(timeout, "timeout")
        if limit < 0:
            return outcome(c.timer_release_and_wait(self._cell, limit))
        if not self._owned or not self._cell.value:
            return Outcome.OK
        call, ending = Call(number=self._number or -1), Ending(self._number)
        try:
            self._waits(call)
            deadline = deadline_after(limit)
            status = calling(call, c.timer_release_and_wait, self._cell, next(slices(limit)), life=self._life())
            if status == c.ERROR_TIMED_OUT and limit > SLICE and on_main_thread() and ending.wait(call, deadline):
                call.answers.append(c.OK)
        finally:
            self._waits_no_more(call)
            status = self._released(call)
        call.finish()
        return outcome(status, "the timer is released, and its handler has not returned before the timeout ended")

    def _released(self, call: Call) -> int:
        """The status of a release, by what C has answered. Without an answer the timer is as it was."""
        status: int = call.answers[-1] if call.answers else c.ERROR_BUSY
        if status == c.ERROR_INVALID_HANDLE:  # the timer is gone: by itself, or with its queue
            status = c.IGNORED if self._queue is None or not self._queue.id else c.OK
        if status >= 0 or status == c.ERROR_TIMED_OUT:
            self._cell.value = 0
            self._function = None
        return status

    def _life(self) -> "Optional[Life]":
        return None if self._queue is None else self._queue._life

    def _waits(self, call: Call) -> None:
        """The call waits for this timer's handler."""
        if self._queue is not None:
            waits(self._queue._waiting, call)

    def _waits_no_more(self, call: Call) -> None:
        if self._queue is not None:
            waits_no_more(self._queue._waiting, call)

    def __del__(self) -> None:
        id = self._cell.value
        if not id or not self._owned:
            return
        function, info = functions.get(self._number), c.TimerInfo()
        running = c.timer_get_info(id, info) == c.OK and info.state in (State.RUNNING, State.SUSPENDED)
        if function is not None and function.once and ticks_once(info):
            return  # its last tick releases it
        if function is not None and function.life.owner is not None:
            function.silent = True  # its cancel handler would run here, wherever the collector was called
        c.timer_release(id)
        self._cell.value = 0
        del function  # outlives the call that lets go of it
        if running:
            warnings.warn(f"timer {id} was collected while it was {State(info.state).name}, and ticks no more: keep it,"
                          " or release it", RuntimeWarning, source=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Timer owns its id and cannot be copied or pickled")

    def __enter__(self) -> "Timer":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Releases the timer. An Error of that does not replace what the body raised. In a forked child there is nothing
        to release."""
        try:
            self.release()
        except Error as raised:
            if kind is None and raised.status != c.ERROR_FORKED:
                raise

    @property
    def state(self) -> State:
        return State(read(c.timer_state, self._cell))

    @property
    def generation(self) -> int:
        """Changes with every accepted activate, restart, reschedule, suspend and cancel: compare `tick.generation`."""
        return read(c.timer_generation, self._cell)

    @property
    def next_deadline_ns(self) -> int:
        """On the queue's clock. FOREVER_NS: the timer is not running."""
        return read(c.timer_next_deadline, self._cell)

    @property
    def remaining_ns(self) -> int:
        """Until the next tick is due; 0: it is due already; FOREVER_NS: the timer is not running. Suspended with
        ResumePolicy.REMAINING: what was kept."""
        return read(c.timer_remaining, self._cell)

    def info(self) -> TimerInfo:
        """What the timer does, at one instant."""
        info = c.TimerInfo()
        outcome(c.timer_get_info(self._cell, info))
        return TimerInfo(
            State(info.state), info.generation, info.sequence, info.next_deadline_ns, info.remaining_ns, info.interval_ns,
            info.leeway_ns, info.tick_limit, info.due_count, bool(info.busy), info.missed,
            info.jitter_ns, bool(info.background), bool(info.has_schedule))

    @property
    def schedule(self) -> Optional[Schedule]:
        """The one it was given last, with what `restart_after`, `restart_until_ns` and `set_interval` have changed; None: none yet.
        Where the timer is in it, and what `postpone` did, is no part of it."""
        schedule = c.Schedule()
        return None if Outcome.IGNORED in outcome(c.timer_get_schedule(self._cell, schedule)) else Schedule.out_of_c(schedule)

    def explain(self) -> str:
        """Says in one sentence why the timer does not fire."""
        return text(c.timer_explain, self._cell)
