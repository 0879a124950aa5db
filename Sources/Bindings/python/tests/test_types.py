"""What type checkers say of programs that use the package: mypy, and pyright where it is installed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]

# A line that ends in `# refused` must be, and no other.
PROGRAM = """
import asyncio
import concurrent.futures
import contextlib
import time
from datetime import datetime, timedelta
from typing import AsyncIterator, Coroutine, Dict, Iterator, List

import chime_timers as chime
from chime_timers import Outcome, Queue, QueueKind, Schedule, Tick, Timer
from chime_timers.aio import Timers, VirtualTimeLoop


def handler(tick: Tick) -> None: ...
async def coroutine(tick: Tick) -> None: ...
def generator(tick: Tick) -> Iterator[int]:
    yield 1
async def async_generator(tick: Tick) -> AsyncIterator[int]:
    yield 1
def nothing() -> None: ...
async def async_nothing() -> None: ...
def yields_nothing() -> Iterator[int]:
    yield 1


class Session:
    timer: Timer
    def expire(self, tick: Tick) -> None: ...
    async def expire_later(self, tick: Tick) -> None: ...
    def __call__(self, tick: Tick) -> bool:
        return True


def program(queue: Queue, session: Session, seen: List[int], found: Dict[str, List[int]], pool: concurrent.futures.Executor,
            loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
    timer = queue.after(1, handler)
    for one in (queue.after(timedelta(seconds=1), session.expire), queue.every(0.5, session), queue.start(Schedule(), handler)):
        one.release()
    queue.after(1, lambda tick: seen.append(tick.sequence))
    queue.after(1, lambda tick: print("idle"))
    queue.after(1, lambda tick: timer.cancel())
    queue.after(1, lambda tick: queue.stop() or found.pop("it"))
    queue.after(1, lambda tick: queue.after(1, handler))
    queue.after(1, lambda tick: (seen.pop(), tick.missed))
    queue.after(1, lambda tick: pool.submit(nothing))
    queue.after(1, lambda tick: loop.call_soon_threadsafe(wake.set))
    queue.after(1, lambda tick: tick.scheduled_ns / 1e9)
    queue.once(1, handler)
    queue.create(handler, label="one").release()
    queue.run_soon(nothing)
    queue.run_soon(lambda: seen.append(1))
    number: int = queue.sync(lambda: 3)
    queue.after(1, lambda tick: tick.timer.restart_after(1))
    queue.after(1, coroutine)  # refused
    queue.after(1, session.expire_later)  # refused
    queue.after(1, generator)  # refused
    queue.after(1, async_generator)  # refused
    queue.every(1, coroutine)  # refused
    queue.every(1, generator)  # refused
    queue.once(1, coroutine)  # refused
    queue.start(Schedule(), coroutine)  # refused
    queue.create(generator)  # refused
    queue.after(1, lambda tick: coroutine(tick))  # refused
    queue.run_soon(async_nothing)  # refused
    queue.run_soon(yields_nothing)  # refused
    queue.at(datetime.now(), handler)
    queue.at(time.time() + 1, session)
    queue.at(datetime.now(), coroutine)  # refused
    queue.at(timedelta(1), handler)  # refused
    queue.after("1", handler)  # refused
    queue.after(1, nothing)  # refused


async def on_a_loop(timers: Timers) -> None:
    timers.after(1, coroutine)
    timers.after(1, handler)
    timers.after(1, generator)  # refused
    async with timers.timeout(5) as timeout:
        timeout.postpone(5)
        timeout.reschedule(None)
    late: float = await timers.sleep(1)


def on_virtual_time(main: Coroutine[None, None, int]) -> int:
    with contextlib.closing(VirtualTimeLoop()) as loop:
        return loop.run_until_complete(main)
"""


class TypesTest(unittest.TestCase):
    def check(self, *command: str) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "program.py")
            file.write_text(PROGRAM)
            ran = subprocess.run([*command, str(file)], cwd=directory, capture_output=True, text=True,
                                 env={**os.environ, "MYPYPATH": str(PACKAGE), "PYTHONPATH": str(PACKAGE)})
        if ran.stdout.startswith("{"):
            found = {one["range"]["start"]["line"] + 1: one["message"] for one in json.loads(ran.stdout)["generalDiagnostics"]
                     if one["severity"] == "error"}
        else:
            found = {int(line.split(":")[1]): line for line in ran.stdout.splitlines() if ": error: " in line}
        refused = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")}
        self.assertTrue(found, ran.stdout + ran.stderr)
        self.assertEqual(refused - set(found), set(), "not refused")
        self.assertEqual({number: text for number, text in found.items() if number not in refused}, {})

    @unittest.skipUnless(shutil.which("mypy"), "no mypy")
    def test_mypy_refuses_what_is_a_type_error_at_run_time_and_nothing_else(self) -> None:
        self.check("mypy", "--strict", "--no-incremental", "--cache-dir=" + os.devnull)

    @unittest.skipUnless(shutil.which("pyright"), "no pyright")
    def test_pyright_does_so_too(self) -> None:
        self.check("pyright", "--outputjson", "--pythonpath", sys.executable)


if __name__ == "__main__":
    unittest.main()
