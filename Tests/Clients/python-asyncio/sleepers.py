"""Chime's timers in asyncio: a host-driven queue is one more descriptor of the loop, and a timer completes a future.

Not the scenario of ../README.md but this file's own, with its own expected.txt: sleepers end in the order of their
deadlines and never early; a task that is cancelled takes its timer with it; a timer that another thread adds wakes the
loop; a loop with many timers pending sleeps instead of polling, which the number of its turns shows.
"""
import asyncio
import atexit
import selectors
import threading

import chime
from chime import made, ok

MILLISECOND = 1_000_000
HOUR = 3_600_000_000_000


class Timers:
    """A host-driven queue on the running loop. Its callbacks run on the loop's thread, inside `process`."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.queue = made(chime.queue_create, chime.QUEUE_HOST, None)
        atexit.register(chime.queue_shutdown, self.queue, chime.FOREVER)  # if nobody calls `close`
        self.descriptor = made(chime.queue_fd, self.queue)
        self.sleepers = {}  # a timer's context: its future
        self.contexts = 0
        self.on_tick = chime.HANDLER(self.tick)  # kept: the library does not keep it alive
        self.loop.add_reader(self.descriptor, self.process)

    def process(self):
        status = chime.queue_process(self.queue, 0, None)
        if status != chime.ERROR_BUSY:  # another thread is inside the queue for a moment: the loop polls again
            ok(status)

    def tick(self, tick, context):
        future = self.sleepers.pop(context, None)
        if future is not None and not future.done():
            future.set_result(tick[0].actual_ns - tick[0].scheduled_ns)

    async def sleep_until(self, deadline):
        """Sleeps until a deadline on CLOCK_MONOTONIC (time.monotonic_ns()); returns by how many ns it was late."""
        self.contexts += 1
        context, future = self.contexts, self.loop.create_future()
        self.sleepers[context] = future
        options = chime.TimerOptions(handler=self.on_tick, context=context)
        schedule = chime.Schedule(flags=chime.SCHEDULE_DEADLINE, first_ns=deadline)
        timer = made(chime.timer_start, self.queue, options, schedule)
        try:
            return await future
        finally:  # also when the task was cancelled
            ok(chime.timer_release(timer))
            self.sleepers.pop(context, None)

    async def sleep(self, duration):
        return await self.sleep_until(self.now() + duration)

    def now(self):
        return made(chime.queue_now, self.queue)

    def stats(self):
        stats = chime.QueueStats()
        ok(chime.queue_get_stats(self.queue, stats))
        return stats

    def close(self):
        self.loop.remove_reader(self.descriptor)  # before the descriptor is closed
        ok(chime.queue_shutdown(self.queue, chime.FOREVER))


class CountingSelector(selectors.EpollSelector):
    """Counts the turns of the loop: each is one select."""

    turns = 0

    def select(self, timeout=None):
        self.turns += 1
        return super().select(timeout)


async def sleepers_end_in_order(timers):
    begin, ended = timers.now(), []

    async def sleeper(milliseconds):
        late = await timers.sleep_until(begin + milliseconds * MILLISECOND)
        ended.append((milliseconds, late >= 0 and timers.now() >= begin + milliseconds * MILLISECOND))

    await asyncio.gather(*map(sleeper, (30, 10, 20, 10)))
    print("ended", *(milliseconds for milliseconds, _ in ended), "none early", all(late for _, late in ended))


async def a_cancelled_task_releases_its_timer(timers):
    try:
        await asyncio.wait_for(timers.sleep(HOUR), 0.01)
    except asyncio.TimeoutError:
        print("timed out, timers left", timers.stats().timers)


async def another_thread_wakes_the_loop(timers):
    future = timers.loop.create_future()

    @chime.HANDLER
    def on_tick(tick, context):  # on the loop's thread, so the future may be touched
        future.set_result((threading.current_thread() is threading.main_thread(), tick[0].sequence))

    def start():
        ok(chime.timer_after(timers.queue, MILLISECOND, on_tick, None, chime.FUNCTION(), None))

    idle = asyncio.create_task(timers.sleep(HOUR))
    await asyncio.sleep(0.02)  # the loop is in its select when the other thread starts the timer
    thread = threading.Timer(0.02, start)
    thread.start()
    on_loop, sequence = await asyncio.wait_for(future, 30)
    thread.join()
    idle.cancel()
    await asyncio.gather(idle, return_exceptions=True)
    print("started by another thread: tick", sequence, "on the loop's thread", on_loop)


async def an_idle_loop_does_not_poll(timers, selector):
    idle = [asyncio.create_task(timers.sleep(HOUR)) for _ in range(1000)]
    while len(timers.sleepers) < len(idle):
        await asyncio.sleep(0)
    await timers.sleep(MILLISECOND)
    turns, passes = selector.turns, timers.stats().passes
    await timers.sleep(200 * MILLISECOND)
    turns, passes = selector.turns - turns, timers.stats().passes - passes
    print(len(idle), "timers pending, turns of the loop in 200 ms at most 5:", turns <= 5, "passes at most 5:", passes <= 5)
    if turns > 5 or passes > 5:
        print("turns", turns, "passes", passes)
    for task in idle:
        task.cancel()
    await asyncio.gather(*idle, return_exceptions=True)


async def main(selector):
    timers = Timers()
    await sleepers_end_in_order(timers)
    await a_cancelled_task_releases_its_timer(timers)
    await another_thread_wakes_the_loop(timers)
    await an_idle_loop_does_not_poll(timers, selector)
    print("timers left", timers.stats().timers)
    timers.close()


chime.check_layout()
selector = CountingSelector()
loop = asyncio.SelectorEventLoop(selector)
loop.run_until_complete(main(selector))
loop.close()
