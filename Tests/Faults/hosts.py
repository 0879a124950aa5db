"""Runs the C suite in hosts that are not as others, three at a time, and prints a line for each. Needs util-linux.

    hosts.py CSUITE FORKED REFUSING [HOST...]     FORKED, REFUSING: the libraries of forked.c, and of repeating.c
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

# Without /proc and /dev, and what else is mounted below the root.
BARE_ROOT = """mount --bind / "$0" && mount -t tmpfs -o ro none "$0/proc" && mount -t tmpfs -o ro none "$0/dev" &&
mount -o remount,bind,ro "$0" && exec chroot "$0" "$@" """

# A call of theirs was refused, as it must be.
ANSWERED = re.compile(r"FAILED \S+: [^;]* is (CHIME_ERROR_RESOURCE |-12,)")

csuite, forked, refusing = (os.path.abspath(path) for path in sys.argv[1:4])
root = tempfile.mkdtemp()
# Of each: what starts the suite, what is in its environment, and the tests that mean nothing there, because...
HOSTS = {
    # ...a child says another reason for what is unsupported.
    "forked": ([], [f"LD_PRELOAD={forked}"], ["without_libdispatch_all_that_stands_on_it_is_unsupported"]),
    "threads_refused": ([], [f"LD_PRELOAD={refusing}", "REFUSE_ONE_IN=3", "REFUSE_THREADS=1"], []),
    "one_processor": (["taskset", "-c", str(min(os.sched_getaffinity(0)))], [], []),
    "fifo_caller": (["chrt", "--reset-on-fork", "--fifo", "10"], [], []),
    # ...there is no main queue without /dev/null, nor one of libdispatch's.
    "bare_root": (["unshare", "-m", "sh", "-c", BARE_ROOT, root], [], [
        "a_main_queue_can_be_made_and_ended_anywhere", "what_waits_for_the_queue_in_its_hooks_is_answered"]),
    "few_files": (["prlimit", "--nofile=32"], [], []),
    "small_stacks": (["prlimit", "--stack=65536"], [], []),
    "first_process": (["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"], [], []),
}


def run(name):
    """The line, and whether it is green. A host that is not permitted here is skipped."""
    start, variables, skips = HOSTS[name]
    listed = subprocess.run([*start, csuite, "--list"], capture_output=True, text=True)
    if start and listed.returncode != 0:
        return f"skipped hosts {name}: {listed.stderr.strip()}", True
    tests = [test for test in listed.stdout.split() if test not in skips]
    environment = dict(os.environ, CSUITE_SCALE="100", CSUITE_PATIENCE="100", SWIFT_BACKTRACE="enable=no")
    command = [*start, "env", *variables, csuite, *(tests if skips else [])]
    begun = time.monotonic()
    suite = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    lines = suite.stdout.splitlines()
    failures = [f"\n  {line}" for line in lines
                if line.startswith("FAILED") and not (name == "bare_root" and ANSWERED.match(line))]
    is_green = suite.returncode in (0, 1) and not failures and lines[-1:] != [] and "passed" in lines[-1]
    said = [*lines[-1:], *suite.stderr.splitlines()[-1:], f"{time.monotonic() - begun:.0f} s"]
    verdict = "ok" if is_green else f"FAILED (status {suite.returncode})"
    return f"{verdict} hosts {name}: {'; '.join(said)}{''.join(failures)}", is_green


# The suite sleeps most of the time.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    is_green = True
    for line, is_ok in pool.map(run, sys.argv[4:] or HOSTS):
        print(line, flush=True)
        is_green = is_green and is_ok
os.rmdir(root)
sys.exit(not is_green)
