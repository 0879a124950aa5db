"""CPython's own tests of asyncio, test.test_asyncio of the Python that runs this, on loops whose timers are Chime's, and with the
timeouts of chime_timers.aio in place of asyncio.timeout; and on loops on virtual time. Nothing of them is copied here. Called by
run.

    python3 suite.py        the modules below
    python3 suite.py NAME   one of them
"""

import asyncio
import importlib.util
import sys
import unittest

import chime_timers as chime
from chime_timers.aio import Timeout, Timers, VirtualTimeLoop

# Those in which timers have a part.
MODULES = ("timeouts", "waitfor", "taskgroups", "tasks", "locks", "queues", "pep492")

# Half a minute of collections and of other processes, in which timers have none.
OTHERS = ("test_task_del_collect", "test_env_var_debug")

# In which a function of an executor waits for the loop's time.
IN_REAL_TIME = "RunCoroutineThreadsafeTests"


class Loop(asyncio.SelectorEventLoop):
    """A loop whose call_at, and so call_later and sleep, makes a timer of a host-driven queue."""

    def __init__(self, selector=None):
        super().__init__(selector)
        self.queue = chime.Queue(chime.QueueKind.HOST)
        self.add_reader(self.queue.fd, self.queue.process)
        self.pending = {}
        self.timers = None

    def call_at(self, when, callback, *args, context=None):
        if when is None:
            raise TypeError("when cannot be None")
        self._check_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True
        schedule = chime.Schedule(deadline_ns=max(round(when * 1e9), 0))
        self.pending[handle] = self.queue.start(schedule, lambda tick: self._ticked(handle))
        return handle

    def _ticked(self, handle):
        self.pending.pop(handle).release()
        self._add_callback(handle)  # as the loop does with one that is due

    def _timer_handle_cancelled(self, handle):
        timer = self.pending.pop(handle, None)
        if timer is not None:
            timer.release()

    def close(self):
        if not self.is_closed() and not self.is_running():
            self.remove_reader(self.queue.fd)
            if self.timers is not None:
                self.timers.close()
            self.queue.shutdown()
            self.pending.clear()
        super().close()


class VirtualLoop(VirtualTimeLoop):
    timers = None

    def close(self):
        if self.timers is not None and not self.is_running():
            self.timers.close()
        super().close()


def timers():
    loop = asyncio.get_running_loop()
    if loop.timers is None:
        loop.timers = Timers()
    return loop.timers


def tests_of(suite):
    for test in suite:
        yield from tests_of(test) if isinstance(test, unittest.TestSuite) else [test]


def failed_on(loop, names):
    """In how many of the modules a test fails."""
    asyncio.SelectorEventLoop = asyncio.DefaultEventLoopPolicy._loop_factory = loop
    failed = 0
    for name in names or MODULES:
        suite = unittest.TestSuite()
        for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"test.test_asyncio.test_{name}"))):
            if test.id().rpartition(".")[2] not in OTHERS and not (loop is VirtualLoop and IN_REAL_TIME in test.id()):
                suite.addTest(test)
        result = unittest.TextTestRunner(verbosity=0, buffer=True).run(suite)
        print(f"{loop.__name__}, test_{name}: {result.testsRun} ran, {len(result.failures) + len(result.errors)} failed,"
              f" {len(result.skipped)} skipped")
        failed += not result.wasSuccessful()
    return failed


def main(names):
    if sys.version_info[:2] != (3, 11) or importlib.util.find_spec("test.test_asyncio") is None:
        print("skipped: this is for the tests of Python 3.11, where they are installed")
        return 0
    asyncio.timeout, asyncio.timeout_at = lambda delay: timers().timeout(delay), lambda when: timers().timeout_at(when)
    asyncio.Timeout = Timeout
    return failed_on(Loop, names) + failed_on(VirtualLoop, names) != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
