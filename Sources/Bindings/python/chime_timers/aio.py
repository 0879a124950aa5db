"""Chime's timers in asyncio: a host-driven queue is one more descriptor of the loop.

Nothing is polled. The loop sleeps until a timer is due, even if another thread adds it; handlers run on the loop's
thread. The loop has to have `add_reader`, as asyncio's have on Linux and macOS.
"""

import asyncio
import ctypes
import dataclasses
import warnings
from typing import Any, AsyncGenerator, Callable, Coroutine, Optional, Set, Union

from . import c
from .functions import checked
from .queues import Dropped, Handler, Queue
from .timers import Timer
from .values import FOREVER, FOREVER_NS, Duration, Error, QueueKind, Schedule, State, Tick, TickKind, nanoseconds
from .virtual_loop import VirtualTimeLoop as VirtualTimeLoop, reports_to


class _LoopQueue(Queue):
    """Tells its Timers before it ends, whoever ends it: its descriptor is the loop's until then."""

    of: "Optional[Timers]" = None

    def _ending(self) -> None:
        if c.queue_now(self._cell, ctypes.c_int64()) == c.ERROR_FORKED:
            return  # the loop's own descriptor is shared with the parent
        timers, self.of = self.of, None
        if timers is not None:
            timers._ended()


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class Timeout:
    """What asyncio.timeout gives, on a timer of Chime's: `async with timers.timeout(5) as timeout:`. The body's task is cancelled
    when the time is over, and the `async with` raises TimeoutError (asyncio.TimeoutError before Python 3.11). `postpone` at each
    sign of life costs no task, no exception and no wake-up of the loop.

    As with asyncio's, times are those of the loop, `loop.time()`; None: no timeout.
    """

    def __init__(self, timers: "Timers", when: Optional[float], delay: Optional[Duration] = None) -> None:
        self._timers, self._when, self._delay = timers, when, delay
        self._task: "Optional[asyncio.Task[Any]]" = None
        self._timer: Optional[Timer] = None
        self._ended = self._expired = False
        self._cancelling = 0
        self._handle: Optional[asyncio.TimerHandle] = None

    def __repr__(self) -> str:
        state = self._state()
        when = self.when()
        return f"<Timeout [{state}]{f' when={when if when is None else round(when, 3)}' if state == 'active' else ''}>"

    def _state(self) -> str:
        """As asyncio's says it."""
        if self._expired:
            return "expired" if self._ended else "expiring"
        return "finished" if self._ended else "created" if self._timer is None else "active"

    def when(self) -> Optional[float]:
        """When the time is over, on the loop's clock."""
        if self._timer is not None and not self._ended and not self._expired:
            try:
                self._is_due_at(self._timer.next_deadline_ns)
            except Error:
                if self._timers.queue.id and not self._ended:
                    raise
        return self._when

    def _is_due_at(self, deadline_ns: int) -> None:
        if deadline_ns == FOREVER_NS:
            self._when = None
        elif self._when is None or nanoseconds(self._when, "when") != deadline_ns:  # else: the number that it was given
            self._when = deadline_ns / 1e9

    def expired(self) -> bool:
        """Whether the time was over before the end of the body."""
        return self._expired

    def reschedule(self, when: Optional[float]) -> None:
        """Moves the end to a point on the loop's clock, earlier or later."""
        timer = self._active()
        if when is None:
            timer.restart(Schedule(FOREVER))
        else:
            timer.restart_until_ns(nanoseconds(when, "when"))
        self._when = when
        self._look_soon(timer)

    def postpone(self, delay: Duration) -> None:
        """Moves the end to now + delay, if that is later: the call for each sign of life."""
        self._active().postpone(delay)

    def _active(self) -> Timer:
        if self._timer is None:
            raise RuntimeError("Timeout has not been entered")
        if self._ended or self._expired:
            raise RuntimeError(f"Cannot change state of {self._state()} Timeout")
        return self._timer

    def _look_soon(self, timer: Timer) -> None:
        """A time that is over already is so in the loop's next turn, before which it does not look at descriptors."""
        if timer.remaining_ns == 0:
            self._timers.loop.call_soon(self._look, timer)

    def _look(self, timer: Timer) -> None:
        if not self._ended and not self._expired and self._timers.queue.id and timer.remaining_ns == 0:
            self._expire_at(timer.next_deadline_ns)

    def _expire(self, tick: Tick) -> None:
        self._expire_at(tick.scheduled_ns)

    def _expire_at(self, deadline_ns: int) -> None:
        if self._task is not None and not self._ended and not self._expired:
            self._is_due_at(deadline_ns)
            self._expired = True
            self._task.cancel()

    def _outlives_its_queue(self) -> None:
        """The body goes on when Timers is closed, and so does its time, on a timer of the loop's."""
        if self._when is not None and not self._ended and not self._expired:
            self._handle = self._timers.loop.call_at(self._when, self._expire_at, nanoseconds(self._when, "when"))

    async def __aenter__(self) -> "Timeout":
        if self._timer is not None:
            raise RuntimeError("Timeout has already been entered")
        self._timers._check_open()
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("Timeout should be used inside a task")
        cancelling = getattr(self._task, "cancelling", None)  # of Python 3.11
        self._cancelling = cancelling() if cancelling else 0
        if getattr(self._task, "_must_cancel", False):
            self._cancelling -= 1  # a cancellation that the body's first await gets is not the timeout's, however short that is
        queue, delay = self._timers.queue, 0 if self._delay is None else nanoseconds(self._delay, "delay")
        if delay < 0:
            self._timer = queue.start(Schedule(deadline_ns=queue.now_ns + delay), self._expire)
        elif self._delay is not None:
            self._timer = queue.after(self._delay, self._expire)
        elif self._when is None:
            self._timer = queue.after(FOREVER, self._expire)
        else:
            self._timer = queue.start(Schedule(deadline_ns=nanoseconds(self._when, "when")), self._expire)
        self._timers._timeouts.add(self)
        self._look_soon(self._timer)
        return self

    async def __aexit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        timer, task, self._task = self._timer, self._task, None
        assert timer is not None and task is not None
        self.when()
        self._ended = True
        self._timers._timeouts.discard(self)
        if self._handle is not None:
            self._handle.cancel()
        timer.release()
        if self._expired:
            uncancel = getattr(task, "uncancel", None)
            if (uncancel() if uncancel else 0) <= self._cancelling and isinstance(error, asyncio.CancelledError):
                raise asyncio.TimeoutError from error  # TimeoutError itself since Python 3.11


class Timers:
    """Timers on the running loop: `async with Timers() as timers: await timers.sleep(0.02)`.

    An Exception that a handler on its queue raises reaches the loop's exception handler; KeyboardInterrupt and SystemExit
    end the loop, as those of its own callbacks do. Use it on the loop's thread. On a VirtualTimeLoop its time is the loop's.
    """

    queue: Queue
    """For timers with handlers of one's own, which run on the loop's thread."""

    def __init__(self, *, label: Optional[str] = None, bound: bool = False) -> None:
        """bound: other threads cannot drive the queue, and the loop's own calls are faster (chime.h,
        CHIME_QUEUE_FLAG_BOUND)."""
        if hasattr(self, "queue"):
            raise RuntimeError("Timers has been made already")
        self.loop = asyncio.get_running_loop()
        self._sleepers: "Set[asyncio.Future[int]]" = set()
        self._iterators: "Set[asyncio.Future[None]]" = set()
        self._tasks: "Set[asyncio.Task[object]]" = set()
        self._timeouts: Set[Timeout] = set()
        self._descriptor: Optional[int] = None
        if isinstance(self.loop, VirtualTimeLoop):
            self.queue = queue = _LoopQueue(QueueKind.VIRTUAL, label=label, start_ns=self.loop.queue.now_ns)
            self.loop._queues.append(queue)
        else:
            self.queue = queue = _LoopQueue(QueueKind.HOST, label=label, bound=bound)
            try:
                self._descriptor = queue.fd
                self.loop.add_reader(self._descriptor, self._process)
            except BaseException:
                queue.shutdown()
                raise
        queue.of = self
        reports_to(self.loop, queue)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.queue!r} {len(self._sleepers)} sleepers>"

    def _process(self) -> None:
        try:
            self.queue.process()
        except Error as error:
            if error.status not in (c.ERROR_INVALID_HANDLE, c.ERROR_SHUT_DOWN):  # a handler closed the queue
                raise

    def _ended(self) -> None:
        for timeout in list(self._timeouts):
            timeout.when()  # while the queue can tell
        if self._descriptor is not None:
            self.loop.remove_reader(self._descriptor)  # before the descriptor is closed
        if self.loop.is_closed():
            return
        if self.loop.is_running() and asyncio._get_running_loop() is not self.loop:
            self.loop.call_soon_threadsafe(self._end_waits)
        else:
            self._end_waits()

    def _end_waits(self) -> None:
        for sleeper in list(self._sleepers):
            sleeper.cancel()
        for task in list(self._tasks):
            task.cancel()
        for changed in list(self._iterators):
            _set(changed)
        for timeout in list(self._timeouts):
            timeout._outlives_its_queue()

    async def sleep_until_ns(self, deadline_ns: int) -> float:
        """Sleeps until a deadline on the queue's clock (time.monotonic_ns); by how many seconds it was late. A task that is
        cancelled takes its timer with it. Closing cancels the sleeper."""
        schedule = Schedule(deadline_ns=deadline_ns)
        return await self._sleep(lambda on_tick: self.queue.start(schedule, on_tick))

    async def _sleep(self, start: "Callable[[Handler], Timer]") -> float:
        self._check_open()
        done: "asyncio.Future[int]" = self.loop.create_future()
        self._sleepers.add(done)

        def on_tick(tick: Tick) -> None:
            if not done.done():
                done.set_result(tick.actual_ns - tick.scheduled_ns)

        try:
            with start(on_tick):
                return await done / 1e9
        finally:
            self._sleepers.discard(done)

    async def sleep(self, delay: Duration) -> float:
        """Sleeps, as asyncio.sleep does; by how many seconds it was late. Closing cancels the sleeper."""
        duration = delay if nanoseconds(delay, "delay") >= 0 else 0
        return await self._sleep(lambda on_tick: self.queue.after(duration, on_tick))

    def timeout(self, delay: Optional[Duration]) -> Timeout:
        """As asyncio.timeout: `async with timers.timeout(5) as timeout:`; it has `postpone`, too. None: no timeout yet."""
        if delay is not None:
            nanoseconds(delay, "delay")  # refuses what is none here, and not where it is entered
        return Timeout(self, None, delay)

    def timeout_at(self, when: Optional[float]) -> Timeout:
        """The same, to a point on the loop's clock."""
        return Timeout(self, when)

    def after(self, delay: Duration, function: "Callable[[Tick], Union[Dropped, Coroutine[Any, Any, object]]]") -> Timer:
        """Calls function(tick) once, on the loop's thread; of an `async def` a task is made. What the task raises reaches the loop's
        exception handler. Closing cancels it."""
        def on_tick(tick: Tick) -> None:
            result = function(tick)
            if asyncio.iscoroutine(result):
                task = self.loop.create_task(result)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        checked(function, allows_async=True)
        on_tick.__qualname__ = getattr(function, "__qualname__", None) or repr(function)  # as which it is reported
        self._check_open()
        return self.queue.after(delay, on_tick)

    async def ticks(self, schedule: Schedule) -> AsyncGenerator[Tick, None]:
        """The ticks of a timer, until the loop over them ends, the timer does (Schedule.limit), or Timers is closed. Ticks
        that come while the body of the loop is busy are one tick, whose `missed` counts them: its
        `sequence` is the last one's. As with any asynchronous generator a cancelled `anext`, by asyncio.wait_for say, ends it:
        put the timeout around the loop, or wait for a task by asyncio.wait."""
        waiting: Optional[Tick] = None
        changed: "Optional[asyncio.Future[None]]" = None

        def on_tick(tick: Tick) -> None:
            nonlocal waiting
            if tick.kind is not TickKind.CANCELLED:
                missed = tick.missed + (waiting.missed + 1 if waiting else 0)
                waiting = dataclasses.replace(tick, missed=missed)
            if changed is not None:
                _set(changed)

        self._check_open()
        with self.queue.start(schedule, on_tick, cancelled=True) as timer:
            while self.queue.id and (waiting or timer.state in (State.RUNNING, State.SUSPENDED)):
                if not waiting:
                    changed = self.loop.create_future()
                    self._iterators.add(changed)
                    try:
                        await changed
                    finally:
                        self._iterators.discard(changed)
                        changed = None
                if waiting and self.queue.id:
                    tick, waiting = waiting, None
                    yield tick

    def _check_open(self) -> None:
        if not self.queue.id:
            raise RuntimeError("Timers is closed")

    def close(self) -> None:
        """Shuts the queue down, cancels its sleepers and ends the loops over its ticks. A timeout still comes when its time is
        over; it can be moved no more."""
        self.queue.shutdown()

    def __del__(self) -> None:
        queue = getattr(self, "queue", None)
        if queue is not None and queue.id:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)

    async def __aenter__(self) -> "Timers":
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        """Closes. An Error of that does not replace what the body raised."""
        try:
            self.close()
        except Error:
            if kind is None:
                raise
