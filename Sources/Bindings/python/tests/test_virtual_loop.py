"""VirtualTimeLoop: what sleeps on it, or in Timers, wakes in order and takes no time; what time waits for."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import unittest

from chime_timers import Closed, Schedule, WouldDeadlock
from chime_timers.aio import Timers, VirtualTimeLoop
from units import HOUR, WATCHDOG, WatchedTest


class VirtualTime(WatchedTest):
    def setUp(self):
        self.loop = VirtualTimeLoop()
        self.addCleanup(self.loop.close)
        self.seen = []

    def run_on_it(self, main):
        return self.loop.run_until_complete(main)

    def see(self, what):
        self.seen.append((what, self.loop.time()))

    async def sleep(self, delay):
        await asyncio.sleep(delay)
        self.see(delay)

    def test_sleepers_wake_in_order_and_exactly(self):
        async def main():
            self.loop.call_later(1.5, self.see, "called")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*map(self.sleep, (3 * HOUR, 0.1, 100 * HOUR, 2))), 50 * HOUR)

        self.run_on_it(main())
        self.assertEqual(self.seen, [(0.1, 0.1), ("called", 1.5), (2, 2), (3 * HOUR, 3 * HOUR)])
        self.assertEqual(self.loop.time(), 50 * HOUR)

    def test_times_are_rounded_to_the_nanosecond(self):
        for count in range(1, 101):
            self.run_on_it(asyncio.sleep(0.07))
            self.assertEqual(self.loop.queue.now_ns, count * 70_000_000)

    def test_time_goes_on_where_a_float_has_no_room_for_its_nanoseconds(self):
        """asyncio runs what is due before its time and a nanosecond, which after 194 days is its time."""
        async def main():
            for delay in 194 * 24 * HOUR, 2 * 24 * HOUR, 0.1, 365 * 24 * HOUR, 0.001, 2e9, 0.25, 1e-9:
                begin = self.loop.time()
                async with Timers() as timers:
                    await asyncio.gather(asyncio.sleep(delay), timers.sleep(delay), asyncio.sleep(delay / 2))
                self.assertGreaterEqual(self.loop.time(), begin + delay)
                self.assertLess(self.loop.time(), begin + delay + 1e-6)
            self.loop.call_soon(self.loop.queue.jump, 365 * 24 * HOUR)
            await asyncio.sleep(365 * 24 * HOUR)

        self.run_on_it(main())

    def test_what_is_ready_comes_before_time_goes_on(self):
        reading, writing = socket.socketpair()

        async def main():
            writing.send(b"1")
            await self.sleep(1)

        with reading, writing:
            self.loop.add_reader(reading, lambda: self.see(reading.recv(1)))
            self.run_on_it(main())
            self.loop.remove_reader(reading)
        self.assertEqual(self.seen, [(b"1", 0), (1, 1)])

    def test_what_a_handler_on_its_queue_raises_reaches_its_exception_handler(self):
        reported = []
        self.loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        self.loop.queue.once(1, lambda tick: [].pop())
        self.run_on_it(asyncio.sleep(2))
        self.assertEqual(list(map(type, reported)), [IndexError])

    def test_a_timeout_comes_though_its_timers_close(self):
        async def main():
            timers = Timers()
            async with timers.timeout(HOUR):
                timers.close()
                await self.loop.create_future()

        with self.assertRaises(asyncio.TimeoutError):
            self.run_on_it(main())
        self.assertEqual(self.loop.time(), HOUR)

    def test_timers_are_on_the_loops_time(self):
        async def main():
            await asyncio.sleep(5)
            async with Timers() as timers, Timers() as others:
                self.loop.queue.once(2, lambda tick: self.see("its own"))
                timers.queue.once(1, lambda tick: others.queue.once(2, lambda tick: self.see("of the others")))
                timers.after(3, lambda tick: self.sleep(4))  # a task
                self.assertEqual(await others.sleep(1), 0)
                self.see("slept")
                async with timers.timeout(10) as timeout:
                    await asyncio.sleep(9)
                    timeout.postpone(10)
                    await asyncio.sleep(9)
                self.assertFalse(timeout.expired())
                with self.assertRaises(asyncio.TimeoutError):
                    async with timers.timeout_at(self.loop.time() + 10):
                        await asyncio.sleep(11)
                self.see("over")
                self.assertEqual([tick.scheduled_ns // 10**9 async for tick in timers.ticks(Schedule.every(60, limit=3))], [94, 154, 214])

        self.run_on_it(main())
        self.assertEqual(self.seen, [("slept", 6), ("its own", 7), ("of the others", 8), (4, 12), ("over", 34)])

    def test_a_busy_loop_has_its_ticks(self):
        async def main():
            async with Timers() as timers:
                ticked = asyncio.Event()
                timers.queue.once(0, lambda tick: ticked.set())
                while not ticked.is_set():
                    await asyncio.sleep(0)

        self.run_on_it(main())
        self.assertEqual(self.loop.time(), 0)

    def test_time_waits_for_functions_on_other_threads(self):
        goes_on = threading.Event()

        async def main():
            # Without that the first wait ends at once, because its timeout is the only thing to come.
            wait = self.loop.run_in_executor(None, goes_on.wait, WATCHDOG)
            threading.Timer(0.05, goes_on.set).start()
            self.assertTrue(await asyncio.wait_for(wait, 1))
            self.see("waited")
            await self.sleep(1)
            if sys.version_info >= (3, 9):
                await self.loop.shutdown_default_executor()

        self.run_on_it(main())
        self.assertEqual(self.seen, [("waited", 0), (1, 1)])

    def test_without_timers_it_waits_for_other_threads(self):
        async def main():
            done = self.loop.create_future()
            threading.Timer(0.05, lambda: self.loop.call_soon_threadsafe(done.set_result, 7)).start()
            return await done

        self.assertEqual((self.run_on_it(main()), self.loop.time()), (7, 0))

    def test_what_a_handler_raises_reaches_the_loop(self):
        self.loop.set_exception_handler(lambda loop, context: self.see(str(context["exception"])))

        async def main():
            async with Timers() as timers:
                timers.queue.once(1, lambda tick: 1 / 0)
                await asyncio.sleep(2)
                timers.queue.once(1, lambda tick: exec("raise SystemExit(3)"))
                await asyncio.sleep(2)

        with self.assertRaises(SystemExit):
            self.run_on_it(main())
        self.assertEqual(self.seen, [("division by zero", 1)])
        self.assertEqual(self.loop.time(), 3)
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.run_on_it(task)

    def test_timers_that_close_in_a_handler_or_are_suspended(self):
        async def main():
            timers, others = Timers(), Timers()

            def close(tick):
                with self.assertRaises(WouldDeadlock):  # it does not wait for its own handler
                    timers.close()

            timers.queue.once(1, close)
            others.queue.once(1, lambda tick: self.see("never"))
            others.queue.suspend()
            with self.assertRaises(asyncio.CancelledError):
                await timers.sleep(2)
            await self.sleep(3)
            others.close()

        self.run_on_it(main())
        self.assertEqual(self.seen, [(3, 4)])

    def test_a_loop_that_is_closed_keeps_its_time(self):
        self.run_on_it(asyncio.sleep(5))
        self.loop.close()
        self.loop.close()
        self.assertEqual((self.loop.time(), self.loop.queue.id), (5, 0))

    def test_a_loop_whose_queue_is_closed_says_so_where_it_needs_its_time(self):
        async def main():
            await asyncio.sleep(5)
            self.loop.queue.shutdown()
            waiting = asyncio.get_running_loop().create_future()
            threading.Timer(0.01, self.loop.call_soon_threadsafe, (waiting.set_result, "from a thread")).start()
            self.see(await waiting)
            self.see(await self.loop.run_in_executor(None, str, "an executor's"))
            await asyncio.sleep(1)

        with self.assertRaisesRegex(Closed, "its queue was closed"):
            self.run_on_it(main())
        self.assertEqual(self.seen, [("from a thread", 5), ("an executor's", 5)])
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.run_on_it(task)
        self.run_on_it(self.loop.shutdown_asyncgens())

    def test_a_daemon_thread_in_a_loop_ends_with_the_interpreter(self):
        program = """if True:
            import asyncio, threading
            from chime_timers.aio import VirtualTimeLoop

            sleeps = threading.Event()

            async def main():
                loop = asyncio.get_running_loop()
                loop.call_soon(sleeps.set)
                while True:
                    await asyncio.sleep(1)

            threading.Thread(target=VirtualTimeLoop().run_until_complete, args=(main(),), daemon=True).start()
            sleeps.wait()
        """
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=WATCHDOG)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
