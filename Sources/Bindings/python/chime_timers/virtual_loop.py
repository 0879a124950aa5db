"""An asyncio loop on virtual time: programs that sleep for hours are tested in no time."""

import asyncio
import math
import selectors
import sys
from typing import Any, Callable, List, Optional, Tuple

from . import c
from .queues import Queue, at_exit
from .values import FOREVER_NS, Error, QueueKind


def reports_to(loop: asyncio.AbstractEventLoop, queue: Queue) -> None:
    """What handlers on the queue raise reaches the loop's exception handler."""
    def report(error: BaseException, function: object) -> None:
        loop.call_exception_handler({"message": f"Exception in {function!r}, called by Chime", "exception": error})

    assert queue._life is not None
    queue._life.report = report


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on when nothing else can: from deadline to deadline, those of `asyncio.sleep`, `call_later` and
    `asyncio.timeout`, of `Timers` that are made on it, and of timers on its `queue`. Its time begins at 0.

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(main())

    (Before Python 3.11: `VirtualTimeLoop().run_until_complete(main())`.) Time waits for the functions of `asyncio.to_thread` and
    `run_in_executor`, which for their part must not wait for it. It does not wait for sockets, pipes, processes and other threads:
    stand in for those in the test.
    """

    queue: Queue
    """A virtual queue whose time the loop moves. What its handlers raise reaches the loop's exception handler."""

    def __init__(self) -> None:
        self.queue = Queue(QueueKind.VIRTUAL, label="loop")
        self._queues: List[Queue] = [self.queue]
        self._elsewhere = 0  # calls that other threads have not ended
        self._end = 0.0  # its time, once it or its queue is closed
        super().__init__(_Selector(self))
        reports_to(self, self.queue)

    def time(self) -> float:
        return self.queue.now_ns / 1e9 if self.queue.id else self._end

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        future = super().run_in_executor(executor, func, *args)
        self._elsewhere += 1
        future.add_done_callback(self._returned)
        return future

    def _returned(self, future: "asyncio.Future[Any]") -> None:
        self._elsewhere -= 1

    if sys.version_info >= (3, 9):
        async def shutdown_default_executor(self, *timeout: Any, **named: Any) -> None:
            self._elsewhere += 1
            try:
                await super().shutdown_default_executor(*timeout, **named)
            finally:
                self._elsewhere -= 1

    def close(self) -> None:
        super().close()  # not while it runs
        self._end = self.time()
        self.queue.shutdown()

    def _next_ns(self) -> int:
        self._queues = [queue for queue in self._queues if queue.id]
        return min((queue.next_deadline_ns for queue in self._queues), default=FOREVER_NS)

    def _keep_resolution(self) -> None:
        """asyncio runs what is due before `time() + _clock_resolution`, which has to be another number than `time()`."""
        self._end = self.time()
        self._clock_resolution = max(1e-9, 2.0 ** (math.frexp(self._end)[1] - 53))

    def _go_on(self, distance_ns: int) -> None:
        """Moves all clocks, no further than to the next deadline, and then runs what is due there."""
        queues = [queue for queue in self._queues if queue.id]
        for queue in queues:
            c.queue_jump(queue.id, distance_ns)
        for queue in queues:
            try:
                if queue.id:
                    queue.advance(0)
            except Error as error:
                if error.status not in (c.ERROR_INVALID_HANDLE, c.ERROR_SHUT_DOWN):  # a handler closed the queue
                    raise


class _Selector(selectors.DefaultSelector):
    """Where the loop waits when nothing can go on: there its time does."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: Optional[float] = None) -> List[Tuple[selectors.SelectorKey, int]]:
        """timeout: 0 if the loop has something to do; None if it has no timers."""
        ready = self._select(timeout)
        self._loop._keep_resolution()
        return ready

    def _select(self, timeout: Optional[float]) -> List[Tuple[selectors.SelectorKey, int]]:
        loop, ready = self._loop, super().select(0)
        if loop.is_closed():
            return ready
        if not loop.queue.id:
            if ready or timeout == 0:
                return ready
            if loop._elsewhere or timeout is None:
                return super().select(None)
            if at_exit.is_set():  # in a daemon thread
                raise SystemExit
            raise Error(c.ERROR_SHUT_DOWN, "the time of the loop stands, because its queue was closed: close the loop instead")
        now, next_ns = loop.queue.now_ns, loop._next_ns()
        if next_ns <= now:
            loop._go_on(0)
        elif not ready and (timeout is None or timeout > 0):
            if timeout is not None:
                next_ns = min(next_ns, now + max(1, round(timeout * 1e9)))
            if loop._elsewhere or next_ns == FOREVER_NS:
                return super().select(None)
            loop._go_on(next_ns - now)
        return ready
