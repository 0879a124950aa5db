/*
 * queues.c - what many queues cost, beside few: a line for each load, with its ratio in this run.
 *
 *     build/queues            all
 *     build/queues making     a queue, with so many there
 *     build/queues calls      chime_queue_sync and chime_queue_async, beside so many queues
 *     build/queues turns      create, start, cancel, release by one thread on so many queues in turn
 *     build/queues timers     start and release of a million timers, on one queue and on a thousand
 *     build/queues memory     resident for a queue with one timer and with ten, and when such queues have ended
 *     build/queues clock      chime_queue_now; a restart in a handler by delay, by the tick's time, by chime_queue_now
 *
 * `make queues`, OLD=DIR for another libchime beside it, turn by turn.
 */
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "chime.h"
#include "harness.h"

enum { MOST = 60000, ROUNDS = 5 };

static chime_queue_t queues[MOST];
static int made;

static void on_tick(const chime_tick *tick, void *context) {}
static void on_call(void *context) { __atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED); }

static double resident(void) {
  unsigned long size = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file != NULL && fscanf(file, "%lu %lu", &size, &pages) == 2);
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void make_queues(int count) {
  for (; made < count; made++) REQUIRE(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queues[made]) == CHIME_OK);
}

static void end_queues(void) {
  while (made > 0) REQUIRE(chime_queue_shutdown(queues[--made], CHIME_FOREVER) == CHIME_OK);
}

static void print(const char *what, int count, double value, const char *unit, double first) {
  printf("%-34s %9d %10.1f %s", what, count, value, unit);
  if (first > 0) printf("  x %.2f", value / first);
  printf("\n");
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */

static void making(void) {
  static const int there[] = {1000, 7500, 60000};
  double first = 0;
  for (int i = 0; i < 3; i++) {
    double least = 1e9;
    for (int round = ROUNDS; round > 0; round--) {
      int64_t begun;
      make_queues(there[i] - 100 * round);
      begun = bench_now_ns();
      make_queues(there[i] - 100 * (round - 1));
      double us = (double)(bench_now_ns() - begun) / 100000;
      if (us < least) least = us;
    }
    print("making a queue, with so many", there[i], least, "us", first);
    if (i == 0) first = least;
  }
  end_queues();
}

static double call(chime_queue_t queue, int sync, int count) {
  int called = 0;
  int64_t begun = bench_now_ns();
  for (int i = 0; i < count; i++) {
    if (sync) REQUIRE(chime_queue_sync(queue, on_call, &called, CHIME_FOREVER) == CHIME_OK);
    else REQUIRE(chime_queue_async(queue, on_call, &called, NULL) == CHIME_OK);
  }
  double ns = (double)(bench_now_ns() - begun) / count;
  while (__atomic_load_n(&called, __ATOMIC_RELAXED) < count) usleep(100);
  return ns;
}

static void calls(void) {
  static const int there[] = {1, 10000, 30000};
  double first[2] = {0, 0};
  chime_queue_t serial;
  REQUIRE(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &serial) == CHIME_OK);
  for (int i = 0; i < 3; i++) {
    make_queues(there[i]);
    for (int sync = 0; sync < 2; sync++) {
      double least = 1e9;
      for (int round = 0; round < ROUNDS; round++) {
        double ns = call(serial, sync, 2000);
        if (ns < least) least = ns;
      }
      print(sync ? "chime_queue_sync, beside so many" : "chime_queue_async, beside so many", there[i], least, "ns",
            first[sync]);
      if (i == 0) first[sync] = least;
    }
  }
  end_queues();
  REQUIRE(chime_queue_shutdown(serial, CHIME_FOREVER) == CHIME_OK);
}

static void life(chime_queue_t queue) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  options.handler = on_tick;
  schedule.first_ns = CHIME_HOUR;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  REQUIRE(chime_timer_start(queue, &options, &schedule, &timer) == CHIME_OK);
  REQUIRE(chime_timer_cancel(timer) == CHIME_OK);
  REQUIRE(chime_timer_release(timer) == CHIME_OK);
}

/* Queues four apart share a place in what each thread keeps for queues: of two, too. The counts take turns, so that a slow moment
   meets them all. */
static void turns(void) {
  static const int counts[] = {1, 2, 8, 64};
  enum { LIVES = 20000 };
  double least[4] = {1e9, 1e9, 1e9, 1e9};
  make_queues(5 * 64);
  for (int round = 0; round < 5 * ROUNDS; round++) {
    for (int i = 0; i < 4; i++) {
      int64_t begun = bench_now_ns();
      for (int j = 0; j < LIVES; j++) life(queues[4 * (j % counts[i])]);
      double ns = (double)(bench_now_ns() - begun) / LIVES;
      if (ns < least[i]) least[i] = ns;
    }
  }
  for (int i = 0; i < 4; i++) print("create ... release, on so many", counts[i], least[i], "ns", i == 0 ? 0 : least[0]);
  end_queues();
}

static void timers(void) {
  double first = 0;
  for (int count = 1; count <= 1000; count *= 1000) {
    static chime_timer_t ids[1000000];
    int64_t begun;
    make_queues(count);
    begun = bench_now_ns();
    for (int i = 0; i < 1000000; i++)
      REQUIRE(chime_timer_after(queues[i % count], CHIME_HOUR + i, on_tick, NULL, NULL, &ids[i]) == CHIME_OK);
    for (int i = 0; i < 1000000; i++) REQUIRE(chime_timer_release(ids[i]) == CHIME_OK);
    double ns = (double)(bench_now_ns() - begun) / 1e6;
    print("of 10^6 timers each, on so many", count, ns, "ns", first);
    if (count == 1) first = ns;
    end_queues();
  }
}

static void memory(void) {
  enum { COUNT = 10000 };
  double before, used;
  make_queues(1);
  before = resident();
  used = (double)chime_memory_used();
  make_queues(COUNT + 1);
  print("resident: a queue without a timer", COUNT, (resident() - before) / COUNT, "B ", 0);
  print("counted: the same", COUNT, ((double)chime_memory_used() - used) / COUNT, "B ", 0);
  for (int timer = 1; timer <= 10; timer++) {
    for (int i = 1; i <= COUNT; i++)
      REQUIRE(chime_timer_after(queues[i], CHIME_HOUR, on_tick, NULL, NULL, NULL) == CHIME_OK);
    for (int i = 1; i <= COUNT; i++) REQUIRE(chime_queue_advance(queues[i], 0) == CHIME_OK);
    if (timer == 1) print("resident: with one timer", COUNT, (resident() - before) / COUNT, "B ", 0);
  }
  print("resident: with ten", COUNT, (resident() - before) / COUNT, "B ", 0);
  end_queues();
  malloc_trim(0); /* what the allocator has free is the host's */
  print("resident: when they have ended", COUNT, (resident() - before) / COUNT, "B ", 0);
}

enum { BY_DELAY, BY_TICK, BY_QUEUE_NOW, RESTART_WAYS, RESTARTS = 1000 };
static double least_restart_ns[RESTART_WAYS];

/* Restarts its timer a thousand times; the ways take turns, tick by tick. */
static void on_restarting_tick(const chime_tick *tick, void *context) {
  chime_queue_t queue = *(chime_queue_t *)context;
  static int ticks;
  int way = ticks++ % RESTART_WAYS;
  int64_t now = 0, begun = bench_now_ns();
  double ns;
  for (int i = 0; i < RESTARTS; i++) {
    if (way == BY_DELAY) {
      chime_timer_restart_after(tick->timer, CHIME_HOUR + i);
    } else {
      if (way == BY_QUEUE_NOW) chime_queue_now(queue, &now);
      chime_timer_restart_until(tick->timer, (way == BY_TICK ? tick->actual_ns : now) + CHIME_HOUR + i);
    }
  }
  ns = (double)(bench_now_ns() - begun) / RESTARTS;
  if (least_restart_ns[way] == 0 || ns < least_restart_ns[way]) least_restart_ns[way] = ns;
  chime_timer_restart_until(tick->timer, tick->actual_ns);
}

static void clocks(void) {
  static const char *const names[RESTART_WAYS] = {"restart_after, in a handler", "restart_until(tick->actual_ns + ...)",
                                                  "restart_until(chime_queue_now + ...)"};
  chime_queue_t queue;
  chime_timer_t timer;
  int64_t now = 0, begun = bench_now_ns();
  double first, ns;
  for (int i = 0; i < 1000000; i++) REQUIRE(chime_now(CHIME_CLOCK_MONOTONIC, &now) == CHIME_OK);
  first = (double)(bench_now_ns() - begun) / 1e6;
  print("chime_now", 1, first, "ns", 0);
  REQUIRE(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue) == CHIME_OK);
  begun = bench_now_ns();
  for (int i = 0; i < 1000000; i++) REQUIRE(chime_queue_now(queue, &now) == CHIME_OK);
  ns = (double)(bench_now_ns() - begun) / 1e6;
  print("chime_queue_now", 1, ns, "ns", first);
  REQUIRE(chime_timer_after(queue, 0, on_restarting_tick, &queue, NULL, &timer) == CHIME_OK);
  for (int i = 0; i < RESTART_WAYS * 1000; i++) {
    uint32_t called;
    REQUIRE(chime_queue_process(queue, 1, &called) == CHIME_OK && called == 1);
  }
  REQUIRE(!CHIME_FAILED(chime_timer_release(timer)));
  for (int way = 0; way < RESTART_WAYS; way++)
    print(names[way], 1, least_restart_ns[way], "ns", way == BY_DELAY ? 0 : least_restart_ns[BY_DELAY]);
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER) == CHIME_OK);
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    void (*run)(void);
  } loads[] = {{"making", making}, {"calls", calls},   {"turns", turns},
               {"timers", timers}, {"memory", memory}, {"clock", clocks}};
  int found = 0;
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
    if (count > 1 && strcmp(arguments[1], loads[i].name) != 0) continue;
    loads[i].run();
    found = 1;
  }
  return found ? EXIT_SUCCESS : EXIT_FAILURE;
}
