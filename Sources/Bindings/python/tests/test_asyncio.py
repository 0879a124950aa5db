"""chime_timers.aio: sleepers, ticks, what closing does to both, and where errors go."""

import asyncio
import contextlib
import gc
import os
import selectors
import sys
import threading
import time
import unittest
import warnings
from datetime import timedelta

import chime_timers as chime
from chime_timers import Schedule
from chime_timers.aio import Timers
from units import HOUR, MILLISECOND, WatchedTest


def run(main):
    """With a watchdog."""
    return asyncio.run(asyncio.wait_for(main, 30))


class TimersOnALoop(WatchedTest):
    def test_sleepers_end_in_order_and_never_early(self):
        async def main():
            ended = []
            async with Timers(label="loop") as timers:
                begin = timers.queue.now_ns

                async def sleeper(milliseconds):
                    late = await timers.sleep_until_ns(begin + milliseconds * 1_000_000)
                    self.assertGreaterEqual(late, 0)
                    ended.append(milliseconds)

                await asyncio.wait_for(asyncio.gather(*map(sleeper, (30, 10, 20))), 30)
                self.assertEqual(timers.queue.stats().timers, 0)
            return ended

        self.assertEqual(asyncio.run(main()), [10, 20, 30])

    def test_a_cancelled_sleeper_takes_its_timer_with_it(self):
        async def main():
            async with Timers() as timers:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(timers.sleep(3600), 0.01)
                return timers.queue.stats().timers

        self.assertEqual(asyncio.run(main()), 0)

    def test_a_timer_of_another_thread_wakes_the_loop(self):
        async def main():
            async with Timers() as timers:
                ticked = timers.loop.create_future()

                def on_tick(tick):  # on the loop's thread, so the future may be touched
                    ticked.set_result(threading.current_thread() is threading.main_thread())

                # The loop is in its select when the other thread starts the timer.
                thread = threading.Timer(0.02, lambda: timers.queue.once(MILLISECOND, on_tick))
                thread.start()
                return await ticked

        self.assertTrue(run(main()))

    def test_an_idle_loop_does_not_poll(self):
        class Selector(selectors.DefaultSelector):
            turns = 0

            def select(self, timeout=None):
                self.turns += 1
                return super().select(timeout)

        selector = Selector()
        loop = asyncio.SelectorEventLoop(selector)

        async def main():
            async with Timers() as timers:
                idle = [asyncio.create_task(timers.sleep(3600)) for _ in range(1000)]
                while timers.queue.stats().timers < len(idle):
                    await asyncio.sleep(0)
                await timers.sleep(0.001)
                turns, passes = selector.turns, timers.queue.stats().passes
                await timers.sleep(0.2)
                turns, passes = selector.turns - turns, timers.queue.stats().passes - passes
                for task in idle:
                    task.cancel()
                await asyncio.gather(*idle, return_exceptions=True)
                return turns, passes

        with contextlib.closing(loop):
            turns, passes = loop.run_until_complete(asyncio.wait_for(main(), 30))
        self.assertLessEqual(turns, 5)
        self.assertLessEqual(passes, 5)

    def test_ticks_are_an_async_iterator_that_counts_what_it_missed(self):
        async def main():
            due = 0
            async with Timers(bound=True) as timers:
                async for tick in timers.ticks(Schedule.every(MILLISECOND, limit=5)):
                    due += 1 + tick.missed
                    await asyncio.sleep(0.002)
                return due, timers.queue.stats().timers

        self.assertEqual(asyncio.run(asyncio.wait_for(main(), 30)), (5, 0))

    def test_an_iterator_of_ticks_ends_with_its_timer(self):
        async def main():
            async with Timers() as timers:
                count = 0
                async for tick in timers.ticks(Schedule(interval=HOUR)):
                    count += 1
                    timers.loop.call_soon(tick.timer.cancel)  # while the iterator waits
                return count

        self.assertEqual(asyncio.run(asyncio.wait_for(main(), 30)), 1)


@unittest.skipUnless(hasattr(asyncio, "timeout"), "asyncio.timeout is of Python 3.11")
class Timeouts(WatchedTest):
    """Each case with asyncio's own timeout, too: what comes is the same."""

    def both(self, case):
        async def main():
            outcomes = []
            async with Timers() as timers:
                for module in (asyncio, timers):
                    try:
                        outcomes.append(await case(module))
                    except BaseException as error:
                        outcomes.append((type(error), str(error), type(error.__cause__)))
                    self.assertEqual(asyncio.current_task().cancelling(), 0)
                    self.assertEqual(timers.queue.stats().timers, 0)
            return outcomes

        theirs, ours = run(main())
        if sys.version_info >= (3, 11, 7):  # 3.11.2's TimeoutError has no cause, and it asserts where later ones raise RuntimeError
            self.assertEqual(ours, theirs)
        return ours

    async def ended(self, module, manager, body):
        """What a body under a timeout ends with, and whether that had expired."""
        try:
            async with manager as timeout:
                await body(timeout)
        except (Exception, asyncio.CancelledError) as error:
            return type(error), type(error.__cause__), timeout.expired(), timeout.when() is None
        return None, None, timeout.expired(), timeout.when() is None

    def test_a_body_ends_as_under_asyncios_timeout(self):
        sleep, now = asyncio.sleep, lambda: asyncio.get_running_loop().time()

        async def raises(timeout):
            await sleep(0)
            raise KeyError

        async def catches(timeout):
            try:
                await sleep(30)
            except asyncio.CancelledError:
                raise KeyError from None

        async def moves_later(timeout):
            timeout.reschedule(now() + 30)
            await sleep(0.03)

        async def moves_earlier(timeout):
            timeout.reschedule(now() - 1)
            await sleep(30)

        async def takes_away(timeout):
            timeout.reschedule(None)
            await sleep(0.03)

        async def cancels_itself(timeout):
            asyncio.current_task().cancel()
            try:
                await sleep(30)
            finally:
                asyncio.current_task().uncancel()

        cases = [
            (0.01, lambda timeout: sleep(30), (TimeoutError, asyncio.CancelledError, True, False)),
            (0, lambda timeout: sleep(30), (TimeoutError, asyncio.CancelledError, True, False)),
            (-5, lambda timeout: sleep(30), (TimeoutError, asyncio.CancelledError, True, False)),
            (30, lambda timeout: sleep(0.01), (None, None, False, False)),
            (None, lambda timeout: sleep(0.01), (None, None, False, True)),
            (30, raises, (KeyError, type(None), False, False)), (0.01, catches, (KeyError, type(None), True, False)),
            (0.01, moves_later, (None, None, False, False)), (30, moves_earlier, (TimeoutError, asyncio.CancelledError, True, False)),
            (0.01, takes_away, (None, None, False, True)), (None, moves_earlier, (TimeoutError, asyncio.CancelledError, True, False)),
            (30, cancels_itself, (asyncio.CancelledError, type(None), False, False)),
        ]
        for delay, body, expected in cases:
            with self.subTest(delay=delay, body=body):
                self.assertEqual(self.both(lambda module: self.ended(module, module.timeout(delay), body)), expected)
        self.assertEqual(self.both(lambda module: self.ended(module, module.timeout_at(now() + 0.01), lambda timeout: sleep(30)))[0], TimeoutError)

    def test_timeouts_nest(self):
        async def case(module, inner, outer):
            seen = []
            try:
                async with module.timeout(outer) as outside:
                    try:
                        async with module.timeout(inner) as inside:
                            await asyncio.sleep(30)
                    except TimeoutError:
                        seen.append("inner")
                    await asyncio.sleep(0.2 if inner < outer else 0)
            except TimeoutError:
                seen.append("outer")
            return seen, inside.expired(), outside.expired()

        for inner, outer in ((0.01, 30), (30, 0.01), (0.01, 0.1)):
            self.both(lambda module: case(module, inner, outer))

    def test_its_states_are_asyncios(self):
        async def case(module):
            said = []

            def says(call):
                try:
                    said.append(call())
                except RuntimeError as error:
                    said.append(str(error))

            timeout = module.timeout(30)
            says(lambda: timeout.reschedule(None))
            async with timeout:
                try:
                    await timeout.__aenter__()
                except RuntimeError as error:
                    said.append(str(error))
            says(lambda: timeout.reschedule(None))
            try:
                async with module.timeout(0) as timeout:
                    try:
                        await asyncio.sleep(30)
                    finally:
                        says(lambda: timeout.reschedule(None))
            except TimeoutError:
                says(timeout.expired)
            return said

        self.assertEqual(len(self.both(case)), 5)

    def test_a_time_that_is_over_ends_the_body_at_its_first_await(self):
        async def case(module, enter):
            seen = []
            try:
                async with enter(module) as timeout:
                    try:
                        await asyncio.sleep(0)
                        await asyncio.sleep(0)
                        seen.append("not ended")
                    except asyncio.CancelledError:
                        seen.append(repr(timeout))
                        raise
            except TimeoutError:
                seen.append(repr(timeout))
            return seen, timeout.when() <= asyncio.get_running_loop().time()

        now = time.monotonic
        for enter in (lambda module: module.timeout(0), lambda module: module.timeout(-11), lambda module: module.timeout_at(now()),
                      lambda module: module.timeout_at(now() - 5)):
            self.assertEqual(self.both(lambda module: case(module, enter)), (["<Timeout [expiring]>", "<Timeout [expired]>"], True))

        async def moved(module, when):
            async with module.timeout(30) as timeout:
                try:
                    timeout.reschedule(when(now()))
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    return "ended"
                return "goes on"

        self.assertEqual(self.both(lambda module: moved(module, lambda time: time - 1)), "ended")
        self.assertEqual(self.both(lambda module: moved(module, lambda time: time + 30)), "goes on")

        async def postponed():
            async with Timers() as timers, timers.timeout(0) as timeout:
                timeout.postpone(30)
                await asyncio.sleep(0.001)
                return timeout.expired()

        self.assertFalse(asyncio.run(postponed()))

    def test_a_cancellation_that_is_under_way_is_not_swallowed(self):
        """As asyncio.timeout(0) does (python/cpython, issue 134471)."""
        async def body(timers, delay):
            asyncio.current_task().cancel()
            async with timers.timeout(delay):
                await asyncio.sleep(30)

        async def main():
            async with Timers() as timers:
                for delay in 0, -1, 30:
                    task = asyncio.create_task(body(timers, delay))
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    self.assertTrue(task.cancelled())

        run(main())

    def test_signs_of_life_postpone_it_and_make_nothing(self):
        async def main():
            async with Timers() as timers:
                async with timers.timeout(0.2) as timeout:
                    for _ in range(50):
                        await asyncio.sleep(0.008)
                        timeout.postpone(0.2)
                    self.assertEqual(timers.queue.stats().timers, 1)
                    self.assertAlmostEqual(timeout.when() - timers.loop.time(), 0.2, delta=0.1)
                self.assertFalse(timeout.expired())
                with self.assertRaises(TimeoutError):
                    async with timers.timeout(0.01) as timeout:
                        timeout.postpone(0.001)  # earlier: nothing changes
                        await asyncio.sleep(30)
            with self.assertRaisesRegex(RuntimeError, "closed"):
                await timers.timeout(1).__aenter__()

        run(main())


class After(WatchedTest):
    def test_after_calls_functions_and_makes_tasks_of_coroutines(self):
        async def main():
            seen, reported = [], []
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))

            async def later(tick):
                seen.append(tick.sequence)
                await asyncio.sleep(0)
                seen.append("later")

            async def fails(tick):
                raise KeyError

            async def stays(tick):
                seen.append("stays")
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    seen.append("cancelled")
                    raise

            async with Timers() as timers:
                timers.after(0, lambda tick: seen.append("plain"))
                timer = timers.after(0.001, later)
                while "later" not in seen:
                    await timers.sleep(0.001)
                timers.after(0, fails)
                timers.after(0, stays)
                timer.restart_after(0.001)
                while seen.count("later") < 2 or "stays" not in seen:
                    await timers.sleep(0.001)
                gc.collect()
                with self.assertRaises(TypeError):
                    timers.after(0, print.__name__)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            gc.collect()
            self.assertEqual([type(error) for error in reported], [KeyError])
            return seen

        seen = run(main())
        self.assertEqual((seen[0], seen[-1], seen.count("later")), ("plain", "cancelled", 2))


class Closing(WatchedTest):
    def test_a_sleeper_is_cancelled_when_its_timers_close(self):
        async def main():
            async with Timers() as timers:
                sleeper = asyncio.create_task(timers.sleep(3600))
                await asyncio.sleep(0)
            with self.assertRaises(asyncio.CancelledError):
                await sleeper
            self.assertTrue(sleeper.cancelled())

        run(main())

    def test_a_task_that_is_cancelled_after_its_timers_have_closed_is_cancelled(self):
        async def main():
            timers = Timers()
            sleeper = asyncio.create_task(timers.sleep(3600))
            await asyncio.sleep(0)
            timers.close()
            sleeper.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await sleeper

        run(main())

    def test_wait_for_whose_sleeper_is_closed_ends_by_cancellation(self):
        async def main():
            timers = Timers()
            waiting = asyncio.create_task(asyncio.wait_for(timers.sleep(3600), 3600))
            await asyncio.sleep(0.01)
            timers.close()
            with self.assertRaises(asyncio.CancelledError):
                await waiting

        run(main())

    def test_an_iterator_of_ticks_ends_when_its_timers_close(self):
        async def main():
            timers = Timers()
            seen = []

            async def iterate():
                async for tick in timers.ticks(Schedule(interval=HOUR)):
                    seen.append(tick.sequence)

            iterating = asyncio.create_task(iterate())
            while not seen:
                await asyncio.sleep(0.001)
            timers.close()
            await iterating
            self.assertEqual(seen, [1])

        run(main())

    def test_an_iterator_of_ticks_whose_body_closes_ends(self):
        async def main():
            timers, count = Timers(), 0
            async for _ in timers.ticks(Schedule.every(MILLISECOND)):
                count += 1
                timers.close()
            self.assertEqual(count, 1)

        run(main())

    def test_a_cancelled_iterator_of_ticks_is_cancelled_though_its_timers_close(self):
        async def main():
            timers = Timers()

            async def iterate():
                async for _ in timers.ticks(Schedule.every(HOUR)):
                    pass

            iterating = asyncio.create_task(iterate())
            await asyncio.sleep(0.01)
            iterating.cancel()
            timers.close()
            with self.assertRaises(asyncio.CancelledError):
                await iterating

        run(main())

    @unittest.skipIf(sys.version_info < (3, 11), "no TaskGroup")
    def test_a_task_group_around_timers_ends(self):
        async def main():
            async with asyncio.TaskGroup() as group:
                async with Timers() as timers:
                    sleepers = [group.create_task(timers.sleep(3600)) for _ in range(3)]
                    await asyncio.sleep(0.01)
            self.assertTrue(all(sleeper.cancelled() for sleeper in sleepers))

        run(main())

    def test_a_timeout_comes_though_its_timers_close(self):
        def in_a_thread(timers):
            thread = threading.Thread(target=timers.queue.shutdown)
            thread.start()
            thread.join()

        async def body(timers, close, **begin):
            loop = asyncio.get_running_loop()
            timeout = timers.timeout(0.05) if not begin else timers.timeout_at(loop.time() + 0.05)
            with self.assertRaises(asyncio.TimeoutError):
                async with timeout:
                    if not begin:
                        timeout.postpone(0.1)
                    when = timeout.when()
                    close(timers)
                    self.assertEqual(timeout.when(), when)
                    await loop.create_future()  # nothing ends it
            self.assertTrue(timeout.expired())
            self.assertEqual(timeout.when(), when)
            self.assertGreaterEqual(loop.time(), when)

        async def main():
            for close in (lambda timers: timers.close(), lambda timers: timers.queue.shutdown(), in_a_thread):
                await body(Timers(), close)
                await body(Timers(), close, at=True)
            # One that was due when they closed comes, one without an end does not, nor does one whose body has ended.
            timers = Timers()
            with self.assertRaises(asyncio.TimeoutError):
                async with timers.timeout(0.001):
                    time.sleep(0.002)
                    timers.close()
                    await asyncio.get_running_loop().create_future()
            timers = Timers()
            async with timers.timeout(None) as never, timers.timeout(0.01) as short:
                timers.close()
            await asyncio.sleep(0.02)
            self.assertFalse(never.expired() or short.expired())

        run(main())

    def test_what_is_reported_of_a_handler_names_it(self):
        async def main():
            reported = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
            async with Timers() as timers:
                def no_wrapper(tick):
                    raise ArithmeticError

                timers.after(0.001, no_wrapper)
                while not reported:
                    await timers.sleep(0.001)
            return reported[0]["message"]

        self.assertRegex(run(main()), "Exception in <function .*no_wrapper")

    def test_closing_the_queue_itself_is_closing(self):
        async def main():
            timers = Timers()
            sleeper = asyncio.create_task(timers.sleep(3600))
            await asyncio.sleep(0)
            timers.queue.shutdown()
            with self.assertRaises(asyncio.CancelledError):
                await sleeper
            timers.close()

        run(main())

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_child_that_closes_leaves_the_loop_to_its_parent(self):
        async def main():
            async with Timers() as timers:
                child = os.fork()
                if child == 0:
                    try:
                        timers.close()
                    except chime.Forked:
                        os._exit(0)
                    finally:
                        os._exit(1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                await timers.sleep(MILLISECOND)

        asyncio.run(main())

    def test_closing_in_a_handler(self):
        async def main():
            timers = Timers()
            sleeper = asyncio.create_task(timers.sleep(3600))
            await asyncio.sleep(0)

            def close(tick):
                with contextlib.suppress(chime.Error):  # WOULD_DEADLOCK: it cannot wait for itself
                    timers.close()

            timers.queue.once(0, close)
            with self.assertRaises(asyncio.CancelledError):
                await sleeper

        run(main())

    def test_timers_that_are_closed_refuse(self):
        async def main():
            timers = Timers()
            with self.assertRaisesRegex(RuntimeError, "already"):
                timers.__init__()
            timers.close()
            for call in timers.sleep(0), timers.sleep_until_ns(0), timers.ticks(Schedule()).__anext__():
                with self.assertRaisesRegex(RuntimeError, "closed"):
                    await call

        run(main())

    def test_the_error_of_the_body_is_not_replaced(self):
        async def main():
            with self.assertRaisesRegex(KeyError, "the user's"):
                async with Timers() as timers:
                    timers.queue._cell.value = 2**52  # its shutdown fails
                    raise KeyError("the user's")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(main())
            gc.collect()

    def test_timers_that_are_not_closed_warn(self):
        async def main():
            Timers()

        with self.assertWarnsRegex(ResourceWarning, "unclosed <Timers"):
            run(main())
            gc.collect()


class Durations(WatchedTest):
    def test_a_sleep_of_one_is_a_second(self):
        async def main():
            async with Timers() as timers:
                made, after = [], timers.queue.after
                timers.queue.after = lambda *arguments: made.append(after(*arguments)) or made[-1]
                for delay, expected in (1, 10**9), (0.5, 10**9 // 2), (timedelta(seconds=2), 2 * 10**9):
                    before = timers.queue.now_ns
                    sleeper = asyncio.create_task(timers.sleep(delay))
                    await asyncio.sleep(0)
                    deadline = made[-1].next_deadline_ns
                    self.assertTrue(before + expected <= deadline <= timers.queue.now_ns + expected, delay)
                    sleeper.cancel()
                    await asyncio.gather(sleeper, return_exceptions=True)

        run(main())

    def test_delays_at_the_ends(self):
        async def main():
            async with Timers() as timers:
                await timers.sleep(0)
                await timers.sleep(-5)
                for bad, kind in ("1", TypeError), (None, TypeError), (float("nan"), ValueError):
                    with self.assertRaisesRegex(kind, "delay"):
                        await timers.sleep(bad)
                sleeper = asyncio.create_task(timers.sleep(float("inf")))
                await asyncio.sleep(0)
                self.assertEqual(timers.queue.next_deadline_ns, chime.FOREVER_NS)
                sleeper.cancel()

        run(main())


class Raising(WatchedTest):
    def test_what_a_handler_raises_reaches_the_loops_exception_handler(self):
        async def main():
            contexts, ticks = [], []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: contexts.append(context))

            def handler(tick):
                ticks.append(tick)
                raise LookupError("in a handler")

            async with Timers() as timers:
                with timers.queue.start(Schedule.every(MILLISECOND, limit=2), handler) as timer:
                    while timer.state is chime.State.RUNNING:
                        await asyncio.sleep(0.001)
            self.assertEqual([str(context["exception"]) for context in contexts], ["in a handler"] * len(ticks))
            self.assertIn("handler", contexts[0]["message"])

        run(main())

    def test_what_ends_a_program_ends_the_loop(self):
        for error in KeyboardInterrupt, SystemExit:
            def handler(tick):
                raise error("from a handler")

            async def main():
                async with Timers() as timers:
                    timers.queue.once(0, handler)
                    await timers.sleep(30)

            with self.assertRaisesRegex(error, "from a handler"):
                asyncio.run(main())


class Guests(WatchedTest):
    """The loop of the README, where these are installed."""

    def ticks_in(self, name, **options):
        try:
            module = __import__(name)
        except ImportError:
            self.skipTest(f"no {name}")
        wait_readable = getattr(module, "wait_readable", None) or module.lowlevel.wait_readable

        async def main():
            with chime.Queue(chime.QueueKind.HOST) as queue:
                seen = []
                queue.once(0.02, lambda tick: seen.append("second"))
                queue.once(0.001, lambda tick: seen.append("first"))
                while len(seen) < 2:
                    await wait_readable(queue.fd)
                    queue.process()
                return seen

        self.assertEqual(module.run(main, **options), ["first", "second"])

    def test_trio(self):
        self.ticks_in("trio")

    def test_anyio(self):
        self.ticks_in("anyio", backend="asyncio")

    def test_anyio_on_trio(self):
        self.ticks_in("anyio", backend="trio")


if __name__ == "__main__":
    unittest.main()
