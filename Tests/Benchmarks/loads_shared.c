/*
 * What threads cost that look at timers, or wait for handlers, while a queue works. Peers without such calls have none.
 *
 * queries: a timer's info, and its next deadline, of random ones of `pending` timers that are due within 1 to 600 s.
 *     info, next: nothing else happens; info_beside, next_beside: a thread drives the queue, on which a timer of 1 ms
 *     ticks. ns: wall time of the asking thread for each call
 * passes: visits of the queue to its timers that `operations` infos of random ones of `pending` timers caused, of which
 *     none is due
 * waits: `operations` one-shots spread over `seconds`, so that nearly each is a wake-up of its own, while no thread,
 *     one and eight wait for handlers of other queues that do not return. ns: CPU time of all threads for each tick
 */
#include "loads.h"

#include <pthread.h>
#include <unistd.h>

enum { BEAT_NS = 1000000, PAUSE_US = 20000 };

static const uint32_t *which;
static size_t count;

/** Lets the queue work until `ask`, on a thread of its own, calls bench_finish. The thread that has opened the queue
 * drives it, as some queues require. */
static void run_beside(void *(*ask)(void *)) {
  pthread_t asking;
  REQUIRE(pthread_create(&asking, NULL, ask, NULL) == 0);
  peer_run();
  REQUIRE(pthread_join(asking, NULL) == 0);
}

static void begin(const bench_request *request) {
  count = request->operations;
  which = bench_random_indexes(count, request->pending);
  bench_begin(bench_random_offsets(request->pending, BENCH_SECOND, 599 * BENCH_SECOND), request->pending);
}

static void beat(void) {
  bench.interval_ns = BEAT_NS;
  peer_repeat(BEAT_NS);
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

static void time_asking(const char *name, bench_asking *ask) {
  int64_t begun_ns;
  ask(which, count / 10);
  begun_ns = bench_now_ns();
  ask(which, count);
  bench_result(name, (double)(bench_now_ns() - begun_ns) / (double)count);
}

static void *ask_beside(void *context) {
  usleep(PAUSE_US);
  time_asking("info_beside", peer_ask_info);
  time_asking("next_beside", peer_ask_next);
  bench_finish();
  return context;
}

void queries_load(const bench_request *request) {
  begin(request);
  time_asking("info", peer_ask_info);
  time_asking("next", peer_ask_next);
  beat();
  run_beside(ask_beside);
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static void *ask_for_passes(void *context) {
  uint64_t passes;
  usleep(PAUSE_US);
  passes = peer_passes();
  peer_ask_info(which, count);
  usleep(PAUSE_US);
  bench_result("passes", (double)(peer_passes() - passes));
  bench_finish();
  beat(); /* for a loop that waits: it sees that all is done */
  return context;
}

void passes_load(const bench_request *request) {
  begin(request);
  run_beside(ask_for_passes);
}

/* ---- Waits ------------------------------------------------------------------------------------------------------- */

static void time_ticks(const char *name, const bench_request *request) {
  const int64_t allowed_ns = BENCH_SECOND / 10;
  const bench_offset *offsets =
      bench_random_offsets(request->operations, allowed_ns, (int64_t)(request->seconds * 1e9));
  int64_t cpu_ns;
  bench.late_ns = bench_allocate(request->operations * sizeof *bench.late_ns);
  bench.expected = request->operations;
  bench.seen = 0;
  bench.done = 0;
  bench_fill(offsets, request->operations);
  cpu_ns = bench_cpu_ns();
  peer_run();
  bench_result(name, (double)(bench_cpu_ns() - cpu_ns) / (double)request->operations);
}

void waits_load(const bench_request *request) {
  peer_open(1);
  time_ticks("none", request);
  peer_hold(1);
  time_ticks("one", request);
  peer_hold(7);
  time_ticks("eight", request);
}
