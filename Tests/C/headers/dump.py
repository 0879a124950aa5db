"""Reads the memory of dump.c with chime.gdb and compares it with what the program itself says: while it runs, and from a core
file; with the library's symbols and without.

    dump.py PROGRAM CHIME.GDB LIBRARY
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

program, script, library = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)


def of_gdb(*arguments):
    done = run("gdb", "-q", "-batch", "-iex", "set debuginfod enabled off", "-x", script, "-ex", "chime-dump", *arguments)
    return [line for line in done.stdout.splitlines() if line.startswith(("queue ", "timer "))], done


def expect(found, wanted, name):
    """All but what only a queue itself knows, its wheel's entries; on a real clock but for the time, too."""
    found, done = found

    def plain(line):
        line = re.sub(r", \d+ entries, \d+ stale$", "", line)
        return re.sub(r"due (in )?[\d.]+ \w+( ago)?", "due", line) if '"on the host"' in line else line

    expected = [plain(line) for line in wanted]
    found = [plain(line) for line in found]
    if found != expected:
        for line in sorted(set(found) ^ set(expected)):
            print("both should have:", line)
        sys.exit(f"{name}: {len(found)} lines, not {len(expected)}\n{done.stderr[-2000:]}")
    print(f"ok chime.gdb, {name}: {len(found)} lines")


def wait_for_dump(running):
    lines = []
    for line in running.stdout:
        if line == "end\n":
            return lines
        lines.append(line.rstrip("\n"))
    sys.exit("the program has ended")


with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    # A library of its own, which can lose its symbols.
    copy = directory / library.name
    shutil.copy(library, copy)
    shutil.copy(f"{library}.debug", f"{copy}.debug")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(directory)}
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            wanted = wait_for_dump(running)
            assert len(wanted) > 600, len(wanted)
            assert str(copy) in pathlib.Path(f"/proc/{running.pid}/maps").read_text()
            attached = of_gdb("-p", running.pid)
            made = run("gcore", "-o", directory / "made", running.pid)
            core = directory / f"made.{running.pid}"
            stripped = directory / "elsewhere"
            if "ptrace: Operation not permitted" in attached[1].stderr:
                print("left out: chime.gdb on a running process and on gcore's file (ptrace is not permitted)")
            else:
                expect(attached, wanted, "a running process")
                assert core.exists(), made
                expect(of_gdb(program, core), wanted, "a core file")
                os.remove(f"{copy}.debug")
                expect(of_gdb("-p", running.pid), wanted, "a running process, without symbols")
                expect(of_gdb(program, core), wanted, "a core file, without symbols")
                copy.rename(stripped)
                expect(of_gdb(program, core), wanted, "a core file, without the library")
                stripped.rename(copy)
        finally:
            running.kill()
