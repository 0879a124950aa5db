/*
 * Measures Chime beside its peers and beside floors: nanoseconds for each operation, on one thread, in one process.
 *
 *     benchmark [-r rounds] [-n operations] [-p most-pending]
 *
 * For each load the peers take turns, round by round, so that a change of the machine's mood meets all of them. A turn
 * makes its timers anew, so that those that are pending are still so when the time is taken. All peers are given the
 * same random numbers.
 *
 * create:    timers that are due at random within 1 to 600 s, among pending ones that are, too
 * touch:     an idle timeout of 30 s: pending timers are due at random within 29 to 30 s; each touch sets one to 30 s
 *            from then on, a microsecond after the touch before
 * postpone:  the same by minutes: pending timers are due at random within 1 to 600 s; each is set to 600 s
 *
 * min, median: of the rounds, wall time of the calling thread.
 * CPU: of all threads of the process, until the work that was left to others is done; the smallest of the rounds.
 * x libev, x floor: the smallest time of this row divided by the smallest of libev's row or of the floor's.
 */
#include "harness.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROUNDS = 100, MOST_ROWS = 12, MILLION = 1000000 };

static const bench_peer *const peers[] = {
    &chime_deadline_peer,
    &chime_delay_peer,
#ifdef HAVE_LIBEV
    &libev_peer,
#endif
#ifdef HAVE_LIBEVENT
    &libevent_peer,
#endif
};
enum { PEERS = sizeof peers / sizeof *peers };

static size_t rounds = 7, operations = MILLION, most_pending = MILLION;
static bench_offset *spread_offsets, *idle_offsets;                       /* of pending timers */
static bench_offset *created_offsets, *touched_offsets, *postponed_offsets; /* of operations */
static uint32_t *which; /* random numbers; below the number of pending timers once a load has cut them */
static uint64_t fired;

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/** xorshift64*: Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016. */
static uint64_t random_number(void) {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

static void set_offset(bench_offset *offset, int64_t ns) {
  offset->ns = ns;
  offset->seconds = (double)ns * 1e-9;
}

/** Offsets at random from least_ns on, within range_ns. */
static bench_offset *random_offsets(size_t count, int64_t least_ns, int64_t range_ns) {
  bench_offset *offsets = malloc(count * sizeof *offsets);
  size_t i;
  REQUIRE(offsets != NULL);
  for (i = 0; i < count; i++) set_offset(&offsets[i], least_ns + (int64_t)(random_number() % (uint64_t)range_ns));
  return offsets;
}

/** Offsets from least_ns on, a microsecond apart. */
static bench_offset *rising_offsets(size_t count, int64_t least_ns) {
  bench_offset *offsets = malloc(count * sizeof *offsets);
  size_t i;
  REQUIRE(offsets != NULL);
  for (i = 0; i < count; i++) set_offset(&offsets[i], least_ns + (int64_t)i * 1000);
  return offsets;
}

static void make_numbers(void) {
  const int64_t second = 1000000000;
  spread_offsets = random_offsets(most_pending, second, 599 * second);
  idle_offsets = random_offsets(most_pending, 29 * second, second);
  created_offsets = random_offsets(operations, second, 599 * second);
  touched_offsets = rising_offsets(operations, 30 * second);
  postponed_offsets = rising_offsets(operations, 600 * second);
  which = malloc(operations * sizeof *which);
  REQUIRE(which != NULL);
}

/** The same sequence of timers for all peers of a load. */
static void choose(size_t pending) {
  size_t i;
  for (i = 0; i < operations; i++) which[i] = (uint32_t)((random_number() >> 32) * pending >> 32);
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static double clock_ns(clockid_t clock) {
  struct timespec now;
  REQUIRE(clock_gettime(clock, &now) == 0);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

static double least(double *times) {
  qsort(times, rounds, sizeof *times, ascending);
  return times[0];
}

static double median(double *times) {
  qsort(times, rounds, sizeof *times, ascending);
  return (times[(rounds - 1) / 2] + times[rounds / 2]) / 2;
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */

typedef enum load { CREATE, TOUCH, POSTPONE, LOADS } load;

static const char *const load_names[LOADS] = {"create + start + cancel + release", "touch a random timer",
                                              "postpone a random timer by minutes"};

/** One line of a table: a peer, or a floor. */
typedef struct row {
  const char *name;
  const bench_peer *peer;
  int floor_of_deadlines, floor_of_delays; /* which rows it is the floor of */
  double wall[MOST_ROUNDS], cpu[MOST_ROUNDS];
} row;

static row rows[MOST_ROWS];
static size_t row_count;

static row *add_row(const char *name, const bench_peer *peer) {
  row *added = &rows[row_count++];
  REQUIRE(row_count <= MOST_ROWS);
  memset(added, 0, sizeof *added);
  added->name = name;
  added->peer = peer;
  return added;
}

static const bench_offset *load_offsets(load load) { return load == TOUCH ? touched_offsets : postponed_offsets; }

static void work(load load, const row *row) {
  const bench_peer *peer = row->peer;
  if (peer != NULL && load == CREATE) peer->create(created_offsets, operations);
  else if (peer != NULL) peer->postpone(which, load_offsets(load), operations);
  else if (load == CREATE) floor_three_swaps(operations);
  else if (row->floor_of_deadlines) floor_record_swaps(which, operations);
  else floor_clock_and_swap(operations);
}

/** Looks whether timers stand where the load has put them. */
static void check(load load, const bench_peer *peer) {
  size_t i, first = operations > 100 ? operations - 100 : 0;
  if (load == CREATE || (peer->fired != NULL && peer->fired() > 0)) return;
  for (i = first; i < operations; i++) {
    int64_t late_ns = peer->due_ns(which[i]) - load_offsets(load)[i].ns;
    REQUIRE(late_ns > -20000000 && late_ns < INT64_C(60000000000)); /* who counts from now is later by the turn */
  }
}

static void take_turn(load load, size_t pending, row *row, size_t round) {
  const bench_peer *peer = row->peer;
  double wall, cpu;
  if (peer != NULL) peer->begin(load == TOUCH ? idle_offsets : spread_offsets, pending);
  if (peer == NULL && load != CREATE) floor_begin(pending);

  cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  wall = clock_ns(CLOCK_MONOTONIC);
  work(load, row);
  row->wall[round] = (clock_ns(CLOCK_MONOTONIC) - wall) / (double)operations;
  if (peer != NULL && peer->settle != NULL) peer->settle();
  row->cpu[round] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)operations;

  if (peer != NULL) check(load, peer);
  if (peer != NULL && peer->fired != NULL) fired += peer->fired();
  if (peer != NULL) peer->end();
  if (peer == NULL && load != CREATE) floor_end();
}

static void print_ratio(const row *row, const struct row *other) {
  if (other == NULL || other == row)
    printf("%10s", "-");
  else
    printf("%10.2f", row->wall[0] / other->wall[0]);
}

static void print_table(load load, size_t pending) {
  row *libev = NULL, *deadline_floor = NULL, *delay_floor = NULL;
  double medians[MOST_ROWS];
  size_t i;
  for (i = 0; i < row_count; i++) {
    if (strcmp(rows[i].name, "libev") == 0) libev = &rows[i];
    if (rows[i].floor_of_deadlines) deadline_floor = &rows[i];
    if (rows[i].floor_of_delays) delay_floor = &rows[i];
    medians[i] = median(rows[i].wall);
    least(rows[i].cpu);
  }
  printf("\n%s, %zu pending\n", load_names[load], pending);
  printf("  %-38s%8s%8s%8s%10s%10s\n", "ns per operation", "min", "median", "CPU", "x libev", "x floor");
  for (i = 0; i < row_count; i++) {
    row *row = &rows[i];
    struct row *floor = row->peer == &chime_deadline_peer ? deadline_floor : delay_floor;
    printf("  %-38s%8.1f%8.1f%8.1f", row->name, row->wall[0], medians[i], row->cpu[0]);
    print_ratio(row, row->peer == NULL ? NULL : libev);
    print_ratio(row, row->peer == &chime_deadline_peer || row->peer == &chime_delay_peer ? floor : NULL);
    printf("\n");
  }
  fflush(stdout);
}

static void measure(load load, size_t pending) {
  size_t i, round;
  row *floor;
  row_count = 0;
  for (i = 0; i < PEERS; i++) add_row(peers[i]->name, peers[i]);
  if (load == CREATE) {
    floor = add_row("floor: 3 compare-and-swaps", NULL);
    floor->floor_of_deadlines = floor->floor_of_delays = 1;
  } else {
    add_row("floor: compare-and-swap, random record", NULL)->floor_of_deadlines = 1;
    add_row("floor: clock read, compare-and-swap", NULL)->floor_of_delays = 1;
  }
  choose(pending);
  for (round = 0; round < rounds; round++)
    for (i = 0; i < row_count; i++) take_turn(load, pending, &rows[(round + i) % row_count], round);
  print_table(load, pending);
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static size_t number(const char *text, size_t most) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (end == text || *end != 0 || value < 1 || value > most) {
    fprintf(stderr, "benchmark: %s: a number from 1 to %zu is expected\n", text, most);
    exit(EXIT_FAILURE);
  }
  return (size_t)value;
}

int main(int argc, char **argv) {
  static const size_t pending[] = {0, 1000, 100000, 1000000};
  load load;
  size_t i;
  int option;
  while ((option = getopt(argc, argv, "r:n:p:")) != -1) {
    if (option == 'r') rounds = number(optarg, MOST_ROUNDS);
    else if (option == 'n') operations = number(optarg, 100 * MILLION);
    else if (option == 'p') most_pending = number(optarg, 100 * MILLION);
    else return EXIT_FAILURE;
  }
  make_numbers();

  printf("%zu rounds of %zu operations; %ld processors", rounds, operations, sysconf(_SC_NPROCESSORS_ONLN));
  for (i = 0; i < PEERS; i++)
    if (peers[i] != &chime_delay_peer)
      printf("; %.*s %s", (int)strcspn(peers[i]->name, ","), peers[i]->name, peers[i]->version());
  printf("\n");
#ifndef HAVE_LIBEV
  printf("left out: libev, whose headers are missing (apt-get install libev-dev)\n");
#endif
#ifndef HAVE_LIBEVENT
  printf("left out: libevent, whose headers are missing (apt-get install libevent-dev)\n");
#endif

  for (load = CREATE; load < LOADS; load++)
    for (i = 0; i < sizeof pending / sizeof *pending; i++)
      if (pending[i] <= most_pending && (pending[i] > 0 || load == CREATE)) measure(load, pending[i]);
  if (fired > 0) printf("\n%llu pending timers of chime fired while they were measured\n", (unsigned long long)fired);
  return 0;
}
