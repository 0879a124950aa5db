"""Durations in seconds, for the tests, and the way back; and a watchdog for each of their waits."""

import faulthandler
import sys
import unittest

MICROSECOND, MILLISECOND, SECOND, HOUR = 1e-6, 1e-3, 1, 3600
WATCHDOG = 30.0


def seconds(nanoseconds):
    return nanoseconds / 1e9


def watch(seconds=WATCHDOG):
    """From now on: whatever takes longer ends the process, and the stack of each thread is printed."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)


class WatchedTest(unittest.TestCase):
    def run(self, result=None):
        watch(2 * WATCHDOG)  # for the test's own watchdogs come first
        try:
            return super().run(result)
        finally:
            faulthandler.cancel_dump_traceback_later()
