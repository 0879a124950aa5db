/*
 * stands.c - a thread stands before one instruction or another of a call that leaves a timer's deadline as it is, while
 * another one advances or runs the queue beyond that deadline. The driver may wait for the first one, which goes on
 * after a moment; when it comes back, the tick has been called. Promises 1 and 18.
 */
#include "storms.h"

#include "hold.h"

typedef struct scene {
  csuite *t;
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_t spare; /* what a thread's first call has to make is made for this one */
  int64_t deadline;
  int call;
  int ticks;
  int returned;
  chime_status status;
  int is_virtual;
} scene;

static const char *const calls[] = {"get_info", "next_deadline",  "generation",       "reschedule",
                                    "restart",  "postpone_until", "restart from rest"};
/* In the last one the timer is at rest, and both threads start it: the driver's own call is over when it drives. */
enum { CALLS = sizeof calls / sizeof calls[0], FROM_REST = CALLS - 1 };

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  add(&((scene *)context)->ticks, 1);
}

static void *call_step_by_step(void *argument) {
  scene *s = argument;
  chime_schedule same = schedule_at(s->deadline, 0);
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  int64_t time = 0;
  uint64_t generation = 0;
  chime_timer_reschedule(s->spare, &same);
  chime_timer_get_info(s->spare, &info);
  step_begin(0);
  switch (s->call) {
    case 0: chime_timer_get_info(s->timer, &info); break;
    case 1: chime_timer_next_deadline(s->timer, &time); break;
    case 2: chime_timer_generation(s->timer, &generation); break;
    case 3: chime_timer_reschedule(s->timer, &same); break;
    case 5: chime_timer_postpone_until(s->timer, s->deadline); break;
    default: chime_timer_restart(s->timer, &same); break;
  }
  step_end();
  return NULL;
}

static void *drive(void *argument) {
  scene *s = argument;
  csuite *t = s->t;
  chime_schedule same = schedule_at(s->deadline, 0);
  if (s->call == FROM_REST) EXPECT_TOOK_EFFECT(chime_timer_restart(s->timer, &same));
  s->status = s->is_virtual ? chime_queue_advance(s->queue, 2000) : chime_queue_run(s->queue, 0);
  store(&s->returned, 1);
  return NULL;
}

/* One call, with the driver's at instruction `place` of it. 0: the call is shorter than that. */
static int drive_at(scene *s, int place, int *red) {
  csuite *t = s->t;
  chime_schedule schedule;
  pthread_t caller, driver;
  int i, stands, drives;
  s->deadline = now_of(t, s->queue) + 1000;
  schedule = schedule_at(s->deadline, 0);
  store(&s->ticks, 0);
  store(&s->returned, 0);
  EXPECT_TOOK_EFFECT(chime_timer_restart(s->timer, &schedule));
  if (s->call == FROM_REST) {
    EXPECT_OK(chime_timer_cancel(s->timer));
    EXPECT_OK(s->is_virtual ? chime_queue_advance(s->queue, 0) : chime_queue_run(s->queue, 0));
  }
  /* Half of the time the timer is in the wheel, else in the inbox. */
  if (place % 2 == 0 && s->is_virtual) EXPECT_OK(chime_queue_advance(s->queue, 0));
  if (!spawn(t, &caller, call_step_by_step, s)) return 0;
  for (i = 0; (stands = step_await()) && i < place; i++) step_on(0);
  if (!stands) {
    pthread_join(caller, NULL);
    return 0;
  }
  storm_waits_for(0, "the driver beside a thread that stood for a moment");
  drives = spawn(t, &driver, drive, s);
  for (i = 0; i < 20 && load(&s->returned) == 0; i++) sleep_ns(50 * CHIME_MICROSECOND);
  /* A restart starts a timer anew that has had its tick: the verdict is that of this moment. */
  if (load(&s->returned) != 0 && load(&s->ticks) == 0) ++*red;
  step_on(1);
  step_await();
  if (drives) pthread_join(driver, NULL);
  pthread_join(caller, NULL);
  EXPECT_OK(s->status);
  if (load(&s->ticks) == 0) EXPECT_OK(s->is_virtual ? chime_queue_advance(s->queue, 0) : chime_queue_run(s->queue, 0));
  storm_rests(0);
  return !csuite_failed(t);
}

static void the_driver_passes_no_timer_over(csuite *t, where place) {
  scene *s = csuite_memory(t, sizeof *s);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  dice d = storm_dice(600);
  int red[CALLS] = {0}, first[CALLS] = {0}, at = 0, places = 0, all = 0;
  s->t = t;
  s->is_virtual = place == VIRTUAL;
  s->call = FROM_REST;
  s->queue = place == HOST ? host_queue(t, 0) : csuite_queue(t, place);
  REQUIRE(s->queue != 0);
  hold_prepare();
  if (!hold_can_step()) {
    csuite_skip(t, "this processor cannot be stepped through a call");
    return;
  }
  options.handler = on_tick;
  options.context = s;
  REQUIRE_OK(chime_timer_create(s->queue, &options, &s->timer));
  REQUIRE_OK(chime_timer_create(s->queue, &options, &s->spare));
  while (storm_goes_on(t)) {
    int before = red[s->call];
    if (drive_at(s, at, &red[s->call])) {
      places++;
      if (red[s->call] != before && before == 0) first[s->call] = at;
      at += 1 + (int)roll_below(&d, 16); /* so that all calls have their turn soon; the next time it is other places */
    } else {
      s->call = (s->call + 1) % CALLS;
      at = 0;
    }
  }
  for (at = 0; at < CALLS; at++) {
    all += red[at];
    if (red[at] > 0) csuite_expect_equal(t, red[at], 0, __FILE__, first[at], calls[at]); /* the place for the line */
  }
  storm_saw("%d of %d places are red", all, places);
}

/* [1] [18] */
TEST(an_advance_passes_over_no_timer_that_another_thread_stands_at) { the_driver_passes_no_timer_over(t, VIRTUAL); }
TEST(a_run_passes_over_no_timer_that_another_thread_stands_at) { the_driver_passes_no_timer_over(t, HOST); }
