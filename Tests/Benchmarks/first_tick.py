"""Milliseconds from the start of a program to its first tick, by the programs of first_tick.c turn by turn: least and median.

    first_tick.py ROUNDS PROGRAM...
"""
import os
import statistics
import sys
import time


def first_tick_ms(program):
    reader, writer = os.pipe()
    begun = time.monotonic_ns()
    child = os.posix_spawn(program, [program], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
    os.close(writer)  # a program that does not start ends the read
    with os.fdopen(reader, "rb") as output:
        ticked = output.read()
    if os.waitpid(child, 0)[1] != 0 or len(ticked) != 8:
        sys.exit(f"{program} has written no time")
    return (int.from_bytes(ticked, sys.byteorder) - begun) / 1e6


programs = sys.argv[2:]
rounds = [[first_tick_ms(program) for program in programs] for _ in range(int(sys.argv[1]) + 1)]
for program, times in zip(programs, zip(*rounds[1:])):  # in the first round pages come into memory
    print(f"{os.path.basename(program):20} {min(times):6.2f} {statistics.median(times):6.2f}")
