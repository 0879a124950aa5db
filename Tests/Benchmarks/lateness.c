/*
 * How late a timer of 10 ms ticks: Chime's queues beside the bare mechanisms that they stand on, in turns.
 *
 *     lateness [-r rounds] [-n ticks-a-turn]
 *
 * Lateness: from the time a tick was due, on the grid that the first one began, to the clock's reading in its handler.
 * p50, p90, p99, worst: of all ticks of all rounds, in microseconds. x bare: p50 divided by that of the bare mechanism
 * above it. drift: of the last due time against first + k x interval, worst round, in nanoseconds.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <chime.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL (10 * CHIME_MILLISECOND)

enum { MOST_TICKS = 100000 };

static size_t rounds = 3, ticks = 150;

typedef struct way {
  const char *name;
  const char *bare; /* the mechanism it stands on; NULL: it is one */
  void (*turn)(struct way *way);
  double late_us[MOST_TICKS];
  size_t count;
  int64_t drift_ns;
  double p50;
} way;

static int64_t now_ns(void) {
  struct timespec now;
  REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return (int64_t)now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

static struct timespec timespec_of(int64_t ns) {
  struct timespec time = {ns / CHIME_SECOND, ns % CHIME_SECOND};
  return time;
}

static void note(way *way, int64_t due_ns) {
  REQUIRE(way->count < MOST_TICKS);
  way->late_us[way->count++] = (double)(now_ns() - due_ns) / 1e3;
}

/* ---- The bare mechanisms ----------------------------------------------------------------------------------------- */

static void epoll_turn(way *way) {
  int loop = epoll_create1(0), file = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN};
  int64_t due = now_ns() + INTERVAL;
  size_t i;
  REQUIRE(loop >= 0 && file >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, file, &event) == 0);
  for (i = 0; i < ticks; i++, due += INTERVAL) {
    struct itimerspec spec = {.it_value = timespec_of(due)};
    REQUIRE(timerfd_settime(file, TFD_TIMER_ABSTIME, &spec, NULL) == 0);
    REQUIRE(epoll_wait(loop, &event, 1, -1) == 1);
    note(way, due);
    while (due + INTERVAL <= now_ns()) due += INTERVAL;
  }
  close(file);
  close(loop);
}

static void nanosleep_turn(way *way) {
  int64_t due = now_ns() + INTERVAL;
  size_t i;
  REQUIRE(prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0);
  for (i = 0; i < ticks; i++, due += INTERVAL) {
    struct timespec time = timespec_of(due);
    REQUIRE(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == 0);
    note(way, due);
    while (due + INTERVAL <= now_ns()) due += INTERVAL;
  }
  REQUIRE(prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL) == 0); /* the default again */
}

/* ---- Chime ------------------------------------------------------------------------------------------------------- */

static int64_t first_ns;
static size_t seen;
static sem_t all_seen;

static void on_tick(const chime_tick *tick, void *context) {
  way *way = context;
  int64_t drift;
  note(way, tick->scheduled_ns);
  if (seen++ == 0) first_ns = tick->scheduled_ns;
  drift = (tick->scheduled_ns - first_ns) % INTERVAL;
  if (drift > way->drift_ns) way->drift_ns = drift;
  if (seen == ticks) REQUIRE(sem_post(&all_seen) == 0);
}

static void start(way *way, chime_queue_t queue) {
  chime_timer_t timer;
  seen = 0;
  REQUIRE(sem_init(&all_seen, 0, 0) == 0);
  REQUIRE(chime_timer_every(queue, INTERVAL, on_tick, way, NULL, &timer) == CHIME_OK);
}

static void thread_turn(way *way, chime_queue_kind kind) {
  chime_queue_t queue;
  REQUIRE(chime_queue_create(kind, NULL, &queue) == CHIME_OK);
  start(way, queue);
  while (sem_wait(&all_seen) != 0) continue;
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER) == CHIME_OK);
}

static void precise_turn(way *way) { thread_turn(way, CHIME_QUEUE_PRECISE); }
static void serial_turn(way *way) { thread_turn(way, CHIME_QUEUE_SERIAL); }

static void host_turn(way *way) {
  chime_queue_t queue;
  int32_t file;
  int loop = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  REQUIRE(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue) == CHIME_OK);
  REQUIRE(chime_queue_fd(queue, &file) == CHIME_OK);
  REQUIRE(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, file, &event) == 0);
  start(way, queue);
  while (seen < ticks) {
    REQUIRE(epoll_wait(loop, &event, 1, -1) == 1);
    REQUIRE(chime_queue_process(queue, 0, NULL) == CHIME_OK);
  }
  close(loop);
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER) == CHIME_OK);
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

static way ways[] = {
    {.name = "timerfd + epoll", .turn = epoll_turn},
    {.name = "Chime, host-driven", .bare = "timerfd + epoll", .turn = host_turn},
    {.name = "clock_nanosleep, slack 1 ns", .turn = nanosleep_turn},
    {.name = "Chime, precise", .bare = "clock_nanosleep, slack 1 ns", .turn = precise_turn},
    {.name = "Chime, serial", .turn = serial_turn},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int ascending(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

static double bare_p50(const char *name) {
  size_t i;
  for (i = 0; name != NULL && i < WAYS; i++) {
    if (strcmp(ways[i].name, name) == 0) return ways[i].p50;
  }
  return 0;
}

int main(int argc, char **argv) {
  size_t i, round;
  int option;
  while ((option = getopt(argc, argv, "r:n:")) != -1) {
    if (option == 'r') rounds = strtoul(optarg, NULL, 10);
    else if (option == 'n') ticks = strtoul(optarg, NULL, 10);
    else return EXIT_FAILURE;
  }
  REQUIRE(rounds > 0 && ticks > 0 && rounds * ticks <= MOST_TICKS);
  for (round = 0; round < rounds; round++) {
    for (i = 0; i < WAYS; i++) ways[i].turn(&ways[i]);
  }
  printf("lateness of a 10 ms timer, %zu ticks each, us\n", rounds * ticks);
  printf("%-30s%8s%8s%8s%10s%8s%10s\n", "", "p50", "p90", "p99", "worst", "x bare", "drift ns");
  for (i = 0; i < WAYS; i++) {
    way *way = &ways[i];
    double bare = bare_p50(way->bare);
    qsort(way->late_us, way->count, sizeof *way->late_us, ascending);
    REQUIRE(way->late_us[0] >= 0); /* never early */
    way->p50 = way->late_us[way->count / 2];
    printf("%-30s%8.1f%8.1f%8.1f%10.1f", way->name, way->p50, way->late_us[way->count * 9 / 10],
           way->late_us[way->count * 99 / 100], way->late_us[way->count - 1]);
    if (bare > 0) printf("%8.2f", way->p50 / bare);
    else printf("%8s", "-");
    printf("%10lld\n", (long long)way->drift_ns);
  }
  return EXIT_SUCCESS;
}
