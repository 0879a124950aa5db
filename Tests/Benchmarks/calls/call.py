"""What call.c measures, from Python, with cffi or with ctypes.

    call.py OPERATIONS cffi | CDLL | PyDLL     needs CHIME_LIBRARY, for cffi CHIME_HEADER, too

cffi reads the header itself (ABI mode: no compiler but for cpp). CDLL releases the GIL around each call, which calls that
wait need; PyDLL keeps it: these two calls do not wait.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

HOUR = 3_600_000_000_000


def with_cffi(library):
    """The two functions, a timer of an hour on a host-driven queue, and room for a state; and what must be kept."""
    try:
        import cffi
    except ImportError:
        sys.exit("no cffi (apt-get install python3-cffi)")
    ffi = cffi.FFI()
    ffi.cdef(subprocess.run(["cc", "-E", "-P", "-DCHIME_CDEF", os.environ["CHIME_HEADER"]], check=True,
                            stdout=subprocess.PIPE, text=True).stdout)
    chime = ffi.dlopen(library)
    handler = ffi.callback("chime_handler", lambda tick, context: None)
    queue, timer = ffi.new("chime_queue_t *"), ffi.new("chime_timer_t *")
    assert chime.chime_queue_create(2, ffi.NULL, queue) == 0
    assert chime.chime_timer_after(queue[0], HOUR, handler, ffi.NULL, ffi.NULL, timer) == 0
    return chime.chime_timer_state, chime.chime_timer_postpone_until, timer[0], ffi.new("chime_state *"), (ffi, handler)


def with_ctypes(library, load):
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    handler = function(lambda tick, context: None)
    chime = load(library)
    chime.chime_timer_after.argtypes = [ctypes.c_uint64, ctypes.c_int64, function, *[ctypes.c_void_p] * 3]
    chime.chime_timer_state.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
    chime.chime_timer_postpone_until.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    queue, timer, state = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int32()
    assert chime.chime_queue_create(2, None, ctypes.byref(queue)) == 0
    assert chime.chime_timer_after(queue, HOUR, handler, None, None, ctypes.byref(timer)) == 0
    return chime.chime_timer_state, chime.chime_timer_postpone_until, timer.value, ctypes.byref(state), (state, handler)


def measure(operations, get_state, postpone_until, timer, state, _):
    deadline = time.monotonic_ns() + HOUR
    states, postpones = [], []
    for _ in range(5):
        begun = time.perf_counter_ns()
        for _ in range(operations):
            if get_state(timer, state) != 0:
                raise RuntimeError("chime_timer_state")
        states.append((time.perf_counter_ns() - begun) / operations)
        begun = time.perf_counter_ns()
        for _ in range(operations):
            deadline += 1000
            if postpone_until(timer, deadline) != 0:
                raise RuntimeError("chime_timer_postpone_until")
        postpones.append((time.perf_counter_ns() - begun) / operations)
    return {"state": min(states), "postpone_until": min(postpones)}


way, path = sys.argv[2], os.environ["CHIME_LIBRARY"]
print(json.dumps(measure(int(sys.argv[1]), *(with_cffi(path) if way == "cffi" else with_ctypes(path, getattr(ctypes, way))))))
