/*
 * POSIX timers (timer_create), one for each timer, that queue a signal; one thread waits for the signals. They have no
 * queue: all are the process's. Thread-safe; the kernel keeps them, and as many signals as there are timers.
 */
#include "kernel.h"

#include <errno.h>
#include <signal.h>

const int peer_traits = PEER_THREAD_SAFE | PEER_IN_KERNEL;

static timer_t *timers;
static sigset_t signals;

void peer_open(size_t count) {
  sigemptyset(&signals);
  sigaddset(&signals, SIGRTMIN);
  REQUIRE(sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
  raise_limit(RLIMIT_SIGPENDING);
}

static timer_t new_timer(size_t i) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = (void *)i};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    REQUIRE(errno == EAGAIN);
    bench_leave_out("the limit of pending signals (RLIMIT_SIGPENDING)");
  }
  return timer;
}

static void set(timer_t timer, int64_t due_ns, int64_t interval_ns) {
  struct itimerspec spec = expiration(due_ns, interval_ns);
  REQUIRE(timer_settime(timer, TIMER_ABSTIME, &spec, NULL) == 0);
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  if (count > MOST_TIMERS) bench_leave_out("as many pending signals are more than systems permit");
  for (size_t i = 0; i < count; i++) {
    timers[i] = new_timer(i);
    set(timers[i], bench.base_ns + offsets[i].ns, 0);
  }
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    timer_t timer = new_timer(i);
    set(timer, bench.base_ns + offsets[i].ns, 0);
    REQUIRE(timer_delete(timer) == 0);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) set(timers[which[i]], bench.base_ns + offsets[i].ns, 0);
}

void peer_run(void) {
  siginfo_t info;
  while (!bench.done) {
    if (sigwaitinfo(&signals, &info) < 0) continue; /* another signal */
    if (bench.interval_ns > 0) bench_beat((uint64_t)info.si_overrun + 1);
    else bench_tick((size_t)info.si_value.sival_ptr);
  }
}

void peer_repeat(int64_t interval_ns) { set(new_timer(0), bench.base_ns + interval_ns, interval_ns); }
