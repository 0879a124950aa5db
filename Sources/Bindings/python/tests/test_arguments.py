"""Wrong arguments are named in Python's words, at the call, and leave nothing behind; mypy refuses them, too."""

import decimal
import fractions
import functools
import gc
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
import weakref
from datetime import timedelta

import chime_timers as chime
from chime_timers import Queue, QueueKind, Schedule
from chime_timers.functions import alive, functions, release_collected
from chime_timers.values import nanoseconds
from units import WATCHDOG, WatchedTest, seconds, watch


class OwnError(chime.InvalidArgument):
    pass


class Callback:
    def __call__(self, tick=None):
        pass


class Types(WatchedTest):
    def setUp(self):
        self.queue = Queue(QueueKind.VIRTUAL)
        self.addCleanup(self.queue.shutdown)
        self.timer = self.queue.after(10, Callback())

    def refused(self, kind, words, call, *arguments, **keywords):
        with self.assertRaisesRegex(kind, words):
            call(*arguments, **keywords)

    def test_durations(self):
        queue, timer = self.queue, self.timer
        for name, call in (
                ("delay", lambda value: queue.after(value, print)), ("delay", lambda value: queue.once(value, print)),
                ("interval", lambda value: queue.every(value, print)), ("delay", timer.postpone),
                ("first", lambda value: queue.every(1, print, first="" if value is None else value)),
                ("delay", timer.restart_after),
                ("timeout", timer.cancel_and_wait), ("timeout", timer.release_and_wait), ("timeout", queue.shutdown),
                ("timeout", lambda value: queue.sync(print, value)), ("duration", queue.advance),
                ("duration", queue.jump),
                ("first", lambda value: Schedule(first=value)), ("first", Schedule.every),
                ("leeway", lambda value: Schedule(leeway=value))):
            for value in "1", None, [], {}:
                self.refused(TypeError, f"{name} must be a number of seconds or a timedelta, not ", call, value)
        for call in (timer.postpone_until_ns, timer.restart_until_ns, chime.sleep_until_ns,
                     lambda value: Schedule(deadline_ns="" if value is None else value)):
            for value in 1.5, "1", None, []:
                self.refused(TypeError, "deadline_ns must be an int of nanoseconds, not ", call, value)
        self.assertEqual(queue.now_ns, 0)
        self.assertIs(timer.state, chime.State.RUNNING)

    def test_numbers_at_the_ends(self):
        class Huge:
            def __index__(self):
                return 10**400

        class Unusable:  # as numpy.timedelta64
            def __float__(self):
                raise TypeError("its own words")

        large, small = fractions.Fraction(10**400), fractions.Fraction(1, 10**400)
        for number, expected in (
                (large, chime.FOREVER_NS), (-large, -chime.FOREVER_NS - 1), (Huge(), chime.FOREVER_NS), (small, 1),
                (-small, 0), (decimal.Decimal("1e-400"), 1), (decimal.Decimal(0), 0), (5e-324, 1)):
            self.assertEqual(nanoseconds(number), expected)
        self.refused(TypeError, "delay must be a number of seconds or a timedelta, not Unusable", self.timer.postpone, Unusable())
        Schedule(first=timedelta(0), deadline_ns=5)

    def test_names_of_files_are_those_that_open_takes(self):
        with tempfile.TemporaryDirectory() as directory:
            names = [os.fsencode(directory) + b"/a", pathlib.Path(directory, "b")]
            if sys.platform == "linux":
                names.append(directory + "/\udcff")  # as os.listdir gives one that is not UTF-8
            for name in names:
                self.assertIs(chime.trace_to_file(name), chime.Outcome.OK)
                chime.trace_to_file(None)
                self.assertTrue(os.path.exists(name))
        self.refused(TypeError, "str, bytes or os.PathLike", chime.trace_to_file, 7)

    def test_what_is_made_is_made_once(self):
        self.refused(RuntimeError, "already", self.queue.__init__)
        self.refused(RuntimeError, "already", self.timer.__init__, 0)
        self.assertIs(self.timer.state, chime.State.RUNNING)

    def test_a_mock_is_a_function(self):
        handler = unittest.mock.Mock()
        self.queue.once(1, handler)
        self.queue.run_soon(handler)
        self.queue.advance(1)
        self.assertEqual(handler.call_count, 2)
        if sys.version_info >= (3, 10):  # before that one is seen only by the coroutine that it returns
            self.refused(TypeError, "async", self.queue.once, 1, unittest.mock.AsyncMock())

    def test_queues_that_are_equal_are_two(self):
        class Equal(Queue):
            def __eq__(self, other):
                return True

        gc.collect()
        release_collected()  # what earlier tests have dropped
        known = len(alive)
        queues = [Equal(QueueKind.VIRTUAL), Equal(QueueKind.VIRTUAL)]
        self.assertEqual([sum(owner() is queue for owner in alive.values()) for queue in queues], [1, 1])
        del queues
        gc.collect()
        with Queue(QueueKind.VIRTUAL):
            self.assertEqual(len(alive), known + 1)

    def test_an_error_of_ones_own_stays_one(self):
        self.assertIs(type(OwnError(chime.c.ERROR_BUSY, "x")), OwnError)
        error = OwnError(chime.c.ERROR_INVALID_ARGUMENT, "x")
        error.place = 7
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.status, again.detail, again.place), (OwnError, error.status, "x", 7))

    def test_functions(self):
        queue = self.queue
        for call in (lambda function: queue.after(1, function), lambda function: queue.every(1, function),
                     lambda function: queue.once(1, function), lambda function: queue.start(Schedule(), function),
                     queue.create, queue.run_soon, queue.sync):
            for value in None, 7, "f":
                self.refused(TypeError, "function must be callable, not ", call, value)

            async def coroutine(tick):
                pass

            async def iterator(tick):
                yield

            def generator(tick):
                yield

            class Asynchronous:
                async def __call__(self, tick):
                    pass

                async def method(self, tick):
                    pass

            for value in coroutine, iterator, Asynchronous(), Asynchronous().method, functools.partial(coroutine, 1):
                self.refused(TypeError, "function must not be an async function.*chime_timers.aio", call, value)
            self.refused(TypeError, "function must not be a generator", call, generator)

    def test_a_function_that_returns_a_coroutine_is_reported(self):
        async def coroutine():
            pass

        reports, before = [], sys.unraisablehook
        sys.unraisablehook = lambda report: reports.append(str(report.exc_value))
        try:
            self.queue.once(0, lambda tick: coroutine())
            self.queue.advance(0)
        finally:
            sys.unraisablehook = before
        self.assertEqual(len(reports), 1)
        self.assertIn("coroutine", reports[0])

    def test_schedules(self):
        queue, timer = self.queue, self.timer
        for call in (timer.restart, timer.reschedule, timer.activate, lambda value: queue.start(value, print)):
            for value in 5, "5", print:
                self.refused(TypeError, "schedule must be a Schedule, not ", call, value)
        self.refused(TypeError, "schedule must be a Schedule, not NoneType", queue.start, None, print)
        self.refused(TypeError, "limit must be an int", Schedule, limit=1.5)
        self.refused(chime.InvalidArgument, "limit must be from 0", Schedule, limit=-1)
        self.refused(TypeError, "missed must be a MissedPolicy", Schedule, missed=1)
        self.refused(TypeError, "resume must be a ResumePolicy", Schedule, resume="remaining")
        self.refused(chime.InvalidArgument, "exclude each other", Schedule, first=1, deadline_ns=1)

    def test_options(self):
        self.refused(TypeError, "kind must be a QueueKind, not str", Queue, "serial")
        for call in Queue, chime.now_ns, lambda clock: chime.sleep_until_ns(0, clock):
            self.refused(TypeError, "clock must be a Clock, not str", lambda: call(clock="wall"))
        self.refused(TypeError, "label must be a str, not bytes", Queue, label=b"x")
        self.refused(chime.InvalidArgument, "label must not have a null", Queue, label="a\0b")
        self.refused(chime.InvalidArgument, "label must be valid Unicode", Queue, label="\ud800")
        self.refused(TypeError, "timer_limit must be an int, not float", Queue, timer_limit=1.0)
        self.refused(chime.InvalidArgument, "timer_limit must be from 0", Queue, timer_limit=-1)
        self.refused(chime.InvalidArgument, "timer_limit must be from 0", Queue, timer_limit=2**64)
        self.refused(TypeError, "label must be a str, not int", self.queue.create, print, label=7)
        self.refused(chime.InvalidArgument, "target must be from 0", self.queue.create, print, target=-1)
        self.refused(chime.InvalidArgument, "most must be from 0", self.queue.process, 2**32)
        self.refused(chime.InvalidArgument, "id must be from 0", chime.Timer.borrow, self.timer.id + 2**64)
        self.refused(TypeError, "id must be an int", chime.Timer, "7")
        self.refused(chime.InvalidArgument, "path must not have a null", chime.trace_to_file, "/tmp/a\0b")

    def test_keywords_that_are_misspelt(self):
        for call, keyword in ((lambda **words: self.queue.start(Schedule(), print, **words), "labl"),
                              (lambda **words: Schedule.every(10, **words), "leway"), (Queue, "lable"),
                              (lambda **words: Schedule.every(10, **words), "interval")):
            self.refused(TypeError, keyword, call, **{keyword: 1})
        for structure in (chime.c.Schedule, chime.c.TimerOptions, chime.c.QueueOptions):
            self.refused(TypeError, "no member 'handlr'", structure, handlr=1)
            self.refused(AttributeError, "handlr", setattr, structure(), "handlr", 1)

    def test_refused_arguments_leave_nothing_behind(self):
        before = len(functions)
        calls = (lambda function: self.queue.after("1", function), lambda function: self.queue.every([], function),
                 lambda function: self.queue.every(0, function), lambda function: self.queue.every(1, function, first="x"),
                 lambda function: self.queue.once(None, function), lambda function: self.queue.start(7, function),
                 lambda function: self.queue.start(Schedule(), function, label=7),
                 lambda function: self.queue.create(function, target="x"),
                 lambda function: self.queue.create(function, target=2**40),
                 lambda function: self.queue.sync(function, "x"))
        for call in calls:
            function = Callback()
            gone = weakref.ref(function)
            with self.assertRaises((TypeError, ValueError, chime.Error)):
                call(function)
            del function
            gc.collect()
            self.assertIsNone(gone())
        self.assertEqual(len(functions), before)

    def test_a_refused_timeout_ends_nothing(self):
        for bad in "1", -5:
            with self.assertRaises((TypeError, chime.Error)):
                self.queue.shutdown(bad)
            with self.assertRaises((TypeError, chime.Error)):
                self.timer.release_and_wait(bad)
        self.assertIs(self.timer.state, chime.State.RUNNING)
        self.queue.advance(1)

    def test_integers_of_other_kinds_are_integers(self):
        class Number:
            def __index__(self):
                return 5

        self.assertIs(self.timer.restart_after(Number()), chime.Outcome.OK)
        self.assertEqual(self.timer.next_deadline_ns, 5_000_000_000)

    def test_setting_a_timer_again(self):
        queue, ticks = self.queue, []
        with queue.create(ticks.append) as timer:
            self.assertIs(timer.restart_after(10), chime.Outcome.OK)
            queue.advance(5)
            self.assertIs(timer.restart_after(10), chime.Outcome.OK)
            queue.advance(10)
            self.assertIs(timer.restart_until_ns(40_000_000_000), chime.Outcome.OK)
            queue.advance(100)
        self.assertEqual([seconds(tick.actual_ns) for tick in ticks], [15, 40])


class Repr(WatchedTest):
    def test_queues_and_timers_say_what_they_are(self):
        queue = Queue(QueueKind.VIRTUAL, label="sessions")
        timer = queue.after(10, print)
        self.assertEqual(repr(queue), "<Queue VIRTUAL 'sessions'>")
        self.assertEqual(repr(timer), f"<Timer {timer.id} RUNNING>")
        id = timer.id
        timer.suspend()
        self.assertIn("SUSPENDED", repr(timer))
        timer.release()
        self.assertEqual(repr(timer), "<Timer released>")
        self.assertEqual(repr(chime.Timer.borrow(id)), f"<Timer {id} gone>")
        queue.shutdown()
        self.assertEqual(repr(queue), "<Queue VIRTUAL 'sessions' closed>")
        self.assertIn("Queue", repr(Queue.__new__(Queue)))
        self.assertIn("Timer", repr(chime.Timer.__new__(chime.Timer)))

    def test_constants_read_as_their_names(self):
        for one in chime.State.RUNNING, chime.TickKind.FIRED, QueueKind.HOST, chime.Clock.WALL, chime.MissedPolicy.DELAY:
            self.assertEqual([str(one), f"{one}", f"{one:>9}", "%s %d" % (one, one), f"{one:02d}"],
                             [one.name, one.name, one.name.rjust(9), f"{one.name} {one.value}", f"0{one.value}"])

    def test_a_timer_without_a_schedule_says_so_in_python(self):
        with Queue(QueueKind.VIRTUAL) as queue, self.assertRaisesRegex(chime.InvalidArgument, "schedule is None, and"):
            queue.create(print).activate()


@unittest.skipUnless(shutil.which("mypy"), "no mypy")
class Typing(WatchedTest):
    """A line of the program below that ends in `# refused` is an error of mypy, and no other line is."""

    PROGRAM = """
        import asyncio
        import chime_timers as chime
        from datetime import timedelta
        from chime_timers import Queue, QueueKind, Schedule, Tick, Timer
        from chime_timers.aio import Timers

        def handler(tick: Tick) -> None: ...

        queue = Queue(QueueKind.VIRTUAL, label="x")
        timer: Timer = queue.after(10, handler)
        queue.after(0.5, lambda tick: queue.stop())
        queue.after(timedelta(seconds=1), print)
        queue.every(10, print)
        ticks: list[Tick] = []
        queue.after(10, ticks.append)
        number: int = queue.sync(lambda: 7)
        queue.after("1", handler)  # refused
        queue.after(10, lambda: None)  # refused
        queue.run_soon(handler)  # refused
        queue.start(Schedule(), handler, lable="x")  # refused
        Schedule.every(10, leway=5)  # refused
        Schedule(limit="5")  # refused
        Schedule(deadline_ns=0.5)  # refused
        Queue("serial")  # refused
        chime.c.Schedule(frist_ns=5)  # refused
        timer.restart_after(10)
        timer.restart_until_ns(0.5)  # refused
        try:
            timer.fire()
        except chime.Closed as error:
            status: int = error.status
        async def main() -> None:
            loop = asyncio.get_running_loop()
            queue.after(1, lambda tick: loop.call_soon_threadsafe(print, "tick"))
            queue.run_soon(lambda: loop.create_future())
            async with Timers() as timers:
                late: float = await timers.sleep(0.5)
                await timers.sleep(timedelta(seconds=1))
                await timers.sleep("1")  # refused
                iterator = timers.ticks(Schedule.every(10, limit=3))
                async for tick in iterator:
                    print(tick.sequence)
                await iterator.aclose()
    """

    def test_mypy_refuses_what_is_wrong_and_nothing_else(self):
        text = textwrap.dedent(self.PROGRAM)
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory, "program.py")
            program.write_text(text)
            binding = pathlib.Path(__file__).parent.parent
            watch(10 * WATCHDOG)  # it reads and checks asyncio, too
            result = subprocess.run(
                ["mypy", "--strict", "--no-error-summary", "--hide-error-context", "--cache-dir", directory, str(program)],
                env={"MYPYPATH": str(binding), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        lines = {int(line.split(":")[1]) for line in result.stdout.splitlines() if ": error:" in line}
        expected = {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# refused")}
        self.assertEqual(lines, expected, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
