"""The scenario of ../README.md in Python, with ctypes. chime.py says how the GIL is treated.

The callbacks live at module level: ctypes does not keep them alive for the library.
"""
import ctypes
import select
import chime
from chime import made, name, ok


def say(*words):
    print(*words, flush=True)


def describe(tick):
    target = f" target {tick.target}" if tick.target else ""
    return (f"{tick.context}: {chime.KINDS[tick.kind]} sequence {tick.sequence} missed {tick.missed}"
            f" due {tick.scheduled_ns} at {tick.actual_ns}{target}")


@chime.HANDLER
def on_tick(tick, context):
    assert tick[0].context == context
    say("tick", describe(tick[0]))


@chime.FUNCTION
def on_finalize(context):
    say("finalizer", context)


@chime.FUNCTION
def on_destroy(target):
    say("destructor", target)


chime.check_layout()
version = chime.version()
say(f"version {version >> 16}.{version >> 8 & 255}.{version & 255}")

# Virtual time
queue = made(chime.queue_create, chime.QUEUE_VIRTUAL, None)


def advance(duration):
    ok(chime.queue_advance(queue, duration))


say("- one-shot")
timer = made(chime.timer_after, queue, 100, on_tick, 1, on_finalize)
advance(99)
advance(1)
say("state", made(chime.timer_state, timer))
ok(chime.timer_release(timer))
say("release", name(chime.timer_release(timer)), "of 0", name(chime.timer_release(0)))

say("- repeat")
timer = made(chime.timer_every, queue, 10, on_tick, 2, on_finalize)
advance(25)
ok(chime.queue_jump(queue, 30))
say("now", made(chime.queue_now, queue))
advance(0)

say("- suspend and resume, the grid stands")
say("suspend", name(chime.timer_suspend(timer)), "again", name(chime.timer_suspend(timer)))
advance(20)
say("resume", name(chime.timer_resume(timer)), "again", name(chime.timer_resume(timer)))
advance(0)
ok(chime.timer_release(timer))

say("- suspend and resume, what was left is kept")
options = chime.TimerOptions(handler=on_tick, registration_handler=on_tick, cancel_handler=on_tick, context=3,
                             finalizer=on_finalize)
schedule = chime.Schedule(first_ns=50, interval_ns=50, resume_policy=chime.RESUME_REMAINING)
timer = made(chime.timer_start, queue, options, schedule)
advance(20)
ok(chime.timer_suspend(timer))
advance(1005)
info = chime.TimerInfo()
ok(chime.timer_get_info(timer, info))
say("state", info.state, "remaining", info.remaining_ns)
ok(chime.timer_resume(timer))
advance(30)
say("cancel", name(chime.timer_cancel(timer)), "again", name(chime.timer_cancel(timer)))
advance(0)
ok(chime.timer_release(timer))

say("- postpone")
timer = made(chime.timer_after, queue, 100, on_tick, 4, on_finalize)
advance(60)
say("postpone", name(chime.timer_postpone(timer, 100)))
advance(99)
advance(1)
say("postpone", name(chime.timer_postpone(timer, 100)))
ok(chime.timer_release(timer))

say("- target")
target = made(chime.target_create, 77, on_destroy)
timer = made(chime.timer_start, queue,
             chime.TimerOptions(handler=on_tick, context=5, finalizer=on_finalize, target=target),
             chime.Schedule(first_ns=10, interval_ns=10))
advance(10)
say("retain", made(chime.target_retain, target))
ok(chime.target_release(target))
advance(10)
ok(chime.target_release(target))
say("state", made(chime.timer_state, timer), "activate", name(chime.timer_activate(timer, None)),
    "retain", name(chime.target_retain(target, None)))
ok(chime.timer_release(timer))

say("- nobody holds it")
ok(chime.timer_after(queue, 10, on_tick, 6, on_finalize, None))
advance(10)
ok(chime.timer_after(queue, 10, on_tick, 7, on_finalize, None))
say("shutdown", name(chime.queue_shutdown(queue, chime.FOREVER)))
say("advance", name(chime.queue_advance(queue, 10)))

# A host-driven queue: real time, handlers inside chime_queue_process
say("- host-driven, callbacks")
queue = made(chime.queue_create, chime.QUEUE_HOST, None)
loop = select.poll()
loop.register(made(chime.queue_fd, queue), select.POLLIN)


def wait_readable():
    assert loop.poll(10_000), "the descriptor was not readable within 10 s"


dues = {8: 0, 9: 0}
early = functions = 0


@chime.HANDLER
def on_count(tick, context):
    global early
    dues[context] += 1 + tick[0].missed
    early += tick[0].actual_ns < tick[0].scheduled_ns


@chime.FUNCTION
def on_function(context):
    global functions
    functions += 1


one_shot = made(chime.timer_after, queue, 1_000_000, on_count, 8, on_finalize)
repeating = made(chime.timer_start, queue,
                 chime.TimerOptions(handler=on_count, context=9, finalizer=on_finalize),
                 chime.Schedule(first_ns=1_000_000, interval_ns=1_000_000, tick_limit=5))
ok(chime.queue_async(queue, on_function, 10, on_finalize))
while dues[8] < 1 or dues[9] < 5 or functions < 1:
    wait_readable()
    ok(chime.queue_process(queue, 0, None))
say("due times", dues[8], dues[9], "early", early, "functions", functions)
say("states", made(chime.timer_state, one_shot), made(chime.timer_state, repeating))
say("take_ticks", name(chime.queue_take_ticks(queue, chime.Tick(), ctypes.sizeof(chime.Tick), 1, ctypes.c_uint32())))
ok(chime.timer_release(one_shot))
ok(chime.timer_release(repeating))
ok(chime.queue_shutdown(queue, chime.FOREVER))

say("- host-driven, records")
queue = made(chime.queue_create, chime.QUEUE_HOST, chime.QueueOptions(flags=chime.QUEUE_RECORDS))
loop = select.poll()
loop.register(made(chime.queue_fd, queue), select.POLLIN)
every_record = chime.RECORD_ARMED | chime.RECORD_CANCELLED | chime.RECORD_FINALIZE
records = (chime.Tick * 16)()


def start(context, flags, deadline, interval, limit):
    return made(chime.timer_start, queue, chime.TimerOptions(flags=flags, context=context),
                chime.Schedule(flags=chime.SCHEDULE_DEADLINE, first_ns=deadline, interval_ns=interval,
                               tick_limit=limit))


def take(expected):
    """Takes until that many records came, acts on each, prints each."""
    seen = 0
    while seen < expected:
        wait_readable()
        for tick in records[:made(chime.queue_take_ticks, queue, records, ctypes.sizeof(chime.Tick), 16)]:
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
ok(chime.queue_async(queue, chime.FUNCTION(), 13, chime.FUNCTION()))
take(1)
ok(chime.timer_release(first))
take(1)
ok(chime.timer_release(second))
take(1)
say("process", name(chime.queue_process(queue, 0, None)))
ok(chime.queue_shutdown(queue, chime.FOREVER))
