"""The scenario of ../README.md in Python, with the wrapper of chime.py, which also says how the GIL is treated. What the
wrapper does not have (targets, records, information) is called by its C names, with the objects' ids.
"""
import ctypes
import select
import chime
from chime import Queue, Schedule, made, name, ok


def say(*words):
    print(*words, flush=True)


def describe(number, tick):
    target = f" target {tick.target}" if tick.target else ""
    return (f"{number}: {chime.KINDS[tick.kind]} sequence {tick.sequence} missed {tick.missed}"
            f" due {tick.scheduled_ns} at {tick.actual_ns}{target}")


class Ticker:
    """What a timer calls. That Chime has let go of it, it says itself."""

    def __init__(self, number, count=lambda tick=None: None):
        self.number, self.count = number, count

    def __call__(self, tick=None):
        self.count(tick)

    def __del__(self):
        say("finalizer", self.number)


class Printer(Ticker):
    def __call__(self, tick):
        say("tick", describe(self.number, tick))


@chime.FUNCTION
def on_destroy(target):
    say("destructor", target)


chime.check_layout()
version = chime.version()
say(f"version {version >> 16}.{version >> 8 & 255}.{version & 255}")

# Virtual time
queue = Queue(chime.QUEUE_VIRTUAL)


def advance(duration):
    ok(chime.queue_advance(queue.id, duration))


say("- one-shot")
timer = queue.after(100, Printer(1))
stale = timer.id
advance(99)
advance(1)
say("state", timer.state)
ok(timer.release())
say("release", name(chime.timer_release(stale)), "of 0", name(chime.timer_release(0)))

say("- repeat")
timer = queue.every(10, Printer(2))
advance(25)
ok(chime.queue_jump(queue.id, 30))
say("now", made(chime.queue_now, queue.id))
advance(0)

say("- suspend and resume, the grid stands")
say("suspend", name(timer.suspend()), "again", name(timer.suspend()))
advance(20)
say("resume", name(timer.resume()), "again", name(timer.resume()))
advance(0)
ok(timer.release())

say("- suspend and resume, what was left is kept")
timer = queue.start(Schedule(first_ns=50, interval_ns=50, resume_policy=chime.RESUME_REMAINING), Printer(3), armed=True,
                    cancelled=True)
advance(20)
ok(timer.suspend())
advance(1005)
info = chime.TimerInfo()
ok(chime.timer_get_info(timer.id, info))
say("state", info.state, "remaining", info.remaining_ns)
ok(timer.resume())
advance(30)
say("cancel", name(timer.cancel()), "again", name(timer.cancel()))
advance(0)
ok(timer.release())

say("- postpone")
timer = queue.after(100, Printer(4))
advance(60)
say("postpone", name(timer.postpone(100)))
advance(99)
advance(1)
say("postpone", name(timer.postpone(100)))
ok(timer.release())

say("- target")
target = made(chime.target_create, 77, on_destroy)
timer = queue.start(Schedule(first_ns=10, interval_ns=10), Printer(5), target=target)
advance(10)
say("retain", made(chime.target_retain, target))
ok(chime.target_release(target))
advance(10)
ok(chime.target_release(target))
say("state", timer.state, "activate", name(chime.timer_activate(timer.id, None)),
    "retain", name(chime.target_retain(target, None)))
ok(timer.release())

say("- nobody holds it")
queue.once(10, Printer(6))
advance(10)
queue.once(10, Printer(7))
gone = queue.id
say("shutdown", name(queue.shutdown()))
say("advance", name(chime.queue_advance(gone, 10)))

# A host-driven queue: real time, handlers inside chime_queue_process
say("- host-driven, callbacks")
queue = Queue(chime.QUEUE_HOST)
loop = select.poll()
loop.register(made(chime.queue_fd, queue.id), select.POLLIN)


def wait_readable():
    assert loop.poll(10_000), "the descriptor was not readable within 10 s"


dues = {8: 0, 9: 0}
early = functions = 0


def counting(number):
    def count(tick):
        global early
        dues[number] += 1 + tick.missed
        early += tick.actual_ns < tick.scheduled_ns

    return Ticker(number, count)


def count_function(_):
    global functions
    functions += 1


one_shot = queue.after(1_000_000, counting(8))
repeating = queue.start(Schedule(first_ns=1_000_000, interval_ns=1_000_000, tick_limit=5), counting(9))
queue.run_soon(Ticker(10, count_function))
while dues[8] < 1 or dues[9] < 5 or functions < 1:
    wait_readable()
    ok(chime.queue_process(queue.id, 0, None))
say("due times", dues[8], dues[9], "early", early, "functions", functions)
say("states", one_shot.state, repeating.state)
say("take_ticks", name(chime.queue_take_ticks(queue.id, chime.Tick(), ctypes.sizeof(chime.Tick), 1, ctypes.c_uint32())))
ok(one_shot.release())
ok(repeating.release())
ok(queue.shutdown())

say("- host-driven, records")
queue = Queue(chime.QUEUE_HOST, flags=chime.QUEUE_RECORDS)
loop = select.poll()
loop.register(made(chime.queue_fd, queue.id), select.POLLIN)
every_record = chime.RECORD_ARMED | chime.RECORD_CANCELLED | chime.RECORD_FINALIZE
records = (chime.Tick * 16)()


def start(context, flags, deadline, interval, limit):
    return made(chime.timer_start, queue.id, chime.TimerOptions(flags=flags, context=context),
                Schedule(flags=chime.SCHEDULE_DEADLINE, first_ns=deadline, interval_ns=interval,
                               tick_limit=limit))


def take(expected):
    """Takes until that many records came, acts on each, prints each."""
    seen = 0
    while seen < expected:
        wait_readable()
        for tick in records[:made(chime.queue_take_ticks, queue.id, records, ctypes.sizeof(chime.Tick), 16)]:
            seen += 1
            if chime.KINDS[tick.kind] != "DUE":
                say(f"record {tick.context}: {chime.KINDS[tick.kind]}")
                continue
            say(f"record {tick.context}: DUE sequence {tick.sequence} missed {tick.missed} due {tick.scheduled_ns}"
                f" generation {name(chime.timer_check_generation(tick.timer, tick.generation))}")
            if tick.context == 11:
                say("cancel", name(chime.timer_cancel(second)))


first = start(11, every_record, 1, 1, 4)
second = start(12, every_record, 2, 1_000_000_000_000_000_000, 0)
take(4)
take(1)
ok(chime.queue_async(queue.id, chime.FUNCTION(), 13, chime.FUNCTION()))
take(1)
ok(chime.timer_release(first))
take(1)
ok(chime.timer_release(second))
take(1)
say("process", name(chime.queue_process(queue.id, 0, None)))
# The queue is shut down with the interpreter.
