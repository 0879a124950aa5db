"""Python's multiprocessing with the start method "fork", in a process that has armed timers: four workers of a pool begin
anew and use a host-driven and a virtual queue each; the parent ticks on."""

import ctypes
import multiprocessing
import os
import select
import sys
import time

FOREVER = ctypes.c_int64(2**63 - 1)
OK, FORKED, HOST, VIRTUAL, SERIAL = 0, -13, 2, 4, 0

chime = ctypes.CDLL(os.path.join(os.environ["FAULTS_LIBRARIES"], "libchime.so.1"))
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
ticks = 0


@HANDLER
def on_tick(tick, context):
    global ticks
    ticks += 1


def make(kind):
    queue = ctypes.c_uint64()
    status = chime.chime_queue_create(kind, None, ctypes.byref(queue))
    assert status == OK, status
    return queue


def start(queue, interval_ns):
    timer = ctypes.c_uint64()
    assert chime.chime_timer_every(queue, ctypes.c_int64(interval_ns), on_tick, None, None, ctypes.byref(timer)) == OK
    return timer


def work(number):
    """In a worker; its parent's timer is `inherited`. Gives the ticks of a queue in virtual and one in real time."""
    global ticks
    if chime.chime_reinitialize() == OK:  # the worker's first task
        assert chime.chime_timer_cancel(inherited) == -2
    ticks = 0
    queue = make(VIRTUAL)
    start(queue, 10)
    assert chime.chime_queue_advance(queue, ctypes.c_int64(10 * number)) == OK
    assert chime.chime_queue_shutdown(queue, FOREVER) == OK
    in_virtual_time, ticks = ticks, 0
    queue, fd = make(HOST), ctypes.c_int32()
    assert chime.chime_queue_fd(queue, ctypes.byref(fd)) == OK
    start(queue, 1_000_000)
    while ticks < 3:
        select.select([fd.value], [], [])
        assert chime.chime_queue_process(queue, 0, None) == OK
    assert chime.chime_queue_shutdown(queue, FOREVER) == OK
    return in_virtual_time


def answer_without_beginning_anew(pipe):
    pipe.send((chime.chime_timer_cancel(inherited), chime.chime_queue_release(serial)))


serial = make(SERIAL)
inherited = start(serial, 1_000_000)
fork = multiprocessing.get_context("fork")

ours, theirs = fork.Pipe()
child = fork.Process(target=answer_without_beginning_anew, args=(theirs,))
child.start()
assert ours.recv() == (FORKED, FORKED)
child.join()
assert child.exitcode == 0, child.exitcode

with fork.Pool(4) as pool:
    assert pool.map(work, range(20)) == list(range(20))

before = ticks
end = time.monotonic() + 5
while ticks < before + 10 and time.monotonic() < end:
    time.sleep(0.01)
assert ticks >= before + 10, "the parent's timer has stopped"
assert chime.chime_queue_shutdown(serial, FOREVER) == OK
print("ok fork_python: FORKED in a child; 20 tasks in 4 workers that began anew; the parent ticks on")
sys.exit(0)
