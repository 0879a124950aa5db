"""Chime's timers in asyncio: a host-driven queue is one more descriptor of the loop.

Nothing is polled. The loop sleeps until a timer is due, even if another thread adds it; handlers run on the loop's
thread. The loop has to have `add_reader`, as asyncio's have on Linux and macOS.
"""

import asyncio
import dataclasses
from typing import AsyncIterator, Optional

from .queues import Queue
from .values import FOREVER, Duration, QueueKind, Schedule, State, Tick, TickKind, nanoseconds


class Timers:
    """Timers on the running loop: `async with Timers() as timers: await timers.sleep(MILLISECOND)`."""

    queue: Queue
    """For timers with handlers of one's own, which run on the loop's thread."""

    def __init__(self, *, label: Optional[str] = None, bound: bool = False) -> None:
        """bound: other threads cannot drive the queue, and the loop's own calls are faster (chime.h,
        CHIME_QUEUE_BOUND)."""
        self.loop = asyncio.get_running_loop()
        self.queue = Queue(QueueKind.HOST, label=label, bound=bound)
        self._descriptor = self.queue.fd
        self.loop.add_reader(self._descriptor, self._process)

    def _process(self) -> None:
        if self.queue.id:
            self.queue.process()

    async def sleep_until(self, deadline_ns: int) -> int:
        """Sleeps until a deadline on the queue's clock (time.monotonic_ns); by how many nanoseconds it was late. A task
        that is cancelled takes its timer with it."""
        done: "asyncio.Future[int]" = self.loop.create_future()

        def on_tick(tick: Tick) -> None:
            if not done.done():
                done.set_result(tick.actual_ns - tick.scheduled_ns)

        with self.queue.start(Schedule(first=deadline_ns, deadline=True), on_tick):
            return await done

    async def sleep(self, duration: Duration) -> int:
        """Sleeps for a time; by how many nanoseconds it was late."""
        return await self.sleep_until(min(self.queue.now_ns + max(0, nanoseconds(duration)), FOREVER))

    async def ticks(self, schedule: Schedule) -> AsyncIterator[Tick]:
        """The ticks of a timer, until the loop over them ends or the timer does (Schedule.limit). Ticks that come while
        the body of the loop is busy are one tick, whose `missed` counts them."""
        waiting: Optional[Tick] = None
        changed = asyncio.Event()

        def on_tick(tick: Tick) -> None:
            nonlocal waiting
            if tick.kind is not TickKind.CANCELLED:
                missed = tick.missed + (waiting.missed + 1 if waiting else 0)
                waiting = dataclasses.replace(tick, missed=missed)
            changed.set()

        with self.queue.start(schedule, on_tick, cancelled=True) as timer:
            while waiting or timer.state is State.RUNNING:
                await changed.wait()
                changed.clear()
                if waiting:
                    tick, waiting = waiting, None
                    yield tick

    def close(self) -> None:
        """Shuts the queue down. Sleepers that still wait never end: cancel them first."""
        if self.queue.id:
            self.loop.remove_reader(self._descriptor)  # before the descriptor is closed
            self.queue.shutdown()

    async def __aenter__(self) -> "Timers":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

