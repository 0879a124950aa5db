"""The collector may run anywhere: what it collects waits for nobody, calls no handler, and says what it stopped."""

import contextvars
import gc
import random
import threading
import time
import unittest
import unittest.mock
import warnings
import weakref

import chime_timers as chime
from chime_timers import Queue, QueueKind, Schedule
from chime_timers.functions import collected, functions, release_collected
from units import HOUR, MICROSECOND, MILLISECOND, WATCHDOG, WatchedTest


class Collected(WatchedTest):
    def test_a_queue_that_is_collected_waits_for_no_handler(self):
        """The thread that collects holds a lock that the handler wants."""
        for kind in QueueKind.SERIAL, QueueKind.CONCURRENT, QueueKind.PRECISE:
            lock, begun, collected = threading.Lock(), threading.Event(), threading.Event()

            def handler(tick, lock=lock, begun=begun):
                begun.set()
                if lock.acquire(timeout=WATCHDOG):
                    lock.release()

            def collect():
                with lock:
                    queue = Queue(kind)
                    queue.once(0, handler)
                    begun.wait(WATCHDOG)
                    cycle = [queue]
                    cycle.append(cycle)
                    before = time.monotonic()
                    del queue, cycle
                    gc.collect()
                    if time.monotonic() - before < WATCHDOG / 2:
                        collected.set()

            thread = threading.Thread(target=collect)
            thread.start()
            thread.join()
            self.assertTrue(collected.is_set(), kind)

    def test_a_queue_that_is_collected_calls_no_handler(self):
        """Where it would be called by whoever is collecting."""
        for kind in QueueKind.HOST, QueueKind.VIRTUAL:
            for collect_queue in False, True:
                calls, lock = [], threading.Lock()

                def handler(tick):
                    calls.append(tick.kind)
                    if not lock.acquire(timeout=1):
                        calls.append("deadlock")

                queue = Queue(kind)
                timer = queue.start(Schedule(first=HOUR), handler, cancelled=True)
                with lock, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if collect_queue:
                        del queue
                    del timer
                    gc.collect()
                self.assertEqual(calls, [])

    def test_the_cancel_handler_of_a_timer_that_is_released_is_called(self):
        kinds = []
        with Queue(QueueKind.VIRTUAL) as queue:
            queue.start(Schedule(first=HOUR), lambda tick: kinds.append(tick.kind), cancelled=True).release()
        self.assertEqual(kinds, [chime.TickKind.CANCELLED])

    def test_a_timer_keeps_its_queue(self):
        ticks = []
        timer = Queue(QueueKind.VIRTUAL).every(10, ticks.append)
        gc.collect()
        self.assertIs(timer.state, chime.State.RUNNING)
        queue = timer.queue
        queue.advance(10)
        self.assertEqual(len(ticks), 1)
        timer.release()
        queue.shutdown()

    def test_a_repeating_timer_that_is_collected_while_it_runs_is_a_warning_that_is_seen(self):
        for make in (lambda queue: queue.every(10, print), lambda queue: queue.start(Schedule(first=10), print)):
            with Queue(QueueKind.VIRTUAL) as queue:
                timer = make(queue)
                with self.assertWarnsRegex(RuntimeWarning, "collected while it was RUNNING"):
                    del timer
                    gc.collect()
        for make in (lambda queue: queue.every(10, print), lambda queue: queue.after(10, print)):
            with Queue(QueueKind.VIRTUAL) as queue:
                timer = make(queue)
                timer.suspend()
                with self.assertWarnsRegex(RuntimeWarning, "collected while it was SUSPENDED"):
                    del timer
                    gc.collect()
                timer = make(queue)
                timer.restart(Schedule.every(10))
                with self.assertWarnsRegex(RuntimeWarning, "collected while it was RUNNING"):
                    del timer
                    gc.collect()

    def test_a_timer_of_after_whose_tick_comes_while_it_is_collected_is_no_warning(self):
        asked, ticks = chime.c.timer_get_info, []
        with Queue(QueueKind.VIRTUAL) as queue:

            def get_info(id, info):  # the collector has begun, and another thread is as fast as it can be
                queue.advance(1)
                return asked(id, info)

            timer = queue.after(1, ticks.append)
            with unittest.mock.patch.object(chime.c, "timer_get_info", get_info), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                del timer
                gc.collect()
            self.assertEqual((len(ticks), warned, queue.stats().timers), (1, [], 0))

    def test_a_timer_of_after_that_nobody_keeps_ticks_and_leaves_nothing(self):
        for kind in QueueKind:
            ticks, over = [], threading.Event()

            def tick(tick):
                ticks.append(tick.sequence)
                if len(ticks) < 3:  # it starts itself again: it is there as long as it runs
                    tick.timer.restart_after(0.001)
                else:
                    over.set()

            with warnings.catch_warnings(), Queue(kind) as queue:
                warnings.simplefilter("error")
                before = len(functions)
                queue.after(0.001, tick)
                gc.collect()
                if kind is QueueKind.VIRTUAL:
                    queue.advance(1)
                elif kind is QueueKind.HOST:
                    queue.run()
                self.assertTrue(over.wait(WATCHDOG))
                deadline = time.monotonic() + WATCHDOG
                while (queue.stats().timers, len(functions)) != (0, before):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.001)
                self.assertEqual(len(ticks), 3)

    def test_a_timer_at_rest_that_is_collected_is_none(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with Queue(QueueKind.VIRTUAL) as queue:
                idle, cancelled, released = (queue.create(print) for _ in range(3))
                finished, cancelled, released = (queue.after(0, lambda tick: None) for _ in range(3))
                cancelled.cancel()
                released.release()
                queue.advance(0)
                running = queue.after(10, print)
                borrowed = chime.Timer.borrow(running.id)
                del idle, cancelled, released, finished, borrowed
                gc.collect()
            del running
            gc.collect()
        self.assertEqual([str(warning.message) for warning in caught], [])

    def test_a_queue_that_is_collected_with_running_timers_is_a_warning(self):
        with self.assertWarnsRegex(ResourceWarning, "VIRTUAL queue was collected with 2 running timers"):
            queue = Queue(QueueKind.VIRTUAL)
            for _ in range(2):
                queue.once(10, print)
            del queue
            gc.collect()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Queue(QueueKind.VIRTUAL)
            gc.collect()
        self.assertEqual(caught, [])

    def test_a_warning_that_is_an_error_releases_all_the_same(self):
        import sys
        before, sys.unraisablehook = sys.unraisablehook, lambda report: None
        try:
            with warnings.catch_warnings(), Queue(QueueKind.VIRTUAL) as queue:
                warnings.simplefilter("error")
                timer = queue.every(10, print)
                del timer
                self.assertEqual(queue.stats().timers, 0)
        finally:
            sys.unraisablehook = before

    def test_functions_go_with_their_queue(self):
        class Function:
            def __call__(self, tick):
                pass

        for kind in QueueKind:
            before = len(functions)
            queue = Queue(kind)
            made = [Function() for _ in range(5)]
            gone = [weakref.ref(function) for function in made]
            timers = [queue.after(HOUR, made[0]), queue.every(HOUR, made[1]), queue.create(made[2])]
            queue.once(HOUR, made[3])
            queue.run_soon(lambda function=made[4]: None)
            del made
            queue.shutdown()
            self.assertEqual([reference() for reference in gone[3:]], [None] * 2, kind)
            self.assertEqual(len(functions), before)
            timers.pop().release()
            del timers  # those that nobody has released
            self.assertEqual([reference() for reference in gone], [None] * 5, kind)


class Session:
    """Holds its own timer, whose handler it is."""

    def __init__(self, make):
        self.count = 0
        self.timer = make(self.expire)

    def expire(self, tick):
        self.count += 1


class Cycles(WatchedTest):
    def test_an_object_that_holds_its_own_timer_is_collected_when_that_is_at_rest(self):
        rests = {
            "fired": (lambda queue: lambda expire: queue.after(0.2, expire), lambda timer: None),
            "limit": (lambda queue: lambda expire: queue.start(Schedule.every(0.1, limit=2), expire), lambda timer: None),
            "idle": (lambda queue: queue.create, lambda timer: None),
            "extra": (lambda queue: queue.create, lambda timer: timer.fire()),
            "cancelled": (lambda queue: lambda expire: queue.every(0.1, expire), lambda timer: timer.cancel()),
            "told": (lambda queue: lambda expire: queue.start(Schedule(first=HOUR), expire, cancelled=True),
                     lambda timer: timer.cancel_and_wait()),
        }
        for kind in QueueKind:
            for name, (make, rest) in rests.items():
                with self.subTest(f"{name}, {kind.name}"), Queue(kind) as queue:
                    sessions = [Session(make(queue)) for _ in range(50)]
                    gone = [weakref.ref(session) for session in sessions]
                    for session in sessions:
                        rest(session.timer)
                    del sessions, session
                    deadline = time.monotonic() + WATCHDOG
                    while any(reference() is not None for reference in gone):
                        self.assertLess(time.monotonic(), deadline)
                        if kind is QueueKind.VIRTUAL:
                            queue.advance(1)
                        elif kind is QueueKind.HOST:
                            queue.process()
                        gc.collect()
                    self.assertEqual(queue.stats().timers, 0)

    def test_while_the_timer_runs_the_object_is_there(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            gone = weakref.ref(Session(lambda expire: queue.after(10, expire)))
            gc.collect()
            queue.advance(5)
            self.assertIsNotNone(gone())
            gone().timer.suspend()
            gc.collect()
            self.assertIsNotNone(gone())
            gone().timer.resume()
            queue.advance(10)
            self.assertEqual(gone().count, 1)
            gc.collect()
            self.assertIsNone(gone())

    def test_a_handler_that_releases_a_timer_looks_at_no_other(self):
        """Only a call that was interrupted has to look at all timers."""
        looked = []
        with unittest.mock.patch("chime_timers.functions.settle_all", looked.append):
            with Queue(QueueKind.VIRTUAL) as queue:
                timers = [queue.after(HOUR, print) for _ in range(10)]
                ticker = queue.start(Schedule.every(1, limit=10), lambda tick: timers.pop().release())
                queue.advance(10)
                self.assertIs(ticker.state, chime.State.FINISHED)
        self.assertEqual((timers, looked), ([], []))

    def test_what_a_context_holds_is_collected_with_the_timer_at_rest(self):
        """The context of the call that made the timer names the object that holds the timer."""
        variable = contextvars.ContextVar("session")

        def make(queue):
            session = Session(lambda expire: None)
            variable.set(session)
            session.timer = queue.after(1, lambda tick: variable.get().expire(tick))
            return weakref.ref(session)

        with Queue(QueueKind.VIRTUAL) as queue:
            gone = contextvars.copy_context().run(make, queue)
            gc.collect()
            queue.advance(1)
            self.assertEqual(gone().count, 1)
            gc.collect()
            self.assertIsNone(gone())

    def test_a_restart_takes_the_function_back(self):
        verbs = (lambda timer: timer.restart_after(5), lambda timer: timer.activate(), lambda timer: timer.restart(),
                 lambda timer: timer.restart_until_ns(timer.queue.now_ns + 5 * 10**9))
        with Queue(QueueKind.VIRTUAL) as queue:
            for verb in verbs:
                session = Session(lambda expire: queue.after(5, expire))
                gone = weakref.ref(session)
                queue.advance(5)
                verb(session.timer)
                del session
                gc.collect()
                queue.advance(4)
                self.assertIsNotNone(gone())
                queue.advance(1)
                self.assertEqual(gone().count, 2)
                gc.collect()
                self.assertIsNone(gone())

    def test_a_handler_that_starts_its_timer_again_keeps_it(self):
        class Again(Session):
            def expire(self, tick):
                super().expire(tick)
                if self.count < 5:
                    tick.timer.restart_after(1)

        with Queue(QueueKind.VIRTUAL) as queue:
            gone = weakref.ref(Again(lambda expire: queue.after(1, expire)))
            for count in range(1, 6):
                gc.collect()
                queue.advance(1)
                self.assertEqual(gone().count, count)
            gc.collect()
            self.assertIsNone(gone())

    def test_a_target_that_goes_leaves_no_cycle(self):
        with Queue(QueueKind.VIRTUAL) as queue:
            target = chime.c.made(chime.c.target_create, 77, chime.c.FUNCTION())
            gone = weakref.ref(Session(lambda expire: queue.start(Schedule(first=HOUR), expire, target=target)))
            chime.c.target_release(target)
            queue.advance(0)
            self.assertEqual(gone().count, 0)
            gc.collect()
            self.assertIsNone(gone())

    def test_threads_start_and_stop_a_timer_and_the_last_word_counts(self):
        with Queue() as queue:
            session = Session(lambda expire: queue.create(expire))
            timer, over = session.timer, time.monotonic() + 1

            def work(verb):
                while time.monotonic() < over:
                    verb()

            threads = [threading.Thread(target=work, args=(verb,)) for verb in (
                timer.cancel, lambda: timer.restart_after(0), lambda: timer.restart_after(HOUR), timer.activate)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            function = functions[timer._number]
            timer.restart_after(HOUR)
            self.assertIsNotNone(function.function)
            timer.cancel_and_wait()
            self.assertIsNone(function.function)


class Limits(WatchedTest):
    """A limit counts what can still tick."""

    def test_an_object_that_holds_its_own_timer_at_rest_does_not_count(self):
        for start in (lambda queue, expire: queue.after(1, expire), lambda queue, expire: queue.start(Schedule(first=1), expire)):
            with Queue(QueueKind.VIRTUAL, timer_limit=10) as queue:
                class Session:
                    count = 0

                    def __init__(self):
                        Session.count += 1
                        self.timer = start(queue, self.expire)

                    def expire(self, tick):
                        if Session.count < 100:
                            Session()
                        elif Session.count == 100:
                            queue.once(1, lambda tick: setattr(Session, "count", 101))

                Session()
                queue.advance(1000)
                self.assertEqual(Session.count, 101)

    def test_where_there_is_nothing_to_collect_the_limit_costs_nothing(self):
        with Queue(QueueKind.VIRTUAL, timer_limit=3) as queue:
            held = [queue.after(HOUR, print) for _ in range(3)]
            collections = []

            def look(phase, info):
                if phase == "start" and info["generation"] == 2:
                    collections.append(time.monotonic())

            gc.collect()
            gc.callbacks.append(look)
            try:
                for at_rest in False, True:
                    for _ in range(100):
                        with self.assertRaises(chime.LimitReached):
                            queue.after(1, print)
                    if not at_rest:
                        self.assertEqual(collections, [])
                        held[0].cancel()
                self.assertGreater(len(collections), 0)
                for one, next_one in zip(collections, collections[1:]):
                    self.assertGreaterEqual(next_one - one, 0.1)
            finally:
                gc.callbacks.remove(look)


class Dropped(WatchedTest):
    def test_timers_that_were_dropped_are_taken_up_in_portions(self):
        """By each call some, so that none of them waits for a hundred thousand."""
        release_collected()
        while collected:
            release_collected()
        with Queue(QueueKind.VIRTUAL) as queue, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            timers = [queue.every(HOUR, print) for _ in range(1000)]
            kept = list(functions.values())  # as where Chime has not let go of them yet
            timers.clear()
            left = len(collected)
            self.assertEqual(queue.stats().timers, 0)
            queue.once(HOUR, print)
            self.assertTrue(left - 200 < len(collected) < left, (left, len(collected)))
            for _ in range(1000):
                queue.advance(0)
            self.assertEqual(len(collected), 0)


class InLoops(WatchedTest):
    """Threads use all kinds of queues while the collector runs all the time, on another thread and inside handlers."""

    def test_collections_all_the_time(self):
        over, failures = threading.Event(), []

        def collect():
            while not over.is_set():
                gc.collect()

        def work(seed):
            try:
                chance = random.Random(seed)
                for _ in range(15):
                    self.round(chance)
            except BaseException as error:
                failures.append(error)

        before = gc.get_threshold()
        gc.set_threshold(7, 2, 2)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
                collector = threading.Thread(target=collect)
                collector.start()
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                over.set()
                collector.join()
                gc.collect()
        finally:
            gc.set_threshold(*before)
        self.assertEqual(failures, [])
        deadline = time.monotonic() + WATCHDOG  # collected queues end on their own threads
        while any(isinstance(kept.function, Garbage) for kept in list(functions.values())):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def round(self, chance):
        kind = chance.choice(list(QueueKind))
        queue = Queue(kind)
        handler = Garbage(queue if chance.random() < 0.3 else None)
        timers = [queue.every(chance.randrange(1, 300) * MICROSECOND, handler) for _ in range(5)]
        timers.append(queue.start(Schedule.every(100 * MICROSECOND), handler, armed=True, cancelled=True))
        for _ in range(5):
            queue.once(chance.randrange(300) * MICROSECOND, handler)
            queue.run_soon(handler)
        timers.append(timers)  # a cycle
        for _ in range(4):
            timer = chance.choice(timers[:-1])
            if timer.id:
                chance.choice((timer.cancel, timer.suspend, timer.restart, timer.fire, timer.release, queue.dump))()
            if kind is QueueKind.HOST:
                queue.process()
            elif kind is QueueKind.VIRTUAL:
                queue.advance(MILLISECOND)
            else:
                time.sleep(0.0005)
        if handler.queue is not None or chance.random() < 0.5:
            queue.shutdown()


class Garbage:
    """A handler that makes cycles, and has them collected."""

    def __init__(self, queue):
        self.queue, self.count = queue, 0

    def __call__(self, tick=None):
        cycle = [tick]
        cycle.append(cycle)
        self.count += 1
        if self.count % 5 == 0:
            gc.collect(0)


if __name__ == "__main__":
    unittest.main()
