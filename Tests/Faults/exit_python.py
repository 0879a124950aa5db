"""A Python program with armed timers ends without chime_queue_shutdown: by running off its end, by SystemExit(3), an
exception, a KeyboardInterrupt. CPython ends threads that want its lock from then on, inside their callbacks (pthread_exit
before 3.14). The program's status must be that of one without timers, and it must not hang. Promise 20. By cffi; the tests of the
wrapper for Python have ctypes.

    exit_python.py                 all ways
    exit_python.py --run KIND WAY  the program itself; without timers where KIND is none
"""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

KINDS = {"serial": 0, "concurrent": 1, "precise": 3}
ROUNDS = {"serial": 20, "concurrent": 5, "precise": 5}  # of each way
WAYS = ("end", "SystemExit", "exception", "KeyboardInterrupt")

ticks = 0


def on_tick(tick, context):
    global ticks
    ticks += 1


def program(kind, way):
    if kind != "none":
        import cffi

        global handler  # cffi does not keep it alive for the library
        ffi = cffi.FFI()
        ffi.cdef("""
            int32_t chime_queue_create(int32_t, void *, uint64_t *);
            int32_t chime_timer_every(uint64_t, int64_t, void (*)(void *, void *), void *, void *, uint64_t *);
        """)
        chime = ffi.dlopen(os.path.join(os.environ["FAULTS_LIBRARIES"], "libchime.so.0"))
        handler = ffi.callback("void(void *, void *)", on_tick)
        queue = ffi.new("uint64_t *")
        assert chime.chime_queue_create(KINDS[kind], ffi.NULL, queue) == 0
        for interval in (100_000, 1_000_000, 10_000_000):
            assert chime.chime_timer_every(queue[0], interval, handler, ffi.NULL, ffi.NULL, ffi.NULL) == 0
        while ticks < 20:
            time.sleep(0.001)
    if way == "SystemExit":
        sys.exit(3)
    if way == "exception":
        raise RuntimeError("as it should be")
    if way == "KeyboardInterrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)


def status(kind, way):
    """The program's exit status, or minus the signal that ended it, or "hangs"; and what it wrote."""
    command = [sys.executable, __file__, "--run", kind, way]
    try:
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30)
    except subprocess.TimeoutExpired:
        return "hangs", b""
    return run.returncode, run.stderr


def main():
    try:
        import cffi  # noqa: F401
    except ImportError:
        print("skipped exit_python: cffi is not installed")
        return 0
    failed, expected = False, {way: status("none", way)[0] for way in WAYS}
    for kind, rounds in ROUNDS.items():
        runs = [way for way in WAYS for _ in range(rounds)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            ends = list(pool.map(lambda way: status(kind, way), runs))
        wrong = [(way, seen, text) for way, (seen, text) in zip(runs, ends) if seen != expected[way]]
        for way, seen, text in wrong:
            print(f"{kind}, {way}: {seen} {text.decode(errors='replace').strip()[-200:]}", file=sys.stderr)
        failed |= bool(wrong)
        print(f"{'FAILED' if wrong else 'ok'} exit_python {kind}: {len(runs)} programs, statuses {sorted(set(expected.values()))}")
    return failed


if sys.argv[1:2] == ["--run"]:
    program(*sys.argv[2:])
else:
    sys.exit(main())
