"""chime.h for ctypes: the structures and functions that the two Python clients use; behind them a safe wrapper, which a
program can copy: Queue and Timer with closures, ownership, and an end with the interpreter. The library is found where the
system looks (an installed one, or LD_LIBRARY_PATH), or at the path in the environment variable CHIME_LIBRARY. Times are
nanoseconds.

ctypes.CDLL releases the GIL around every call and takes it again for a callback, also for one on a thread that Python
did not make. So a call that waits (`Waits:` in the header) stops no other Python thread, and a handler that needs the
GIL cannot deadlock with it. Not so ctypes.PyDLL, which holds the GIL: with it chime_queue_shutdown would wait for a
handler that waits for the GIL.
"""
import atexit
import ctypes
import itertools
import os
import weakref
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(os.environ.get("CHIME_LIBRARY", "libchime.so.1"))

OK, IGNORED, RUNNING, STOPPED, TIMED_OUT = range(5)
ERROR_BUSY = -6
FOREVER = 2**63 - 1
QUEUE_SERIAL, QUEUE_CONCURRENT, QUEUE_HOST, QUEUE_PRECISE, QUEUE_VIRTUAL = range(5)
MICROSECOND, MILLISECOND, SECOND = 1_000, 1_000_000, 1_000_000_000
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
    """Compares the structures above with the header's, as the record of the ABI has them."""
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
declare("last_error_detail", result=c_char_p)
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
declare("timer_restart", c_uint64, POINTER(Schedule))
declare("timer_suspend", c_uint64)
declare("timer_resume", c_uint64)
declare("timer_postpone", c_uint64, c_int64)
declare("timer_cancel", c_uint64)
declare("timer_release", c_uint64)
declare("timer_check_generation", c_uint64, c_uint64)
declare("timer_reschedule", c_uint64, POINTER(Schedule))
declare("timer_fire", c_uint64)
declare("timer_cancel_and_wait", c_uint64, c_int64)
declare("timer_explain", c_uint64, c_char_p, c_uint64, POINTER(c_uint64))
declare("queue_dump", c_uint64, c_char_p, c_uint64, POINTER(c_uint64))
declare("queue_run", c_uint64, c_uint32)
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


# ---- The wrapper: what one would copy -------------------------------------------------------------------------------

class Error(Exception):
    """A call failed. The message is the status and, where Chime has one, a sentence on the argument."""

    def __init__(self, status):
        detail = last_error_detail().decode() if status in (-1, -3, -10, -12) else ""
        super().__init__(f"{name(status)}: {detail}" if detail else name(status))
        self.status = status


# The functions that Chime has, by the number that it has for a context. One is forgotten when Chime calls the finalizer,
# which it does once, after the last call; so closures live as long as their timers, and no longer.
_functions = {}
_numbers = itertools.count(1)


@HANDLER
def _on_tick(tick, context):
    _functions[context](tick[0])


@FUNCTION
def _on_function(context):
    _functions[context]()


@FUNCTION
def _on_finalize(context):
    _functions.pop(context, None)


def _pass(function, call):
    """Passes a function to Chime, which has it from then on if `call`, given its number, succeeds."""
    number = next(_numbers)
    _functions[number] = function
    status = call(number)
    if status < 0:  # it stays the caller's
        del _functions[number]
        raise Error(status)


def _text(function, id):
    length = c_uint64()
    if function(id, None, 0, ctypes.byref(length)) != OK:
        return ""
    text = ctypes.create_string_buffer(length.value + 1)
    function(id, text, len(text), None)
    return text.value.decode()


class Timer:
    """A timer of its owner's: released when the last reference goes, or by `release`. Its methods answer a status, and
    raise an Error for a failure; a status other than OK (IGNORED, RUNNING) is no failure."""

    def __init__(self, id):
        self.id = id

    def _call(self, function, *arguments):
        status = function(self.id, *arguments)
        if status < 0:
            raise Error(status)
        return status

    def activate(self, schedule=None): return self._call(timer_activate, schedule)
    def restart(self, schedule=None): return self._call(timer_restart, schedule)
    def reschedule(self, schedule): return self._call(timer_reschedule, schedule)
    def suspend(self): return self._call(timer_suspend)
    def resume(self): return self._call(timer_resume)
    def postpone(self, delay): return self._call(timer_postpone, delay)
    def fire(self): return self._call(timer_fire)
    def cancel(self): return self._call(timer_cancel)
    def cancel_and_wait(self, timeout=FOREVER): return self._call(timer_cancel_and_wait, timeout)
    def explain(self): return _text(timer_explain, self.id)

    def release(self):
        id, self.id = self.id, 0
        return timer_release(id)

    __del__ = release

    @property
    def state(self):
        return made(timer_state, self.id)


class Queue:
    """A queue of its owner's. It is shut down by `shutdown`, at the end of a `with`, when the last reference goes, and
    with the interpreter: after that CPython frees functions, which a timer must not call any more."""

    _alive = weakref.WeakSet()

    def __init__(self, kind, label=None, **options):
        id = c_uint64()
        if label:
            options["label"] = label.encode()
        status = queue_create(kind, QueueOptions(**options) if options else None, ctypes.byref(id))
        if status < 0:
            raise Error(status)
        self.id = id.value
        Queue._alive.add(self)

    def shutdown(self, timeout=FOREVER):
        """OK: none of the queue's functions runs or will run."""
        id, self.id = self.id, 0
        return queue_shutdown(id, timeout) if id else OK

    def __enter__(self): return self
    def __exit__(self, *_): self.shutdown()
    __del__ = shutdown

    def _drive(self, function, *arguments):
        status = function(self.id, *arguments)
        if status < 0:
            raise Error(status)
        return status

    @property
    def fd(self):
        """A host-driven queue's descriptor, for the loop of one's own: readable when `process` has something to do."""
        return made(queue_fd, self.id)

    def process(self):
        """Runs what is due on a host-driven queue. While another thread is inside it for a moment, nothing: poll again."""
        status = queue_process(self.id, 0, None)
        if status < 0 and status != ERROR_BUSY:
            raise Error(status)
        return status

    def run(self): return self._drive(queue_run, 0)
    def advance(self, duration): return self._drive(queue_advance, duration)
    def dump(self): return _text(queue_dump, self.id)

    @property
    def now(self):
        return made(queue_now, self.id)

    def start(self, schedule, function, *, cancelled=False, armed=False, target=0, label=None):
        """A timer that calls function(tick); with `armed` and `cancelled` also for those kinds of tick."""
        id = c_uint64()
        _pass(function, lambda number: timer_start(self.id, TimerOptions(
            handler=_on_tick, registration_handler=_on_tick if armed else HANDLER(), target=target,
            cancel_handler=_on_tick if cancelled else HANDLER(), context=number, finalizer=_on_finalize,
            label=label.encode() if label else None,
        ), schedule, ctypes.byref(id)))
        return Timer(id.value)

    def after(self, delay, function):
        id = c_uint64()
        _pass(function, lambda n: timer_after(self.id, delay, _on_tick, n, _on_finalize, ctypes.byref(id)))
        return Timer(id.value)

    def every(self, interval, function):
        id = c_uint64()
        _pass(function, lambda n: timer_every(self.id, interval, _on_tick, n, _on_finalize, ctypes.byref(id)))
        return Timer(id.value)

    def once(self, delay, function):
        """Nobody holds the timer."""
        _pass(function, lambda n: timer_after(self.id, delay, _on_tick, n, _on_finalize, None))

    def run_soon(self, function):
        _pass(function, lambda n: queue_async(self.id, _on_function, n, _on_finalize))


@atexit.register
def _shut_down():
    for queue in list(Queue._alive):
        queue.shutdown()
