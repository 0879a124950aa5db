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

void bench_result(const char *name, double value) {
  printf("%s\"%s\": %.6g", separator, name, value);
  separator = ", ";
}

static int ascending(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

void bench_quantiles(const char *name, int64_t *values, size_t count) {
  size_t percent;
  qsort(values, count, sizeof *values, ascending);
  printf("%s\"%s\": [", separator, name);
  for (percent = 0; percent <= 100; percent++)
    printf("%s%.6g", percent ? ", " : "", (double)values[percent * (count - 1) / 100]);
  printf("]");
  separator = ", ";
}

void bench_list(const char *name, const double *values, size_t count) {
  size_t i;
  printf("%s\"%s\": [", separator, name);
  for (i = 0; i < count; i++) printf("%s%.6g", i ? ", " : "", values[i]);
  printf("]");
  separator = ", ";
}

static void end_line(void) {
  printf("}\n");
  fflush(stdout);
  _exit(EXIT_SUCCESS); /* what threads of the peer do at exit is not the subject */
}

void bench_leave_out(const char *reason) {
  printf("%s\"left_out\": \"%s\"", separator, reason);
  end_line();
}

static void on_alarm(int signal) {
  char text[128];
  int length = snprintf(text, sizeof text, "%llu of %llu ticks came in time\n", (unsigned long long)bench.seen,
                        (unsigned long long)bench.expected);
  (void)signal;
  if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(EXIT_FAILURE);
  _exit(EXIT_FAILURE);
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

void bench_set_offset(bench_offset *offset, int64_t ns) {
  offset->ns = ns;
  offset->seconds = (double)ns * 1e-9;
}

bench_offset *bench_random_offsets(size_t count, int64_t least_ns, int64_t range_ns) {
  bench_offset *offsets = bench_allocate((count + 1) * sizeof *offsets);
  size_t i;
  for (i = 0; i < count; i++) bench_set_offset(&offsets[i], least_ns + (int64_t)(bench_random() % (uint64_t)range_ns));
  return offsets;
}

void *bench_allocate(size_t size) {
  void *memory = malloc(size);
  REQUIRE(memory != NULL);
  return memset(memory, 1, size);
}

int64_t bench_cpu_ns(void) {
  struct timespec used;
  REQUIRE(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
  return (int64_t)used.tv_sec * BENCH_SECOND + used.tv_nsec;
}

void bench_begin(const bench_offset *offsets, size_t count) {
  bench.offsets = offsets;
  bench_this_peer.open(1);
  bench.base_ns = bench_now_ns();
  bench_this_peer.fill(offsets, count);
  if (bench_this_peer.settle != NULL) bench_this_peer.settle();
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static const bench_load *const all_loads[] = {cost_loads, tick_loads, memory_loads, shared_loads};
enum { LISTS = sizeof all_loads / sizeof *all_loads };

static void describe(void) {
  const bench_load *load;
  const char *comma = "";
  size_t i;
  printf("{\"version\": \"%s\", \"thread_safe\": %s, \"loads\": [", bench_this_peer.version(),
         bench_this_peer.thread_safe ? "true" : "false");
  for (i = 0; i < LISTS; i++) {
    for (load = all_loads[i]; load->name != NULL; load++) {
      if (!load->applies()) continue;
      printf("%s\"%s\"", comma, load->name);
      comma = ", ";
    }
  }
  printf("]");
  end_line();
}

static const bench_load *find(const char *name) {
  const bench_load *load;
  size_t i;
  for (i = 0; i < LISTS; i++)
    for (load = all_loads[i]; load->name != NULL; load++)
      if (strcmp(load->name, name) == 0 && load->applies()) return load;
  fprintf(stderr, "%s: no load of this peer\n", name);
  exit(EXIT_FAILURE);
}

static void read_option(const char *text, bench_request *request) {
  const char *value = strchr(text, '=');
  size_t length = value == NULL ? 0 : (size_t)(value - text);
  double number = value == NULL ? 0 : atof(value + 1);
  if (length == 7 && strncmp(text, "pending", length) == 0) request->pending = (size_t)number;
  else if (length == 10 && strncmp(text, "operations", length) == 0) request->operations = (size_t)number;
  else if (length == 7 && strncmp(text, "seconds", length) == 0) request->seconds = number;
  else if (length == 6 && strncmp(text, "leeway", length) == 0) bench.leeway_ns = (int64_t)number;
  else bench_fail("an option that harness.c names", text, 0);
}

int main(int argc, char **argv) {
  bench_request request = {1000, 100000, 1};
  const bench_load *load;
  int i;
  if (argc < 2) {
    fprintf(stderr, "usage: %s describe | LOAD [pending=N] [operations=N] [seconds=X] [leeway=NANOSECONDS]\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (strcmp(argv[1], "describe") == 0) describe();
  load = find(argv[1]);
  for (i = 2; i < argc; i++) read_option(argv[i], &request);
  REQUIRE(sem_init(&finished, 0, 0) == 0);
  REQUIRE(signal(SIGALRM, on_alarm) != SIG_ERR);
  alarm(LONGEST_TURN_S);
  load->work(&request);
  end_line();
}
