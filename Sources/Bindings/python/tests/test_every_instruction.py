"""A signal may be handled between any two instructions of the wrapper, and what its handler raises may leave nothing behind: no
function that Chime has let go of, no timer that ticks for nobody, no queue that does not end, no call that is thought to
run. Each scenario is interrupted at each of those places in turn."""

import asyncio
import ctypes
import dis
import gc
import os
import select
import signal
import sys
import threading
import time
import unittest
import warnings

import chime_timers as chime
from chime_timers import Outcome, Queue, QueueKind, Schedule, c
from chime_timers.aio import Timers
from chime_timers.functions import _calls, collected, functions, release_collected
from units import HOUR, MILLISECOND, WATCHDOG, WatchedTest, watch

PACKAGE = os.path.dirname(chime.__file__)


class Interrupt(KeyboardInterrupt):
    pass


class Alarm(Exception):
    pass


def checks_signals(code, at):
    """Whether CPython looks for signals behind this instruction. It does not where a coroutine goes on."""
    instruction = dis.opname[code.co_code[at]]
    if instruction == "RESUME":
        return code.co_code[at + 1] < 2
    return instruction.startswith("CALL") or instruction == "JUMP_BACKWARD"


class Interrupted:
    """Raises at the place with that number."""

    def __init__(self, number, error, without=()):
        self.without = without
        self.number, self.error, self.count, self.before = number, error, 0, {}
        self.where = None

    def __enter__(self):
        gc.disable()  # the garbage of others, in whose `__del__` an interrupt is only reported
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)
        gc.enable()
        self.before.clear()

    def enter(self, frame, event, argument):
        directory, file = os.path.split(frame.f_code.co_filename)
        if directory != PACKAGE or file in self.without:
            return None
        self.before.pop(id(frame), None)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.inside

    def inside(self, frame, event, argument):
        # Not where the instruction has raised: there CPython looks for no signal, and an exception corrupts its stack.
        before = self.before.pop(id(frame), None)
        if event == "opcode":
            self.before[id(frame)] = frame.f_lasti
        if event != "opcode" or before is None or not checks_signals(frame.f_code, before):
            return self.inside
        self.count += 1
        if self.count == self.number:
            self.where = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
            sys.settrace(None)
            self.handler(signal.SIGINT, frame)
        return self.inside

    def handler(self, number, frame):
        raise self.error("the signal's")


def queues_in_c():
    count = ctypes.c_size_t()
    c.queue_list(None, 0, count)
    return count.value


@unittest.skipUnless(sys.version_info[:2] == (3, 11), "other versions trace other instructions, or none")
class EveryInstruction(WatchedTest):
    def setUp(self):
        self.unraisable, before = [], sys.unraisablehook
        self.hook = lambda report: self.unraisable.append(report.exc_type)
        sys.unraisablehook = self.hook
        self.addCleanup(setattr, sys, "unraisablehook", before)
        warned = warnings.catch_warnings()
        warned.__enter__()
        self.addCleanup(warned.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", ResourceWarning)

    def interrupt(self, scenario, after=lambda *_: None, make=lambda: (), errors=(Interrupt, Alarm), swallowed=False,
                  without=()):
        """make() gives what scenario is called with; after sees the same, once the interrupt is over. swallowed: the interrupt
        may end in a report, as in `__del__`. without: files whose lines other scenarios have in them."""
        for error in errors:
            number, seen = 1, 0
            while True:
                watch()
                queues, known = queues_in_c(), set(functions)
                made = make()
                interrupted = Interrupted(number, error, without)
                raised = kept = None
                with interrupted:
                    try:
                        kept = scenario(*made)  # an interrupt in its `__del__` would be reported only
                    except error as got:
                        raised = type(got)
                place = f"{error.__name__} at place {number}, {interrupted.where}"
                del kept
                if interrupted.where is None:
                    break
                seen += 1
                if not swallowed:
                    self.assertIs(raised, error, place)
                with self.subTest(place):
                    self.assertEqual(_calls.stack, [])
                    self.assertIs(sys.unraisablehook, self.hook)
                    after(*made)
                    for one in made:
                        if isinstance(one, Queue):
                            self.assertEqual(one._waiting, set())
                            self.ends(one)
                    del made
                    one = None
                    self.nothing_is_left(queues, known)
                number += 1
            self.assertGreater(seen, 3)

    def ends(self, queue):
        """It can be shut down."""
        id = queue.id
        self.assertIs(queue.shutdown(), Outcome.OK)
        self.assertEqual(queue.id, 0)
        self.assertEqual(c.queue_now(id, ctypes.c_int64()), c.ERROR_INVALID_HANDLE)

    def nothing_is_left(self, queues, known):
        deadline = time.monotonic() + WATCHDOG
        while True:
            release_collected()
            if queues_in_c() <= queues and not set(functions) - known and not collected:
                break
            gc.collect()
            self.assertLess(time.monotonic(), deadline, f"{queues_in_c() - queues} queues, {set(functions) - known}")
            time.sleep(0.001)

    def test_making_timers(self):
        makes = (
            lambda queue: queue.after(HOUR, print), lambda queue: queue.every(HOUR, print),
            lambda queue: queue.every(HOUR, print, first=1), lambda queue: queue.once(HOUR, print),
            lambda queue: queue.start(Schedule.every(HOUR), print, armed=True, cancelled=True, label="x"),
            lambda queue: queue.create(print), lambda queue: queue.run_soon(print))
        for kind in QueueKind.VIRTUAL, QueueKind.SERIAL:
            for make in makes:
                def after(queue):
                    if make not in makes[:1] + makes[3:4] + makes[6:]:  # of those nobody knows whether they were made
                        self.assertEqual(queue.stats().timers, 0)

                self.interrupt(make, after, lambda: (Queue(kind),), (Interrupt,))

    def test_making_queues(self):
        for kind in QueueKind:
            self.interrupt(lambda: Queue(kind, label="x"), errors=(Interrupt,))

    def test_verbs(self):
        def scenario(queue, timer):
            timer.suspend()
            timer.resume()
            timer.cancel()
            timer.activate()
            timer.fire()
            timer.restart_after(HOUR)
            timer.cancel_and_wait()
            timer.restart(Schedule.every(HOUR))
            timer.reschedule(Schedule(first=1))
            timer.release()

        def after(queue, timer):
            timer.release()
            self.assertEqual(queue.stats().timers, 0)
            self.assertIs(timer.release(), Outcome.OK)

        for kind in QueueKind.VIRTUAL, QueueKind.SERIAL:
            def make():
                queue = Queue(kind)
                return queue, queue.start(Schedule.every(HOUR), lambda tick: None, cancelled=True)

            self.interrupt(scenario, after, make, (Interrupt,))

    def test_release(self):
        for wait in "release", "release_and_wait", "with":
            def scenario(queue, timer):
                if wait == "with":
                    with timer:
                        pass
                else:
                    getattr(timer, wait)()

            def after(queue, timer):
                timer.release()
                self.assertEqual(queue.stats().timers, 0)
                self.assertEqual(timer.id, 0)

            for kind in QueueKind.VIRTUAL, QueueKind.SERIAL, QueueKind.HOST:
                def make():
                    queue = Queue(kind)
                    return queue, queue.start(Schedule.every(HOUR), lambda tick: None, cancelled=True)

                self.interrupt(scenario, after, make, (Interrupt,))

    def test_shutdown(self):
        def scenario(queue):
            with queue:
                pass

        for kind in QueueKind:
            def make():
                queue = Queue(kind)
                queue.once(HOUR, print)
                queue.run_soon(lambda: None)
                return queue,

            self.interrupt(scenario, make=make)

    def test_shutdown_that_waits_for_a_handler(self):
        begun, end = threading.Event(), threading.Event()

        def handler(tick):
            begun.set()
            end.wait(WATCHDOG)

        def make():
            begun.clear()
            end.clear()
            queue = Queue()
            queue.once(0, handler)
            begun.wait(WATCHDOG)
            threading.Timer(0.13, end.set).start()
            return queue,

        def after(queue):
            end.set()

        self.interrupt(lambda queue: queue.shutdown(), after, make, (Interrupt,))

    def test_calls_that_run_handlers(self):
        calls = {
            QueueKind.VIRTUAL: [lambda queue, holder: queue.advance(2)],
            QueueKind.HOST: [lambda queue, holder: queue.run(), lambda queue, holder: processed(queue)],
            QueueKind.SERIAL: [lambda queue: queue.sync(lambda: 7)],
            QueueKind.PRECISE: [lambda queue: queue.sync(lambda: 7)],
        }
        for kind, scenarios in calls.items():
            for scenario in scenarios:
                def make():
                    queue = Queue(kind)
                    if kind is QueueKind.SERIAL or kind is QueueKind.PRECISE:
                        return queue,
                    return queue, Holder(queue)

                def after(queue, *holders):
                    if kind is QueueKind.HOST:
                        queue.once(0, lambda tick: None)
                        self.assertIs(queue.run(), Outcome.OK)  # and no stop is left over
                    elif kind is QueueKind.VIRTUAL:
                        queue.advance(5)
                    else:
                        self.assertEqual(queue.sync(lambda: 8), 8)
                    for holder in holders:  # at rest, so it is a cycle that the collector sees
                        self.assertIs(functions[holder.timer._number].function, None)

                self.interrupt(scenario, after, make)

    def test_collection(self):
        def scenario(box):
            del box[:]

        for what in "timer", "queue":
            for kind in QueueKind.VIRTUAL, QueueKind.SERIAL, QueueKind.HOST:
                def make():
                    queue = Queue(kind)
                    timer = queue.start(Schedule.every(HOUR), print, cancelled=True)
                    return [queue, timer] if what == "queue" else [timer],

                self.interrupt(scenario, make=make, errors=(Interrupt,), swallowed=True)

    def test_asyncio(self):
        async def main():
            async with Timers() as timers:
                timers.queue.once(0, lambda tick: None)
                await timers.sleep(0.0001)
                async for tick in timers.ticks(Schedule.every(0.0001, limit=2)):
                    pass

        def scenario():
            asyncio.run(main())

        self.interrupt(scenario, errors=(Interrupt,), swallowed=True, without=("c.py", "values.py"))


def processed(queue):
    select.select([queue], [], [], WATCHDOG)
    queue.process()


class Holder:
    """Holds its own one-shot."""

    def __init__(self, queue):
        self.timer = queue.after(MILLISECOND, self.expire)

    def expire(self, tick):
        pass


if __name__ == "__main__":
    unittest.main()
