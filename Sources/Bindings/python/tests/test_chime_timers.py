"""What the classes of chime_timers add to chime.h: ownership, values, errors. What timers do is tested in Tests/C.

    CHIME_LIBRARY=DIR/libchime.so.0 python3 -m unittest discover -s tests    in the directory above this one: all tests
"""

import contextvars
import copy
import ctypes
import gc
import math
import os
import pickle
import sys
import threading
import time
import unittest
import unittest.mock
import weakref
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import chime_timers as chime
from chime_timers import Outcome, Queue, QueueKind, Schedule, State, TickKind, c
from units import MILLISECOND, WATCHDOG, WatchedTest, seconds


def on_a_thread(call):
    """What it gives on another thread than the main one."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join()
    return answers[0]


class Function:
    """A handler that remembers its ticks, and whose end can be seen."""

    def __init__(self):
        self.ticks = []

    def __call__(self, tick):
        self.ticks.append(tick)


class Structures(WatchedTest):
    @unittest.skipUnless("CHIME_LAYOUT" in os.environ, "no record of the ABI")
    def test_they_are_laid_out_as_recorded(self):
        with open(os.environ["CHIME_LAYOUT"]) as lines:
            for line in lines:
                place, number = line.split()
                structure, _, member = place.partition(".")
                ours = c.STRUCTURES[structure]
                self.assertEqual(getattr(ours, member).offset if member else ctypes.sizeof(ours), int(number), place)


class Numbers(WatchedTest):
    @unittest.skipUnless("CHIME_NUMBERS" in os.environ, "no record of the ABI")
    def test_they_are_those_of_the_header(self):
        with open(os.environ["CHIME_NUMBERS"]) as lines:
            header = {name[len("CHIME_"):]: int(number) for name, number in map(str.split, lines)}
        ours = {name: value for name, value in vars(c).items() if name.isupper() and type(value) is int}
        self.assertEqual(ours, {name: header.get(name) for name in ours})
        missing = {name for name in header if name in ("OK", "IGNORED", "RUNNING") or name.startswith("ERROR_")} - set(ours)
        self.assertEqual(missing, set())


class Sentences(WatchedTest):
    """They say what happened, or what to write, in Python's words."""

    def test_of_what_was_closed_or_is_no_schedule(self):
        queue = Queue(QueueKind.VIRTUAL)
        timer, released = queue.create(print), queue.after(1, print)
        released.release()
        for number, kind, text in (
                (300, TypeError, r"Schedule\(first=300\)"), (0.5, TypeError, r"Schedule\(first=0\.5\)"),
                (timedelta(1), TypeError, "Schedule.every"), ("5", TypeError, "not str")):
            for call in (lambda: queue.start(number, print)), (lambda: timer.restart(number)):
                with self.assertRaisesRegex(kind, text):
                    call()
        with self.assertRaisesRegex(chime.Closed, "CHIME_ERROR_INVALID_HANDLE: the timer was released"):
            released.cancel()
        queue.shutdown()
        for call in (lambda: queue.after(1, print)), (lambda: queue.advance(1)), (lambda: queue.now_ns):
            with self.assertRaisesRegex(chime.Closed, "CHIME_ERROR_INVALID_HANDLE: the queue was closed"):
                call()

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_of_a_forked_child(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    queue.advance(1)
                except chime.Forked as error:
                    os.write(writing, str(error).encode())
                os._exit(0)
            os.close(writing)
            with open(reading) as said:
                self.assertIn("chime_timers.reinitialize()", said.read())
            os.waitpid(child, 0)


class VirtualTime(WatchedTest):
    def setUp(self):
        self.queue = Queue(QueueKind.VIRTUAL, label="virtual")
        self.addCleanup(self.queue.shutdown)
        self.function = Function()

    def times(self):
        return [seconds(tick.scheduled_ns) for tick in self.function.ticks]

    def test_a_repeating_timer_has_its_grid_and_counts_what_it_missed(self):
        self.timer = timer = self.queue.every(10, self.function)
        self.queue.advance(25)
        self.queue.jump(30)
        self.queue.advance(0)
        self.assertEqual(self.times(), [10, 20, 50])
        self.assertEqual([tick.missed for tick in self.function.ticks], [0, 0, 2])
        self.assertEqual([tick.sequence for tick in self.function.ticks], [1, 2, 3])
        self.assertEqual(self.queue.now_ns, 55_000_000_000)
        self.assertEqual(timer.info().missed, 2)

    def test_an_advance_without_end_is_refused(self):
        queue = self.queue
        timer = queue.every(1, lambda tick: tick.sequence == 5 and tick.timer.cancel())
        for endless in chime.FOREVER, 1e300, 2**80, timedelta.max:
            with self.assertRaisesRegex(chime.InvalidArgument, "an advance needs an end"):
                queue.advance(endless)
        self.assertEqual((timer.info().sequence, queue.now_ns), (0, 0))
        while queue.next_deadline_ns != chime.FOREVER_NS:
            queue.advance((queue.next_deadline_ns - queue.now_ns) / 1e9)
        self.assertEqual((timer.info().sequence, queue.now_ns), (5, 5_000_000_000))

    def test_the_first_tick_has_a_delay_of_its_own(self):
        with self.queue.every(10, self.function, first=3):
            self.queue.advance(25)
        self.assertEqual(self.times(), [3, 13, 23])

    def test_durations_are_seconds_or_timedeltas_and_saturate(self):
        self.timer = timer = self.queue.after(timedelta(milliseconds=1.5), self.function)
        self.assertEqual(timer.next_deadline_ns, 1_500_000)
        self.queue.advance(0.0005)
        self.assertEqual(timer.remaining_ns, 1_000_000)
        for delay, expected in (
                (1, 10**9), (1.5, 1_500_000_000), (0.1, 100_000_000), (1e-9, 1), (1e-12, 1), (250e-9, 250), (0, 0),
                (86_400.000_000_001, 86_400_000_000_001), (Fraction(1, 3), 333_333_333), (Decimal("0.25"), 250_000_000),
                (3 * 10**9, 3 * 10**18), (True, 10**9)):
            self.assertIs(timer.restart_after(delay), Outcome.OK)
            self.assertEqual(timer.remaining_ns, expected, delay)
        for delay in 2**80, 1e30, math.inf, chime.FOREVER, timedelta.max:
            self.assertIs(timer.restart(Schedule(first=delay)), Outcome.OK)
            self.assertEqual(timer.next_deadline_ns, chime.FOREVER_NS)
            self.assertEqual(timer.remaining_ns, chime.FOREVER_NS)
        with self.assertRaisesRegex(chime.InvalidArgument, "delay must not be NaN"):
            self.queue.after(math.nan, self.function)

    def test_at_a_time_of_day(self):
        evening = datetime(1970, 1, 1, 18, tzinfo=timezone(timedelta(hours=-2)))
        naive = datetime(1970, 1, 2, 12)
        local = naive.timestamp()
        self.queue.jump(3600)
        for when in evening, naive, 86_400.5, datetime(1969, 1, 1, tzinfo=timezone.utc), Decimal(7200):
            self.queue.at(when, self.function)  # nobody keeps them
        gc.collect()
        self.queue.advance(3 * 86_400)
        self.assertEqual(sorted(self.times()), sorted([-365 * 86_400, 7200, 20 * 3600, 86_400.5, local]))
        self.assertEqual(self.queue.stats().timers, 0)
        for when in datetime.max, datetime.max.replace(tzinfo=timezone.utc), math.inf:
            timer = self.queue.at(when, self.function)
            self.assertEqual(timer.next_deadline_ns, chime.FOREVER_NS)
            timer.release()
        with Queue(clock=chime.Clock.WALL) as wall, Queue() as other:
            ticked = threading.Event()
            wall.at(datetime.now() + timedelta(milliseconds=20), lambda tick: ticked.set())
            self.assertTrue(ticked.wait(WATCHDOG))
            with self.assertRaisesRegex(chime.InvalidArgument, "clock=Clock.WALL"):
                other.at(datetime.now(), self.function)
            for when in "12:00", None, timedelta(1), b"":
                with self.assertRaisesRegex(TypeError, "a datetime or a number of seconds since 1970"):
                    wall.at(when, self.function)

    def test_at_a_local_time_is_when_its_timestamp_says(self):
        zone = unittest.mock.patch.dict(os.environ, TZ="CET-1CEST,M3.5.0,M10.5.0/3")
        zone.start()
        time.tzset()
        self.addCleanup(time.tzset)
        self.addCleanup(zone.stop)
        for when in (datetime(2026, 3, 29, 2, 30), datetime(2026, 10, 25, 2, 30), datetime(2026, 11, 29, 12, 0, 0, 1),
                     datetime(1960, 1, 1, 0, 0, 0, 999_999)):  # an hour that a clock leaves out, one that it has twice
            for fold in 0, 1:
                local = when.replace(fold=fold)
                timer = self.queue.at(local, self.function)
                whole = local.replace(microsecond=0).timestamp()
                self.assertEqual(timer.next_deadline_ns, int(whole) * 10**9 + local.microsecond * 1000, local)
                timer.release()
        for when, expected in (datetime.min, -chime.FOREVER_NS - 1), (datetime.max, chime.FOREVER_NS):
            timer = self.queue.at(when, self.function)
            self.assertEqual(timer.next_deadline_ns, expected)
            timer.release()

    def test_an_idle_timeout_is_postponed(self):
        self.timer = timer = self.queue.after(100, self.function)
        self.queue.advance(60)
        self.assertIs(timer.postpone(100), Outcome.OK)
        self.assertIs(timer.postpone_until_ns(200_000_000_000), Outcome.OK)
        self.queue.advance(139)
        self.assertEqual(self.times(), [])
        self.queue.advance(1)
        self.assertEqual(self.times(), [200])
        self.assertIs(timer.postpone(100), Outcome.IGNORED)

    def test_suspend_and_resume_by_either_policy(self):
        for policy, expected in (chime.ResumePolicy.COALESCE, [120]), (chime.ResumePolicy.REMAINING, [150]):
            with Queue(QueueKind.VIRTUAL) as queue:
                function = Function()
                timer = queue.start(Schedule.every(50, resume=policy), function)
                queue.advance(20)
                self.assertIs(timer.suspend(), Outcome.OK)
                self.assertIs(timer.suspend(), Outcome.IGNORED)
                self.assertIs(timer.state, State.SUSPENDED)
                left = chime.FOREVER_NS if policy is chime.ResumePolicy.COALESCE else 30_000_000_000
                self.assertEqual((timer.info().remaining_ns, timer.remaining_ns), (left, left))
                queue.advance(100)
                self.assertIs(timer.resume(), Outcome.OK)
                queue.advance(0 if policy is chime.ResumePolicy.COALESCE else 30)
                self.assertEqual([seconds(tick.actual_ns) for tick in function.ticks], expected)

    def test_a_timer_is_created_idle_activated_restarted_and_rescheduled(self):
        self.timer = timer = self.queue.create(self.function, label="idle")
        self.assertIs(timer.state, State.IDLE)
        self.assertIn("idle", self.queue.dump())
        self.assertIs(timer.activate(Schedule(first=10)), Outcome.OK)
        self.assertIs(timer.activate(), Outcome.IGNORED)
        self.queue.advance(10)
        self.assertIs(timer.state, State.FINISHED)
        self.assertIs(timer.restart(), Outcome.OK)
        self.assertIs(timer.reschedule(Schedule(first=5, interval=5, limit=2)), Outcome.OK)
        self.queue.advance(100)
        self.assertEqual(self.times(), [10, 15, 20])
        self.assertIs(timer.fire(), Outcome.OK)
        self.queue.advance(0)
        self.assertIs(self.function.ticks[-1].kind, TickKind.FIRED)

    def test_a_timer_says_that_it_is_armed_and_cancelled(self):
        self.timer = timer = self.queue.start(Schedule(first=10), self.function, armed=True, cancelled=True)
        generation = timer.generation
        self.queue.advance(5)
        self.assertIs(timer.cancel(), Outcome.OK)
        self.assertNotEqual(timer.generation, generation)
        self.queue.advance(10)
        self.assertEqual([tick.kind for tick in self.function.ticks], [TickKind.ARMED, TickKind.CANCELLED])

    def test_a_handler_reaches_its_own_timer(self):
        def once(tick):
            self.function(tick)
            self.assertIs(tick.timer.cancel(), Outcome.RUNNING)
            self.assertEqual(str(Outcome.IGNORED | Outcome.RUNNING) + str(Outcome.OK), "IGNORED|RUNNINGOK")

        self.timer = timer = self.queue.every(10, once)
        self.queue.advance(100)
        self.assertEqual(self.times(), [10])
        self.assertIs(timer.state, State.CANCELLED)

    def test_an_outcome_says_whether_a_tick_was_taken_back_and_whether_a_handler_runs(self):
        seen = []

        def handler(tick):
            timer = tick.timer
            seen.extend([timer.postpone(5), timer.suspend(), timer.cancel(), timer.cancel()])

        both = Outcome.IGNORED | Outcome.RUNNING
        for start, expected in ((lambda: self.queue.after(10, handler), [both] * 4),  # the last tick has started
                                (lambda: self.queue.every(10, handler), [Outcome.RUNNING] * 3 + [both])):
            with start() as timer:
                self.queue.advance(10)
                self.assertEqual(seen, expected)
                self.assertIs(timer.cancel(), Outcome.IGNORED)
                self.assertTrue(all(Outcome.RUNNING in outcome for outcome in seen))
                self.assertEqual([Outcome.IGNORED in outcome for outcome in seen], [one is both for one in expected])
                seen.clear()
        self.assertFalse(Outcome.OK)

    def test_a_tick_has_its_timer(self):
        seen = []
        timer = self.queue.every(1, lambda tick: seen.append((tick.timer.id, tick.timer_id, tick.timer.cancel())))
        self.queue.advance(2)
        self.assertEqual(seen, [(timer.id, timer.id, Outcome.RUNNING)])
        self.assertIs(chime.Timer.borrow(timer).restart_after(1), Outcome.OK)

    def test_a_timer_gives_its_schedule_and_whether_it_has_one_or_is_in_the_background(self):
        timer = self.queue.create(print, background=True)
        self.assertIsNone(timer.schedule)
        self.assertEqual((timer.info().background, timer.info().has_schedule), (True, False))
        timer.set_background(False)
        given = Schedule.every(2.5, leeway=0.5, limit=7, jitter=1)
        steps = [
            (lambda: timer.reschedule(given), given), (lambda: timer.restart(), given),
            (lambda: timer.restart_after(4), Schedule(4, 2.5, 0.5, 7, jitter=1)),
            (lambda: timer.postpone(60), Schedule(4, 2.5, 0.5, 7, jitter=1)),
            (lambda: timer.set_interval(1), Schedule(4, 1, 0.5, 7, jitter=1)),
            (lambda: timer.restart_until_ns(3), Schedule(interval=1, leeway=0.5, limit=7, deadline_ns=3, jitter=1)),
            (lambda: timer.restart(Schedule(chime.FOREVER, resume=chime.ResumePolicy.REMAINING)),
             Schedule(chime.FOREVER, resume=chime.ResumePolicy.REMAINING)),
            (lambda: timer.cancel(), Schedule(chime.FOREVER, resume=chime.ResumePolicy.REMAINING)),
        ]
        for call, schedule in steps:
            self.assertIs(call(), Outcome.OK)
            self.assertEqual(timer.schedule, schedule)
            self.assertEqual((timer.info().background, timer.info().has_schedule), (False, True))

    def test_a_queue_lists_its_timers_those_that_nobody_holds_among_them(self):
        self.assertEqual(self.queue.timers(), [])
        held = [self.queue.create(print) for _ in range(20)]
        self.queue.once(1, print)
        ids = {timer.id for timer in self.queue.timers()}
        self.assertEqual(len(ids), 21)
        self.assertTrue({timer.id for timer in held} < ids)
        self.assertEqual([timer.state for timer in self.queue.timers()].count(State.RUNNING), 1)

    def test_statistics_count(self):
        self.timer = timer = self.queue.every(10, self.function)
        self.queue.advance(30)
        stats = self.queue.stats()
        self.assertEqual((stats.timers, stats.running, stats.ticks, sum(stats.lateness)), (1, 1, 3, 3))
        self.assertIn("due", timer.explain())

    def test_a_tick_has_its_timers_target(self):
        target = c.made(c.target_create, 77, c.FUNCTION())
        with self.queue.start(Schedule(first=10), self.function, target=target) as timer:
            self.queue.advance(10)
            self.assertIs(c.target_release(target), c.OK)
            self.assertEqual(self.function.ticks[0].target, 77)
            with self.assertRaisesRegex(chime.Error, "CHIME_ERROR_TARGET_GONE"):
                timer.restart()

    def test_jitter_repeats_by_its_seed(self):
        runs = []
        for seed in 1, 1, 2:
            function = Function()
            with Queue(QueueKind.VIRTUAL, seed=seed) as queue:
                with queue.start(Schedule.every(100, jitter=50, limit=20), function) as timer:
                    queue.advance(3000)
                    self.assertEqual(timer.info().jitter_ns, 50_000_000_000)
            runs.append([seconds(tick.scheduled_ns) for tick in function.ticks])
            self.assertTrue(all(0 <= at - 100 * number <= 50 for number, at in enumerate(runs[-1], 1)))
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_functions_run_before_ticks_that_are_due(self):
        order = []
        with self.queue.after(0, lambda tick: order.append("tick")):
            self.queue.run_soon(lambda: order.append("function"))
            self.queue.advance(0)
        self.assertEqual(order, ["function", "tick"])


class Ownership(WatchedTest):
    def test_a_closure_lives_as_long_as_its_timer(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            function = Function()
            gone = weakref.ref(function)
            timer = queue.every(10, function)
            del function
            gc.collect()
            queue.advance(10)
            self.assertIsNotNone(gone())
            timer.release()
            self.assertIsNone(gone())

    def test_a_closure_that_chime_refuses_stays_the_callers(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            function = Function()
            gone = weakref.ref(function)
            with self.assertRaises(chime.Error):
                queue.every(0, function)
            del function
            self.assertIsNone(gone())

    def test_a_queue_that_is_closed_answers_an_error(self):
        queue = Queue(QueueKind.VIRTUAL)
        timer = queue.after(10, lambda tick: None)
        self.assertIs(queue.shutdown(), Outcome.OK)
        self.assertIs(queue.shutdown(), Outcome.OK)
        for call in timer.suspend, lambda: queue.advance(1), queue.stats, lambda: queue.after(1, print), queue.dump:
            with self.assertRaises(chime.Error) as raised:
                call()
            self.assertEqual(raised.exception.status, c.ERROR_INVALID_HANDLE)
        self.assertIs(timer.release(), Outcome.IGNORED)  # it has ended with its queue

    def test_nothing_has_two_owners(self):
        with Queue(QueueKind.VIRTUAL) as queue, queue.after(10, print) as timer:
            for owner in queue, timer:
                for copier in copy.copy, copy.deepcopy, pickle.dumps:
                    with self.assertRaisesRegex(TypeError, "owns its id"):
                        copier(owner)
            gc.collect()
            self.assertIs(timer.state, State.RUNNING)

    def test_nobody_holds_the_timer(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            function = Function()
            gone = weakref.ref(function)
            queue.once(10, function)
            del function
            queue.advance(10)
            self.assertIsNone(gone())
            self.assertEqual(queue.stats().ticks, 1)

    def test_a_handler_that_raises_is_reported_and_the_timer_goes_on(self):
        reported, before = [], sys.unraisablehook
        sys.unraisablehook = reported.append
        try:
            with Queue(QueueKind.VIRTUAL) as queue, queue.every(10, lambda tick: 1 // 0):
                queue.advance(20)
        finally:
            sys.unraisablehook = before
        self.assertEqual([report.exc_type for report in reported], [ZeroDivisionError] * 2)


class Errors(WatchedTest):
    def test_an_error_has_its_sentence(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            with self.assertRaisesRegex(chime.Error, r"CHIME_ERROR_INVALID_ARGUMENT: .*leeway_ns \(5 ms\)") as raised:
                queue.start(Schedule.every(MILLISECOND, leeway=5 * MILLISECOND), print)
        error = raised.exception
        self.assertEqual(error.status, c.ERROR_INVALID_ARGUMENT)
        copied = pickle.loads(pickle.dumps(error))
        self.assertEqual((copied.status, copied.detail, str(copied)), (error.status, error.detail, str(error)))

    def test_an_error_without_a_sentence_says_what_its_status_means(self):
        with Queue(QueueKind.SERIAL) as queue:
            with self.assertRaisesRegex(chime.Error, "CHIME_ERROR_UNSUPPORTED: .") as raised:
                queue.advance(1)
            self.assertTrue(raised.exception.detail)

    def test_options_of_another_kind_of_queue_are_refused(self):
        with self.assertRaisesRegex(chime.Error, "INVALID_ARGUMENT: ."):
            Queue(QueueKind.SERIAL, realtime_priority=5)


class RealTime(WatchedTest):
    def test_handlers_run_on_another_thread_and_never_early(self):
        ticks, enough = [], threading.Event()

        def on_tick(tick):
            ticks.append((tick, threading.get_ident()))
            if len(ticks) >= 3:
                enough.set()

        with Queue(label="real") as queue, queue.every(MILLISECOND, on_tick) as timer:
            self.assertTrue(enough.wait(30))
            self.assertIn(timer.cancel_and_wait(WATCHDOG), (Outcome.OK, Outcome.IGNORED))
        for tick, thread in ticks:
            self.assertGreaterEqual(tick.actual_ns, tick.scheduled_ns)
            self.assertNotEqual(thread, threading.get_ident())

    def test_functions_see_the_context_of_the_call_that_gave_them(self):
        variable = contextvars.ContextVar("request", default="none")
        for kind in QueueKind:
            seen, over = [], threading.Event()

            def give(queue):
                variable.set(kind.name)
                see = lambda tick=None: (seen.append(variable.get()), variable.set("a function's own"))
                timer = queue.start(Schedule.every(MILLISECOND, limit=2), see)
                queue.once(0, see)
                queue.run_soon(see)
                if kind in (QueueKind.SERIAL, QueueKind.PRECISE):
                    queue.sync(see)
                    self.assertEqual(variable.get(), kind.name)
                return timer

            with Queue(kind) as queue:
                timer = contextvars.copy_context().run(give, queue)
                queue.once(0.01, lambda tick: (seen.append(variable.get()), over.set()))
                if kind is QueueKind.VIRTUAL:
                    queue.advance(1)
                elif kind is QueueKind.HOST:
                    queue.run()
                self.assertTrue(over.wait(WATCHDOG))
                self.assertEqual(variable.get(), "none")
                timer.release()
            # A timer has one context, in which what a tick sets stays for the next.
            owns = seen.count("a function's own")
            self.assertTrue(owns == 1 if kind is QueueKind.VIRTUAL else owns <= 1)
            self.assertEqual((seen.count("none"), seen.count(kind.name)), (1, len(seen) - 1 - owns))

    def test_sync_gives_what_the_function_gives_and_raises_what_it_raises(self):
        with Queue() as queue:
            self.assertEqual(queue.sync(lambda: 7), 7)
            with self.assertRaises(KeyError):
                queue.sync(lambda: {}[1])
            inside, end = threading.Event(), threading.Event()
            queue.run_soon(lambda: (inside.set(), end.wait(30)))
            self.assertTrue(inside.wait(30))
            with self.assertRaises(TimeoutError):
                queue.sync(lambda: None, timeout=MILLISECOND)
            end.set()

    def test_a_host_driven_queue_runs_until_its_timers_have_finished_or_it_is_stopped(self):
        with Queue(QueueKind.HOST) as queue:
            function = Function()
            with queue.start(Schedule.every(MILLISECOND, limit=3), function):
                self.assertIs(queue.run(), Outcome.OK)
            self.assertGreaterEqual(len(function.ticks) + sum(tick.missed for tick in function.ticks), 3)
            with queue.after(0, lambda tick: queue.stop()):
                self.assertIs(queue.run(until_stopped=True), Outcome.STOPPED)
            self.assertEqual(queue.process(), 0)
            self.assertEqual(queue.fileno(), queue.fd)
            self.assertIs(queue.run(), Outcome.OK)  # no stop is left over
            self.assertEqual(queue.next_deadline_ns, chime.FOREVER_NS)

    def test_a_host_driven_queue_runs_until_it_has_called_something(self):
        for wrap in (lambda call: call(), on_a_thread):
            with Queue(QueueKind.HOST) as queue:
                self.assertIs(wrap(lambda: queue.run(once=True)), Outcome.IGNORED)
                seen = []
                timers = [queue.after(0.001, seen.append), queue.after(math.inf, seen.append), queue.start(Schedule(60), seen.append, background=True)]
                outcomes = [wrap(lambda: queue.run(once=True))]
                timers[1].restart_after(0.005)  # not before: on a slow machine both would be due at once
                outcomes += [wrap(lambda: queue.run(once=True)) for _ in range(2)]
                self.assertEqual(outcomes, [Outcome.OK, Outcome.OK, Outcome.IGNORED])
                self.assertEqual([tick.timer_id for tick in seen], [timer.id for timer in timers[:2]])
                queue.stop()
                self.assertIs(wrap(lambda: queue.run(until_stopped=True, once=True)), Outcome.STOPPED)

    def test_times_are_pythons(self):
        import time
        before = time.monotonic_ns()
        between = chime.now_ns()
        self.assertTrue(before <= between <= time.monotonic_ns())
        chime.sleep_until_ns(between + 1_000_000)
        self.assertGreaterEqual(time.monotonic_ns(), between + 1_000_000)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_child_begins_anew(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    try:
                        queue.advance(1)
                    except chime.Error as error:
                        forked = error.status == c.ERROR_FORKED
                    chime.reinitialize()
                    with Queue(QueueKind.VIRTUAL) as another:
                        function = Function()
                        another.once(1, function)
                        another.advance(1)
                        status = 0 if forked and len(function.ticks) == 1 else 2
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
