"""What call.c measures, from Python with cffi, which reads the header itself (ABI mode: no compiler but for cpp).

    call_cffi.py OPERATIONS     needs CHIME_LIBRARY and CHIME_HEADER
"""
import json
import os
import subprocess
import sys
import time

try:
    import cffi
except ImportError:
    sys.exit("no cffi (apt-get install python3-cffi)")

HOUR = 3_600_000_000_000
operations = int(sys.argv[1])
ffi = cffi.FFI()
ffi.cdef(subprocess.run(["cc", "-E", "-P", "-DCHIME_CDEF", os.environ["CHIME_HEADER"]], check=True,
                        stdout=subprocess.PIPE, text=True).stdout)
chime = ffi.dlopen(os.environ["CHIME_LIBRARY"])
handler = ffi.callback("chime_handler", lambda tick, context: None)
queue, timer, state = ffi.new("chime_queue_t *"), ffi.new("chime_timer_t *"), ffi.new("chime_state *")
assert chime.chime_queue_create(2, ffi.NULL, queue) == 0
assert chime.chime_timer_after(queue[0], HOUR, handler, ffi.NULL, ffi.NULL, timer) == 0


def measure():
    get_state, postpone_until, number = chime.chime_timer_state, chime.chime_timer_postpone_until, timer[0]
    deadline = time.monotonic_ns() + HOUR
    states, postpones = [], []
    for _ in range(5):
        begun = time.perf_counter_ns()
        for _ in range(operations):
            if get_state(number, state) != 0:
                raise RuntimeError("chime_timer_state")
        states.append((time.perf_counter_ns() - begun) / operations)
        begun = time.perf_counter_ns()
        for _ in range(operations):
            deadline += 1000
            if postpone_until(number, deadline) != 0:
                raise RuntimeError("chime_timer_postpone_until")
        postpones.append((time.perf_counter_ns() - begun) / operations)
    return {"state": min(states), "postpone_until": min(postpones)}


print(json.dumps(measure()))
