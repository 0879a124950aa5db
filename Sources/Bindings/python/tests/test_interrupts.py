"""Calls that wait end by a signal, by what a handler raises to end the program, and leave the queue as it should be."""

import contextlib
import gc
import os
import pickle
import select
import signal
import sys
import threading
import time
import unittest

import chime_timers as chime
from chime_timers import Outcome, Queue, QueueKind, Schedule
from units import HOUR, MILLISECOND, WATCHDOG, WatchedTest


PACKAGE = os.path.dirname(chime.__file__) + os.sep


def is_inside_chime(thread):
    """Whether the thread is in a call of the wrapper."""
    frame = sys._current_frames().get(thread)
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def signalled(released, number=signal.SIGINT, after=0.15):
    """Sends the process a signal while the body waits in a call of the wrapper. If that does not end it, `released` does,
    after 30 s."""
    over, main = threading.Event(), threading.get_ident()

    def send():
        while not is_inside_chime(main) and not over.wait(0.001):
            pass
        if not over.wait(after):
            os.kill(os.getpid(), number)
        if not over.wait(WATCHDOG):
            released()

    thread = threading.Thread(target=send)
    gc.collect()
    gc.disable()  # in the `__del__` of garbage an exception is reported only
    thread.start()
    try:
        yield
    finally:
        gc.enable()
        over.set()
        thread.join()


def no_stop_is_left_over(test, queue):
    """Leaves one behind."""
    test.assertEqual(chime.c.queue_stop(queue.id), chime.c.OK)


def processed(queue):
    select.select([queue], [], [], WATCHDOG)
    queue.process()


def something_processed(queue):
    while not queue.process():
        select.select([queue], [], [], WATCHDOG)


class Busy:
    """A queue with a handler that runs until it is released."""

    def __init__(self, kind=QueueKind.SERIAL):
        self.begun, self.end, self.late = threading.Event(), threading.Event(), False
        self.queue = Queue(kind)
        self.timer = self.queue.after(0, self.handler)
        assert self.begun.wait(WATCHDOG)

    def handler(self, tick):
        self.begun.set()
        self.end.wait()

    def release(self):
        """By the watchdog: too late."""
        self.late = True
        self.end.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end.set()
        self.queue.shutdown()


class Signals(WatchedTest):
    def ends(self, call, busy):
        """The call ends by Ctrl-C, before the handler has."""
        with signalled(busy.release):
            with self.assertRaises(KeyboardInterrupt):
                call()
        self.assertFalse(busy.late, "it ended with its handler only")

    def test_shutdown(self):
        with Busy() as busy:
            self.ends(busy.queue.shutdown, busy)
            self.assertEqual(busy.queue.id, 0)

    def test_the_end_of_a_with(self):
        def body():
            with busy.queue:
                pass

        with Busy() as busy:
            self.ends(body, busy)

    def test_cancel_and_wait(self):
        for kind in QueueKind.SERIAL, QueueKind.CONCURRENT, QueueKind.PRECISE:
            with Busy(kind) as busy:
                self.ends(busy.timer.cancel_and_wait, busy)

    def test_cancel_and_wait_of_a_borrowed_timer(self):
        with Busy() as busy:
            self.ends(chime.Timer.borrow(busy.timer.id).cancel_and_wait, busy)

    def test_release_and_wait(self):
        with Busy() as busy:
            self.ends(busy.timer.release_and_wait, busy)

    def test_sync(self):
        for kind in QueueKind.SERIAL, QueueKind.PRECISE:
            with Busy(kind) as busy:
                self.ends(lambda: busy.queue.sync(lambda: None), busy)

    def test_a_function_that_sync_calls(self):
        for kind in QueueKind.SERIAL, QueueKind.PRECISE:
            end, ended = threading.Event(), []
            with Queue(kind) as queue:
                with signalled(lambda: (ended.append("late"), end.set())):
                    with self.assertRaises(KeyboardInterrupt):
                        queue.sync(lambda: end.wait())
                end.set()
                self.assertEqual(ended, [])

    def test_run(self):
        for call in Queue.run, lambda queue: queue.run(until_stopped=True):
            for bound in False, True:
                late = []
                with Queue(QueueKind.HOST, bound=bound) as queue, queue.after(HOUR, print):
                    with signalled(lambda: (late.append(1), queue.stop())):
                        with self.assertRaises(KeyboardInterrupt):
                            call(queue)
                    self.assertEqual(late, [])
                    no_stop_is_left_over(self, queue)

    def test_run_with_ticks_all_the_time(self):
        """The signal is handled at the first instruction of a callback, more often than not."""
        for _ in range(20):
            ticks, late = [], []
            with Queue(QueueKind.HOST) as queue, queue.every(5e-5, ticks.append):
                with signalled(lambda: (late.append(1), queue.stop()), after=0.02):
                    with self.assertRaises(KeyboardInterrupt):
                        queue.run()
                self.assertEqual(late, [])

    def test_advance_ends_at_the_instant_of_the_signal(self):
        for _ in range(10):
            ticks = []

            def handler(tick):
                ticks.append(tick)
                if len(ticks) % 100 == 0:
                    time.sleep(0.001)

            with Queue(QueueKind.VIRTUAL) as queue, queue.every(10, handler):
                with signalled(lambda: None, after=0.02):
                    with self.assertRaises(KeyboardInterrupt):
                        queue.advance(1e9)
                stood = queue.now_ns
                self.assertLess(stood, 10**18)
                queue.advance(10)
                self.assertEqual(queue.now_ns, stood + 10 * 10**9)

    def test_sleep_until(self):
        begin = time.monotonic()
        with signalled(lambda: None):
            with self.assertRaises(KeyboardInterrupt):
                chime.sleep_until_ns(chime.now_ns() + 30 * 10**9)
        self.assertLess(time.monotonic() - begin, 29)

    def test_a_signal_whose_handler_returns_ends_nothing(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
        try:
            def handler(tick):
                if seen:
                    tick.timer.cancel()

            with Queue(QueueKind.HOST) as queue, queue.every(MILLISECOND, handler) as timer:
                with signalled(lambda: None, signal.SIGUSR1, after=0.05):
                    self.assertIs(queue.run(), Outcome.OK)
                self.assertIs(timer.state, chime.State.CANCELLED)
            self.assertEqual(seen, [signal.SIGUSR1])
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_what_the_handler_of_a_signal_raises_ends_run(self):
        class Alarm(BaseException):
            pass

        def raising(number, frame):
            raise Alarm

        before = signal.signal(signal.SIGUSR1, raising)
        try:
            with Queue(QueueKind.HOST) as queue, queue.every(MILLISECOND, lambda tick: None):
                with signalled(queue.stop, signal.SIGUSR1):
                    with self.assertRaises(Alarm):
                        queue.run()
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_an_exception_of_a_signals_handler_inside_a_timers_handler_ends_the_call(self):
        class Alarm(Exception):
            pass

        class Raises:
            def method(self, number, frame):
                self.deeper()

            def deeper(self):
                raise Alarm

        def any_arguments(*arguments):
            raise Alarm

        def handler(tick):
            signal.raise_signal(signal.SIGUSR1)

        reported, hook = [], sys.unraisablehook
        sys.unraisablehook = reported.append
        before = signal.getsignal(signal.SIGUSR1)
        try:
            for raising in Raises().method, any_arguments, lambda number, frame: Raises().deeper():
                signal.signal(signal.SIGUSR1, raising)
                for kind, call in ((QueueKind.HOST, Queue.run), (QueueKind.HOST, something_processed),
                                   (QueueKind.VIRTUAL, lambda queue: queue.advance(1))):
                    with Queue(kind) as queue, queue.every(MILLISECOND, handler):
                        with self.assertRaises(Alarm, msg=f"{raising} {kind}"):
                            call(queue)
            self.assertEqual(reported, [])
        finally:
            signal.signal(signal.SIGUSR1, before)
            sys.unraisablehook = hook

    def test_an_exception_of_a_handlers_own_is_reported_whatever_its_arguments(self):
        def fails(number, frame):
            raise LookupError

        reported, hook = [], sys.unraisablehook
        sys.unraisablehook = lambda report: reported.append(report.exc_type)
        try:
            with Queue(QueueKind.VIRTUAL) as queue:
                queue.once(1, lambda tick: fails(2, None))
                queue.once(1, lambda tick: fails(int(signal.SIGUSR1), sys._getframe()))  # no function handles that signal
                queue.advance(1)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(reported, [LookupError] * 2)


class Exits(WatchedTest):
    """What handlers raise to end the program."""

    def setUp(self):
        reported, before = [], sys.unraisablehook
        sys.unraisablehook = lambda report: reported.append(report.exc_type)
        self.reported = reported
        self.addCleanup(lambda: setattr(sys, "unraisablehook", before))

    def test_from_each_call_that_runs_handlers(self):
        for error in KeyboardInterrupt, SystemExit:
            def handler(tick):
                raise error("from a handler")

            for call in (Queue.run, lambda queue: queue.run(until_stopped=True), processed):
                with Queue(QueueKind.HOST) as queue:
                    queue.once(0, handler)
                    with queue.after(HOUR, print), self.assertRaisesRegex(error, "from a handler"):
                        call(queue)
                    no_stop_is_left_over(self, queue)
            with Queue(QueueKind.VIRTUAL) as queue:
                queue.once(10, handler)
                with self.assertRaisesRegex(error, "from a handler"):
                    queue.advance(HOUR)
                self.assertEqual(queue.now_ns, 10 * 10**9)
            with Queue() as queue, self.assertRaisesRegex(error, "from a handler"):
                queue.sync(lambda: handler(None))
            with Queue(QueueKind.HOST) as queue, self.assertRaisesRegex(error, "from a handler"):
                queue.run_soon(lambda: handler(None))
                queue.process()
            with Queue(QueueKind.HOST) as queue, self.assertRaisesRegex(error, "from a handler"):
                queue.start(Schedule(first=HOUR), handler, cancelled=True).release()
        self.assertEqual(self.reported, [])

    def test_on_another_thread_from_the_call_that_waits_for_it(self):
        for main in True, False:
            for kind in QueueKind.SERIAL, QueueKind.CONCURRENT, QueueKind.PRECISE:
                for wait in "shutdown", "cancel_and_wait", "release_and_wait":
                    begun, end = threading.Event(), threading.Event()

                    def handler(tick):
                        begun.set()
                        end.wait()
                        time.sleep(0.15)
                        raise SystemExit(7)

                    def body():
                        with Queue(kind) as queue, queue.after(0, handler) as timer:
                            self.assertTrue(begun.wait(WATCHDOG))
                            end.set()
                            try:
                                (queue.shutdown if wait == "shutdown" else getattr(timer, wait))()
                            except SystemExit as error:
                                raised.append(error.code)

                    raised = []
                    if main:
                        body()
                    else:
                        thread = threading.Thread(target=body)
                        thread.start()
                        thread.join()
                    self.assertEqual(raised, [7], (kind, wait, main))
        self.assertEqual(self.reported, [])

    def test_it_is_reported_where_nobody_waits(self):
        reported = threading.Event()
        sys.unraisablehook = lambda report: reported.set() if report.exc_type is SystemExit else None

        def handler(tick):
            raise SystemExit

        with Queue() as queue, queue.after(0, handler):
            self.assertTrue(reported.wait(WATCHDOG))

    def test_an_exception_in_every_callback_is_reported_with_the_function(self):
        reports = []

        def failing(*_):
            raise ValueError("in a callback")

        for kind in QueueKind:
            del reports[:]
            sys.unraisablehook = lambda report: reports.append((report.exc_type, f"{report.object} {report.err_msg}"))
            with Queue(kind) as queue:
                queue.run_soon(failing)
                timer = queue.start(Schedule(first=0, interval=HOUR), failing, armed=True, cancelled=True)
                self.drive(queue, reports, 3)  # the function, ARMED, the first tick
                timer.cancel()
                self.drive(queue, reports, 4)
                timer.release()
            self.assertEqual(len(reports), 4, kind)
            for error, function in reports:
                self.assertIs(error, ValueError)
                self.assertIn("failing", function)

    def drive(self, queue, reports, count):
        deadline = time.monotonic() + WATCHDOG
        while len(reports) < count:
            self.assertLess(time.monotonic(), deadline)
            if queue._kind is QueueKind.VIRTUAL:
                queue.advance(0)
            elif queue._kind is QueueKind.HOST:
                queue.process()
            else:
                time.sleep(0.001)

    def test_sync_as_before(self):
        with Queue() as queue:
            with self.assertRaises(KeyError):
                queue.sync(lambda: {}[1])


class TheUsersException(WatchedTest):
    def test_a_with_does_not_replace_it(self):
        with self.assertRaisesRegex(KeyError, "the user's"):
            with Queue(QueueKind.VIRTUAL) as queue:
                with queue.after(10, print):
                    queue.shutdown()
                    raise KeyError("the user's")
        raised = []

        def handler(tick):
            try:
                with queue:  # its shutdown inside a handler cannot wait
                    raise KeyError("the user's")
            except BaseException as error:
                raised.append(type(error))

        queue = Queue(QueueKind.VIRTUAL)
        queue.once(0, handler)
        with contextlib.suppress(chime.Error):
            queue.advance(0)
        self.assertEqual(raised, [KeyError])

    def test_a_timer_whose_queue_has_ended_is_left_in_silence(self):
        with Queue(QueueKind.VIRTUAL) as queue, queue.after(10, print):
            queue.shutdown()


class Results(WatchedTest):
    """What the waits on the main thread answer, which wait in pieces."""

    def later(self, seconds, function):
        timer = threading.Timer(seconds, function)
        timer.start()
        self.addCleanup(timer.join)

    def test_a_handler_that_ends_later_than_a_piece(self):
        for kind in QueueKind.SERIAL, QueueKind.CONCURRENT, QueueKind.PRECISE:
            for wait in "cancel_and_wait", "release_and_wait":
                with Busy(kind) as busy:
                    self.later(0.3, busy.end.set)
                    self.assertIs(getattr(busy.timer, wait)(), Outcome.OK)
            with Busy(kind) as busy:
                self.later(0.3, busy.end.set)
                self.assertIs(busy.queue.shutdown(), Outcome.OK)
                self.assertTrue(busy.end.is_set())

    def test_a_repeating_timer_is_cancelled(self):
        begun, end = threading.Event(), threading.Event()

        def handler(tick):
            begun.set()
            end.wait()

        with Queue() as queue, queue.every(MILLISECOND, handler) as timer:
            self.assertTrue(begun.wait(WATCHDOG))
            self.later(0.3, end.set)
            self.assertIs(timer.cancel_and_wait(), Outcome.OK)
            self.assertIs(timer.state, chime.State.CANCELLED)
            self.assertIs(timer.cancel_and_wait(), Outcome.IGNORED)

    def test_a_timer_that_its_handler_starts_again_is_cancelled(self):
        begun, gate = threading.Event(), threading.Event()

        def handler(tick):
            begun.set()
            gate.wait()
            tick.timer.restart()

        with Queue() as queue, queue.every(MILLISECOND, handler) as timer:
            self.assertTrue(begun.wait(WATCHDOG))
            self.later(0.3, gate.set)
            self.assertIs(timer.cancel_and_wait(), Outcome.OK)
            self.assertIs(timer.state, chime.State.CANCELLED)
            self.assertIs(timer.cancel(), Outcome.IGNORED)

    def test_the_timeout_ends_first(self):
        for timeout in MILLISECOND, 250 * MILLISECOND:
            with Busy() as busy:
                for wait, arguments, detail in (
                        (busy.timer.cancel_and_wait, (), "the timer is cancelled"),
                        (busy.queue.sync, (lambda: self.fail("it ran"),), "the function will not run"),
                        (busy.timer.release_and_wait, (), "the timer is released"),
                        (busy.queue.shutdown, (), "the queue is released")):
                    with self.assertRaisesRegex(TimeoutError, f"CHIME_ERROR_TIMED_OUT: {detail}") as raised:
                        wait(*arguments, timeout)
                    self.assertIs(type(raised.exception), chime.TimedOut)
                    self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), str(raised.exception))
                self.assertEqual((busy.timer.id, busy.queue.id), (0, 0))

    def test_sync_waits_for_its_turn(self):
        for kind in QueueKind.SERIAL, QueueKind.PRECISE:
            with Busy(kind) as busy:
                self.later(0.3, busy.end.set)
                order = []
                busy.queue.run_soon(lambda: order.append("before"))
                self.assertEqual(busy.queue.sync(lambda: order.append("sync") or 7), 7)
                self.assertEqual(order, ["before", "sync"])

    def test_a_queue_that_ends_while_sync_waits(self):
        for kind in QueueKind.SERIAL, QueueKind.PRECISE:
            with Busy(kind) as busy:
                self.later(0.25, lambda: busy.queue.shutdown(0))
                self.later(0.3, busy.end.set)
                with self.assertRaises(chime.Error) as raised:
                    busy.queue.sync(lambda: self.fail("it ran"))
                self.assertEqual(raised.exception.status, chime.c.ERROR_SHUT_DOWN)

    def test_inside_a_handler(self):
        statuses = []

        def handler(tick):
            for call in (queue.shutdown, timer.cancel_and_wait):
                try:
                    statuses.append(call())
                except chime.Error as error:
                    statuses.append(error.status)

        queue = Queue(QueueKind.HOST)
        timer = queue.after(0, handler)
        handler_status = [chime.c.ERROR_WOULD_DEADLOCK]
        with self.assertRaises(chime.Error) as raised:
            queue.run()
        self.assertEqual(raised.exception.status, chime.c.ERROR_SHUT_DOWN)
        self.assertEqual(statuses[:1], handler_status)

    def test_run_is_stopped_by_another_thread_and_by_a_handler(self):
        for _ in range(30):
            with Queue(QueueKind.HOST) as queue:
                self.later(0.001, queue.stop)
                self.assertIs(queue.run(until_stopped=True), Outcome.STOPPED)
                self.assertIs(queue.stop(), Outcome.OK)
                self.assertIs(queue.stop(), Outcome.IGNORED)
                self.assertIs(queue.run(), Outcome.STOPPED)
                queue.once(0, lambda tick: queue.stop())
                with queue.after(HOUR, print):
                    self.assertIs(queue.run(), Outcome.STOPPED)
                no_stop_is_left_over(self, queue)

    def test_run_ends_when_another_thread_ends_the_last_timer(self):
        with Queue(QueueKind.HOST) as queue, queue.after(HOUR, print) as timer:
            self.later(0.05, timer.cancel)
            self.assertIs(queue.run(), Outcome.OK)

    def test_run_does_not_wait_for_timers_in_the_background(self):
        with Queue(QueueKind.HOST) as queue:
            with queue.start(Schedule.every(MILLISECOND), lambda tick: None, background=True):
                self.assertIs(queue.run(), Outcome.OK)

    def test_two_threads_run_a_queue(self):
        """The second is refused, or waits in turn; neither is stopped by the other's turns."""
        ticks = []
        with Queue(QueueKind.HOST) as queue, queue.start(Schedule.every(MILLISECOND, limit=300), ticks.append):
            def other():
                with contextlib.suppress(chime.Error):
                    results.append(queue.run())

            results = []
            thread = threading.Thread(target=other)
            thread.start()
            while True:
                try:
                    results.append(queue.run())
                    break
                except chime.Error as error:
                    self.assertEqual(error.status, chime.c.ERROR_BUSY)
            thread.join()
            self.assertEqual(set(results), {Outcome.OK})
            self.assertEqual(sum(1 + tick.missed for tick in ticks), 300)

    def test_releases_on_other_threads_do_not_make_advance_fail(self):
        def others():
            for _ in range(2000):
                queue.after(HOUR, lambda tick: None).release()

        for _ in range(3):
            ticks = []
            with Queue(QueueKind.VIRTUAL) as queue, queue.every(MILLISECOND, ticks.append):
                threads = [threading.Thread(target=others) for _ in range(4)]
                for thread in threads:
                    thread.start()
                steps = 0
                while any(thread.is_alive() for thread in threads):
                    queue.advance(MILLISECOND)
                    steps += 1
                self.assertEqual(len(ticks), steps)

    def test_of_two_threads_that_advance_one_is_refused(self):
        inside, end = threading.Event(), threading.Event()
        with Queue(QueueKind.VIRTUAL) as queue:
            queue.once(1, lambda tick: (inside.set(), end.wait(WATCHDOG)))
            thread = threading.Thread(target=queue.advance, args=(1,))
            thread.start()
            inside.wait(WATCHDOG)
            begin = time.monotonic()
            with self.assertRaises(chime.Error) as raised:
                queue.advance(1)
            self.assertEqual(raised.exception.status, chime.c.ERROR_BUSY)
            self.assertLess(time.monotonic() - begin, 0.9, "it waited for the other")
            end.set()
            thread.join()
            queue.advance(1)
            self.assertEqual(queue.now_ns, 2 * 10**9)

    def test_two_threads_run_a_queue_to_its_end(self):
        """The end of the last timer meets the main thread's turns, of which no stop is left for the next run."""
        for _ in range(300):
            with Queue(QueueKind.HOST) as queue, queue.start(Schedule.every(MILLISECOND // 5, limit=4), lambda tick: None):
                def other():
                    with contextlib.suppress(chime.Error):
                        results.append(queue.run())

                results = []
                thread = threading.Thread(target=other)
                thread.start()
                while not results or thread.is_alive():
                    try:
                        results.append(queue.run())
                    except chime.Error as error:
                        self.assertEqual(error.status, chime.c.ERROR_BUSY)
                thread.join()
                self.assertEqual(set(results), {Outcome.OK})


if __name__ == "__main__":
    unittest.main()
