/*
 * runs.c - chime_queue_run(queue, 0) ends when there is nothing left to run, whoever has ended the last timer, and
 * whether the runner was about to sleep, asleep, or had not begun. Promise 18.
 */
#include "storms.h"

typedef struct race race;
typedef void (*ending)(race *r);

struct race {
  csuite *t;
  chime_queue_t queue;
  chime_timer_t timer;
  chime_target_t target;
  int ticks;
  int rounds; /* that the runner may run; -1: it is to end */
  int returned;
  chime_status status;
};

/* ---- The runner -------------------------------------------------------------------------------------------------- */

static void *run_each_round(void *argument) {
  race *r = argument;
  int round;
  for (round = 1;; round++) {
    while (load(&r->rounds) != -1 && load(&r->rounds) < round) sleep_ns(5 * CHIME_MICROSECOND);
    if (load(&r->rounds) == -1) return NULL;
    /* Whoever ends a timer may be inside the queue for a moment. */
    do r->status = chime_queue_run(r->queue, 0);
    while (r->status == CHIME_ERROR_BUSY);
    add(&r->returned, 1);
  }
}

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  add(&((race *)context)->ticks, 1);
}

static void nothing(void *context) { (void)context; }

/* Without a target one compare-and-swap ends it, with one that is done by another way. */
static void make_timer(race *r, int64_t delay, int has_target) {
  csuite *t = r->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(delay, 0);
  if (has_target) EXPECT_OK(chime_target_create(r, nothing, &r->target));
  options.handler = on_tick;
  options.context = r;
  options.target = r->target;
  EXPECT_OK(chime_timer_start(r->queue, &options, &schedule, &r->timer));
}

/* ---- How the last timer ends ------------------------------------------------------------------------------------- */

static void by_cancel(race *r) { chime_timer_cancel(r->timer); }
static void by_cancel_and_wait(race *r) { chime_timer_cancel_and_wait(r->timer, CHIME_FOREVER); }
static void by_suspend(race *r) { chime_timer_suspend(r->timer); }
static void by_release(race *r) { chime_timer_release(r->timer); }
static void by_postpone(race *r) { chime_timer_postpone(r->timer, CHIME_FOREVER); }
static void by_the_end_of_its_target(race *r) {
  chime_target_release(r->target);
  r->target = 0;
}
static void by_reschedule(race *r) {
  chime_schedule never = schedule_of(CHIME_FOREVER, 0);
  chime_timer_reschedule(r->timer, &never);
}
static void by_restart(race *r) {
  chime_schedule never = schedule_of(CHIME_FOREVER, 0);
  chime_timer_restart(r->timer, &never);
}
static void by_its_tick(race *r) {
  chime_schedule at_once = schedule_of(0, 0);
  chime_timer_reschedule(r->timer, &at_once);
}
static void by_the_release_of_the_queue(race *r) { chime_queue_release(r->queue); }

/* ---- The storms -------------------------------------------------------------------------------------------------- */

/* Before the runner sleeps, or after that. */
static void wait_a_moment(dice *d) {
  int64_t end = monotonic_ns() + roll_below(d, 60 * CHIME_MICROSECOND);
  if (roll_below(d, 8) == 0) sleep_ns(CHIME_MILLISECOND);
  while (monotonic_ns() < end) continue;
}

static void new_queue(race *r) {
  csuite *t = r->t;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &r->queue));
}

static void run_ends_when_the_last_timer_is_ended(csuite *t, ending end, const char *what) {
  race *r = csuite_memory(t, sizeof *r);
  dice d = storm_dice(200);
  pthread_t runner;
  int round = 0, ends_queue = end == by_the_release_of_the_queue;
  r->t = t;
  new_queue(r);
  if (!spawn(t, &runner, run_each_round, r)) return;
  while (storm_goes_on(t)) {
    if (ends_queue && round > 0) new_queue(r);
    make_timer(r, CHIME_HOUR, end == by_the_end_of_its_target || roll_below(&d, 2));
    store(&r->rounds, ++round);
    wait_a_moment(&d);
    storm_waits_for(0, what);
    end(r);
    while (load(&r->returned) < round) sleep_ns(20 * CHIME_MICROSECOND);
    /* Where the queue was gone before the run began, its id says nothing. */
    if (!ends_queue || r->status != CHIME_ERROR_INVALID_HANDLE) {
      EXPECT_STATUS(r->status, ends_queue ? CHIME_ERROR_SHUT_DOWN : CHIME_OK);
    }
    if (end != by_release && !ends_queue) EXPECT_OK(chime_timer_release(r->timer));
    if (r->target != 0) EXPECT_OK(chime_target_release(r->target));
    r->target = 0;
  }
  storm_rests(0);
  store(&r->rounds, -1);
  pthread_join(runner, NULL);
  if (!ends_queue) EXPECT_OK(chime_queue_shutdown(r->queue, PATIENCE));
  storm_saw("%d rounds", round);
}

/* [18] */
#define RUN_ENDS(how) \
  TEST(chime_queue_run_ends_when_another_thread_ends_the_last_timer_##how) { \
    run_ends_when_the_last_timer_is_ended(t, how, "chime_queue_run after the last timer has ended " #how); \
  }
RUN_ENDS(by_cancel)
RUN_ENDS(by_cancel_and_wait)
RUN_ENDS(by_suspend)
RUN_ENDS(by_release)
RUN_ENDS(by_postpone)
RUN_ENDS(by_the_end_of_its_target)
RUN_ENDS(by_reschedule)
RUN_ENDS(by_restart)
RUN_ENDS(by_its_tick)
RUN_ENDS(by_the_release_of_the_queue)

/* [18] Two threads drive one queue: the last ticks may be either one's, and the other's run ends all the same. */
TEST(chime_queue_run_ends_when_another_thread_processes_the_last_tick) {
  enum { TIMERS = 2 };
  race *r = csuite_memory(t, sizeof *r);
  dice d = storm_dice(201);
  pthread_t runner;
  chime_timer_t timers[TIMERS];
  int round = 0, i;
  r->t = t;
  new_queue(r);
  if (!spawn(t, &runner, run_each_round, r)) return;
  for (i = 0; i < TIMERS; i++) {
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    options.handler = on_tick;
    options.context = r;
    REQUIRE_OK(chime_timer_create(r->queue, &options, &timers[i]));
  }
  while (storm_goes_on(t)) {
    int ticks = load(&r->ticks);
    for (i = 0; i < TIMERS; i++) {
      chime_schedule schedule = schedule_of(roll_below(&d, 100 * CHIME_MICROSECOND), 0);
      EXPECT_OK(chime_timer_activate(timers[i], &schedule));
    }
    store(&r->rounds, ++round);
    storm_waits_for(0, "chime_queue_run beside chime_queue_process");
    while (load(&r->ticks) < ticks + TIMERS) {
      chime_status status = chime_queue_process(r->queue, 0, NULL);
      if (status != CHIME_ERROR_BUSY) EXPECT_OK(status);
    }
    while (load(&r->returned) < round) sleep_ns(20 * CHIME_MICROSECOND);
    EXPECT_OK(r->status);
  }
  storm_rests(0);
  store(&r->rounds, -1);
  pthread_join(runner, NULL);
  EXPECT_OK(chime_queue_shutdown(r->queue, PATIENCE));
  storm_saw("%d rounds", round);
}
