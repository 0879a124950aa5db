"""What Arm (AArch64) and RISC-V (RVWMO) allow of an execution, by the axiomatic models in their manuals.

Each operation becomes the instructions that compilers make of it, as the processors' ABIs have it, an update a pair of
exclusive or reserved accesses, which orders less than one instruction does: ldaxr/stlxr, lr/sc. An execution is allowed if
it is coherent and atomic, which litmus.py has looked at, and no cycle is made of: what is preserved of each thread's order,
a read from another thread's write, the order of writes at a place, and what was read before it was overwritten.

What is not in these models: dependencies (of an address, of data, of a branch). A program of litmus.py does not say what it
computes an operand from. Real processors keep the order of dependent accesses, so they allow less: what is forbidden here is
forbidden there, and what is allowed here may not be. Both architectures are multi-copy atomic: a write is seen by all other
threads at once. Mixed sizes, instruction fetches and devices are left out.
"""

MACHINES = ("arm", "riscv")

READS, WRITES = frozenset("R"), frozenset("W")
BOTH = READS | WRITES


class Access:
    """A load or a store: of `event`, `acquires` and `releases` by its own instruction, not by a fence beside it."""

    def __init__(self, event, kind, acquires=False, releases=False, is_paired=False):
        self.event, self.kind = event, kind
        self.acquires, self.releases, self.is_paired = acquires, releases, is_paired


class Fence:
    """Orders what is of the kinds `before` ahead of it with what is of the kinds `after` behind it: a list of such pairs."""

    def __init__(self, *pairs):
        self.pairs = pairs


def arm(i, event):
    """dmb ish, dmb ishld; ldapr (acq; ldar orders more), ldar (sc), stlr; ldxr/ldaxr and stxr/stlxr."""
    order, is_sc = event.order, event.order == "sc"
    if event.kind == "F":
        return [Fence((READS, BOTH)) if order == "acq" else Fence((BOTH, BOTH))]
    if event.kind == "U":
        return [Access(i, "R", "full" if event.acquires else False, is_paired=True),
                Access(i, "W", releases=event.releases, is_paired=True)]
    if event.kind == "R":
        return [Access(i, "R", "full" if is_sc else order in ("acq", "acq_rel"))]
    return [Access(i, "W", releases=event.releases)]


def riscv(i, event):
    """fence rw,rw, fence.tso, fence rw,w, fence r,rw; plain loads and stores with these; lr, lr.aq, lr.aqrl and sc, sc.rl."""
    order = event.order
    full, acquire, release = Fence((BOTH, BOTH)), Fence((READS, BOTH)), Fence((BOTH, WRITES))
    if event.kind == "F":
        return [{"sc": full, "acq_rel": Fence((READS, BOTH), (WRITES, WRITES)), "acq": acquire, "rel": release}[order]]
    if event.kind == "U":
        return [Access(i, "R", event.acquires, order == "sc", True), Access(i, "W", False, event.releases, True)]
    if event.kind == "R":
        return [full] * (order == "sc") + [Access(i, "R")] + [acquire] * event.acquires
    return [release] * event.releases + [Access(i, "W")]


def allows(machine, events, source, orders):
    translate = arm if machine == "arm" else riscv
    accesses, threads = [], {}
    for i, event in enumerate(events):
        for item in translate(i, event):
            threads.setdefault(event.thread, []).append(item)
            if isinstance(item, Access):
                item.number = len(accesses)
                accesses.append(item)
    read = {a.event: a.number for a in accesses if a.kind == "R"}
    written = {a.event: a.number for a in accesses if a.kind == "W"}
    after = [0] * len(accesses)
    for thread, items in threads.items():
        if thread >= 0:
            preserve(machine, items, events, source, after)
    for order in orders:
        for k, event in enumerate(order):
            for later in order[k + 1:]:
                after[written[event]] |= 1 << written[later]
            # Who has read this write has read before the next ones.
            for reader, writer in source.items():
                if writer != event:
                    continue
                for later in order[k + 1:]:
                    if later != reader:
                        after[read[reader]] |= 1 << written[later]
                if events[reader].thread != events[event].thread:
                    after[written[event]] |= 1 << read[reader]
    return is_acyclic(after)


def preserve(machine, items, events, source, after):
    """Adds what the machine keeps of a thread's order."""
    for k, a in enumerate(items):
        if isinstance(a, Fence):
            continue
        for j in range(k + 1, len(items)):
            b = items[j]
            if isinstance(b, Fence):
                continue
            between = items[k + 1:j]
            same = events[a.event].location == events[b.event].location
            reads_it = b.kind == "R" and a.kind == "W" and source[b.event] == a.event
            if (
                same and b.kind == "W"
                or any(a.kind in before and b.kind in behind
                       for fence in between if isinstance(fence, Fence) for before, behind in fence.pairs)
                or a.acquires or b.releases
                # What was released is there before the next acquiring instruction; but not ahead of ldapr.
                or a.releases and (b.acquires == "full" if machine == "arm" else b.acquires)
                or a.event == b.event
                or reads_it and a.is_paired and (machine == "riscv" or b.acquires)
                or machine == "riscv" and same and a.kind == b.kind == "R" and source[a.event] != source[b.event]
                and not any(isinstance(c, Access) and c.kind == "W" and events[c.event].location == events[a.event].location
                            for c in between)
            ):
                after[a.number] |= 1 << b.number


def is_acyclic(relation):
    left = (1 << len(relation)) - 1
    while left:
        free = [i for i, row in enumerate(relation) if left >> i & 1 and not row & left]
        if not free:
            return False
        for i in free:
            left &= ~(1 << i)
    return True
