"""Programs that end in every state: with their own status, in time, and with no message from the interpreter's end."""

import os
import signal
import subprocess
import sys
import textwrap
import unittest

PROLOGUE = """
import asyncio, os, signal, sys, threading, time
import chime_timers as chime
from chime_timers import Queue, QueueKind, Schedule
from chime_timers.aio import Timers
HOUR, MILLISECOND = 3600, 1e-3
THREADED = QueueKind.SERIAL, QueueKind.CONCURRENT, QueueKind.PRECISE
"""


class Programs(unittest.TestCase):
    def program(self, text, status=0, words=None, send=None):
        """Runs it in debug mode with debug allocators, and a watchdog of 60 s."""
        environment = dict(os.environ, PYTHONMALLOC="debug")
        process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-W", "ignore::RuntimeWarning", "-c", PROLOGUE + textwrap.dedent(text)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            if send is not None:
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(send)
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            self.fail("it did not end\n" + output + errors)
        self.assertEqual(process.returncode, status, output + errors)
        self.assertNotIn("Fatal", errors)
        if words is None:
            self.assertEqual(errors, "")
        else:
            self.assertIn(words, errors)

    def test_timers_that_tick(self):
        self.program("""
            ticks, queues = [], [Queue(kind) for kind in QueueKind]
            timers = [queue.every(1e-4, lambda tick: ticks.append(1)) for queue in queues]
            while len(ticks) < 20:
                time.sleep(0.001)
            sys.exit(4)
        """, 4)

    def test_timers_in_every_state(self):
        self.program("""
            for kind in QueueKind:
                queue = Queue(kind)
                globals()[f"kept_{kind}"] = timers = [queue.after(HOUR, print) for _ in range(5)] + [queue.create(print)]
                timers[0].suspend()
                timers[1].cancel()
                timers[2].release()
                timers[3].fire()
                queue.once(HOUR, print)
        """)

    def test_a_handler_that_is_running(self):
        self.program("""
            begun, queues = threading.Event(), []
            def handler(tick):
                begun.set()
                time.sleep(0.3)
            for kind in THREADED:
                begun.clear()
                queues.append(Queue(kind))
                queues[-1].once(0, handler)
                begun.wait()
        """)

    def test_a_handler_that_is_stuck_ends_by_ctrl_c(self):
        self.program("""
            begun, queue = threading.Event(), Queue()
            queue.once(0, lambda tick: (begun.set(), threading.Event().wait()))
            begun.wait()
            import atexit
            atexit.register(print, "ready", flush=True)
        """, 0, "KeyboardInterrupt", signal.SIGINT)

    def test_sys_exit_in_a_handler(self):
        for text in ("queue = Queue(QueueKind.HOST); queue.once(0, lambda tick: sys.exit(3)); queue.run()",
                     "queue = Queue(QueueKind.VIRTUAL); queue.once(0, lambda tick: sys.exit(3)); queue.advance(1)",
                     "with Queue() as queue: queue.sync(lambda: sys.exit(3))",
                     "with Queue(QueueKind.PRECISE) as queue: queue.sync(lambda: sys.exit(3))"):
            self.program(text, 3)

    def test_ctrl_c(self):
        ready = "print('ready', flush=True)\n"
        for text in ("queue = Queue(QueueKind.HOST)\n" + ready + "queue.run(until_stopped=True)",
                     ready + "chime.sleep_until_ns(chime.now_ns() + HOUR * 10**9)",
                     "queue = Queue(QueueKind.HOST)\ntimer = queue.every(5e-5, lambda tick: None)\n" + ready + "queue.run()"):
            self.program(text, -signal.SIGINT, "KeyboardInterrupt", signal.SIGINT)

    def test_other_threads_inside_calls(self):
        self.program("""
            queues = [Queue(QueueKind.HOST), Queue(), Queue()]
            begun = [threading.Event() for _ in range(2)]
            end = threading.Event()
            for queue, event in zip(queues[1:], begun):
                queue.once(0, lambda tick, event=event: (event.set(), end.wait(0.5)))
                event.wait()
            for call in (lambda: queues[0].run(until_stopped=True), lambda: queues[1].sync(lambda: None),
                         queues[2].shutdown, lambda: chime.sleep_until_ns(chime.now_ns() + HOUR * 10**9)):
                def body(call=call):
                    try:
                        call()
                    except chime.Error:
                        pass
                threading.Thread(target=body, daemon=True).start()
            time.sleep(0.1)
            sys.exit(6)
        """, 6)

    def test_a_daemon_thread_that_runs_a_queue_ends_in_silence(self):
        self.program("""
            queues = [Queue(QueueKind.HOST) for _ in range(3)]
            def work(queue):
                timer = queue.every(MILLISECOND, lambda tick: None)
                while True:
                    queue.run(until_stopped=True)
            for queue in queues:
                threading.Thread(target=work, args=(queue,), daemon=True).start()
            while any(queue.stats().ticks == 0 for queue in queues):
                time.sleep(MILLISECOND)
            import chime_timers.queues, atexit
            atexit.unregister(chime_timers.queues._shut_down)
            def late():
                chime_timers.queues._shut_down()
                deadline = time.monotonic() + 30
                while threading.active_count() > 1 and time.monotonic() < deadline:
                    time.sleep(MILLISECOND)
                assert threading.active_count() == 1
            atexit.register(late)
        """)

    def test_inside_a_handler(self):
        self.program("""
            queue = Queue()
            queue.once(0, lambda tick: os._exit(5))
            time.sleep(60)
        """, 5)

    def test_an_exception_with_everything_open(self):
        self.program("""
            with Queue() as queue, queue.every(MILLISECOND, lambda tick: None), Queue(QueueKind.VIRTUAL) as other:
                other.once(1, print)
                raise LookupError("the user's")
        """, 1, "LookupError: the user's")

    def test_a_sub_interpreter_is_refused_with_a_sentence(self):
        self.program("""
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            text = '''
            try:
                import chime_timers
            except ImportError as error:
                said = str(error)
            assert "main interpreter" in said or "_ctypes" in said, said
            '''
            import textwrap
            for isolated in False, True:
                if sys.version_info >= (3, 13):
                    one = interpreters.create("isolated" if isolated else "legacy")
                elif sys.version_info >= (3, 9):
                    one = interpreters.create(isolated=isolated)
                else:
                    one = interpreters.create()
                failed = interpreters.run_string(one, textwrap.dedent(text))
                assert failed is None, failed
                interpreters.destroy(one)
        """)

    def test_a_queue_used_at_exit(self):
        self.program("""
            import atexit
            queue = Queue(QueueKind.VIRTUAL)
            def late():
                try:
                    queue.after(1, print)
                except chime.Error as error:
                    assert error.status == chime.c.ERROR_INVALID_HANDLE
                else:
                    os._exit(9)
            import chime_timers.queues
            atexit.unregister(chime_timers.queues._shut_down)
            atexit.register(late)
            atexit.register(chime_timers.queues._shut_down)
        """)

    def test_a_queue_that_is_made_while_the_interpreter_ends(self):
        self.program("""
            class Late:
                def __del__(self, chime=chime, Queue=Queue, QueueKind=QueueKind, threaded=THREADED, end=os._exit):
                    for kind in threaded:  # nothing would call its functions, and what waits for them would wait for ever
                        try:
                            Queue(kind)
                        except chime.Closed as error:
                            if "the interpreter is ending" not in str(error):
                                end(8)
                        else:
                            end(9)
                    ticks = []
                    with Queue(QueueKind.HOST) as queue, Queue(QueueKind.VIRTUAL) as virtual:
                        queue.once(0, ticks.append)
                        virtual.once(1, ticks.append)
                        queue.run()
                        virtual.advance(1)
                    end(4 if len(ticks) == 2 else 7)
            late = Late()
        """, 4)

    def test_asyncio_with_everything_open(self):
        self.program("""
            async def main():
                global timers, tasks
                timers = Timers()
                tasks = [asyncio.create_task(timers.sleep(3600)) for _ in range(3)]
                ticks = timers.ticks(Schedule.every(MILLISECOND))
                await ticks.__anext__()
                timers.queue.once(HOUR, print)
            asyncio.run(main())
        """)

    @unittest.skipIf(sys.version_info < (3, 9), "3.8's debug allocator does not survive a fork beside a foreign thread")
    def test_a_forked_child(self):
        self.program("""
            import warnings
            warnings.simplefilter("ignore")  # that the process has threads
            queue = Queue()
            timer = queue.every(MILLISECOND, lambda tick: None)
            for reinitialize in False, True:
                for how in "exit", "with", "del":
                    child = os.fork()
                    if child == 0:
                        if reinitialize:
                            chime.reinitialize()
                        if how == "with":
                            with queue, timer:
                                pass
                        if how == "del":
                            del queue, timer
                        sys.exit(8)
                    assert os.waitpid(child, 0)[1] == 8 << 8
            assert timer.state is chime.State.RUNNING
        """)


if __name__ == "__main__":
    unittest.main()
