/*
 * tick_allocations.c - a tick allocates nothing, once its queue runs (promise 19): counted on each kind of queue, for
 * repeating timers, one-shots that their handlers start again, and named handlers.
 */
#include "places.h"
#include "refusing.h"

#include <stdlib.h>
#include <string.h>

enum { TIMERS = 8, WARM_TICKS = 400, TICKS = 2000, STRETCHES = 5 };

static int ticks;

static void start_again(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_timer_activate(tick->timer, NULL);
}

/* So many ticks more: gives the allocations that the process made meanwhile. */
static long count(place where, chime_queue_t queue, int more) {
  long before = allocations();
  int from = load(&ticks);
  if (where == MAIN) {
    /* What place_await makes for itself is not counted: the main queue runs by hand here. */
    int i;
    for (i = 0; i < more && load(&ticks) < from + more; i++) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  } else {
    EXPECT(place_await(where, queue, &ticks, from + more));
  }
  return allocations() - before;
}

static void stop_main(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_main_stop();
}

static void tick(int where) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  long found;
  int i;
  options.context = &ticks;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  place_drive((place)where, queue);
  for (i = 0; i < TIMERS; i++) {
    options.handler = i % 2 == 0 ? count_tick : start_again;
    schedule.first_ns = 200 * CHIME_MICROSECOND;
    schedule.interval_ns = i % 2 == 0 ? 500 * CHIME_MICROSECOND : 0;
    REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &timer));
    if (i == 2) EXPECT_OK(chime_timer_add_handler(timer, "second", count_tick, &ticks, NULL));
    /* A tick that finds others missed counts them in a side record, which the first of them makes. */
    schedule.missed_policy = CHIME_MISSED_DELAY;
  }
  if (where == MAIN) EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, stop_main, &ticks, NULL, NULL));
  count((place)where, queue, WARM_TICKS);
  if (getenv("SHOW_ALLOCATIONS") != NULL) show_allocations(1);
  /* A thread that libdispatch makes meanwhile has its own part made, once. */
  for (i = 0, found = 1; i < STRETCHES && found != 0; i++) found = count((place)where, queue, TICKS);
  show_allocations(0);
  fault_seen("%s %ld", place_name((place)where), found);
  EXPECT_EQ(found, 0);
  EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : 5 * CHIME_SECOND));
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {{"in-2000-ticks", tick, 0, PLACES - 1, 0, 0}, {NULL, NULL, 0, 0, 0, 0}};
  return fault_main(argc, argv, cases);
}
