"""Gives the preprocessed header to cffi and compares the layouts it computes with the recorded ones.

    cdef.py DECLARATIONS
"""
import sys

try:
    import cffi
except ImportError:
    print("skipped cdef: python has no cffi")
    sys.exit(0)

RECORDED = {
    "chime_tick": 72,
    "chime_queue_options": 88,
    "chime_schedule": 56,
    "chime_timer_options": 64,
    "chime_queue_stats": 336,
    "chime_timer_info": 104,
}

ffi = cffi.FFI()
with open(sys.argv[1]) as declarations:
    ffi.cdef(declarations.read())
for name, size in RECORDED.items():
    assert ffi.sizeof(name) == size, f"{name}: {ffi.sizeof(name)} bytes, recorded {size}"
print("ok cdef: cffi reads the header")
