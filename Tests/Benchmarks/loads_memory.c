/*
 * What timers need.
 *
 * memory: bytes: how much the process's resident memory grew for each pending timer, handles included
 * churn: a million timers a second, started with a timeout of 30 s and cancelled 10 ms later, so that 10,000 are alive,
 *     for `seconds`. The queue is given the chance to work once in 10 ms. rss_*: resident memory, in megabytes, after
 *     the first second, in the middle and at the end; rate: of timers, in millions a second; busy: processors used
 */
#include "loads.h"

#include <unistd.h>

static double resident_bytes(void) {
  unsigned long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file != NULL && fscanf(file, "%lu %lu", &size, &resident) == 2);
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void memory_load(const bench_request *request) {
  const bench_offset *offsets = bench_random_offsets(request->pending, 60 * BENCH_SECOND, 540 * BENCH_SECOND);
  double before;
  peer_open(1);
  before = resident_bytes();
  bench_fill(offsets, request->pending);
  bench_result("bytes", (resident_bytes() - before) / (double)request->pending);
}

/* ---- Churn ------------------------------------------------------------------------------------------------------- */

enum { ALIVE = 10000, BATCH = 1000, BATCH_NS = 1000000 };

void churn_load(const bench_request *request) {
  const int64_t timeout_ns = 30 * BENCH_SECOND;
  const bench_offset *offsets = bench_random_offsets(ALIVE, timeout_ns, 1000);
  const size_t batches = (size_t)(request->seconds * 1e9 / BATCH_NS), warm = batches < 2000 ? batches / 2 : 1000;
  int64_t begun_ns, cpu_ns;
  double first = 0, middle = 0;
  bench_begin(offsets, ALIVE);
  begun_ns = bench_now_ns();
  cpu_ns = process_cpu_ns();
  for (size_t i = 0; i < batches; i++) {
    const struct timespec next = bench_timespec(begun_ns + (int64_t)i * BATCH_NS);
    if (i == warm) first = resident_bytes();
    if (i == batches / 2) middle = resident_bytes();
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    peer_replace(i * BATCH % ALIVE, BATCH, timeout_ns);
    if (i % (ALIVE / BATCH) == 0 && peer_poll != NULL) peer_poll();
  }
  bench_result("rate", (double)(batches * BATCH) * 1e3 / (double)(bench_now_ns() - begun_ns));
  bench_result("busy", (double)(process_cpu_ns() - cpu_ns) / (double)(bench_now_ns() - begun_ns));
  bench_result("rss_start", first / 1e6);
  bench_result("rss_middle", middle / 1e6);
  bench_result("rss_end", resident_bytes() / 1e6);
}
