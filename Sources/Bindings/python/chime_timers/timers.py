"""Timer: an object that owns its id and keeps its queue."""

import ctypes
import warnings
from typing import TYPE_CHECKING, NoReturn, Optional

from . import c
from .functions import SLICE, Call, Ending, calling, deadline_after, functions, on_main_thread, slices
from .values import (FOREVER, Duration, Error, Outcome, Schedule, State, TimerInfo, nanoseconds, number_in, outcome, read,
                     text)

if TYPE_CHECKING:
    from .queues import Queue


def schedule_in_c(schedule: Optional[Schedule]) -> Optional[c.Schedule]:
    if schedule is None:
        return None
    if not isinstance(schedule, Schedule):
        raise TypeError(f"schedule must be a Schedule, not {type(schedule).__name__}")
    return schedule.in_c()


class Timer:
    """A timer of its owner's: released by `release`, or at the end of a `with`. It keeps its queue. With its last
    reference it is released, too; if it is running then, that is a ResourceWarning, because it stops.

    Its methods answer an Outcome, and raise an Error for what is a failure. IGNORED and RUNNING are none. Any thread may
    call them, and the timer's own handler.
    """

    id: int = 0
    _owned = False
    _queue: "Optional[Queue]" = None
    _number = 0

    def __init__(self, id: int, queue: "Optional[Queue]" = None) -> None:
        """Takes over an id of chime.h, of a timer on that queue."""
        self._queue = queue
        self.id = number_in(id, "id", 2**64)
        self._owned = True

    @classmethod
    def borrow(cls, id: int) -> "Timer":
        """The methods of a timer that somebody else owns: of `tick.timer`, in its handler. Releasing it does nothing."""
        timer = cls.__new__(cls)
        timer.id = number_in(id, "id", 2**64)
        return timer

    def __repr__(self) -> str:
        info = c.TimerInfo()
        if not self.id:
            return f"<{type(self).__name__} released>"
        state = State(info.state).name if c.timer_get_info(self.id, info) == c.OK else "gone"
        return f"<{type(self).__name__} {self.id:#x} {state}>"

    @property
    def queue(self) -> "Optional[Queue]":
        """The queue that made the timer; None for one that is borrowed."""
        return self._queue

    def activate(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Starts a timer that is at rest; without a schedule, with the one that it has."""
        return outcome(c.timer_activate(self.id, schedule_in_c(schedule)))

    def restart(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Makes the timer run from now on, whatever its state."""
        return outcome(c.timer_restart(self.id, schedule_in_c(schedule)))

    def restart_after(self, delay: Duration) -> Outcome:
        """Makes the timer run from now on, whatever its state, with its first tick after the delay: the call that sets a
        timer again. The interval and everything else of its schedule stay; without a schedule it ticks once."""
        return outcome(c.timer_restart_after(self.id, nanoseconds(delay, "delay")))

    def restart_until(self, deadline_ns: int) -> Outcome:
        """As `restart_after`, with the first tick at a deadline on the queue's clock."""
        return outcome(c.timer_restart_until(self.id, nanoseconds(deadline_ns, "deadline_ns")))

    def reschedule(self, schedule: Optional[Schedule] = None) -> Outcome:
        """Gives the timer another schedule; without one, its delay counts again. The state stays."""
        return outcome(c.timer_reschedule(self.id, schedule_in_c(schedule)))

    def suspend(self) -> Outcome:
        """Holds ticks back until `resume`. Once it has returned, none starts. RUNNING, IGNORED: as `cancel`."""
        return outcome(c.timer_suspend(self.id))

    def resume(self) -> Outcome:
        """Lets ticks through again, by the schedule's ResumePolicy."""
        return outcome(c.timer_resume(self.id))

    def postpone(self, delay: Duration) -> Outcome:
        """Moves the next tick to now + delay, if that is later. IGNORED: it has started already."""
        return outcome(c.timer_postpone(self.id, nanoseconds(delay, "delay")))

    def postpone_until(self, deadline_ns: int) -> Outcome:
        """As `postpone`, to a deadline on the queue's clock."""
        return outcome(c.timer_postpone_until(self.id, nanoseconds(deadline_ns, "deadline_ns")))

    def fire(self) -> Outcome:
        """Requests an extra tick, of kind FIRED. It never runs inside this call."""
        return outcome(c.timer_fire(self.id))

    def cancel(self) -> Outcome:
        """Stops the timer. It can be activated again. RUNNING: a handler that had started has not returned, whatever the
        timer's state; IGNORED: there was nothing to stop, and nothing runs."""
        return outcome(c.timer_cancel(self.id))

    def cancel_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Cancels, then waits until no handler of the timer is running; what that has started again meanwhile is cancelled,
        too. A signal's handler that raises ends the wait (the timer is cancelled), and so does a handler of the timer that
        raises SystemExit or KeyboardInterrupt: it is raised here."""
        call = self._waiting_call()
        first, status = True, c.TIMED_OUT
        try:
            for piece in slices(nanoseconds(timeout, "timeout")):
                status = calling(call, c.timer_cancel_and_wait, self.id, piece)
                if not first and status in (c.IGNORED, c.ERROR_INVALID_HANDLE):
                    status = c.OK  # the handler has returned since, or has released the timer
                if status != c.TIMED_OUT or call.raised:
                    break
                first = False
        finally:
            self._forget(call)
        call.finish()
        return outcome(status)

    def release(self) -> Outcome:
        """Cancels the timer and lets go of it, and of its function after the last call. IGNORED: its queue has ended, and
        the timer with it. Twice does nothing."""
        id = self.__dict__.pop("id", 0)
        if not self._owned:
            return Outcome.OK
        if self._queue is None or self._queue._calls_back:
            call = Call()
            status = calling(call, c.timer_release, id)
            call.finish()
        else:
            status = c.timer_release(id)
        return self._released(status)

    close = release

    def release_and_wait(self, timeout: Duration = FOREVER) -> Outcome:
        """Releases, then waits until no handler of the timer is running. What ends `cancel_and_wait` ends this, too; the
        timer is released."""
        limit = nanoseconds(timeout, "timeout")
        if limit < 0:
            return outcome(c.timer_release_and_wait(self.id, limit))
        id = self.__dict__.pop("id", 0)
        if not self._owned:
            return Outcome.OK
        call, ending = self._waiting_call(), Ending(self._number)
        try:
            deadline = deadline_after(limit)
            status = calling(call, c.timer_release_and_wait, id, next(slices(limit)))
            if status == c.TIMED_OUT and limit > SLICE and on_main_thread() and ending.wait(call, deadline):
                status = c.OK
        finally:
            self._forget(call)
        call.finish()
        return self._released(status)

    def _waiting_call(self) -> Call:
        """A call that waits for this timer's handler."""
        call = Call(number=self._number or -1)
        if self._queue is not None:
            self._queue._waiting.append(call)
        return call

    def _forget(self, call: Call) -> None:
        if self._queue is not None:
            self._queue._waiting.remove(call)

    def _released(self, status: int) -> Outcome:
        if status == c.ERROR_INVALID_HANDLE and self._queue is not None and not self._queue.id:
            return Outcome.IGNORED
        return outcome(status)

    def __del__(self) -> None:
        id = self.__dict__.pop("id", 0)
        if not id or not self._owned:
            return
        state = ctypes.c_int32()
        running = c.timer_state(id, state) == c.OK and state.value in (State.RUNNING, State.SUSPENDED)
        function = functions.get(self._number)
        if function is not None and self._queue is not None and self._queue._calls_back:
            function.silent = True  # its cancel handler would run here, wherever the collector was called
        c.timer_release(id)
        del function
        if running:
            warnings.warn(f"timer {id:#x} was collected while it was {State(state.value).name}, and ticks no more: keep it,"
                          " or release it", ResourceWarning, source=self)

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
        return State(read(c.timer_state, self.id))

    @property
    def generation(self) -> int:
        """Changes with every accepted activate, restart, reschedule, suspend and cancel: compare `tick.generation`."""
        return read(c.timer_generation, self.id)

    @property
    def next_deadline_ns(self) -> int:
        """On the queue's clock. FOREVER: the timer is not running."""
        return read(c.timer_next_deadline, self.id)

    @property
    def remaining_ns(self) -> int:
        """Until the next tick is due; 0: it is due already; FOREVER: the timer is not running. Suspended with
        ResumePolicy.REMAINING: what was kept."""
        return read(c.timer_remaining, self.id)

    def info(self) -> TimerInfo:
        """Everything there is to know about the timer, at one instant."""
        info = c.TimerInfo()
        outcome(c.timer_get_info(self.id, info))
        return TimerInfo(
            State(info.state), info.generation, info.sequence, info.next_deadline_ns, info.remaining_ns, info.interval_ns,
            info.leeway_ns, info.tick_limit, info.due_count, bool(info.busy), info.missed,
            info.jitter_ns)

    def explain(self) -> str:
        """Says in one sentence why the timer does not fire."""
        return text(c.timer_explain, self.id)
