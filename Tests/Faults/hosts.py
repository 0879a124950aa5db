"""Runs the C suite in hosts that are not as others, three at a time, and prints a line for each. Needs util-linux.

    hosts.py CSUITE WITHIN REFUSING COPY [HOST...]    WITHIN, REFUSING: the libraries of within.c and repeating.c; COPY: of
                                                      libchime. By name, or "all", those that take long, too
"""
import concurrent.futures
import fnmatch
import itertools
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
ANSWERED = re.compile(r"FAILED \S+: [^;]* is (CHIME_ERROR_RESOURCE |-192,)")

csuite, within, refusing, copy = (os.path.abspath(path) for path in sys.argv[1:5])
root = tempfile.mkdtemp()


class Host:
    """`start`: what starts the suite. `skips`: tests that mean nothing there. `takes`: what is taken away may be answered."""

    def __init__(self, start=(), variables=(), skips=(), takes=False, as_root=False):
        self.start, self.variables, self.skips, self.takes, self.as_root = list(start), variables, skips, takes, as_root


def inside(what, *skips, **more):
    return Host([], [f"LD_PRELOAD={within}", f"HOST={what}", f"HOST_COPY={copy}"], skips, **more)


HOSTS = {
    # Each signal wakes the thread that drives the queue.
    "signals": inside(
        "signals", "an_idle_queue_does_not_wake_up_on_a_host_driven_queue", "a_suspended_queue_does_not_wake_up_on_a_host_driven_queue",
        "a_queue_whose_periodic_timers_have_ended_does_not_wake_up_on_a_host_driven_queue",
        "a_hundred_thousand_*_on_a_host_driven_queue", "a_hundred_thousand_pending_timers_wake_nobody"),
    "second_copy": inside("second_copy"),
    "nobody": inside("nobody", as_root=True),
    # A child says another reason for what is unsupported.
    "forked": inside("forked", "without_libdispatch_all_that_stands_on_it_is_unsupported"),
    "threads_refused": Host(variables=[f"LD_PRELOAD={refusing}", "REFUSE_ONE_IN=3", "REFUSE_THREADS=1"]),
    "one_processor": Host(["taskset", "-c", str(min(os.sched_getaffinity(0)))]),
    "fifo_caller": Host(["chrt", "--reset-on-fork", "--fifo", "10"]),
    # There is no main queue without /dev/null, nor one of libdispatch's.
    "bare_root": Host(
        ["unshare", "-m", "sh", "-c", BARE_ROOT, root], takes=True,
        skips=["a_main_queue_can_be_made_and_ended_anywhere", "what_waits_for_the_queue_in_its_hooks_is_answered"]),
    # Other tests may have all of them, and then it is not the directory that is missing first.
    "few_files": Host(["prlimit", "--nofile=32"], takes=True, skips=["a_trace_file_that_cannot_be_had_is_refused"]),
    "small_stacks": Host(["prlimit", "--stack=65536"]),
    "first_process": Host(["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]),
}
LONG = {
    "cancellations": inside("cancellations"),
    "forking": inside("forking"),
    "idle_maker": Host(["chrt", "--idle", "0"]),
    "batch_maker": Host(["chrt", "--batch", "0"]),
    # A quarter of an hour.
    "slack_maker": Host(["sh", "-c", 'echo 500000000 >/proc/self/timerslack_ns && exec "$0" "$@"']),
}

# Calls of the kernel that Chime makes, and that a process survives without; of each, tests that make it themselves.
NAMES = ("a_loop_of_chimes_own_*", "a_stop_ends_the_thread_of_a_loop_of_chimes_own", "release_ends_the_thread_also_when_*")
CALLS = {
    "timerfd_create": (), "timerfd_settime": (), "eventfd2": (), "epoll_create1": (), "epoll_ctl": (), "epoll_pwait2": (),
    "fcntl": ("a_closed_descriptor_is_never_touched_again",), "prctl": NAMES, "sched_getaffinity": (), "sched_setaffinity": (),
    "sched_getscheduler": (), "sched_setscheduler": (), "getpriority": (), "setpriority": (), "madvise": (),
}


def refusals():
    """A host for each of these calls, and for each way to refuse it."""
    source = "#include <sys/syscall.h>\n" + "".join(f"SYS_{call}\n" for call in CALLS)
    numbers = subprocess.run(["cc", "-E", "-P", "-x", "c", "-"], input=source, capture_output=True, text=True, check=True).stdout
    for (call, skips), number in zip(CALLS.items(), numbers.split()[-len(CALLS):], strict=True):
        for (error, errno), when in itertools.product({"EPERM": 1, "ENOSYS": 38}.items(), ("early", "late")):
            yield f"refused_{call}_{error}_{when}", inside(f"refuse {number} {errno} {when}", *skips, takes=True)


LONG |= refusals()


def run(name):
    """The line, and whether it is green. A host that is not permitted here is skipped."""
    host = (HOSTS | LONG)[name]
    listed = subprocess.run([*host.start, csuite, "--list"], capture_output=True, text=True)
    if host.start and listed.returncode != 0:
        return f"skipped hosts {name}: {listed.stderr.strip()}", True
    if host.as_root and os.geteuid() != 0:
        return f"skipped hosts {name}: needs root", True
    tests = [test for test in listed.stdout.split() if not any(fnmatch.fnmatch(test, skip) for skip in host.skips)]
    environment = dict(os.environ, CSUITE_SCALE="100", CSUITE_PATIENCE="100", SWIFT_BACKTRACE="enable=no")
    command = [*host.start, "env", *host.variables, csuite, *(tests if host.skips else [])]
    begun = time.monotonic()
    suite = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    lines = suite.stdout.splitlines()
    failures = [line for line in lines if line.startswith("FAILED")]
    answered = [line for line in failures if host.takes and ANSWERED.match(line)]
    failures = [line for line in failures if line not in answered]
    is_green = suite.returncode in (0, 1) and not failures and lines[-1:] != [] and "passed" in lines[-1]
    said = [*lines[-1:], *([f"{len(answered)} of them answer RESOURCE"] if answered else []), *suite.stderr.splitlines()[-1:]]
    verdict = "ok" if is_green else f"FAILED (status {suite.returncode})"
    line = f"{verdict} hosts {name}: {'; '.join(said)}; {time.monotonic() - begun:.0f} s"
    return "\n  ".join([line, *failures]), is_green


chosen = [*HOSTS, *LONG] if sys.argv[5:] == ["all"] else sys.argv[5:] or list(HOSTS)
# The suite sleeps most of the time.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    is_green = True
    for line, is_ok in pool.map(run, chosen):
        print(line, flush=True)
        is_green = is_green and is_ok
os.rmdir(root)
sys.exit(not is_green)
