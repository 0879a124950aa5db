"""Runs the peers' programs in turn, round by round, and prints a table for each load. Standard library only.

    run.py [--quick] [--rounds N] [--limit SECONDS] [--only WORD] [--old DIRECTORY] [--machine]

--quick: few operations and ticks; shows that it works, measures nothing.
--only: create, postpone, expiry, memory, beat, missed, thread, or million (ten million timers, else left out).
--rounds: of every table; without it some have fewer than others.
--old: a directory with another libchime.so.0: Chime's programs run with that one, too, in rows that are named (old).
    They are the same programs, so that library must have all functions that they use.
--limit: from then on, counted from the start, every table has only one round.
--machine: prints processors and kernel, nothing else.

Each turn is a process of its own (harness.c says what it prints), so nothing of one turn is left in the next; all use
the same random numbers. Within a table the rows take turns, each round beginning with another one, so that a change of
the machine's mood meets all of them. What was measured is in build/results.json too.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import tables  # noqa: E402 (after that)

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
OLD = " (old)"
LONGEST_TURN = 150  # seconds; the programs end themselves before


class Turn:
    """One row of a table: a program to run, and what its runs have printed."""

    def __init__(self, label, command, old=None):
        self.label, self.command = label, [str(part) for part in command]
        self.old = old  # the directory of the other libchime, for a row that is measured with that one
        self.results, self.left_out, self.failed = [], None, None

    def take(self):
        if self.left_out or self.failed:
            return
        result = self.run_once()
        if "left_out" in result:
            self.left_out = result["left_out"]
        elif "failed" in result:
            self.failed = result["failed"]
        else:
            self.results.append(result)

    def run_once(self):
        """The line that the program prints. It asks to be run again with twice the time when that was too short."""
        for _ in range(6):
            result = output_of(self.command, self.old)
            if "again" not in result:
                return result
            self.command = [f"seconds={2 * float(part[8:])}" if part.startswith("seconds=") else part
                            for part in self.command]
        return {"left_out": "it could not start them all in time"}


def output_of(command, old=None):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LONGEST_TURN, env=environment(old))
        if done.returncode == 0:
            return json.loads(done.stdout)
        words = done.stderr.strip().splitlines()
        return {"failed": f"status {done.returncode}: {words[-1] if words else ''}"}
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {LONGEST_TURN} s"}
    except ValueError:
        return {"failed": f"no line of results: {done.stdout[:80]!r}"}


def environment(old):
    """Of a program that is to use the library in that directory."""
    return {**os.environ, "LD_LIBRARY_PATH": str(old)} if old else os.environ


def check(program, old):
    """Ends when a program would not use it: then both rows would be of one library."""
    found = subprocess.run([str(program)], env={**environment(old), "LD_TRACE_LOADED_OBJECTS": "1"},
                           stdout=subprocess.PIPE, text=True, check=False).stdout
    if str(old) not in found:
        sys.exit(f"--old: {program.name} does not use the library in {old}:\n{found}")


def measure(turns, rounds, limit):
    for number in range(rounds):
        if number > 0 and time.monotonic() > limit:
            break
        for i in range(len(turns)):
            turns[(number + i) % len(turns)].take()


# ---- Peers -----------------------------------------------------------------------------------------------------------

class Peer:
    """One of build/peer-NAME; with another libchime than it was built with, or not."""

    def __init__(self, name, old=None):
        self.name, self.program, self.old = name, BUILD / f"peer-{name}", old
        described = output_of([str(self.program), "describe"], old)
        self.failed = described.get("failed")
        self.version, self.loads = described.get("version", "?"), described.get("loads", [])
        self.is_chime = name.startswith("chime")
        self.label = name.replace("-", " ", 1) + (OLD if old else "")
        self.label += "" if described.get("thread_safe", True) else " *"

    def turn(self, load, label=None, **options):
        arguments = [f"{name}={value}" for name, value in options.items()]
        return Turn(label or self.label, [self.program, load, *arguments], self.old)


def installed(old):
    """The peers that were built, and lines on those that were not (written by the Makefile)."""
    lines = (BUILD / "peers.txt").read_text().splitlines()
    peers = []
    for name in (line for line in lines if ":" not in line):
        peers.append(Peer(name))
        if old and peers[-1].is_chime:
            peers.append(Peer(name, old))
    return peers, [line for line in lines if ":" in line]


# ---- Loads -----------------------------------------------------------------------------------------------------------

def cost_turns(peers, forms, **options):
    """Rows for each form of a call that a peer has: those that have only one are named without it."""
    turns = []
    for peer in peers:
        own = [(load, form) for load, form in forms if load in peer.loads]
        for load, form in own:
            turns.append(peer.turn(load, f"{peer.label}, {form}" if len(own) > 1 else None, **options))
    return turns


def rows_of(peers, load, **options):
    return [peer.turn(load, **options) for peer in peers if load in peer.loads]


def create_tables(peers, scale):
    for pending in scale.pending_create:
        turns = cost_turns(peers, [("create_until", "deadline"), ("create", "delay")], pending=pending,
                           operations=scale.operations)
        measure(turns, scale.rounds, scale.end)
        yield tables.cost(f"create + start + cancel + release, {pending:,} pending", turns)


def postpone_tables(peers, scale):
    forms = [("postpone_until", "postpone_until"), ("postpone", "postpone"), ("reschedule", "reschedule")]
    for seconds, what in ((30, "an idle timeout of 30 s"), (600, "by minutes")):
        for pending in scale.pending_postpone:
            turns = cost_turns(peers, forms, pending=pending, operations=scale.operations, seconds=seconds)
            measure(turns, scale.rounds, scale.end)
            yield tables.cost(f"postpone a random timer, {what}, {pending:,} pending", turns)


def million_tables(peers, scale):
    """With ten million pending: half an hour and 10 GB, so only where --only asks for it."""
    for pending in scale.pending_millions:
        for title, forms, options in (
                ("create + start + cancel + release", [("create_until", "deadline"), ("create", "delay")], {}),
                ("postpone a random timer, an idle timeout of 30 s", [("postpone_until", "postpone_until"), ("postpone", "postpone"),
                                                                     ("reschedule", "reschedule")], {"seconds": 30})):
            turns = cost_turns(peers, forms, pending=pending, operations=scale.operations, **options)
            measure(turns, scale.fewer_rounds or 1, scale.end)
            yield tables.cost(f"{title}, {pending:,} pending", turns)


def expiry_tables(peers, scale):
    for pending, seconds, rounds in scale.expiry:
        turns = []
        for peer in peers:
            forms = ((0, ", leeway 0"), (1_000_000, ", leeway 1 ms")) if peer.is_chime else ((0, ""),)
            for leeway, form in forms:
                turns += rows_of([peer], "expiry", label=peer.label + form, pending=pending, seconds=seconds, leeway=leeway)
        measure(turns, scale.fewer_rounds or rounds, scale.end)
        yield tables.expiry(f"expiry of {pending:,} one-shots spread over one second", turns)


def memory_tables(peers, scale):
    for pending in scale.pending_memory:
        turns = rows_of(peers, "memory", pending=pending)
        measure(turns, scale.fewer_rounds or 1, scale.end)
        yield tables.memory(f"memory, {pending:,} pending", turns)


def beat_tables(peers, scale):
    turns = rows_of(peers, "beat", operations=scale.beats)
    measure(turns, scale.rounds, scale.end)
    yield tables.beat(f"lateness of a timer of 10 ms, {scale.beats} ticks a turn", turns)


def missed_tables(peers, scale):
    turns = rows_of(peers, "missed", seconds=scale.missed)
    measure(turns, 1, scale.end)
    yield tables.missed(f"a timer of {scale.missed} s whose third handler takes 2.6 intervals", turns)


def thread_tables(peers, scale):
    turns = rows_of(peers, "threads", operations=scale.operations)
    measure(turns, scale.rounds, scale.end)
    yield tables.threads("threads: create + start + cancel + release", turns)


# ---- The whole -------------------------------------------------------------------------------------------------------

class Scale:
    """How much of everything: a full run takes ten minutes at most, unless the machine is busy with other work."""
    operations, rounds, fewer_rounds, end = 200_000, 3, None, 0
    pending_create, pending_postpone = (0, 1_000, 100_000, 1_000_000), (1_000, 100_000, 1_000_000)
    pending_memory, expiry = (100_000, 1_000_000), ((100_000, 0.2, 2), (1_000_000, 0.8, 1))
    beats, missed = 100, 0.1
    pending_millions = (10_000_000,)


class QuickScale(Scale):
    operations, rounds = 2_000, 1
    pending_create, pending_postpone = (0, 1_000), (1_000,)
    pending_memory, expiry = (10_000,), ((2_000, 0.1, 1),)
    beats, missed = 5, 0.01
    pending_millions = (20_000,)


# Those that other work on the machine disturbs most come first: they have all their rounds before the time is up.
MEASUREMENTS = (thread_tables, beat_tables, missed_tables, create_tables, postpone_tables, memory_tables,
                expiry_tables)
ONLY_WHEN_ASKED = (million_tables,)


def machine():
    """Processors and kernel, as the pages name them."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return f"{os.cpu_count()} processors {models[0] if models else os.uname().machine}, {os.uname().sysname} {os.uname().release}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--limit", type=float, default=420)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--old", metavar="DIRECTORY")
    parser.add_argument("--machine", action="store_true")
    options = parser.parse_args()
    if options.machine:
        print(machine())
        return 0
    scale = QuickScale() if options.quick else Scale()
    scale.rounds, scale.fewer_rounds = options.rounds or scale.rounds, options.rounds
    scale.end = time.monotonic() + options.limit

    if options.old:
        check(BUILD / "peer-chime-shared", options.old)
    peers, missing = installed(options.old)
    described = {peer.name + (OLD if peer.old else ""): peer.version for peer in peers}
    print(f"{scale.rounds} rounds of {scale.operations:,} operations; {machine()}, load average {os.getloadavg()[0]:.1f}")
    print("; ".join(f"{name} {version}" for name, version in described.items()))
    print("* not thread-safe")

    begun, done, failed = time.monotonic(), [], missing + [f"{peer.name}: {peer.failed}" for peer in peers if peer.failed]
    for tables_of in MEASUREMENTS + ONLY_WHEN_ASKED:
        if options.only not in tables_of.__name__ or not options.only and tables_of in ONLY_WHEN_ASKED:
            continue
        for table in tables_of(peers, scale):
            print("\n" + table.text(), flush=True)
            failed += table.failures()
            done.append(table.as_dictionary())
    (BUILD / "results.json").write_text(json.dumps({"machine": machine(), "versions": described, "tables": done}))
    print(f"\n{time.monotonic() - begun:.0f} s; load average {os.getloadavg()[0]:.1f}")
    for line in failed:
        print(f"failed: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
