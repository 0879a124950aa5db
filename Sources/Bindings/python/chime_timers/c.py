"""chime.h for ctypes: structures, constants and functions under their C names, without `chime_`. What the classes of this
package do not cover (targets, tick records, named handlers) is called here, with the `id` of a Queue or Timer.

The library is the one that lies beside this file (in a wheel), or else the one that the system finds (an installed one,
or LD_LIBRARY_PATH). The environment variable CHIME_LIBRARY names another.

ctypes.CDLL releases the GIL around every call and takes it again for a callback, also for one on a thread that Python
did not make. So a call that waits (`Waits:` in the header) stops no other Python thread, and a handler that needs the
GIL cannot deadlock with it. ctypes.PyDLL holds the GIL: with it chime_queue_shutdown would wait for a handler that waits
for the GIL.
"""

import ctypes
import importlib
import os
import select
import sys
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Optional

# The series of the structures and numbers below (chime.h, "Version"): another one has other ones.
SERIES = (0, 9)


def _path() -> str:
    named = os.environ.get("CHIME_LIBRARY")
    if named:
        return named
    files = {"darwin": "libchime.0.dylib", "win32": "chime-0.dll"}
    file = files.get(sys.platform, "libchime.so.0")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), file)
    return beside if os.path.exists(beside) else file


def _refuse_sub_interpreters() -> None:
    for name in "_interpreters", "_xxsubinterpreters":
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("chime_timers works in the main interpreter only, because ctypes calls functions back in that one:"
                              " use it there, or in a process of its own")
        return


_refuse_sub_interpreters()
library = ctypes.CDLL(_path())

OK, IGNORED, RUNNING, STOPPED, TIMED_OUT = 0, 1, 2, 4, 8  # bits: test for one with `&`
(ERROR_INVALID_ARGUMENT, ERROR_INVALID_HANDLE, ERROR_LIMIT, ERROR_NO_MEMORY, ERROR_WOULD_DEADLOCK, ERROR_BUSY,
 ERROR_WRONG_THREAD, ERROR_TARGET_GONE, ERROR_SHUT_DOWN, ERROR_UNSUPPORTED, ERROR_PERMISSION, ERROR_RESOURCE, ERROR_FORKED,
 ERROR_TIMED_OUT) = range(-16, -240, -16)
FOREVER = 2**63 - 1
CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_WALL = range(3)
TICK_DUE, TICK_FIRED, TICK_ARMED, TICK_CANCELLED, TICK_FINALIZE, TICK_FUNCTION = range(6)
QUEUE_SERIAL, QUEUE_CONCURRENT, QUEUE_HOST, QUEUE_PRECISE, QUEUE_VIRTUAL = range(5)
QUEUE_FLAG_HONOUR_LEEWAY, QUEUE_FLAG_BOUND, QUEUE_FLAG_RECORDS = 0x100, 0x200, 0x400
QUEUE_RUN_UNTIL_STOPPED, QUEUE_RUN_NO_WAIT, QUEUE_RUN_ONCE = 0x1000, 0x2000, 0x4000
SCHEDULE_DEADLINE = 0x10000
TIMER_SELF_RELEASE, TIMER_RECORD_ARMED, TIMER_RECORD_CANCELLED, TIMER_RECORD_FINALIZE, TIMER_BACKGROUND = (
    0x100000, 0x200000, 0x400000, 0x800000, 0x1000000)
MISSED_COALESCE, MISSED_DELAY = range(2)
RESUME_COALESCE, RESUME_REMAINING = range(2)
STATE_IDLE, STATE_RUNNING, STATE_SUSPENDED, STATE_FINISHED, STATE_CANCELLED = range(5)


# chime_waitable: a descriptor, on Windows a HANDLE.
WAITABLE: Any = ctypes.c_ssize_t if sys.platform == "win32" else c_int32


def wait_readable(fd: int, milliseconds: int) -> None:
    """Until a queue's descriptor is readable, or some time has passed; others of Python's threads run meanwhile."""
    if sys.platform == "win32":
        ctypes.windll.kernel32.WaitForSingleObject(c_void_p(fd), milliseconds)
    else:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll(milliseconds)


class Sized(ctypes.Structure):
    """A structure whose first member is its own size. A name that is none of its members is a TypeError; ctypes would
    take it for an attribute."""

    __slots__ = ()

    def __init__(self, **members: Any) -> None:
        for name in members:
            if not any(name == field[0] for field in self._fields_):
                raise TypeError(f"{type(self).__name__} has no member {name!r}")
        super().__init__(size=ctypes.sizeof(self), **members)


class Tick(ctypes.Structure):
    __slots__ = ()
    _fields_ = [
        ("timer", c_uint64), ("generation", c_uint64), ("sequence", c_uint64), ("missed", c_uint64),
        ("scheduled_ns", c_int64), ("actual_ns", c_int64), ("context", c_void_p), ("target", c_void_p),
        ("kind", c_uint32), ("reserved", c_uint32),
    ]


HANDLER: Any = ctypes.CFUNCTYPE(None, POINTER(Tick), c_void_p)
FUNCTION: Any = ctypes.CFUNCTYPE(None, c_void_p)  # finalizers too


class QueueOptions(Sized):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("label", c_char_p), ("qos", c_uint32), ("clock", c_uint32),
        ("timer_limit", c_uint64), ("start_ns", c_int64), ("enter", FUNCTION), ("leave", FUNCTION),
        ("hook_context", c_void_p), ("hook_finalizer", FUNCTION), ("realtime_priority", c_int32),
        ("reserved", c_uint32), ("seed", c_uint64),
    ]

    if TYPE_CHECKING:
        def __init__(self, *, flags: int = 0, label: Optional[bytes] = None, qos: int = 0, clock: int = 0, timer_limit: int = 0,
                     start_ns: int = 0, enter: Any = ..., leave: Any = ..., hook_context: Optional[int] = None,
                     hook_finalizer: Any = ..., realtime_priority: int = 0, seed: int = 0) -> None: ...


class Schedule(Sized):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("first_ns", c_int64), ("interval_ns", c_int64),
        ("leeway_ns", c_int64), ("tick_limit", c_uint64), ("missed_policy", c_uint32), ("resume_policy", c_uint32),
        ("jitter_ns", c_int64),
    ]

    if TYPE_CHECKING:
        def __init__(self, *, flags: int = 0, first_ns: int = 0, interval_ns: int = 0, leeway_ns: int = 0, tick_limit: int = 0,
                     missed_policy: int = 0, resume_policy: int = 0, jitter_ns: int = 0) -> None: ...


class TimerOptions(Sized):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("flags", c_uint32), ("handler", HANDLER), ("registration_handler", HANDLER),
        ("cancel_handler", HANDLER), ("context", c_void_p), ("finalizer", FUNCTION), ("label", c_char_p),
        ("target", c_uint64),
    ]

    if TYPE_CHECKING:
        def __init__(self, *, flags: int = 0, handler: Any = ..., registration_handler: Any = ..., cancel_handler: Any = ...,
                     context: Optional[int] = None, finalizer: Any = ..., label: Optional[bytes] = None,
                     target: int = 0) -> None: ...


class TimerInfo(Sized):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("state", c_uint32), ("queue", c_uint64), ("generation", c_uint64),
        ("sequence", c_uint64), ("next_deadline_ns", c_int64), ("remaining_ns", c_int64), ("interval_ns", c_int64),
        ("leeway_ns", c_int64), ("tick_limit", c_uint64), ("due_count", c_uint64), ("busy", c_int32),
        ("has_schedule", c_int32), ("missed", c_uint64), ("jitter_ns", c_int64), ("background", c_int32),
        ("reserved", c_uint32),
    ]


class QueueStats(Sized):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("reserved", c_uint32), ("timers", c_uint64), ("running", c_uint64), ("entries", c_uint64),
        ("passes", c_uint64), ("empty_passes", c_uint64), ("ticks", c_uint64), ("missed", c_uint64),
        ("stale", c_uint64), ("merged", c_uint64), ("lateness", c_uint64 * 32),
    ]


STRUCTURES = {
    "chime_tick": Tick, "chime_queue_options": QueueOptions, "chime_schedule": Schedule,
    "chime_timer_options": TimerOptions, "chime_timer_info": TimerInfo, "chime_queue_stats": QueueStats,
}


def _declared(name: str, *parameters: Any, result: Any = c_int32) -> Any:
    function = getattr(library, "chime_" + name)
    function.argtypes, function.restype = parameters, result
    return function


version = _declared("version", result=c_uint32)
status_name = _declared("status_name", c_int32, result=c_char_p)
status_message = _declared("status_message", c_int32, result=c_char_p)
last_error_detail = _declared("last_error_detail", result=c_char_p)
now = _declared("now", c_uint32, POINTER(c_int64))
sleep_until = _declared("sleep_until", c_uint32, c_int64)
memory_used = _declared("memory_used", result=c_uint64)
trace_to_file = _declared("trace_to_file", c_char_p)
reinitialize = _declared("reinitialize")
queue_create = _declared("queue_create", c_uint32, POINTER(QueueOptions), POINTER(c_uint64))
queue_create_main = _declared("queue_create_main", POINTER(QueueOptions), POINTER(c_uint64))
queue_release = _declared("queue_release", c_uint64)
queue_shutdown = _declared("queue_shutdown", c_uint64, c_int64)
queue_sync = _declared("queue_sync", c_uint64, FUNCTION, c_void_p, c_int64)
queue_async = _declared("queue_async", c_uint64, FUNCTION, c_void_p, FUNCTION)
queue_now = _declared("queue_now", c_uint64, POINTER(c_int64))
queue_advance = _declared("queue_advance", c_uint64, c_int64)
queue_jump = _declared("queue_jump", c_uint64, c_int64)
queue_get_stats = _declared("queue_get_stats", c_uint64, POINTER(QueueStats))
queue_dump = _declared("queue_dump", c_uint64, c_char_p, c_size_t, POINTER(c_size_t))
queue_fd = _declared("queue_fd", c_uint64, POINTER(WAITABLE))
queue_next_deadline = _declared("queue_next_deadline", c_uint64, POINTER(c_int64))
queue_poll_timeout = _declared("queue_poll_timeout", c_uint64, POINTER(c_int32))
queue_process = _declared("queue_process", c_uint64, c_uint32, POINTER(c_uint32))
queue_take_ticks = _declared("queue_take_ticks", c_uint64, POINTER(Tick), c_size_t, c_size_t, POINTER(c_size_t))
queue_run = _declared("queue_run", c_uint64, c_uint32)
queue_stop = _declared("queue_stop", c_uint64)
queue_suspend = _declared("queue_suspend", c_uint64)
queue_resume = _declared("queue_resume", c_uint64)
main_run = _declared("main_run")
main_stop = _declared("main_stop")
timer_create = _declared("timer_create", c_uint64, POINTER(TimerOptions), POINTER(c_uint64))
timer_start = _declared("timer_start", c_uint64, POINTER(TimerOptions), POINTER(Schedule), POINTER(c_uint64))
timer_after = _declared("timer_after", c_uint64, c_int64, HANDLER, c_void_p, FUNCTION, POINTER(c_uint64))
timer_every = _declared("timer_every", c_uint64, c_int64, HANDLER, c_void_p, FUNCTION, POINTER(c_uint64))
timer_activate = _declared("timer_activate", c_uint64, POINTER(Schedule))
timer_restart = _declared("timer_restart", c_uint64, POINTER(Schedule))
timer_restart_after = _declared("timer_restart_after", c_uint64, c_int64)
timer_restart_until = _declared("timer_restart_until", c_uint64, c_int64)
timer_set_interval = _declared("timer_set_interval", c_uint64, c_int64)
timer_set_background = _declared("timer_set_background", c_uint64, c_int32)
timer_suspend = _declared("timer_suspend", c_uint64)
timer_resume = _declared("timer_resume", c_uint64)
timer_reschedule = _declared("timer_reschedule", c_uint64, POINTER(Schedule))
timer_postpone = _declared("timer_postpone", c_uint64, c_int64)
timer_postpone_until = _declared("timer_postpone_until", c_uint64, c_int64)
timer_fire = _declared("timer_fire", c_uint64)
timer_cancel = _declared("timer_cancel", c_uint64)
timer_cancel_and_wait = _declared("timer_cancel_and_wait", c_uint64, c_int64)
timer_release = _declared("timer_release", c_uint64)
timer_release_and_wait = _declared("timer_release_and_wait", c_uint64, c_int64)
timer_generation = _declared("timer_generation", c_uint64, POINTER(c_uint64))
timer_check_generation = _declared("timer_check_generation", c_uint64, c_uint64)
timer_state = _declared("timer_state", c_uint64, POINTER(c_uint32))
timer_next_deadline = _declared("timer_next_deadline", c_uint64, POINTER(c_int64))
timer_remaining = _declared("timer_remaining", c_uint64, POINTER(c_int64))
timer_get_info = _declared("timer_get_info", c_uint64, POINTER(TimerInfo))
timer_get_schedule = _declared("timer_get_schedule", c_uint64, POINTER(Schedule))
timer_explain = _declared("timer_explain", c_uint64, c_char_p, c_size_t, POINTER(c_size_t))
timer_add_handler = _declared("timer_add_handler", c_uint64, c_char_p, HANDLER, c_void_p, FUNCTION)
timer_remove_handler = _declared("timer_remove_handler", c_uint64, c_char_p)
set_trace = _declared("set_trace", HANDLER, c_void_p)
set_memory_limit = _declared("set_memory_limit", c_uint64)
tick_kind_name = _declared("tick_kind_name", c_uint32, result=c_char_p)
queue_list = _declared("queue_list", POINTER(c_uint64), c_size_t, POINTER(c_size_t))
queue_list_timers = _declared("queue_list_timers", c_uint64, POINTER(c_uint64), c_size_t, POINTER(c_size_t))
expiring_create = _declared("expiring_create", c_uint64, c_int64, c_void_p, FUNCTION, POINTER(c_uint64))
expiring_on_expiry = _declared("expiring_on_expiry", c_uint64, HANDLER, c_void_p, FUNCTION)
expiring_acquire = _declared("expiring_acquire", c_uint64, POINTER(c_void_p))
expiring_yield = _declared("expiring_yield", c_uint64)
expiring_reset = _declared("expiring_reset", c_uint64, c_int64)
expiring_release = _declared("expiring_release", c_uint64)
target_create = _declared("target_create", c_void_p, FUNCTION, POINTER(c_uint64))
target_retain = _declared("target_retain", c_uint64, POINTER(c_void_p))
target_release = _declared("target_release", c_uint64)


def name(status: int) -> str:
    """The constant's name, such as CHIME_ERROR_BUSY."""
    text: bytes = status_name(status)
    return text.decode()


def made(function: Any, *arguments: Any) -> Any:
    """What the function writes through its last parameter. For calls that can only succeed: others raise RuntimeError."""
    value = function.argtypes[-1]._type_()
    ok(function(*arguments, ctypes.byref(value)))
    return value.value


def ok(status: int) -> None:
    """For a call that can only succeed."""
    if status != OK:
        raise RuntimeError(name(status))


_loaded = version()
if (_loaded >> 16, _loaded >> 8 & 255) != SERIES:
    raise ImportError(f"{library._name} is Chime {_loaded >> 16}.{_loaded >> 8 & 255}.{_loaded & 255};"
                      f" this package is for {SERIES[0]}.{SERIES[1]}")
