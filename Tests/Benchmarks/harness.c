/*
 * The program around one peer: works through one load and prints one line of results, a JSON object.
 *
 *     peer-NAME describe                     the peer's version and the loads that apply to it
 *     peer-NAME LOAD [pending=N] [operations=N] [seconds=X] [leeway=NANOSECONDS]
 *
 * The process ends with the load and frees nothing: each turn begins in a fresh one, with the same random numbers.
 */
#include "loads.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_TURN_S = 120 };

bench_state bench;

static sem_t finished;
static const char *separator = "{";

void bench_finish(void) {
  __atomic_store_n(&bench.done, 1, __ATOMIC_RELEASE);
  REQUIRE(sem_post(&finished) == 0);
}

void bench_wait(void) {
  while (sem_wait(&finished) != 0) REQUIRE(errno == EINTR);
}

int bench_tick_call(size_t i) { return bench_tick(i); }
int bench_beat_call(uint64_t due_times) { return bench_beat(due_times); }

/* ---- Results ----------------------------------------------------------------------------------------------------- */

static void print_name(const char *name) {
  printf("%s\"%s\": ", separator, name);
  separator = ", ";
}

void bench_result(const char *name, double value) {
  print_name(name);
  printf("%.6g", value);
}

void bench_list(const char *name, const double *values, size_t count) {
  print_name(name);
  printf("[");
  for (size_t i = 0; i < count; i++) printf("%s%.6g", i ? ", " : "", values[i]);
  printf("]");
}

static int ascending(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

void bench_quantiles(const char *name, int64_t *values, size_t count) {
  double quantiles[101];
  qsort(values, count, sizeof *values, ascending);
  for (size_t percent = 0; percent <= 100; percent++) quantiles[percent] = (double)values[percent * (count - 1) / 100];
  bench_list(name, quantiles, 101);
}

static void end_line(void) {
  printf("}\n");
  fflush(stdout);
  _exit(EXIT_SUCCESS); /* what threads of the peer do at exit is not the subject */
}

void bench_leave_out(const char *reason) {
  print_name("left_out");
  printf("\"%s\"", reason);
  end_line();
}

static void on_alarm(int signal) {
  char text[128];
  int length = snprintf(text, sizeof text, "%llu of %llu ticks came in time\n", (unsigned long long)bench.seen,
                        (unsigned long long)bench.expected);
  _exit(write(STDERR_FILENO, text, (size_t)length) < 0 ? 2 : EXIT_FAILURE);
}

/* ---- Numbers and time -------------------------------------------------------------------------------------------- */

/* xorshift64*: Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016. */
uint64_t bench_random(void) {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

uint32_t *bench_random_indexes(size_t count, size_t end) {
  uint32_t *indexes = bench_allocate(count * sizeof *indexes);
  for (size_t i = 0; i < count; i++) indexes[i] = (uint32_t)((bench_random() >> 32) * end >> 32);
  return indexes;
}

bench_offset bench_offset_of(int64_t ns) { return (bench_offset){ns, (double)ns * 1e-9}; }

bench_offset *bench_random_offsets(size_t count, int64_t least_ns, int64_t range_ns) {
  bench_offset *offsets = bench_allocate((count + 1) * sizeof *offsets);
  for (size_t i = 0; i < count; i++)
    offsets[i] = bench_offset_of(least_ns + (int64_t)(bench_random() % (uint64_t)range_ns));
  return offsets;
}

void *bench_allocate(size_t size) {
  void *memory = malloc(size);
  REQUIRE(memory != NULL);
  return memset(memory, 1, size);
}

void bench_begin(const bench_offset *offsets, size_t count) {
  peer_open(1);
  bench_fill(offsets, count);
}

void bench_fill(const bench_offset *offsets, size_t count) {
  bench.offsets = offsets;
  bench.base_ns = bench_now_ns();
  peer_fill(offsets, count);
  bench_settle();
}

void bench_settle(void) {
  if (peer_settle != NULL) peer_settle();
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/** The load of that name; NULL: prints the names of all. Only those that the peer has what it takes for. */
static bench_load *find(const char *name) {
  const int is_thread_safe = (peer_traits & PEER_THREAD_SAFE) != 0, is_in_kernel = (peer_traits & PEER_IN_KERNEL) != 0;
  const int expires = peer_fill != NULL && peer_run != NULL, repeats = peer_repeat != NULL && peer_run != NULL;
  const struct {
    const char *name;
    bench_load *work;
    int applies;
  } loads[] = {
      {"create", create_load, peer_create != NULL},
      {"create_until", create_until_load, peer_create_until != NULL},
      {"postpone", postpone_load, peer_postpone != NULL},
      {"postpone_until", postpone_until_load, peer_postpone_until != NULL},
      {"reschedule", reschedule_load, peer_reschedule != NULL},
      {"threads", threads_load, is_thread_safe && peer_create != NULL && peer_run != NULL},
      {"expiry", expiry_load, expires},
      {"beat", beat_load, repeats},
      {"missed", missed_load, repeats},
      {"memory", memory_load, expires && !is_in_kernel},
  };
  const char *comma = "";
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
    if (!loads[i].applies) continue;
    if (name != NULL && strcmp(loads[i].name, name) == 0) return loads[i].work;
    if (name == NULL) printf("%s\"%s\"", comma, loads[i].name);
    comma = ", ";
  }
  return NULL;
}

static void describe(void) {
  printf("{\"version\": \"");
  peer_print_version();
  printf("\", \"thread_safe\": %s, \"loads\": [", peer_traits & PEER_THREAD_SAFE ? "true" : "false");
  find(NULL);
  printf("]");
  end_line();
}

static void read_option(const char *text, bench_request *request) {
  double number;
  if (sscanf(text, "pending=%lf", &number) == 1) request->pending = (size_t)number;
  else if (sscanf(text, "operations=%lf", &number) == 1) request->operations = (size_t)number;
  else if (sscanf(text, "seconds=%lf", &number) == 1) request->seconds = number;
  else if (sscanf(text, "leeway=%lf", &number) == 1) bench.leeway_ns = (int64_t)number;
  else bench_fail("an option that harness.c names", text, 0);
}

int main(int argc, char **argv) {
  bench_request request = {1000, 100000, 1};
  bench_load *load;
  if (argc < 2) {
    fprintf(stderr, "usage: %s describe | LOAD [pending=N] [operations=N] [seconds=X] [leeway=NANOSECONDS]\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (strcmp(argv[1], "describe") == 0) describe();
  load = find(argv[1]);
  if (load == NULL) bench_fail("a load of this peer", argv[1], 0);
  for (int i = 2; i < argc; i++) read_option(argv[i], &request);
  REQUIRE(sem_init(&finished, 0, 0) == 0);
  REQUIRE(signal(SIGALRM, on_alarm) != SIG_ERR);
  alarm(LONGEST_TURN_S);
  load(&request);
  end_line();
}
