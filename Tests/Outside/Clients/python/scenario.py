"""The scenario of ../README.md in Python, with the package of Sources/Bindings/python. What its classes do not have
(targets, records) is called by its C names, with the objects' ids.
"""
import ctypes
import os
import select

import chime_timers as chime
from chime_timers import MILLISECOND, Queue, QueueKind, Schedule, c
from chime_timers.c import made, name, ok


def say(*words):
    print(*words, flush=True)


def describe(number, tick):
    target = f" target {tick.target}" if tick.target else ""
    return (f"{number}: {c.KINDS[tick.kind]} sequence {tick.sequence} missed {tick.missed}"
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


@c.FUNCTION
def on_destroy(target):
    say("destructor", target)


# The structures are laid out as the record of the ABI has them.
with open(os.environ["CHIME_LAYOUT"]) as lines:
    for line in lines:
        place, number = line.split()
        structure, _, member = place.partition(".")
        ours = c.STRUCTURES[structure]
        assert (getattr(ours, member).offset if member else ctypes.sizeof(ours)) == int(number), place
say("version", chime.library_version())

# Virtual time
queue = Queue(QueueKind.VIRTUAL)
advance = queue.advance


def status(call, *arguments):
    """The name of a call's status, of a failure's, too."""
    try:
        return name(call(*arguments))
    except chime.Error as error:
        return name(error.status)


say("- one-shot")
timer = queue.after(100, Printer(1))
stale = timer.id
advance(99)
advance(1)
say("state", int(timer.state))
ok(timer.release())
say("release", name(c.timer_release(stale)), "of 0", name(c.timer_release(0)))

say("- repeat")
timer = queue.every(10, Printer(2))
advance(25)
queue.jump(30)
say("now", queue.now_ns)
advance(0)

ok(timer.release())

say("- suspend and resume, with a target")
target = made(c.target_create, 77, on_destroy)
timer = queue.start(Schedule(first=50, interval=50, resume=chime.ResumePolicy.REMAINING), Printer(3), armed=True,
                    cancelled=True, target=target)
advance(20)
say("suspend", status(timer.suspend), "again", status(timer.suspend))
advance(1005)
info = timer.info()
say("state", int(info.state), "remaining", info.remaining_ns)
ok(timer.resume())
advance(30)
say("retain", made(c.target_retain, target))
ok(c.target_release(target))
ok(c.target_release(target))
say("state", int(timer.state), "activate", status(timer.activate),
    "retain", name(c.target_retain(target, None)))
advance(0)
ok(timer.release())

say("- nobody holds it")
queue.once(10, Printer(6))
advance(10)
queue.once(10, Printer(7))
gone = queue.id
say("shutdown", status(queue.shutdown))
say("advance", name(c.queue_advance(gone, 10)))

# A host-driven queue: real time, handlers inside chime_queue_process
say("- host-driven, callbacks")
queue = Queue(QueueKind.HOST)
loop = select.poll()
loop.register(queue, select.POLLIN)


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


one_shot = queue.after(MILLISECOND, counting(8))
repeating = queue.start(Schedule.every(MILLISECOND, limit=5), counting(9))
queue.run_soon(Ticker(10, count_function))
while dues[8] < 1 or dues[9] < 5 or functions < 1:
    wait_readable()
    queue.process()
say("due times", dues[8], dues[9], "early", early, "functions", functions)
say("states", int(one_shot.state), int(repeating.state))
ok(one_shot.release())
ok(repeating.release())
ok(queue.shutdown())

say("- host-driven, records")
queue = Queue(QueueKind.HOST, records=True)
loop = select.poll()
loop.register(queue, select.POLLIN)
every_record = c.RECORD_ARMED | c.RECORD_CANCELLED | c.RECORD_FINALIZE
records = (c.Tick * 16)()


def start(context, flags, deadline, interval, limit):
    return made(c.timer_start, queue.id, c.TimerOptions(flags=flags, context=context),
                Schedule(first=deadline, interval=interval, limit=limit, deadline=True).in_c())


def take(expected):
    """Takes until that many records came, acts on each, prints each."""
    seen = 0
    while seen < expected:
        wait_readable()
        for tick in records[:made(c.queue_take_ticks, queue.id, records, ctypes.sizeof(c.Tick), 16)]:
            seen += 1
            if c.KINDS[tick.kind] != "DUE":
                say(f"record {tick.context}: {c.KINDS[tick.kind]}")
                continue
            say(f"record {tick.context}: DUE sequence {tick.sequence} missed {tick.missed} due {tick.scheduled_ns}"
                f" generation {name(c.timer_check_generation(tick.timer, tick.generation))}")
            if tick.context == 11:
                say("cancel", name(c.timer_cancel(second)))


first = start(11, every_record, 1, 1, 4)
second = start(12, every_record, 2, 1_000_000_000_000_000_000, 0)
take(4)
take(1)
ok(c.queue_async(queue.id, c.FUNCTION(), 13, c.FUNCTION()))
take(1)
ok(c.timer_release(first))
take(1)
ok(c.timer_release(second))
take(1)
# The queue is shut down with the interpreter.
