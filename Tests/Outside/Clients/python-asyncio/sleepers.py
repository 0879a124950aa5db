"""Chime's timers in asyncio, by chime_timers.aio.

Not the scenario of ../README.md but this file's own, with its own expected.txt: sleepers end in the order of their
deadlines and never early; a task that is cancelled takes its timer with it; a timer that another thread adds wakes the
loop; a loop with many timers pending sleeps instead of polling, which the number of its turns shows.
"""
import asyncio
import selectors
import threading

from chime_timers import MILLISECOND
from chime_timers.aio import Timers


class CountingSelector(selectors.EpollSelector):
    """Counts the turns of the loop: each is one select."""

    turns = 0

    def select(self, timeout=None):
        self.turns += 1
        return super().select(timeout)


async def sleepers_end_in_order(timers):
    begin, ended = timers.queue.now_ns, []

    async def sleeper(milliseconds):
        late = await timers.sleep_until(begin + milliseconds * MILLISECOND)
        ended.append((milliseconds, late >= 0 and timers.queue.now_ns >= begin + milliseconds * MILLISECOND))

    await asyncio.gather(*map(sleeper, (30, 10, 20, 10)))
    print("ended", *(milliseconds for milliseconds, _ in ended), "none early", all(late for _, late in ended))


async def a_cancelled_task_releases_its_timer(timers):
    try:
        await asyncio.wait_for(timers.sleep(3600), 0.01)
    except asyncio.TimeoutError:
        print("timed out, timers left", timers.queue.stats().timers)


async def another_thread_wakes_the_loop(timers):
    future = timers.loop.create_future()

    def on_tick(tick):  # on the loop's thread, so the future may be touched
        future.set_result((threading.current_thread() is threading.main_thread(), tick.sequence))

    def start():
        timers.queue.once(MILLISECOND, on_tick)

    idle = asyncio.create_task(timers.sleep(3600))
    await asyncio.sleep(0.02)  # the loop is in its select when the other thread starts the timer
    thread = threading.Timer(0.02, start)
    thread.start()
    on_loop, sequence = await asyncio.wait_for(future, 30)
    thread.join()
    idle.cancel()
    await asyncio.gather(idle, return_exceptions=True)
    print("started by another thread: tick", sequence, "on the loop's thread", on_loop)


async def an_idle_loop_does_not_poll(timers, selector):
    idle = [asyncio.create_task(timers.sleep(3600)) for _ in range(1000)]
    while timers.queue.stats().timers < len(idle):
        await asyncio.sleep(0)
    await timers.sleep(0.001)
    turns, passes = selector.turns, timers.queue.stats().passes
    await timers.sleep(0.2)
    turns, passes = selector.turns - turns, timers.queue.stats().passes - passes
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
    print("timers left", timers.queue.stats().timers)
    timers.close()


selector = CountingSelector()
loop = asyncio.SelectorEventLoop(selector)
loop.run_until_complete(main(selector))
loop.close()
