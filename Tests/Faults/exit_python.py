"""A Python program with armed timers ends without chime_queue_shutdown: by running off its end, by SystemExit(3), an
exception, a KeyboardInterrupt. CPython ends threads that want its lock from then on, inside their callbacks (pthread_exit
before 3.14). The program's status must be that of one without timers, and it must not hang. With chime_queue_shutdown in a
function of atexit, as is recommended, no callback comes so late.

    exit_python.py [PYTHON ...]             all ways, with these interpreters; else with this one and /usr/bin/python3
    exit_python.py --run BINDING KIND WAY   the program itself
"""

import atexit
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

FOREVER = 2**63 - 1
KINDS = {"serial": 0, "concurrent": 1, "precise": 3}
INTERVALS = (100_000, 1_000_000, 10_000_000)
WAYS = ("end", "SystemExit", "exception", "KeyboardInterrupt")
ROUNDS = {"serial": 20, "concurrent": 5, "precise": 5}  # of each way, with the first interpreter; with others a fifth
TIMEOUT = 30
NOT_HERE = 77

ticks = 0


def on_tick(tick, context):
    global ticks
    ticks += 1


# ---- The program ------------------------------------------------------------------------------------------------------


def start_by_ctypes(path, kind):
    import ctypes

    global handler  # ctypes does not keep it alive for the library
    chime = ctypes.CDLL(path)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(on_tick)
    queue = ctypes.c_uint64()
    assert chime.chime_queue_create(kind, None, ctypes.byref(queue)) == 0
    for interval in INTERVALS:
        assert chime.chime_timer_every(queue, ctypes.c_int64(interval), handler, None, None, None) == 0
    return lambda: chime.chime_queue_shutdown(queue, ctypes.c_int64(FOREVER))


def start_by_cffi(path, kind):
    import cffi

    global handler
    ffi = cffi.FFI()
    ffi.cdef("""
        int32_t chime_queue_create(int32_t, void *, uint64_t *);
        int32_t chime_timer_every(uint64_t, int64_t, void (*)(void *, void *), void *, void *, uint64_t *);
        int32_t chime_queue_shutdown(uint64_t, int64_t);
    """)
    chime = ffi.dlopen(path)
    handler = ffi.callback("void(void *, void *)", on_tick)
    queue = ffi.new("uint64_t *")
    assert chime.chime_queue_create(kind, ffi.NULL, queue) == 0
    for interval in INTERVALS:
        assert chime.chime_timer_every(queue[0], interval, handler, ffi.NULL, ffi.NULL, ffi.NULL) == 0
    return lambda: chime.chime_queue_shutdown(queue[0], FOREVER)


def end(way):
    if way == "SystemExit":
        sys.exit(3)
    if way == "exception":
        raise RuntimeError("as it should be")
    if way == "KeyboardInterrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)


def program(binding, kind, way):
    if binding != "none":
        start = {"ctypes": start_by_ctypes, "cffi": start_by_cffi}[binding]
        try:
            shut_down = start(os.path.join(os.environ["FAULTS_LIBRARIES"], "libchime.so.1"), KINDS[kind])
        except ImportError:
            os._exit(NOT_HERE)
        if way.startswith("atexit"):
            atexit.register(lambda: shut_down() == 0 or os._exit(99))
        while ticks < 20:
            time.sleep(0.001)
    end(way.replace("atexit-", ""))


# ---- All ways ---------------------------------------------------------------------------------------------------------


def status(python, binding, kind, way):
    """The program's exit status, or minus the signal that ended it, or "hangs"; and what it wrote."""
    command = [python, __file__, "--run", binding, kind, way]
    try:
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "hangs", b""
    return run.returncode, run.stderr


def interpreters():
    """Those named, or this one and the system's, each once."""
    named = sys.argv[1:] or [sys.executable, "/usr/bin/python3"]
    return list(dict.fromkeys(os.path.realpath(python) for python in named if os.path.exists(python)))


def main():
    failed = False
    for number, python in enumerate(interpreters()):
        expected = {way: status(python, "none", "none", way)[0] for way in WAYS}
        for binding in ("ctypes", "cffi"):
            if status(python, binding, "serial", "atexit-end")[0] == NOT_HERE:
                print(f"skipped exit_python {python} {binding}: not installed")
                continue
            for kind, rounds in ROUNDS.items():
                rounds = rounds if number == 0 else rounds // 5
                ways = [(w, rounds) for w in WAYS] + [("atexit-" + w, 1) for w in WAYS]
                runs = [way for way, count in ways for _ in range(count)]
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    ends = list(pool.map(lambda way: status(python, binding, kind, way), runs))
                wrong = {}
                for way, (seen, text) in zip(runs, ends):
                    if seen != expected[way.replace("atexit-", "")]:
                        wrong.setdefault((way, seen), []).append(text)
                for (way, seen), texts in wrong.items():
                    last = texts[0].decode(errors="replace").strip().splitlines()[-1:]
                    print(f"{kind}, {way}: {seen} in {len(texts)} of {runs.count(way)} {last}", file=sys.stderr)
                failed |= bool(wrong)
                print(f"{'FAILED' if wrong else 'ok'} exit_python {os.path.basename(python)}, {binding}, {kind}: "
                      f"{len(runs)} programs, statuses {sorted(set(expected.values()))}", flush=True)
    return 1 if failed else 0


if sys.argv[1:2] == ["--run"]:
    program(*sys.argv[2:])
else:
    sys.exit(main())
