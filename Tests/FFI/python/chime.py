"""chime.h for ctypes: the structures and functions that the two Python clients use.

ctypes.CDLL releases the GIL around every call and takes it again for a callback, also for one on a thread that Python
did not make. So a call that waits (`Waits:` in the header) stops no other Python thread, and a handler that needs the
GIL cannot deadlock with it. Not so ctypes.PyDLL, which holds the GIL: with it chime_queue_shutdown would wait for a
handler that waits for the GIL.
"""
import ctypes
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(os.environ["CHIME_LIBRARY"])

OK, IGNORED, RUNNING, STOPPED, TIMED_OUT = range(5)
ERROR_BUSY = -6
FOREVER = 2**63 - 1
QUEUE_HOST, QUEUE_VIRTUAL = 2, 4
QUEUE_RECORDS = 4
SCHEDULE_DEADLINE = 1
RESUME_REMAINING = 1
RECORD_ARMED, RECORD_CANCELLED, RECORD_FINALIZE = 2, 4, 8
KINDS = "DUE FIRED ARMED CANCELLED FINALIZE FUNCTION".split()


class Sized(ctypes.Structure):
    """A structure whose first member is its own size."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(self), **members)


class Tick(ctypes.Structure):
    _fields_ = [
        ("timer", c_uint64), ("generation", c_uint64), ("sequence", c_uint64), ("missed", c_uint64),
        ("scheduled_ns", c_int64), ("actual_ns", c_int64), ("context", c_void_p), ("target", c_void_p),
        ("kind", c_int32), ("reserved", c_uint32),
    ]


HANDLER = ctypes.CFUNCTYPE(None, POINTER(Tick), c_void_p)
FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)  # finalizers too


class QueueOptions(Sized):
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("label", c_char_p), ("qos", c_int32), ("clock", c_int32),
        ("timer_limit", c_uint64), ("start_ns", c_int64), ("enter", FUNCTION), ("leave", FUNCTION),
        ("hook_context", c_void_p), ("affinity", c_uint64), ("realtime_priority", c_int32), ("reserved", c_uint32),
    ]


class Schedule(Sized):
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("first_ns", c_int64), ("interval_ns", c_int64),
        ("leeway_ns", c_int64), ("tick_limit", c_uint64), ("missed_policy", c_int32), ("resume_policy", c_int32),
    ]


class TimerOptions(Sized):
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("handler", HANDLER), ("registration_handler", HANDLER),
        ("cancel_handler", HANDLER), ("context", c_void_p), ("finalizer", FUNCTION), ("label", c_char_p),
        ("target", c_uint64),
    ]


class TimerInfo(Sized):
    _fields_ = [
        ("size", c_uint32), ("state", c_int32), ("queue", c_uint64), ("generation", c_uint64),
        ("sequence", c_uint64), ("next_deadline_ns", c_int64), ("remaining_ns", c_int64), ("interval_ns", c_int64),
        ("leeway_ns", c_int64), ("tick_limit", c_uint64), ("due_count", c_uint64), ("busy", c_int32),
        ("has_schedule", c_int32), ("missed", c_uint64),
    ]


class QueueStats(Sized):  # as version 0.1 had it: the library fills in what there is room for
    _fields_ = [
        ("size", c_uint32), ("reserved", c_uint32), ("timers", c_uint64), ("running", c_uint64), ("entries", c_uint64),
        ("passes", c_uint64), ("empty_passes", c_uint64), ("ticks", c_uint64), ("missed", c_uint64),
    ]


STRUCTURES = {
    "chime_tick": Tick, "chime_queue_options": QueueOptions, "chime_schedule": Schedule,
    "chime_timer_options": TimerOptions, "chime_timer_info": TimerInfo,
}


def check_layout():
    """Compares the structures above with the header's, as the C compiler lays them out (layout.c)."""
    with open(os.environ["CHIME_LAYOUT"]) as lines:
        for name, number in map(str.split, lines):
            structure, _, member = name.partition(".")
            ours = STRUCTURES[structure]
            assert (getattr(ours, member).offset if member else ctypes.sizeof(ours)) == int(number), name


def declare(name, *parameters, result=c_int32):
    function = getattr(library, "chime_" + name)
    function.argtypes, function.restype = parameters, result
    globals()[name] = function


declare("version", result=c_uint32)
declare("status_name", c_int32, result=c_char_p)
declare("queue_create", c_int32, POINTER(QueueOptions), POINTER(c_uint64))
declare("queue_shutdown", c_uint64, c_int64)
declare("queue_async", c_uint64, FUNCTION, c_void_p, FUNCTION)
declare("queue_now", c_uint64, POINTER(c_int64))
declare("queue_advance", c_uint64, c_int64)
declare("queue_jump", c_uint64, c_int64)
declare("queue_fd", c_uint64, POINTER(c_int32))
declare("queue_get_stats", c_uint64, POINTER(QueueStats))
declare("queue_process", c_uint64, c_uint32, POINTER(c_uint32))
declare("queue_take_ticks", c_uint64, POINTER(Tick), c_uint32, c_uint32, POINTER(c_uint32))
declare("timer_start", c_uint64, POINTER(TimerOptions), POINTER(Schedule), POINTER(c_uint64))
declare("timer_after", c_uint64, c_int64, HANDLER, c_void_p, FUNCTION, POINTER(c_uint64))
declare("timer_every", c_uint64, c_int64, HANDLER, c_void_p, FUNCTION, POINTER(c_uint64))
declare("timer_activate", c_uint64, POINTER(Schedule))
declare("timer_suspend", c_uint64)
declare("timer_resume", c_uint64)
declare("timer_postpone", c_uint64, c_int64)
declare("timer_cancel", c_uint64)
declare("timer_release", c_uint64)
declare("timer_check_generation", c_uint64, c_uint64)
declare("timer_state", c_uint64, POINTER(c_int32))
declare("timer_get_info", c_uint64, POINTER(TimerInfo))
declare("target_create", c_void_p, FUNCTION, POINTER(c_uint64))
declare("target_retain", c_uint64, POINTER(c_void_p))
declare("target_release", c_uint64)


def name(status):
    return status_name(status).decode()


def ok(status):
    """For a call that can only succeed here."""
    if status != OK:
        raise RuntimeError(name(status))


def made(function, *arguments):
    """What the function writes through its last parameter."""
    value = function.argtypes[-1]._type_()
    ok(function(*arguments, ctypes.byref(value)))
    return value.value
