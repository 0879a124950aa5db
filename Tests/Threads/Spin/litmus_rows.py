"""The classic tests, whose answers are known, and the rows of Protocols.md with the orders of the code."""

import time

from litmus import ACQ, ACQ_REL, REL, RLX, SC, F, R, U, W, outcomes

# Classic tests: name, threads, outcome, whether C11, x86, Arm and RISC-V allow it.


def sb(store, load, fence=None):
    def thread(mine, other):
        def body():
            yield W(mine, 1, store)
            if fence:
                yield F(fence)
            return (yield R(other, load))
        return body
    return [thread("x", "y"), thread("y", "x")]


def mp(store, load, write_fence=None, read_fence=None):
    def writer():
        yield W("x", 1)
        if write_fence:
            yield F(write_fence)
        yield W("y", 1, store)

    def reader():
        flag = yield R("y", load)
        if read_fence:
            yield F(read_fence)
        return flag, (yield R("x"))
    return [writer, reader]


def lb():
    def thread(mine, other):
        def body():
            value = yield R(mine)
            yield W(other, 1)
            return value
        return body
    return [thread("x", "y"), thread("y", "x")]


def iriw(store, load):
    def writer(x):
        def body():
            yield W(x, 1, store)
        return body

    def reader(first, second):
        def body():
            a = yield R(first, load)
            return a, (yield R(second, load))
        return body
    return [writer("x"), writer("y"), reader("x", "y"), reader("y", "x")]


def exchange_pair():
    def body():
        return (yield U("x", lambda old: old + 1 if old < 2 else None, RLX))
    return [body, body]


def sb_around_an_update():
    """An update is no fence: on Arm what stands ahead of it may come after what stands behind it."""
    def thread(mine, other, own):
        def body():
            yield W(mine, 1)
            yield U(own, lambda old: 1)
            return (yield R(other))
        return body
    return [thread("x", "y", "a"), thread("y", "x", "b")]


XY = {"x": 0, "y": 0, "a": 0, "b": 0}
CLASSIC = [
    ("SB relaxed", sb(RLX, RLX), (0, 0), True, True, True, True),
    ("SB release, acquire", sb(REL, ACQ), (0, 0), True, True, True, True),
    ("SB sc", sb(SC, SC), (0, 0), False, False, False, False),
    ("SB sc, acquire", sb(SC, ACQ), (0, 0), True, False, True, True),
    ("SB sc fences", sb(RLX, RLX, SC), (0, 0), False, False, False, False),
    ("SB acq-rel fences", sb(RLX, RLX, ACQ_REL), (0, 0), True, True, False, True),
    ("SB around an sc update", sb_around_an_update(), (0, 0), True, False, True, False),
    ("MP relaxed", mp(RLX, RLX), (None, (1, 0)), True, False, True, True),
    ("MP release, acquire", mp(REL, ACQ), (None, (1, 0)), False, False, False, False),
    ("MP release, relaxed", mp(REL, RLX), (None, (1, 0)), True, False, True, True),
    ("MP fences", mp(RLX, RLX, REL, ACQ), (None, (1, 0)), False, False, False, False),
    ("LB relaxed (RC11 forbids it)", lb(), (1, 1), False, False, True, True),
    ("IRIW release, acquire", iriw(REL, ACQ), (None, None, (1, 0), (1, 0)), True, False, False, False),
    ("IRIW sc", iriw(SC, SC), (None, None, (1, 0), (1, 0)), False, False, False, False),
    ("2+2W relaxed", [], None, True, False, True, True),
    ("2+2W sc", [], None, False, False, False, False),
    ("two increments lose none", exchange_pair(), (0, 0), False, False, False, False),
]


def two_plus_two_ends(order, model):
    """Whether x and y can both end with 1, the first thread's x and the second's y being last."""
    def thread(first, second):
        def body():
            yield W(first, 1, order)
            yield W(second, 2, order)
        return body

    def watcher(x):
        def body():
            a = yield R(x)
            return a, (yield R(x))
        return body
    # Seen by readers: both locations go from 2 to 1.
    threads = [thread("x", "y"), thread("y", "x"), watcher("x"), watcher("y")]
    return bool(outcomes(threads, XY, model, lambda result: result[2:] == ((2, 1), (2, 1))))


# Rows: each gives threads, initial values, and what must not be returned.


def inbox(store=SC, link=SC, load=SC, look=SC):
    """P1. A pusher links a slot, then reads when the pass comes; the pass stores that, then looks into the inbox."""
    def pusher():
        yield U("inbox", lambda head: 1, link)
        return (yield R("next_wake_up", load))

    def settle():
        yield W("next_wake_up", 9, store)
        return (yield R("inbox", look))
    return [pusher, settle], {"inbox": 0, "next_wake_up": 0}, lambda r: r == (0, 0)


def linked(link=SC, word=SC, look=SC):
    """P1. A pusher links a slot, then lets go of the word; who meets its flag there wakes a pass, which looks."""
    def pusher():
        yield U("inbox", lambda head: 1, link)
        yield U("word", lambda old: 1, word)

    def other():
        if (yield R("word", look)):
            yield U("next_wake_up", lambda old: 1, SC)

    def settle():
        if (yield R("next_wake_up", SC)):
            return (yield R("inbox", SC))
        return None
    return [pusher, other, settle], {"inbox": 0, "word": 0, "next_wake_up": 0}, lambda r: r[2] == 0


def position(fence=SC, word=SC, place=SC):
    """P2. A writer takes the word, then relies on the position; the pass takes that away, then looks at the word."""
    def writer():
        yield U("word", lambda old: 1, SC)
        return (yield R("position", place))

    def advance():
        yield W("position", 0)
        if fence:
            yield F(fence)
        return (yield R("word", word))
    return [writer, advance], {"position": 5, "word": 0}, lambda r: r == (5, 0)


def start_order(drops=True):
    """P2 and the start order: a writer stores its start order and relies on the position; the pass compares start orders."""
    def writer():
        yield U("word", lambda old: 1, SC)
        yield W("start_order", 1, REL)
        return (yield R("position", SC))

    def advance():
        yield W("position", 0)
        yield F(SC)
        word = yield R("word", SC)
        seen = yield R("start_order")
        # At delivery, after it has waited for the writer: another start order, and the item is dropped, or placed.
        return "placed" if not drops or word == 0 else ("dropped" if seen == 0 else "delivered")
    return [writer, advance], {"position": 5, "word": 0, "start_order": 0}, lambda r: r == (5, "dropped")


def due_time(field=REL, fence=ACQ):
    """P3. A writer stores the deadline less the postponement in the word, which stays (3), and ends; a query adds up what it
    reads. 10 is before the change, 20 after it."""
    def writer():
        yield U("word", lambda old: (3, 1) if old == (3, 0) else None, SC)
        yield W("deadline", 17, field)
        yield U("word", lambda old: (3, 2), SC)
        yield U("word", lambda old: (0, 3), SC)  # the next one, on a word without a postponement
        yield W("deadline", 30, field)

    def reader():
        word = yield R("word", ACQ)
        value = yield R("deadline")
        if fence:
            yield F(fence)
        if word != (yield R("word", ACQ)) or word[0] == 0:
            return None
        return word[0] + value
    return [writer, reader], {"word": (3, 0), "deadline": 7}, lambda r: r[1] not in (None, 10, 20)


def former(time=REL, slot=REL, field=REL, fence=ACQ):
    """P3. A writer leaves the time before its change where queries find it, then stores a deadline that the word does not
    fit; it ends, and takes it away. 7 is before, and 8 with the word of its end only."""
    def writer():
        yield U("word", lambda old: 1, SC)
        yield W("time", 7, time)
        yield W("slot", 1, slot)
        yield W("deadline", 8, field)
        yield U("word", lambda old: 2, SC)
        yield W("slot", 0, REL)

    def reader():
        word = yield R("word", ACQ)
        value = yield R("deadline")
        if word == 1:
            if fence:
                yield F(fence)
            if (yield R("slot", ACQ)):
                value = yield R("time")
        yield F(ACQ)
        return (word, value) if word == (yield R("word", ACQ)) else None
    return [writer, reader], {"word": 0, "time": 0, "slot": 0, "deadline": 7}, \
        lambda r: r[1] is not None and r[1] not in ((0, 7), (1, 7), (2, 8))


def former_of_another(time=REL):
    """P3. The next writer that leaves a time there, of another timer, behind the same lock."""
    def writer():
        yield U("word", lambda old: 2, SC)
        yield W("lock", 0, REL)

    def another():
        if (yield R("lock", ACQ)) == 0:
            yield W("time", 99, time)

    def reader():
        word = yield R("word", ACQ)
        value = yield R("time")
        yield F(ACQ)
        return value if word == 1 and word == (yield R("word", ACQ)) else None
    return [writer, another, reader], {"word": 1, "lock": 1, "time": 7}, lambda r: r[2] == 99


def deadline(field=REL, fence=ACQ):
    """P3b. A reader that compares the word twice, against a writer that changes the deadline in between."""
    def writer():
        yield U("word", lambda old: 1, SC)  # the writer bit
        yield W("deadline", 8, field)
        yield U("word", lambda old: 2, SC)  # the next generation

    def reader():
        before = yield R("word", ACQ)
        value = yield R("deadline")
        if fence:
            yield F(fence)
        return value if before == (yield R("word", ACQ)) and before == 0 else None
    return [writer, reader], {"word": 0, "deadline": 7}, lambda r: r[1] == 8


def waiters(look=SC, count=SC):
    """P6 with a count. A waiter counts itself, then looks whether the timer is busy; the ender clears that, then counts."""
    def waiter():
        yield U("count", lambda old: 1, SC)
        return (yield R("busy", look))

    def ender():
        yield U("busy", lambda old: 0, SC)
        return (yield R("count", count))
    return [waiter, ender], {"count": 0, "busy": 1}, lambda r: r == (1, 0)


def waited():
    """P6 with a flag in the word: one location decides."""
    def waiter():
        old = yield U("word", lambda old: 3 if old == 1 else None, ACQ_REL)
        return old == 1

    def ender():
        old = yield U("word", lambda old: 0, ACQ_REL)
        return old == 3
    return [waiter, ender], {"word": 1}, lambda r: r == (True, False)


def watched(store=SC, look=SC, load=SC):
    """P5. The runner stores which timer it watches, then looks at its word; an ender ends it, then loads that."""
    def runner():
        yield W("watched", 1, store)
        return (yield R("word", look))

    def ender():
        yield U("word", lambda old: 0, SC)
        return (yield R("watched", load))
    return [runner, ender], {"watched": 0, "word": 1}, lambda r: r == (1, 0)


def pin(check=SC, look=SC):
    """P7. A call pins the queue, then checks its id; the end retires the id, then looks for pins."""
    def call():
        yield U("pins", lambda old: 1, SC)
        return (yield R("id", check))

    def end():
        yield U("id", lambda old: 0, SC)
        return (yield R("pins", look))
    return [call, end], {"pins": 0, "id": 1}, lambda r: r == (1, 0)


def creation(look=ACQ, check=SC, visit=SC):
    """P8. A creator looks at the word of its free slot, then at the queue's id, and swaps the word if that is the same
    (9: a timer). The release takes the id away, then changes the word if it is free."""
    def creator():
        free = yield R("word", look)
        id = yield R("id", check)
        found = yield U("word", lambda old: 9 if old == free else old, SC)
        return id == 1 and found == free

    def release():
        yield U("id", lambda old: 0, SC)
        return (yield U("word", lambda old: old if old == 9 else old + 1, visit)) == 9
    # There is a timer, and the release has not found it.
    return [creator, release], {"word": 0, "id": 1}, lambda r: r == (True, False)


def target(publish=SC, check=SC, visit=SC):
    """P8b. A creator publishes its timer, then reads its target's counts; the last release takes those away, then visits
    the timers."""
    def creator():
        yield W("word", 1, publish)
        return (yield R("id", check))

    def release():
        yield U("id", lambda old: 0, SC)
        return (yield R("word", visit))
    return [creator, release], {"word": 0, "id": 1}, lambda r: r == (1, 0)


def step(store=SC, take=SC, settle=SC, look=SC):
    """P13b. The clock is stepped, a flag is left, the next wake-up is taken away. A pass takes the flag if it sees one,
    reads the clock, stores the next wake-up (0: awake), looks at the flag."""
    def noticer():
        yield W("clock", 1)
        yield W("flag", 1, store)
        return (yield U("next_wake_up", lambda old: 0, SC))

    def sleeper():
        if (yield R("flag")):
            yield U("flag", lambda old: 0, take)
        clock = yield R("clock")
        yield W("next_wake_up", 9, settle)
        return clock, (yield R("flag", look))
    # The queue sleeps by the old clock, and nobody has found a time to take away.
    return [noticer, sleeper], {"clock": 0, "flag": 0, "next_wake_up": 0}, lambda r: r == (0, (0, 0))


def reserve_list(give=SC, take=SC):
    """P21. A giver writes a block's link, then swaps the list's head; a taker loads the head, then the link."""
    def giver():
        yield W("link", 1)
        yield U("head", lambda old: 1, give)

    def taker():
        if (yield R("head", take)) != 1:
            return None
        return (yield R("link"))
    return [giver, taker], {"link": 0, "head": 0}, lambda r: r[1] == 0


def reserve_room(cut=SC, leave=SC, promise=SC, look=SC):
    """P21. A call cuts a block from a slab, then gives its promise back; another one asks for a promise, then looks at
    what is left."""
    def leaver():
        yield U("used", lambda old: 1, cut)
        yield U("promised", lambda old: {1: 0, 3: 2}.get(old), leave)

    def promiser():
        before = yield U("promised", lambda old: {0: 2, 1: 3}.get(old), promise)
        return before, (yield R("used", look))
    # It counts neither the promise nor what was taken for it.
    return [leaver, promiser], {"used": 0, "promised": 1}, lambda r: r[1] == (0, 0)


# Row, its orders, what they are, and whether C11 and x86 allow what must not be; None: not asked.
ROWS = [
    ("P1 inbox, next wake-up", inbox(), "all sc", False, False),
    ("", inbox(store=REL), "next wake-up stored with release", True, True),
    ("", inbox(load=ACQ), "next wake-up loaded with acquire", True, False),
    ("P1 link, word", linked(), "all sc", False, False),
    ("", linked(link=RLX, word=RLX), "link and word relaxed", True, False),
    ("P2 position, word", position(), "relaxed store, sc fence, sc loads", False, False),
    ("", position(fence=None), "without the fence (version 0.1.2 has it)", True, True),
    ("", position(word=ACQ, place=ACQ), "acquire loads behind the fence", None, False),
    ("P2 start order, position", start_order(), "an item whose start order differs is dropped", True, True),
    ("", start_order(drops=False), "it is placed", False, False),
    ("P3 due time beside a writer", due_time(), "deadline stored with release", False, False),
    ("", due_time(field=RLX), "stored relaxed", True, False),
    ("", due_time(fence=None), "no acquire fence", True, False),
    ("P3 former due time", former(), "deadline and slot stored with release", False, False),
    ("", former(field=RLX), "deadline stored relaxed", True, False),
    ("", former(slot=RLX, time=RLX), "slot and time stored relaxed", True, False),
    ("", former(fence=None), "no acquire fence", True, False),
    ("P3 former due time, the next", former_of_another(), "time stored with release", False, False),
    ("", former_of_another(time=RLX), "time stored relaxed", True, False),
    ("Word read twice, deadline", deadline(), "field stored with release", False, False),
    ("", deadline(field=RLX), "relaxed, as in version 0.1.2", True, False),
    ("", deadline(fence=None), "no acquire fence", True, False),
    ("P6 count of waiters", waiters(), "all sc", False, False),
    ("", waiters(look=ACQ), "busy loaded with acquire, as in version 0.1.2", True, False),
    ("P6 waited flag", waited(), "one word, acquire-release", False, False),
    ("P5 watched", watched(), "all sc", False, False),
    ("", watched(store=REL), "watched stored with release", True, True),
    ("", watched(look=ACQ), "word loaded with acquire", True, False),
    ("P7 pin", pin(), "all sc", False, False),
    ("", pin(look=ACQ), "pins loaded with acquire", True, False),
    ("P13b step, next wake-up", step(), "all sc but the first look", False, False),
    ("", step(store=REL), "flag stored with release", True, False),
    ("", step(take=RLX), "flag taken relaxed", True, False),
    ("", step(settle=REL), "next wake-up stored with release", True, True),
    ("", step(look=ACQ), "flag loaded with acquire at the end", True, False),
    ("P8 creation, release", creation(), "the word with acquire, then all sc", False, False),
    ("", creation(look=RLX), "the word looked at relaxed", True, False),
    ("", creation(check=RLX), "the id looked at relaxed", False, False),
    ("", creation(visit=ACQ), "the word changed with acquire", True, False),
    ("P8b creation, end of a target", target(), "all sc", False, False),
    ("", target(publish=REL), "timer published with release", True, True),
    ("", target(visit=ACQ), "words visited with acquire, as in version 0.1.2", True, False),
    ("P21 reserve, link", reserve_list(), "head swapped and loaded sc", False, False),
    ("", reserve_list(give=RLX), "head swapped relaxed", True, False),
    ("", reserve_list(take=RLX), "head loaded relaxed", True, False),
    ("P21 reserve, room", reserve_room(), "all sc", False, False),
    ("", reserve_room(leave=RLX), "promise given back relaxed", True, False),
    ("", reserve_room(promise=RLX), "promise asked for relaxed", True, False),
]


MODELS = ("c11", "x86", "arm", "riscv")
NAMES = ("C11", "x86", "Arm", "RISC-V")


def main():
    passed = failed = 0

    def report(name, note, allowed, expected, begun):
        nonlocal passed, failed
        # What C11 forbids, no machine allows; but for LB, where RC11 forbids more than processors do.
        expected = list(expected) + [False if expected[0] is False else None] * (len(MODELS) - len(expected))
        is_right = all(want is None or got == want for got, want in zip(allowed, expected))
        passed, failed = passed + is_right, failed + (not is_right)
        words = ["allowed" if each else "forbidden" for each in allowed]
        print(f"{'ok' if is_right else 'NOT OK':7}{name:30}{note:48}"
              f"{' '.join(f'{name} {word:10}' for name, word in zip(NAMES, words))}{time.monotonic() - begun:6.2f} s", flush=True)

    for name, threads, outcome, *expected in CLASSIC:
        begun = time.monotonic()
        if outcome is None:
            order = SC if name.endswith("sc") else RLX
            allowed = [two_plus_two_ends(order, model) for model in MODELS]
        else:
            allowed = [outcome in outcomes(threads, {k: 0 for k in XY}, model) for model in MODELS]
        report(name, "", allowed, expected, begun)
    last = ""
    for name, (threads, initial, forbidden), note, *expected in ROWS:
        begun = time.monotonic()
        last = name or last
        allowed = [bool(outcomes(threads, initial, model, forbidden)) for model in MODELS]
        report(last, note, allowed, expected, begun)
    print(f"{passed} passed, {failed} failed")
    return failed > 0
