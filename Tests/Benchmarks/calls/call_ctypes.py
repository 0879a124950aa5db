"""What call.c measures, from Python with ctypes.

    call_ctypes.py OPERATIONS CDLL | PyDLL     needs CHIME_LIBRARY

CDLL releases the GIL around each call, which calls that wait need; PyDLL keeps it: these two calls do not wait.
"""
import ctypes
import json
import os
import sys
import time

HOUR = 3_600_000_000_000
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
handler = HANDLER(lambda tick, context: None)


def measure(operations, load):
    chime = load(os.environ["CHIME_LIBRARY"])
    chime.chime_timer_after.argtypes = [ctypes.c_uint64, ctypes.c_int64, HANDLER, ctypes.c_void_p, ctypes.c_void_p,
                                        ctypes.c_void_p]
    get_state, postpone_until = chime.chime_timer_state, chime.chime_timer_postpone_until
    get_state.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
    postpone_until.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    queue, timer, state = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int32()
    assert chime.chime_queue_create(2, None, ctypes.byref(queue)) == 0
    assert chime.chime_timer_after(queue, HOUR, handler, None, None, ctypes.byref(timer)) == 0
    number, out = timer.value, ctypes.byref(state)
    deadline = time.monotonic_ns() + HOUR
    states, postpones = [], []
    for _ in range(5):
        begun = time.perf_counter_ns()
        for _ in range(operations):
            if get_state(number, out) != 0:
                raise RuntimeError("chime_timer_state")
        states.append((time.perf_counter_ns() - begun) / operations)
        begun = time.perf_counter_ns()
        for _ in range(operations):
            deadline += 1000
            if postpone_until(number, deadline) != 0:
                raise RuntimeError("chime_timer_postpone_until")
        postpones.append((time.perf_counter_ns() - begun) / operations)
    return {"state": min(states), "postpone_until": min(postpones)}


print(json.dumps(measure(int(sys.argv[1]), {"CDLL": ctypes.CDLL, "PyDLL": ctypes.PyDLL}[sys.argv[2]])))
