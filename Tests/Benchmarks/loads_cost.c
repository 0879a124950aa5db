/*
 * What calls cost, in nanoseconds for each operation.
 *
 * create, create_until:    timers that are due at random within 1 to 600 s, among pending ones that are, too
 * postpone, postpone_until, reschedule: random ones of the pending timers.
 *     seconds=30, an idle timeout: they are due at random within 29 to 30 s, and each touch sets one to 30 s, a
 *     microsecond later than the touch before;
 *     seconds=600, by minutes: they are due at random within 1 to 600 s, and each is set to 600 s
 * memory: bytes by which the process's resident memory grew for each pending timer, handles included
 * threads: create + start + cancel + release by one thread, by two threads on one queue, and by two threads on two
 *
 * ns: wall time of the calling thread. cpu_ns: of all threads of the process, until the work that was left to others is
 * done. threads: millions of operations a second, of both threads together.
 */
#include "loads.h"

#include <pthread.h>
#include <unistd.h>

static int64_t begun_wall_ns, begun_cpu_ns;

static void start_clocks(void) {
  begun_cpu_ns = bench_cpu_ns();
  begun_wall_ns = bench_now_ns();
}

static void stop_clocks(size_t operations) {
  double wall_ns = (double)(bench_now_ns() - begun_wall_ns);
  bench_settle();
  bench_result("ns", wall_ns / (double)operations);
  bench_result("cpu_ns", (double)(bench_cpu_ns() - begun_cpu_ns) / (double)operations);
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static void measure_create(const bench_request *request, bench_creating *create) {
  const bench_offset *pending = bench_random_offsets(request->pending, BENCH_SECOND, 599 * BENCH_SECOND);
  const bench_offset *created = bench_random_offsets(request->operations, BENCH_SECOND, 599 * BENCH_SECOND);
  bench_begin(pending, request->pending);
  create(0, created, request->operations / 10); /* memory is there, caches are warm */
  bench_settle();
  start_clocks();
  create(0, created, request->operations);
  stop_clocks(request->operations);
}

void create_load(const bench_request *request) { measure_create(request, peer_create); }
void create_until_load(const bench_request *request) { measure_create(request, peer_create_until); }

/* ---- Postponing -------------------------------------------------------------------------------------------------- */

/** Looks whether timers stand where the load has put them. */
static void check(const uint32_t *which, const bench_offset *moved, size_t count) {
  if (peer_due_ns == NULL || bench.seen > 0) return;
  for (size_t i = count > 100 ? count - 100 : 0; i < count; i++) {
    int64_t late_ns = peer_due_ns(which[i]) - moved[i].ns;
    REQUIRE(late_ns > -20000000 && late_ns < 60 * BENCH_SECOND); /* who counts from now is later by the turn */
  }
}

static void measure_moving(const bench_request *request, bench_moving *move) {
  const int64_t fill_ns = (int64_t)request->seconds * BENCH_SECOND;
  const int64_t least_ns = fill_ns == 30 * BENCH_SECOND ? 29 * BENCH_SECOND : BENCH_SECOND;
  const bench_offset *pending = bench_random_offsets(request->pending, least_ns, fill_ns - least_ns);
  bench_offset *moved = bench_allocate(request->operations * sizeof *moved);
  const uint32_t *which = bench_random_indexes(request->operations, request->pending);
  for (size_t i = 0; i < request->operations; i++) moved[i] = bench_offset_of(fill_ns + (int64_t)i * 1000);
  bench_begin(pending, request->pending);
  start_clocks();
  move(which, moved, request->operations);
  stop_clocks(request->operations);
  check(which, moved, request->operations);
}

void postpone_load(const bench_request *request) { measure_moving(request, peer_postpone); }
void postpone_until_load(const bench_request *request) { measure_moving(request, peer_postpone_until); }
void reschedule_load(const bench_request *request) { measure_moving(request, peer_reschedule); }

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

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

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static const bench_offset *thread_offsets;
static size_t thread_operations;
static pthread_barrier_t together;

typedef struct bench_thread {
  pthread_t id;
  size_t queue;
  int64_t begun_ns, ended_ns;
} bench_thread;

static void *create_on_queue(void *context) {
  bench_creating *create = peer_create_until ? peer_create_until : peer_create;
  bench_thread *thread = context;
  create(thread->queue, thread_offsets, thread_operations / 10);
  pthread_barrier_wait(&together); /* all are warm */
  thread->begun_ns = bench_now_ns();
  create(thread->queue, thread_offsets, thread_operations);
  thread->ended_ns = bench_now_ns();
  return NULL;
}

/** Millions of operations a second, from the first thread's beginning to the last one's end. */
static double rate(size_t count, size_t second_queue) {
  bench_thread threads[2] = {{.queue = 0}, {.queue = second_queue}};
  int64_t begun_ns = INT64_MAX, ended_ns = 0;
  REQUIRE(pthread_barrier_init(&together, NULL, (unsigned)count) == 0);
  for (size_t i = 0; i < count; i++) REQUIRE(pthread_create(&threads[i].id, NULL, create_on_queue, &threads[i]) == 0);
  for (size_t i = 0; i < count; i++) {
    REQUIRE(pthread_join(threads[i].id, NULL) == 0);
    if (threads[i].begun_ns < begun_ns) begun_ns = threads[i].begun_ns;
    if (threads[i].ended_ns > ended_ns) ended_ns = threads[i].ended_ns;
  }
  REQUIRE(pthread_barrier_destroy(&together) == 0);
  bench_settle();
  return (double)(count * thread_operations) * 1e3 / (double)(ended_ns - begun_ns);
}

void threads_load(const bench_request *request) {
  thread_offsets = bench_random_offsets(request->operations, BENCH_SECOND, 599 * BENCH_SECOND);
  thread_operations = request->operations;
  peer_open(2);
  bench.base_ns = bench_now_ns();
  bench_result("one", rate(1, 0));
  bench_result("shared", rate(2, 0));
  bench_result("own", rate(2, 1));
}
