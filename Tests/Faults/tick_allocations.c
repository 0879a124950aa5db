/*
 * tick_allocations.c - a tick allocates nothing, once its queue runs (promise 19): counted on each kind of queue, for
 * repeating timers, one-shots that their handlers start again, and named handlers.
 */
#include "places.h"
#include "refusing.h"

enum { TIMERS = 8, WARM_TICKS = 400, TICKS = 2000, STRETCHES = 5 };

static int ticks;

static void start_again(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_timer_activate(tick->timer, NULL);
}

static void stop_main(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_main_stop();
}

/* So many ticks more: gives the allocations that the process made meanwhile. */
static long count(int where, chime_queue_t queue, int more) {
  long before = allocations();
  int end = load(&ticks) + more;
  /* Not by place_await, whose own timer would be counted. */
  while (where == MAIN && load(&ticks) < end) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  EXPECT(place_await(where == MAIN ? SERIAL : where, queue, &ticks, end));
  return allocations() - before;
}

static void tick(int where) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  long found;
  int i;
  options.context = &ticks;
  REQUIRE_OK(place_make(where, NULL, &queue));
  place_drive(where, queue);
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
  count(where, queue, WARM_TICKS);
  /* A thread that libdispatch makes meanwhile has its own part made, once. */
  for (i = 0, found = 1; i < STRETCHES && found != 0; i++) found = count(where, queue, TICKS);
  fault_seen("%s %ld", place_name(where), found);
  EXPECT_EQ(found, 0);
  place_end(where, queue);
}

FAULT_CASES({"in-2000-ticks", tick, 0, PLACES - 1, 0, 0})
