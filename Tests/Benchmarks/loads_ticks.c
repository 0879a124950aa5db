/*
 * What happens when time passes.
 *
 * expiry: one-shots that are spread over one second, which begins `seconds` after the first is started (the driver
 *     gives more when that was not enough to start them all: "again"). cpu_ns: of all threads, for each tick, from then
 *     on; wall_s: until the last tick; late_ns: quantiles, a tick's handler against its due time; early: ticks before
 *     their time
 * beat: a timer of 10 ms. late_ns: quantiles, of `operations` ticks against the grid of the start
 * missed: a timer of `seconds` whose third handler takes 2.6 intervals. at_ms: when each handler was called, from the
 *     start; due_times: those that each call stands for, as far as the peer says
 */
#include "loads.h"

static void expect(size_t ticks) {
  bench.late_ns = bench_allocate(ticks * sizeof *bench.late_ns);
  bench.expected = ticks;
}

static void print_lateness(void) {
  size_t early = 0;
  for (size_t i = 0; i < bench.expected; i++) early += bench.late_ns[i] < 0;
  bench_result("early", (double)early);
  bench_quantiles("late_ns", bench.late_ns, bench.expected);
}

/* ---- Expiry ------------------------------------------------------------------------------------------------------ */

void expiry_load(const bench_request *request) {
  const int64_t allowed_ns = (int64_t)(request->seconds * 1e9);
  const bench_offset *offsets = bench_random_offsets(request->pending, allowed_ns, BENCH_SECOND);
  int64_t cpu_ns;
  expect(request->pending);
  bench_begin(offsets, request->pending);
  if (bench_now_ns() > bench.base_ns + allowed_ns) {
    bench_result("again", 1);
    return;
  }
  cpu_ns = bench_cpu_ns();
  peer_run();
  bench_result("cpu_ns", (double)(bench_cpu_ns() - cpu_ns) / (double)request->pending);
  bench_result("wall_s", (double)(bench_now_ns() - bench.base_ns - allowed_ns) * 1e-9);
  bench_result("fired", (double)bench.seen);
  print_lateness();
}

/* ---- A beat of 10 ms --------------------------------------------------------------------------------------------- */

static void run_beat(int64_t interval_ns) {
  bench.interval_ns = interval_ns;
  peer_open(1);
  bench.base_ns = bench_now_ns();
  peer_repeat(interval_ns);
  peer_run();
}

void beat_load(const bench_request *request) {
  expect(request->operations);
  run_beat(10000000);
  print_lateness();
}

/* ---- Missed ticks ------------------------------------------------------------------------------------------------ */

enum { SLOW_TICK = 3, MISSED_TICKS = 9 };

static double at_ms[MISSED_TICKS], due_times_of[MISSED_TICKS];
static size_t missed_seen;

static void on_missed_beat(uint64_t due_times) {
  if (missed_seen == MISSED_TICKS) return;
  at_ms[missed_seen] = (double)(bench_now_ns() - bench.base_ns) / 1e6;
  due_times_of[missed_seen] = (double)due_times;
  if (++missed_seen == SLOW_TICK) {
    struct timespec slow = bench_timespec(bench.interval_ns * 13 / 5);
    nanosleep(&slow, NULL);
  }
}

void missed_load(const bench_request *request) {
  expect(MISSED_TICKS);
  bench.on_beat = on_missed_beat;
  run_beat((int64_t)(request->seconds * 1e9));
  bench_list("at_ms", at_ms, MISSED_TICKS);
  bench_list("due_times", due_times_of, MISSED_TICKS);
}
