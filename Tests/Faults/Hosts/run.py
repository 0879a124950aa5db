"""Runs the C suite in hosts, and prints a line for each: what held, what answered a status instead, what was skipped.

    run.py CSUITE LAUNCH WITHIN REPEATING COPY [--all] [--table] [HOST...]

The suite is one process. Where that crashes or hangs, the test that it was in has failed, and another process goes on with
the next one. In a host that takes something away, a test whose first failure is that a call answers RESOURCE, and that ends
as any other, counts as one that answers a status.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import time

NOT_PERMITTED = 77
ANSWERED = re.compile(r"^FAILED \S+: [^;]* is (CHIME_ERROR_RESOURCE |-12,)")
RESULT = re.compile(r"^(ok|FAILED|skipped) ([a-z_0-9]+)(?:: (.*))?$")


class Host:
    def __init__(self, name, launch="plain", within=None, fast=False, status=False, skips=(), scale=100, preload=None,
                 says="", only=None):
        self.name, self.launch, self.within, self.fast, self.status = name, launch, within, fast, status
        self.skips, self.scale, self.preload, self.says, self.only = skips, scale, preload, says, only


# What means nothing in a host, and why.
WOKEN = "each signal wakes the thread that drives the queue"
SIGNALS = [("an_idle_queue_does_not_wake_up_on_a_host_driven_queue", WOKEN),
           ("a_queue_whose_periodic_timers_have_ended_does_not_wake_up_on_a_host_driven_queue", WOKEN),
           ("a_hundred_thousand_*_on_a_host_driven_queue", WOKEN), ("a_hundred_thousand_pending_timers_wake_nobody", WOKEN)]

BARE = [("a_main_queue_can_be_made_and_ended_anywhere", "there is no main queue without /dev/null")]

CHILD = [("without_libdispatch_all_that_stands_on_it_is_unsupported", "a child says another reason for that")]

# Calls of the kernel that Chime makes (strace over the suite), and that a process survives without.
CALLS = ["timerfd_create", "timerfd_settime", "eventfd2", "epoll_create1", "epoll_ctl", "epoll_pwait2", "fcntl", "prctl",
         "sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "sched_setscheduler", "getpriority", "setpriority",
         "madvise", "clone3", "openat", "prlimit64", "getrandom", "set_robust_list"]

# What a test itself does by a call that is refused.
REFUSED = {
    "fcntl": [("a_closed_descriptor_is_never_touched_again", "it looks by fcntl whether a descriptor is open")],
    "prctl": [(f"{test}*", "it looks for a thread's name, which prctl sets") for test in (
        "a_loop_of_chimes_own_runs_on_a_thread_of_its_own", "a_stop_ends_the_thread_of_a_loop_of_chimes_own",
        "a_loop_of_chimes_own_may_be_released_in_a_callback", "release_ends_the_thread_also_when_a_callback_runs")],
}

HOSTS = [
    Host("plain", fast=False, says="none: what the suite is compared with"),
    Host("signals", within="signals", fast=True, skips=SIGNALS, says="SIGUSR2, with a handler, 1,000 times a second to every thread"),
    Host("cancellations", within="cancellations", fast=False,
         says="Chime's own threads are cancelled 1,000 times a second"),
    Host("threads_refused", preload="repeating", fast=True,
         says="one `pthread_create` of Chime's in three is refused; a call that answers RESOURCE is made again"),
    Host("one_processor", launch="one_processor", fast=True, says="the process may use one processor"),
    Host("idle_maker", within="idle_maker", says="the main thread has SCHED_IDLE, and makes queues"),
    Host("batch_maker", within="batch_maker", says="the main thread has SCHED_BATCH"),
    Host("slack_maker", within="slack_maker", says="the main thread has half a second of timer slack"),
    Host("fifo_caller", within="fifo_caller", fast=True,
         says="the main thread has SCHED_FIFO, and calls"),
    Host("bare_root", launch="bare_root", fast=True, status=True, skips=BARE, says="a read-only root without /proc and /dev"),
    Host("nobody", within="nobody", fast=True, says="root makes a queue of each kind, then becomes uid nobody"),
    Host("few_files", launch="few_files", fast=True, status=True, says="32 descriptors"),
    Host("small_stacks", launch="small_stacks", fast=True, says="stacks of 64 KiB"),
    Host("second_copy", within="second_copy", fast=True,
         says="another copy of the library, whose queues tick all the time"),
    Host("forked", within="forked", fast=True, skips=CHILD,
         says="each kind of queue has ticked, then the process is a child of that one, which has begun anew"),
    Host("forking", within="forking",
         says="children come all the time, in the middle of each test, begin anew, tick and end"),
    Host("first_process", launch="first_process", fast=True, says="process 1 of its namespace"),
]


def call_number(name):
    text = subprocess.run(["cc", "-E", "-P", "-x", "c", "-"], input=f"#include <sys/syscall.h>\nSYS_{name}\n",
                          capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
    return int(text)


def refusals():
    for name in CALLS:
        number = call_number(name)
        for error, errno in (("EPERM", 1), ("ENOSYS", 38)):
            for when in ("early", "late"):
                yield Host(f"refused_{name}_{error}_{when}", within=f"refuse {number} {errno} {when}", status=True,
                           skips=REFUSED.get(name, []),
                           says=f"the kernel refuses `{name}`, {error}, {when}")


def reason_to_skip(host, test):
    for pattern, reason in host.skips:
        if fnmatch.fnmatch(test, pattern):
            return reason
    return None


class Run:
    def __init__(self, host, options):
        self.host, self.options = host, options
        self.results, self.notes = {}, []
        self.seconds = 0
        self.not_permitted = None

    def environment(self):
        env = dict(os.environ, CSUITE_SCALE=str(self.host.scale), CSUITE_PATIENCE="100", SWIFT_BACKTRACE="enable=no")
        if self.host.within:
            env.update(HOST=self.host.within, HOST_COPY=os.path.abspath(self.options.copy),
                       HOST_PRELOAD=os.path.abspath(self.options.within))
        if self.host.preload:
            env.update(HOST_PRELOAD=os.path.abspath(self.options.repeating), REFUSE_ONE_IN="3")
        return env

    def start(self, tests, root):
        env = dict(self.environment(), HOST_ROOT=root)
        command = [self.options.launch, self.host.launch, os.path.abspath(self.options.csuite), *([] if tests == self.listed else tests)]
        process = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 errors="replace", timeout=3000)
        return process

    def take(self, tests):
        """Runs them to the end; gives what has no result yet."""
        with tempfile.TemporaryDirectory() as root:
            process = self.start(tests, root)
        lines = [line for line in process.stdout.splitlines() if line]
        for line in lines:
            match = RESULT.match(line)
            if match and match.group(2) in tests:
                self.results[match.group(2)] = (match.group(1), line)
        self.notes = process.stderr.strip().splitlines()[-1:]
        if process.returncode == NOT_PERMITTED and not self.results:
            self.not_permitted = lines[-1] if lines else "not permitted here"
            return []
        left = [test for test in tests if test not in self.results]
        if not left:
            if process.returncode not in (0, 1):
                self.results["the end of the process"] = (
                    "FAILED", f"FAILED the end of the process: status {process.returncode} {lines[-1:]} {self.notes}")
            return []
        status = process.returncode
        said = "; ".join(process.stderr.strip().splitlines()[-2:])
        self.results[left[0]] = ("FAILED", f"FAILED {left[0]}: the process ended with {status} {said}")
        return left[1:]

    def all(self, names):
        begun = time.monotonic()
        self.listed = names
        left = []
        for name in names:
            reason = reason_to_skip(self.host, name)
            if reason:
                self.results[name] = ("skipped", f"skipped {name}: {reason}")
            else:
                left.append(name)
        tries = 0
        while left and tries < 20:
            left = self.take(left)
            tries += 1
        for name in left:
            self.results[name] = ("FAILED", f"FAILED {name}: not run, after so many ends of the process")
        self.seconds = time.monotonic() - begun

    def counts(self):
        found = {"ok": 0, "status": 0, "skipped": 0, "FAILED": 0}
        failures = []
        for kind, line in self.results.values():
            if kind == "FAILED" and self.host.status and ANSWERED.match(line):
                kind = "status"
            found[kind] += 1
            if kind == "FAILED":
                failures.append(line)
        return found, failures


def main():
    parser = argparse.ArgumentParser()
    for name in ("csuite", "launch", "within", "repeating", "copy"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--tests", default="")
    parser.add_argument("hosts", nargs="*")
    options = parser.parse_args()
    listed = subprocess.run([options.csuite, "--list"], capture_output=True, text=True, check=True).stdout.split()
    if options.tests:
        listed = [test for test in listed if fnmatch.fnmatch(test, options.tests)]
    hosts = HOSTS + (list(refusals()) if options.all or options.hosts else [])
    if options.hosts:
        hosts = [host for host in hosts if any(fnmatch.fnmatch(host.name, name) for name in options.hosts)]
    elif not options.all:
        hosts = [host for host in hosts if host.fast]
    failed = []

    def run_one(host):
        run = Run(host, options)
        run.all(listed)
        return run

    # The suite sleeps most of the time.
    pool = concurrent.futures.ThreadPoolExecutor(3)
    for host, run in zip(hosts, pool.map(run_one, hosts)):
        counts, failures = run.counts()
        if run.not_permitted:
            print(f"skipped {host.name}: {run.not_permitted}", flush=True)
            continue
        verdict = "FAILED" if failures else "ok"
        note = f"; {run.notes[0]}".replace("allocations", "threads") if run.notes else ""
        if options.table:
            print(f"| `{host.name}` | {host.says} | {counts['ok']} | {counts['status']} | {counts['skipped']} |"
                  f" {counts['FAILED']} |", flush=True)
        else:
            print(f"{verdict} {host.name}: {counts['ok']} hold, {counts['status']} answer a status, "
                  f"{counts['skipped']} skipped, {counts['FAILED']} failed ({run.seconds:.0f} s{note})", flush=True)
        for line in failures:
            print(f"  {line}", flush=True)
        if failures:
            failed.append(host.name)
    if failed:
        print("FAILED: " + " ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
