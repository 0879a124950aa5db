#!/usr/bin/env python3
"""Explores small programs of atomic operations in the C11 memory model, completely.

RC11 (Lahav and others, "Repairing Sequential Consistency in C/C++11", 2017), with the release sequences of C++20: all
ways in which reads take their values and writes are ordered are enumerated, and those are kept that are coherent,
atomic, sequentially consistent where they say so, and do not read out of thin air. The same for x86 (TSO; a sequentially
consistent store is an exchange), and for Arm and RISC-V: their axiomatic models over the instructions that compilers make of
the operations (hardware.py).

A program is a list of threads; a thread is a function that yields operations and gets the values they read, so that it
may branch. Run as a program, it checks itself against the classic tests, then the rows in litmus_rows.py.
"""

import functools
import itertools
import sys

import hardware
from hardware import is_acyclic

RLX, ACQ, REL, ACQ_REL, SC = "rlx", "acq", "rel", "acq_rel", "sc"


def R(location, order=RLX):
    return ("R", location, order, None)


def W(location, value, order=RLX):
    return ("W", location, order, value)


def F(order):
    return ("F", None, order, None)


def U(location, change, order=SC):
    """A read-modify-write: `change` gives the new value of the old one, or None to leave it (a failed swap)."""
    return ("U", location, order, change)


class Event:
    def __init__(self, thread, kind, location, order, read=None, written=None):
        self.thread, self.kind, self.location, self.order = thread, kind, location, order
        self.read, self.written = read, written
        self.reads = kind == "R" or kind == "U"
        self.writes = kind == "W" or kind == "U"
        self.acquires = order in (ACQ, ACQ_REL, SC) and kind != "W"
        self.releases = order in (REL, ACQ_REL, SC) and kind != "R"


def traces(thread, body, values):
    """All ways in which a thread can run when its reads give any of `values`; each with what it returned."""
    found, open_prefixes = [], [[]]
    while open_prefixes:
        answers = open_prefixes.pop()
        run, events, given, result = body(), [], list(answers), None
        try:
            operation = next(run)
            while True:
                kind, location, order, argument = operation
                answer = None
                if kind in "RU":
                    if not given:
                        open_prefixes += [answers + [value] for value in sorted(values[location])]
                        events = None
                        break
                    answer = given.pop(0)
                if kind == "U":
                    new = argument(answer)
                    if new is None:
                        events.append(Event(thread, "R", location, order, answer))
                    else:
                        events.append(Event(thread, "U", location, order, answer, new))
                else:
                    events.append(Event(thread, kind, location, order, answer, argument))
                operation = run.send(answer)
        except StopIteration as stop:
            result = stop.value
        if events is not None:
            found.append((events, result))
    return found


def possible_values(threads, initial):
    values = {location: {value} for location, value in initial.items()}
    while True:
        before = sum(map(len, values.values()))
        for i, body in enumerate(threads):
            for events, _ in traces(i, body, values):
                for event in events:
                    if event.writes:
                        values[event.location].add(event.written)
        if sum(map(len, values.values())) == before:
            return values


# Relations are lists of bit sets: relation[a] has bit b when a is before b.


def compose(first, second):
    result = []
    for row in first:
        out = 0
        while row:
            low = row & -row
            out |= second[low.bit_length() - 1]
            row ^= low
        result.append(out)
    return result


def union(*relations):
    return [functools.reduce(int.__or__, rows) for rows in zip(*relations)]


def closure(relation):
    result = list(relation)
    for k in range(len(result)):
        bit, row = 1 << k, result[k]
        for i in range(len(result)):
            if result[i] & bit:
                result[i] |= row
    return result


def restrict(relation, left, right):
    mask = sum(1 << i for i, is_in in enumerate(right) if is_in)
    return [row & mask if is_in else 0 for row, is_in in zip(relation, left)]


def outcomes(threads, initial, model="c11", allowed=None):
    """What the program's threads can return, as a set of tuples."""
    values = possible_values(threads, initial)
    found = set()
    for choice in itertools.product(*(traces(i, body, values) for i, body in enumerate(threads))):
        result = tuple(each for _, each in choice)
        if result in found or allowed and not allowed(result):
            continue
        events = [Event(-1, "W", location, RLX, None, value) for location, value in initial.items()]
        for thread_events, _ in choice:
            events += thread_events
        if any(execution_is_consistent(events, *e, model) for e in executions(events)):
            found.add(result)
    return found


def executions(events):
    """All pairs of reads-from (a list: event to event) and modification orders (a list of lists)."""
    n = len(events)
    readers = [i for i in range(n) if events[i].reads]
    sources = []
    for i in readers:
        sources.append([
            j for j in range(n)
            if j != i and events[j].writes and events[j].location == events[i].location
            and events[j].written == events[i].read and not (events[j].thread == events[i].thread and j > i)
        ])
    locations = sorted({e.location for e in events if e.location is not None})
    orders = []
    for location in locations:
        writers = [i for i in range(n) if events[i].writes and events[i].location == location]
        orders.append([
            [writers[0], *rest] for rest in itertools.permutations(writers[1:])
            if all(not (events[a].thread == events[b].thread and a > b) for a, b in itertools.combinations(rest, 2))
        ])
    for order in itertools.product(*orders):
        for source in itertools.product(*sources):
            yield dict(zip(readers, source)), order


def execution_is_consistent(events, source, orders, model):
    n = len(events)
    everything = [True] * n
    sb = [0] * n
    for i in range(n):
        for j in range(i + 1, n):
            if events[i].thread == events[j].thread >= 0 or events[i].thread < 0 <= events[j].thread:
                sb[i] |= 1 << j
    rf, mo, rb = [0] * n, [0] * n, [0] * n
    for reader, writer in source.items():
        rf[writer] |= 1 << reader
    for order in orders:
        for a, b in itertools.combinations(order, 2):
            mo[a] |= 1 << b
    for reader, writer in source.items():
        rb[reader] = mo[writer] & ~(1 << reader)
    # Atomicity: nothing comes between what a read-modify-write reads and what it writes.
    for reader, writer in source.items():
        if events[reader].kind == "U":
            order = next(order for order in orders if reader in order)
            if order.index(writer) + 1 != order.index(reader):
                return False
    same_place = [
        sum(1 << j for j in range(n) if events[i].location is not None and events[i].location == events[j].location)
        for i in range(n)
    ]
    at_one_place = [row & mask for row, mask in zip(sb, same_place)]
    if not is_acyclic(union(at_one_place, rf, mo, rb)):
        return False
    if model == "x86":
        return tso(events, sb, rf, mo, rb)
    if model in hardware.MACHINES:
        return hardware.allows(model, events, source, orders)
    # Synchronizes-with: release, perhaps by a fence, a release sequence, and an acquire, perhaps by a fence.
    is_update = [e.kind == "U" for e in events]
    reads, writes = [e.reads for e in events], [e.writes for e in events]
    fences = [e.kind == "F" for e in events]
    identity = [1 << i for i in range(n)]
    sequence = union(identity, closure(restrict(rf, everything, is_update)))
    before = union(identity, restrict(sb, fences, writes))
    after = union(identity, restrict(sb, reads, fences))
    sw = compose(compose(compose(before, compose(restrict(identity, writes, writes), sequence)), rf), after)
    sw = restrict(sw, [e.releases for e in events], [e.acquires for e in events])
    hb = closure(union(sb, sw))
    if any(row >> i & 1 for i, row in enumerate(hb)):
        return False
    eco = closure(union(rf, mo, rb))
    if any(row >> i & 1 for i, row in enumerate(compose(hb, eco))):
        return False
    if not is_acyclic(union(sb, rf)):
        return False
    # The order of sequentially consistent operations.
    elsewhere = [row & ~mask for row, mask in zip(sb, same_place)]
    here = [row & mask for row, mask in zip(hb, same_place)]
    scb = union(sb, compose(compose(elsewhere, hb), elsewhere), here, mo, rb)
    is_sc = [e.order == SC and e.kind != "F" for e in events]
    sc_fence = [e.order == SC and e.kind == "F" for e in events]
    hb_or_same = union(hb, identity)
    left = union(restrict(identity, is_sc, everything), restrict(identity, sc_fence, everything),
                 restrict(hb_or_same, sc_fence, everything))
    right = union(restrict(identity, everything, is_sc), restrict(identity, everything, sc_fence),
                  restrict(hb_or_same, everything, sc_fence))
    base = compose(compose(left, scb), right)
    between = restrict(union(hb, compose(compose(hb, eco), hb)), sc_fence, sc_fence)
    return is_acyclic(union(base, between))


def tso(events, sb, rf, mo, rb):
    """x86: only a write may be overtaken by a later read of its thread; locked operations and fences stop that."""
    n = len(events)

    def is_full(e):
        return e.kind == "U" or e.order == SC and e.kind in "WF"

    kept = [0] * n
    for i in range(n):
        for j in range(n):
            if not sb[i] >> j & 1:
                continue
            a, b = events[i], events[j]
            if "F" in (a.kind, b.kind) and not any(e.kind == "F" and is_full(e) for e in (a, b)):
                continue  # only a full fence is an instruction
            overtaken = a.kind == "W" and b.kind == "R" and not is_full(a)
            if overtaken and any(is_full(events[k]) for k in range(i + 1, j) if events[k].thread == a.thread):
                overtaken = False
            if not overtaken or a.thread < 0:
                kept[i] |= 1 << j
    external = [0] * n
    for i in range(n):
        for j in range(n):
            if rf[i] >> j & 1 and events[i].thread != events[j].thread:
                external[i] |= 1 << j
    return is_acyclic(union(kept, external, mo, rb))


if __name__ == "__main__":
    from litmus_rows import main

    sys.exit(main())
