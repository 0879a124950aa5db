/*
 * weak_timers.c - chime_weak_timer_*: timers on run loops that do not keep their target alive.
 *
 * A `weak` is the user_info of one timer. Its action checks what holds for every tick: on time or late, never early;
 * alone; before the finalizer; with the live object; on the grid of its due times, each counted once.
 */
#include "run_loop.h"

#include <dirent.h>
#include <malloc.h>

#define TRACKING "tracking"
#define INTERVAL (2 * CHIME_MILLISECOND)

typedef struct weak weak;
struct weak {
  csuite *t;
  chime_weak_timer_t timer; /* 0: not checked */
  chime_run_loop_t loop;
  chime_target_t target;
  int object, objects_destroyed; /* the target's object is &object */
  int64_t interval;              /* above 0: due times are checked against it */
  int64_t first_due;
  int64_t due_times; /* delivered and missed */
  int on_new_grid;   /* 1: the next tick begins another grid */
  void (*on_tick)(weak *w, const chime_tick *tick);
  chime_status status, status2;
  chime_tick last;
  int has_target;
  /* read and written by load, store and add */
  int due, fired, sequence, busy, finalized, flag, gate;
};

static void weak_action(const chime_tick *tick, void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(add(&w->busy, 1), 1);
  EXPECT_EQ(load(&w->finalized), 0);
  EXPECT(tick->context == user_info);
  EXPECT(tick->timer != 0);
  if (w->timer != 0) EXPECT_EQ(tick->timer, w->timer);
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT(tick->actual_ns <= monotonic_ns());
  EXPECT_EQ(tick->reserved, 0);
  if (w->has_target) {
    EXPECT(tick->target == &w->object);
    EXPECT_EQ(load(&w->objects_destroyed), 0);
  } else {
    EXPECT(tick->target == NULL);
  }
  w->last = *tick;
  if (tick->kind == CHIME_TICK_FIRED) {
    EXPECT_EQ(tick->sequence, 0);
    EXPECT_EQ(tick->missed, 0);
    add(&w->fired, 1);
  } else {
    EXPECT_EQ(tick->kind, CHIME_TICK_DUE);
    EXPECT_EQ(tick->sequence, add(&w->sequence, 1));
    if (load(&w->due) == 0 || w->on_new_grid) {
      w->due_times = 0;
      w->first_due = tick->scheduled_ns - (int64_t)tick->missed * w->interval;
      w->on_new_grid = 0;
    }
    w->due_times += (int64_t)tick->missed + 1;
    if (w->interval > 0) EXPECT_EQ(tick->scheduled_ns, w->first_due + (w->due_times - 1) * w->interval);
    add(&w->due, 1);
  }
  if (w->on_tick != NULL) w->on_tick(w, tick);
  if (w->has_target) EXPECT_EQ(load(&w->objects_destroyed), 0);
  add(&w->busy, -1);
}

static void weak_finalizer(void *user_info) {
  weak *w = user_info;
  csuite *t = w->t;
  EXPECT_EQ(load(&w->busy), 0);
  EXPECT_EQ(add(&w->finalized, 1), 1);
}

static void destroy_object(void *object) {
  weak *w = (weak *)(void *)((char *)object - offsetof(weak, object));
  csuite *t = w->t;
  EXPECT_EQ(add(&w->objects_destroyed, 1), 1);
}

static weak *weak_new(csuite *t) {
  weak *w = csuite_memory(t, sizeof *w);
  w->t = t;
  w->status = w->status2 = INT32_MIN;
  EXPECT_OK(chime_run_loop_current(&w->loop));
  return w;
}

static weak *weak_with_target(csuite *t) {
  weak *w = weak_new(t);
  w->has_target = 1;
  EXPECT_OK(chime_target_create(&w->object, destroy_object, &w->target));
  return w;
}

static void weak_create(weak *w, int64_t interval_ns, int repeats) {
  csuite *t = w->t;
  w->interval = repeats ? interval_ns : 0;
  EXPECT_OK(chime_weak_timer_create(interval_ns, repeats, w->target, weak_action, w, weak_finalizer, &w->timer));
}

static void weak_schedule(weak *w, int64_t interval_ns, int repeats) {
  csuite *t = w->t;
  w->interval = repeats ? interval_ns : 0;
  EXPECT_OK(chime_weak_timer_schedule(interval_ns, repeats, w->target, weak_action, w, weak_finalizer, &w->timer));
}

static weak *repeating(csuite *t) {
  weak *w = weak_new(t);
  weak_schedule(w, INTERVAL, 1);
  return w;
}

static int is_valid(weak *w) {
  csuite *t = w->t;
  int32_t valid = -1;
  EXPECT_OK(chime_weak_timer_is_valid(w->timer, &valid));
  return valid;
}

static int64_t fire_date(weak *w) {
  csuite *t = w->t;
  int64_t date = -1;
  EXPECT_OK(chime_weak_timer_fire_date(w->timer, &date));
  return date;
}

static int64_t wall_ns(void) {
  int64_t now = 0;
  chime_now(CHIME_CLOCK_WALL, &now);
  return now;
}

/* Runs the calling thread's loop until the value is reached. */
static int run_until(csuite *t, const char *mode, const int *value, int least) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (load(value) < least && monotonic_ns() < end) {
    chime_status status = chime_run_loop_run(mode, 10 * CHIME_MILLISECOND, CHIME_RUN_LOOP_UNTIL_TICK);
    if (!EXPECT(status == CHIME_OK || status == CHIME_TIMED_OUT || status == CHIME_STOPPED)) return 0;
  }
  return EXPECT(load(value) >= least);
}

static void run_for(csuite *t, const char *mode, int64_t duration_ns) {
  EXPECT_STATUS(chime_run_loop_run(mode, duration_ns, 0), CHIME_TIMED_OUT);
}

/* ---- Creation --------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_weak_timer_with_wrong_arguments_is_not_made) {
  weak *w = weak_new(t);
  chime_weak_timer_t timer = 7;
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 1, 0, NULL, w, weak_finalizer, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 1, 0, weak_action, w, weak_finalizer, NULL),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 2, 0, weak_action, w, weak_finalizer, &timer),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, -1, 0, weak_action, w, weak_finalizer, &timer),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 1, w->loop, weak_action, w, weak_finalizer, &timer),
                CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_weak_timer_schedule(INTERVAL, 1, 0, NULL, w, weak_finalizer, &timer),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_schedule(INTERVAL, 3, 0, weak_action, w, weak_finalizer, NULL),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_schedule(INTERVAL, 1, 12345, weak_action, w, weak_finalizer, NULL),
                CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(timer, 7);
  EXPECT_EQ(load(&w->finalized), 0); /* user_info stays the caller's */
  run_for(t, NULL, 5 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&w->due), 0);
}

OWN_THREAD_TEST(a_target_that_has_gone_is_refused) {
  weak *w = weak_with_target(t);
  chime_weak_timer_t timer = 7;
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 1, w->target, weak_action, w, weak_finalizer, &timer),
                CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_weak_timer_schedule(INTERVAL, 1, w->target, weak_action, w, weak_finalizer, NULL),
                CHIME_ERROR_TARGET_GONE);
  EXPECT_EQ(timer, 7);
  EXPECT_EQ(load(&w->finalized), 0);
}

OWN_THREAD_TEST(questions_need_a_place_for_the_answer) {
  weak *w = weak_new(t);
  weak_create(w, INTERVAL, 1);
  EXPECT_STATUS(chime_weak_timer_is_valid(w->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_tolerance(w->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_fire_date(w->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_interval(w->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, ""), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, "\xff"), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_EQ(load(&w->finalized), 1);
}

OWN_THREAD_TEST(an_interval_of_zero_or_less_is_a_tenth_of_a_millisecond) {
  static const int64_t given[] = {0, -1, INT64_MIN, 100000};
  size_t i;
  for (i = 0; i < sizeof given / sizeof given[0]; i++) {
    weak *w = weak_new(t);
    int64_t interval = 0;
    weak_schedule(w, given[i], 1);
    w->interval = 100000;
    EXPECT_OK(chime_weak_timer_interval(w->timer, &interval));
    EXPECT_EQ(interval, 100000);
    run_until(t, NULL, &w->due, 3); /* repeats, and does not spin: the grid is checked */
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

OWN_THREAD_TEST(a_timer_that_does_not_repeat_has_no_interval) {
  weak *w = weak_new(t);
  int64_t interval = -1;
  weak_create(w, CHIME_HOUR, 0);
  EXPECT_OK(chime_weak_timer_interval(w->timer, &interval));
  EXPECT_EQ(interval, 0);
  EXPECT_BETWEEN(fire_date(w) - wall_ns(), CHIME_HOUR - CHIME_MINUTE, CHIME_HOUR);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(an_interval_without_end_never_ticks) {
  weak *w = weak_new(t);
  weak_schedule(w, CHIME_FOREVER, 1);
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  run_for(t, NULL, 3 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&w->due), 0);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

/* ---- Ticks ------------------------------------------------------------------------------------------------------ */

OWN_THREAD_TEST(a_repeating_timer_keeps_its_grid) {
  weak *w = repeating(t);
  int64_t created = monotonic_ns();
  run_until(t, NULL, &w->due, 10);
  EXPECT_BETWEEN(w->first_due, created - CHIME_MINUTE, created + INTERVAL);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_EQ(load(&w->finalized), 1);
}

static void look_at_validity(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = is_valid(w);
}

OWN_THREAD_TEST(a_one_shot_is_valid_until_its_action_has_returned) {
  weak *w = weak_new(t);
  w->on_tick = look_at_validity;
  weak_schedule(w, CHIME_MILLISECOND, 0);
  run_until(t, NULL, &w->due, 1);
  EXPECT_EQ(w->status, 1);
  EXPECT_EQ(is_valid(w), 0);
  EXPECT_EQ(load(&w->finalized), 1); /* after the action, with the id still held */
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, TRACKING), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_set_fire_date(w->timer, 0), CHIME_IGNORED);
  run_for(t, NULL, 5 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&w->due), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(a_timer_that_nobody_holds_ticks_until_it_is_invalid) {
  weak *once = weak_new(t), *again = weak_new(t);
  EXPECT_OK(chime_weak_timer_schedule(INTERVAL, 0, 0, weak_action, once, weak_finalizer, NULL));
  again->interval = INTERVAL;
  EXPECT_OK(chime_weak_timer_schedule(INTERVAL, 1, 0, weak_action, again, weak_finalizer, NULL));
  run_until(t, NULL, &again->due, 3);
  run_until(t, NULL, &once->due, 1);
  EXPECT_EQ(load(&once->finalized), 1);
  EXPECT_EQ(load(&again->finalized), 0);
  /* The id of the tick serves as long as the timer is valid. */
  EXPECT_OK(chime_weak_timer_invalidate(again->last.timer));
  EXPECT_EQ(load(&again->finalized), 1);
  EXPECT_STATUS(chime_weak_timer_invalidate(again->last.timer), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_weak_timer_fire(once->last.timer), CHIME_ERROR_INVALID_HANDLE);
}

/* ---- Loops and modes -------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_timer_is_on_one_loop_only) {
  weak *w = weak_new(t);
  chime_run_loop_t other = 0;
  weak_create(w, CHIME_HOUR, 1);
  REQUIRE_OK(chime_run_loop_create("csuite.other", &other));
  EXPECT_OK(chime_weak_timer_add(w->timer, other, NULL));
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, TRACKING), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, other, NULL), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, other, CHIME_RUN_LOOP_DEFAULT_MODE), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_add(w->timer, other, TRACKING));
  EXPECT_STATUS(chime_weak_timer_add(w->timer, other, TRACKING), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_run_loop_release(other));
}

OWN_THREAD_TEST(a_timer_in_two_modes_ticks_in_both_and_once_for_each_due_time) {
  weak *w = weak_new(t);
  int i, ticks;
  weak_create(w, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_until(t, NULL, &w->due, 2);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, TRACKING));
  for (i = 0; i < 6; i++) {
    const char *mode = i % 2 ? TRACKING : NULL;
    ticks = load(&w->due);
    run_for(t, mode, INTERVAL);
    run_until(t, mode, &w->due, ticks + 1);
  }
  /* The default mode, in which it is already, is one of them. */
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, CHIME_RUN_LOOP_COMMON_MODES));
  ticks = load(&w->due);
  run_for(t, NULL, 4 * INTERVAL);
  run_until(t, NULL, &w->due, ticks + 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_EQ(load(&w->finalized), 1);
}

OWN_THREAD_TEST(a_weak_timer_rests_in_other_modes_and_tells_what_it_missed) {
  weak *w = repeating(t), *common = weak_new(t);
  weak_create(common, INTERVAL, 1);
  EXPECT_OK(chime_run_loop_add_common_mode(w->loop, TRACKING));
  EXPECT_OK(chime_weak_timer_add(common->timer, w->loop, CHIME_RUN_LOOP_COMMON_MODES));
  run_for(t, TRACKING, 20 * CHIME_MILLISECOND);
  run_until(t, TRACKING, &common->due, 1);
  EXPECT_EQ(load(&w->due), 0);
  run_until(t, NULL, &w->due, 1);
  EXPECT(w->last.missed >= 8);
  run_until(t, NULL, &w->due, 3);
  run_until(t, NULL, &common->due, load(&common->due) + 2);
  run_until(t, TRACKING, &common->due, load(&common->due) + 2); /* goes on whenever the mode changes */
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(common->timer));
}

static void add_to_tracking(weak *w, const chime_tick *tick) {
  (void)tick;
  if (w->status == INT32_MIN) w->status = chime_weak_timer_add(w->timer, w->loop, TRACKING);
}

OWN_THREAD_TEST(a_timer_may_be_added_to_a_mode_in_its_action) {
  weak *w = weak_new(t), *once = weak_new(t);
  w->on_tick = once->on_tick = add_to_tracking;
  weak_schedule(w, INTERVAL, 1);
  weak_schedule(once, INTERVAL, 0);
  run_until(t, NULL, &w->due, 2);
  EXPECT_OK(w->status);
  run_until(t, TRACKING, &w->due, 4);
  run_until(t, NULL, &w->due, 6);
  EXPECT_EQ(load(&once->due), 1);
  EXPECT_EQ(load(&once->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(once->timer));
}

enum { MOVED = 300 };

static void *add_each_to_tracking(void *argument) {
  weak **w = argument;
  csuite *t = w[0]->t;
  int i;
  for (i = 0; i < MOVED; i++) EXPECT_OK(chime_weak_timer_add(w[i]->timer, w[i]->loop, TRACKING));
  store(&w[0]->gate, 1);
  return NULL;
}

/* The action checks that each due time comes once, in a tick or as missed. */
OWN_THREAD_TEST(a_mode_added_by_another_thread_costs_no_due_time) {
  weak *w[MOVED];
  pthread_t thread;
  int i;
  for (i = 0; i < MOVED; i++) {
    w[i] = weak_new(t);
    weak_schedule(w[i], 500 * CHIME_MICROSECOND, 1);
  }
  run_until(t, NULL, &w[MOVED - 1]->due, 2);
  if (!spawn(t, &thread, add_each_to_tracking, w)) return;
  while (!load(&w[0]->gate)) run_for(t, NULL, CHIME_MILLISECOND);
  pthread_join(thread, NULL);
  for (i = 0; i < MOVED; i++) {
    run_until(t, NULL, &w[i]->due, load(&w[i]->due) + 1);
    EXPECT_OK(chime_weak_timer_release(w[i]->timer));
    EXPECT_EQ(load(&w[i]->finalized), 1);
  }
}

static void *leave_timers_behind(void *argument) {
  weak **w = argument;
  csuite *t = w[0]->t;
  int i;
  for (i = 0; i < 3; i++) {
    EXPECT_OK(chime_run_loop_current(&w[i]->loop));
    w[i]->interval = INTERVAL;
    EXPECT_OK(chime_weak_timer_schedule(INTERVAL, 1, w[i]->target, weak_action, w[i], weak_finalizer,
                                        i < 2 ? &w[i]->timer : NULL));
  }
  run_until(t, NULL, &w[2]->due, 1);
  return NULL;
}

OWN_THREAD_TEST(timers_end_with_the_thread_of_their_loop) {
  weak *w[3], *late = weak_new(t);
  pthread_t thread;
  int i;
  w[0] = weak_new(t);
  w[1] = weak_with_target(t);
  w[2] = weak_with_target(t); /* this one nobody holds */
  if (!spawn(t, &thread, leave_timers_behind, w)) return;
  pthread_join(thread, NULL);
  for (i = 0; i < 3; i++) EXPECT_EQ(load(&w[i]->finalized), 1);
  EXPECT_EQ(is_valid(w[0]), 0);
  EXPECT_STATUS(chime_weak_timer_fire(w[0]->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w[1]->timer), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_release(w[0]->timer));
  EXPECT_OK(chime_weak_timer_release(w[1]->timer));
  weak_create(late, INTERVAL, 1);
  EXPECT_STATUS(chime_weak_timer_add(late->timer, w[0]->loop, NULL), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(is_valid(late));
  EXPECT_OK(chime_weak_timer_release(late->timer));
  EXPECT_OK(chime_target_release(w[1]->target));
  EXPECT_OK(chime_target_release(w[2]->target));
}

/* ---- Tolerance -------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(tolerance_is_kept_and_bounded) {
  weak *w = weak_new(t), *once = weak_new(t);
  int64_t tolerance = -1;
  weak_create(w, INTERVAL, 1);
  weak_create(once, INTERVAL, 0);
  EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
  EXPECT_EQ(tolerance, 0);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, INTERVAL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, INT64_MAX), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, INTERVAL - 1));
  EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
  EXPECT_EQ(tolerance, INTERVAL - 1);
  EXPECT_OK(chime_weak_timer_set_tolerance(once->timer, INT64_MAX)); /* nothing bounds a one-shot's */
  EXPECT_STATUS(chime_weak_timer_set_tolerance(once->timer, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_until(t, NULL, &w->due, 3); /* on its grid: a late tick moves no other */
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, 0));
  EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
  EXPECT_EQ(tolerance, 0);
  run_until(t, NULL, &w->due, 6);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(once->timer));
}

/* Twenty timers whose windows overlap are served by far fewer visits than ticks; without tolerance each has its own. */
OWN_THREAD_TEST(timers_with_tolerance_share_visits) {
  weak *w[20];
  int i, round, visits[2];
  for (round = 0; round < 2; round++) {
    int64_t began = monotonic_ns(), made;
    int due = 0;
    for (i = 0; i < 20; i++) {
      w[i] = weak_new(t);
      weak_create(w[i], (40 + 4 * i) * CHIME_MILLISECOND, 0);
      if (round == 0) EXPECT_OK(chime_weak_timer_set_tolerance(w[i]->timer, 400 * CHIME_MILLISECOND));
      EXPECT_OK(chime_weak_timer_add(w[i]->timer, w[i]->loop, NULL));
    }
    made = monotonic_ns();
    visits[round] = 0;
    while (due < 20 && monotonic_ns() < began + PATIENCE) {
      visits[round] += chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK) == CHIME_OK;
      for (due = 0, i = 0; i < 20; i++) due += load(&w[i]->due);
    }
    EXPECT_EQ(due, 20);
    for (i = 0; i < 20; i++) EXPECT_OK(chime_weak_timer_release(w[i]->timer));
    if (made - began > 100 * CHIME_MILLISECOND) round--; /* the windows did not overlap: once more */
  }
  EXPECT_BETWEEN(visits[0], 1, 4);
  EXPECT(visits[1] >= visits[0]); /* on a machine that stands still for long, no more can be said */
}

/* ---- The fire date ---------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(the_fire_date_moves_the_next_tick_and_the_grid) {
  weak *w = weak_new(t);
  int64_t date, monotonic;
  weak_create(w, INTERVAL, 1);
  date = wall_ns() + 20 * CHIME_MILLISECOND;
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, date)); /* before it is on a loop */
  EXPECT_BETWEEN(fire_date(w) - date, -CHIME_MINUTE, CHIME_MINUTE);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_for(t, NULL, 5 * CHIME_MILLISECOND);
  run_until(t, NULL, &w->due, 2);
  monotonic = monotonic_ns(); /* before the wall clock: what lies between counts for the timer */
  EXPECT(w->first_due >= monotonic - (wall_ns() - date) - CHIME_SECOND);
  /* On the loop: an hour later. */
  date = wall_ns() + CHIME_HOUR;
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, date));
  EXPECT_BETWEEN(fire_date(w) - date, -CHIME_MINUTE, CHIME_MINUTE);
  store(&w->due, 0);
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&w->due), 0);
  /* Back again. */
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, wall_ns() + INTERVAL));
  run_until(t, NULL, &w->due, 3);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(a_fire_date_in_the_past_is_due_at_once_and_only_once) {
  static const int64_t past[] = {0, 1, -1, INT64_MIN, -CHIME_HOUR};
  size_t i;
  for (i = 0; i < sizeof past / sizeof past[0]; i++) {
    weak *w = weak_new(t), *once = weak_new(t);
    weak_schedule(w, CHIME_HOUR, 1);
    weak_schedule(once, CHIME_HOUR, 0);
    w->interval = 0;
    EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, past[i]));
    EXPECT_OK(chime_weak_timer_set_fire_date(once->timer, past[i]));
    EXPECT(fire_date(w) <= wall_ns());
    /* One turn of the loop is not always enough: a slice that took a millisecond leaves the rest to the next. */
    run_until(t, NULL, &w->due, 1);
    run_until(t, NULL, &once->finalized, 1);
    EXPECT_EQ(load(&w->due), 1);
    EXPECT_EQ(load(&once->due), 1);
    EXPECT_EQ(load(&once->finalized), 1);
    run_for(t, NULL, 3 * CHIME_MILLISECOND);
    EXPECT_EQ(load(&w->due), 1);
    EXPECT_BETWEEN(fire_date(w) - wall_ns(), 0, CHIME_HOUR);
    EXPECT_OK(chime_weak_timer_release(w->timer));
    EXPECT_OK(chime_weak_timer_release(once->timer));
  }
}

OWN_THREAD_TEST(never_is_a_fire_date_and_can_be_taken_back) {
  weak *w = repeating(t);
  run_until(t, NULL, &w->due, 1);
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, CHIME_FOREVER));
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  store(&w->due, 0);
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&w->due), 0);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, 1));
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, wall_ns()));
  run_until(t, NULL, &w->due, 2);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

static void into_the_past(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  (void)tick;
  w->on_new_grid = 1;
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, 0));
}

/* Foundation's own timer spins inside one run then. */
OWN_THREAD_TEST(a_fire_date_in_the_past_set_in_the_action_lets_the_loop_go_on) {
  weak *w = weak_new(t), *other = weak_new(t);
  int64_t began = monotonic_ns();
  w->on_tick = into_the_past;
  weak_schedule(w, CHIME_HOUR, 1);
  w->interval = 0;
  weak_schedule(other, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, 0));
  run_for(t, NULL, 20 * CHIME_MILLISECOND); /* ends */
  EXPECT(monotonic_ns() - began < PATIENCE);
  run_until(t, NULL, &w->due, 2);
  run_until(t, NULL, &other->due, 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(other->timer));
}

/* ---- Fire ------------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(fire_calls_the_action_here_and_leaves_the_schedule) {
  weak *w = weak_with_target(t);
  int64_t date;
  weak_schedule(w, CHIME_HOUR, 1);
  date = fire_date(w);
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT_EQ(w->last.kind, CHIME_TICK_FIRED);
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_EQ(load(&w->fired), 2);
  EXPECT_BETWEEN(fire_date(w) - date, -CHIME_MINUTE, CHIME_MINUTE);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(fire_ends_a_timer_that_does_not_repeat) {
  weak *w = weak_new(t), *on_no_loop = weak_new(t);
  weak_schedule(w, INTERVAL, 0);
  weak_create(on_no_loop, INTERVAL, 0);
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_OK(chime_weak_timer_fire(on_no_loop->timer));
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_EQ(load(&on_no_loop->finalized), 1);
  EXPECT_EQ(is_valid(w), 0);
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&w->due), 0);
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(on_no_loop->timer));
}

static void fire_inside(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = chime_weak_timer_fire(w->timer);
}

OWN_THREAD_TEST(fire_inside_the_action_is_ignored) {
  weak *w = weak_new(t);
  w->on_tick = fire_inside;
  weak_schedule(w, INTERVAL, 1);
  run_until(t, NULL, &w->due, 1);
  EXPECT_STATUS(w->status, CHIME_IGNORED);
  w->status = CHIME_OK;
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_STATUS(w->status, CHIME_IGNORED);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

static void stay(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  (void)tick;
  if (add(&w->flag, 1) > 1) return;
  EXPECT(await(&w->gate, 1));
}

static void *fire_from_here(void *argument) {
  weak *w = argument;
  w->status = chime_weak_timer_fire(w->timer);
  return NULL;
}

OWN_THREAD_TEST(fire_is_ignored_while_the_action_runs_on_another_thread) {
  weak *w = weak_new(t);
  pthread_t thread;
  w->on_tick = stay;
  weak_schedule(w, CHIME_HOUR, 1);
  if (!spawn(t, &thread, fire_from_here, w)) return;
  EXPECT(await(&w->flag, 1));
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  EXPECT_OK(w->status);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

/* The ticks that fall due meanwhile come as one when the action has returned, and none is forgotten. */
OWN_THREAD_TEST(ticks_wait_for_the_action_that_fire_runs_on_another_thread) {
  weak *w = weak_new(t);
  pthread_t thread;
  int64_t held;
  w->on_tick = stay;
  weak_create(w, INTERVAL, 1);
  w->first_due = fire_date(w);
  if (!spawn(t, &thread, fire_from_here, w)) return;
  EXPECT(await(&w->flag, 1));
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_for(t, NULL, 6 * INTERVAL);
  EXPECT_EQ(load(&w->due), 0);
  EXPECT_EQ(load(&w->fired), 1);
  held = monotonic_ns();
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  EXPECT_OK(w->status);
  run_until(t, NULL, &w->due, 1);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT(w->due_times >= 5); /* what was held back came at once, and is counted */
  EXPECT(w->first_due <= held - 4 * INTERVAL);
  run_until(t, NULL, &w->due, 4); /* the grid is checked */
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

static void *fire_while_it_is_there(void *argument) {
  weak *w = argument;
  while (!load(&w->gate)) add(&w->flag, chime_weak_timer_fire(w->timer) == CHIME_OK);
  return NULL;
}

/* No overlap, no due time twice, none forgotten. */
OWN_THREAD_TEST(fire_on_another_thread_and_ticks_exclude_each_other) {
  weak *w = weak_new(t);
  pthread_t thread;
  weak_schedule(w, 200 * CHIME_MICROSECOND, 1);
  if (!spawn(t, &thread, fire_while_it_is_there, w)) return;
  run_until(t, NULL, &w->due, csuite_scaled(1000));
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  run_until(t, NULL, &w->due, load(&w->due) + 2);
  EXPECT_EQ(load(&w->fired), load(&w->flag));
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

static void *fire_and_move(void *argument) {
  weak *w = argument;
  csuite *t = w->t;
  int i;
  for (i = 0; i < csuite_scaled(2000); i++) {
    chime_weak_timer_fire(w->timer);
    EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, i % 3 * 10 * CHIME_MICROSECOND));
    if (i % 100 == 0) EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, wall_ns()));
  }
  add(&w->gate, 1);
  return NULL;
}

OWN_THREAD_TEST(a_timer_that_two_threads_fired_and_moved_ticks_on) {
  int round;
  for (round = 0; round < csuite_scaled(20); round++) {
    weak *w = weak_new(t);
    pthread_t threads[2];
    int i;
    weak_schedule(w, 200 * CHIME_MICROSECOND, 1);
    w->interval = 0; /* there are many grids */
    for (i = 0; i < 2; i++) {
      if (!spawn(t, &threads[i], fire_and_move, w)) return;
    }
    while (load(&w->gate) < 2) run_for(t, NULL, CHIME_MILLISECOND);
    for (i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    run_until(t, NULL, &w->due, load(&w->due) + 2);
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

/* ---- Ends ------------------------------------------------------------------------------------------------------- */

static void invalidate_inside(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = chime_weak_timer_invalidate(w->timer);
  w->status2 = chime_weak_timer_invalidate(w->timer);
  store(&w->flag, load(&w->finalized));
}

static void release_inside(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = chime_weak_timer_release(w->timer);
  w->status2 = chime_weak_timer_release(w->timer);
  store(&w->flag, load(&w->finalized));
}

OWN_THREAD_TEST(invalidate_in_the_action_takes_effect_and_finalizes_after_it) {
  int repeats;
  for (repeats = 0; repeats < 2; repeats++) {
    weak *w = weak_new(t);
    w->on_tick = invalidate_inside;
    weak_schedule(w, CHIME_MILLISECOND, repeats);
    run_until(t, NULL, &w->due, 1);
    EXPECT_STATUS(w->status, CHIME_RUNNING);
    EXPECT_STATUS(w->status2, CHIME_IGNORED);
    EXPECT_EQ(load(&w->flag), 0);
    EXPECT_EQ(load(&w->finalized), 1);
    run_for(t, NULL, 5 * CHIME_MILLISECOND);
    EXPECT_EQ(load(&w->due), 1);
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

OWN_THREAD_TEST(release_in_the_action_takes_effect_and_finalizes_after_it) {
  int repeats, fires;
  for (repeats = 0; repeats < 2; repeats++) {
    for (fires = 0; fires < 2; fires++) {
      weak *w = weak_new(t);
      w->on_tick = release_inside;
      weak_schedule(w, CHIME_MILLISECOND, repeats);
      if (fires) {
        EXPECT_OK(chime_weak_timer_fire(w->timer));
      } else {
        run_until(t, NULL, &w->due, 1);
      }
      EXPECT_STATUS(w->status, CHIME_RUNNING);
      EXPECT_STATUS(w->status2, CHIME_ERROR_INVALID_HANDLE);
      EXPECT_EQ(load(&w->flag), 0);
      EXPECT_EQ(load(&w->finalized), 1);
      run_for(t, NULL, 3 * CHIME_MILLISECOND);
      EXPECT_EQ(load(&w->due) + load(&w->fired), 1);
    }
  }
}

OWN_THREAD_TEST(invalidate_and_release_finalize_in_the_call) {
  weak *on_loop = repeating(t), *on_none = weak_new(t), *released = repeating(t);
  weak_create(on_none, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_invalidate(on_loop->timer));
  EXPECT_EQ(load(&on_loop->finalized), 1);
  EXPECT_STATUS(chime_weak_timer_invalidate(on_loop->timer), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_invalidate(on_none->timer));
  EXPECT_EQ(load(&on_none->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(released->timer));
  EXPECT_EQ(load(&released->finalized), 1);
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&on_loop->due) + load(&on_none->due) + load(&released->due), 0);
  EXPECT_OK(chime_weak_timer_release(on_loop->timer));
  EXPECT_OK(chime_weak_timer_release(on_none->timer));
}

OWN_THREAD_TEST(invalidate_on_another_thread_says_that_the_action_runs) {
  weak *w = weak_new(t);
  pthread_t thread;
  w->on_tick = stay;
  weak_schedule(w, CHIME_HOUR, 1);
  if (!spawn(t, &thread, fire_from_here, w)) return;
  EXPECT(await(&w->flag, 1));
  EXPECT_STATUS(chime_weak_timer_invalidate(w->timer), CHIME_RUNNING);
  EXPECT_EQ(is_valid(w), 0);
  EXPECT_EQ(load(&w->finalized), 0);
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

/* ---- Targets ---------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_target_that_goes_between_ticks_takes_its_timers_along) {
  weak *held = weak_with_target(t), *asked = weak_with_target(t), *unheld = weak_with_target(t);
  int i;
  weak_schedule(held, INTERVAL, 1);
  weak_schedule(asked, CHIME_HOUR, 1);
  unheld->interval = INTERVAL;
  EXPECT_OK(chime_weak_timer_schedule(INTERVAL, 1, unheld->target, weak_action, unheld, weak_finalizer, NULL));
  run_until(t, NULL, &unheld->due, 2);
  run_until(t, NULL, &held->due, 2);
  i = load(&held->due) + load(&unheld->due);
  EXPECT_OK(chime_target_release(held->target));
  EXPECT_OK(chime_target_release(asked->target));
  EXPECT_OK(chime_target_release(unheld->target));
  EXPECT_EQ(load(&held->objects_destroyed) + load(&asked->objects_destroyed) + load(&unheld->objects_destroyed), 3);
  /* Whoever asks knows it at once, and ends the timer by that. */
  EXPECT_EQ(is_valid(asked), 0);
  EXPECT_EQ(load(&asked->finalized), 1);
  EXPECT_EQ(fire_date(asked), CHIME_FOREVER);
  /* Otherwise it is the loop that lets go. */
  run_for(t, NULL, 5 * INTERVAL);
  EXPECT_EQ(load(&held->due) + load(&unheld->due), i);
  EXPECT_EQ(load(&held->finalized), 1);
  EXPECT_EQ(load(&unheld->finalized), 1);
  EXPECT_EQ(is_valid(held), 0);
  EXPECT_STATUS(chime_weak_timer_invalidate(held->timer), CHIME_IGNORED);
  EXPECT_OK(chime_weak_timer_release(held->timer));
  EXPECT_OK(chime_weak_timer_release(asked->timer));
}

static void release_the_target(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  (void)tick;
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_EQ(load(&w->objects_destroyed), 0); /* it lives until the action has returned */
  EXPECT_EQ(is_valid(w), 0);
}

OWN_THREAD_TEST(a_target_that_goes_in_the_action_lives_until_it_returns) {
  int fires, repeats;
  for (fires = 0; fires < 2; fires++) {
    for (repeats = 0; repeats < 2; repeats++) {
      weak *w = weak_with_target(t);
      w->on_tick = release_the_target;
      weak_schedule(w, CHIME_MILLISECOND, repeats);
      if (fires) {
        EXPECT_OK(chime_weak_timer_fire(w->timer));
      } else {
        run_until(t, NULL, &w->due, 1);
      }
      EXPECT_EQ(load(&w->objects_destroyed), 1);
      EXPECT_EQ(load(&w->finalized), 1);
      run_for(t, NULL, 3 * CHIME_MILLISECOND);
      EXPECT_EQ(load(&w->due) + load(&w->fired), 1);
      EXPECT_OK(chime_weak_timer_release(w->timer));
    }
  }
}

OWN_THREAD_TEST(a_target_that_goes_before_the_timer_is_added_leaves_nothing_to_add) {
  weak *w = weak_with_target(t), *fired = weak_with_target(t);
  weak_create(w, INTERVAL, 1);
  weak_create(fired, INTERVAL, 1);
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, NULL), CHIME_IGNORED);
  EXPECT_EQ(is_valid(w), 0);
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_OK(chime_target_release(fired->target));
  EXPECT_STATUS(chime_weak_timer_fire(fired->timer), CHIME_IGNORED);
  EXPECT_EQ(load(&fired->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_OK(chime_weak_timer_release(fired->timer));
}

OWN_THREAD_TEST(another_reference_keeps_the_target_and_its_timers) {
  weak *w = weak_with_target(t);
  void *object = NULL;
  weak_schedule(w, INTERVAL, 1);
  EXPECT_OK(chime_target_retain(w->target, &object));
  EXPECT(object == &w->object);
  EXPECT_OK(chime_target_release(w->target));
  run_until(t, NULL, &w->due, 2);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_EQ(is_valid(w), 0);
  EXPECT_STATUS(chime_target_retain(w->target, &object), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_OK(chime_weak_timer_release(w->timer));
  EXPECT_EQ(load(&w->finalized), 1);
}

OWN_THREAD_TEST(a_timer_in_several_modes_loses_its_target_once) {
  weak *w = weak_with_target(t);
  weak_schedule(w, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, TRACKING));
  run_until(t, TRACKING, &w->due, 1);
  EXPECT_OK(chime_target_release(w->target));
  run_for(t, NULL, 2 * INTERVAL);
  run_for(t, TRACKING, 2 * INTERVAL);
  EXPECT_EQ(load(&w->due), 1);
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

/* ---- Storm ------------------------------------------------------------------------------------------------------ */

enum { STORM_TIMERS = 64, STORM_THREADS = 2 };

typedef struct storm {
  csuite *t;
  chime_run_loop_t loop;
  uint64_t timers[STORM_TIMERS]; /* atomic */
  uint64_t targets[STORM_TIMERS];
  int made, finalized, destroyed, ticks, stop;
} storm;

static void storm_action(const chime_tick *tick, void *user_info) {
  storm *s = user_info;
  csuite *t = s->t;
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  if (add(&s->ticks, 1) % 16 == 0) chime_weak_timer_invalidate(tick->timer);
}
static void storm_finalizer(void *user_info) { add(&((storm *)user_info)->finalized, 1); }
static void storm_destructor(void *object) { add(&((storm *)object)->destroyed, 1); }

static void *storm_thread(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {(uint64_t)(uintptr_t)&argument | 1};
  int i, rounds = csuite_scaled(30000);
  for (i = 0; i < rounds; i++) {
    int64_t place = roll_below(&d, STORM_TIMERS);
    uint64_t timer = __atomic_load_n(&s->timers[place], __ATOMIC_ACQUIRE), target = 0, made = 0;
    int32_t valid = 0;
    switch (roll_below(&d, 10)) {
      case 0:
      case 1:
        if (!EXPECT_OK(chime_target_create(s, storm_destructor, &target))) break;
        if (EXPECT_OK(chime_weak_timer_create(roll_below(&d, 300) * CHIME_MICROSECOND, (int)roll_below(&d, 2), target,
                                              storm_action, s, storm_finalizer, &made))) {
          add(&s->made, 1);
          timer = __atomic_exchange_n(&s->timers[place], made, __ATOMIC_ACQ_REL);
          target = __atomic_exchange_n(&s->targets[place], target, __ATOMIC_ACQ_REL);
          if (timer != 0) EXPECT_TOOK_EFFECT(chime_weak_timer_release(timer));
          if (target != 0) EXPECT_OK(chime_target_release(target));
          chime_weak_timer_add(made, s->loop, NULL);
        }
        break;
      case 2: chime_weak_timer_add(timer, s->loop, roll_below(&d, 2) ? TRACKING : NULL); break;
      case 3: chime_weak_timer_fire(timer); break;
      case 4: chime_weak_timer_is_valid(timer, &valid); break;
      case 5: chime_weak_timer_set_fire_date(timer, roll_below(&d, 3) ? 0 : CHIME_FOREVER); break;
      case 6: chime_weak_timer_set_tolerance(timer, roll_below(&d, 100000)); break;
      case 7:
        if (roll_below(&d, 4) == 0) chime_weak_timer_invalidate(timer);
        break;
      case 8:
        target = __atomic_exchange_n(&s->targets[place], 0, __ATOMIC_ACQ_REL);
        if (target != 0) EXPECT_OK(chime_target_release(target));
        break;
      default: chime_weak_timer_invalidate(timer == 0 ? 0 : timer + (UINT64_C(1) << 40)); break; /* another life */
    }
  }
  add(&s->stop, 1);
  return NULL;
}

OWN_THREAD_TEST(a_storm_of_calls_from_several_threads_finalizes_each_timer_once) {
  storm *s = csuite_memory(t, sizeof *s);
  pthread_t threads[STORM_THREADS];
  int i, mode = 0;
  s->t = t;
  EXPECT_OK(chime_run_loop_current(&s->loop));
  EXPECT_OK(chime_run_loop_add_common_mode(s->loop, TRACKING));
  for (i = 0; i < STORM_THREADS; i++) {
    if (!spawn(t, &threads[i], storm_thread, s)) return;
  }
  while (load(&s->stop) < STORM_THREADS) run_for(t, mode++ % 2 ? TRACKING : NULL, CHIME_MILLISECOND);
  for (i = 0; i < STORM_THREADS; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < STORM_TIMERS; i++) {
    if (s->timers[i] != 0) EXPECT_TOOK_EFFECT(chime_weak_timer_release(s->timers[i]));
    if (s->targets[i] != 0) EXPECT_OK(chime_target_release(s->targets[i]));
  }
  EXPECT_EQ(load(&s->finalized), load(&s->made));
  EXPECT_EQ(load(&s->destroyed), load(&s->made));
}

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

static int64_t resident_bytes(void) {
  long size = 0, resident = -1;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == NULL) return -1;
  if (fscanf(statm, "%ld %ld", &size, &resident) != 2) resident = -1;
  fclose(statm);
  return resident < 0 ? -1 : (int64_t)resident * 4096;
}

static void count_action(const chime_tick *tick, void *user_info) {
  (void)tick;
  add(user_info, 1);
}

/* In rounds of 100: made, ticked, and dropped in each way. */
static void weak_rounds(csuite *t, int timers) {
  int64_t object = 0;
  int i, ticks = 0;
  for (i = 0; i < timers; i += 100) {
    chime_weak_timer_t ids[100];
    chime_target_t target = 0;
    int j, before = ticks;
    EXPECT_OK(chime_target_create(&object, NULL, &target));
    for (j = 0; j < 100; j++) {
      EXPECT_OK(chime_weak_timer_schedule(0, j % 2, j % 4 < 2 ? target : 0, count_action, &ticks, NULL,
                                          j % 4 == 0 ? NULL : &ids[j]));
    }
    run_until(t, NULL, &ticks, before + 100);
    EXPECT_OK(chime_target_release(target));
    for (j = 0; j < 100; j++) {
      if (j % 4 != 0) EXPECT_TOOK_EFFECT(chime_weak_timer_release(ids[j]));
    }
  }
}

OWN_THREAD_TEST(weak_timers_leave_no_memory_behind) {
  int timers = csuite_scaled(50000);
  int64_t half;
  weak_rounds(t, timers);
  half = resident_bytes();
  weak_rounds(t, timers);
  if (half > 0) EXPECT_BETWEEN(resident_bytes() - half, -256 * 1024 * 1024, 2 * 1024 * 1024);
}

static void target_rounds(csuite *t, chime_queue_t queue, int timers) {
  int64_t object = 0;
  int i, ticks = 0;
  for (i = 0; i < timers; i += 100) {
    chime_timer_t ids[100];
    chime_target_t target = 0;
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    chime_schedule schedule = schedule_of(0, 0);
    int j, before = ticks;
    EXPECT_OK(chime_target_create(&object, NULL, &target));
    options.handler = count_action;
    options.context = &ticks;
    options.target = target;
    for (j = 0; j < 100; j++) EXPECT_OK(chime_timer_start(queue, &options, &schedule, j % 4 == 0 ? NULL : &ids[j]));
    EXPECT(await(&ticks, before + 100));
    EXPECT_OK(chime_target_release(target));
    for (j = 0; j < 100; j++) {
      if (j % 4 != 0) EXPECT_TOOK_EFFECT(chime_timer_release(ids[j]));
    }
  }
}

OWN_THREAD_TEST(timers_with_targets_leave_no_memory_behind) {
  int timers = csuite_scaled(50000);
  int64_t half;
  chime_queue_t queue = csuite_queue(t, SERIAL);
  if (queue == 0) return;
  target_rounds(t, queue, timers);
  half = resident_bytes();
  target_rounds(t, queue, timers);
  if (half > 0) EXPECT_BETWEEN(resident_bytes() - half, -256 * 1024 * 1024, 2 * 1024 * 1024);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

static int open_descriptors(void) {
  int count = 0;
  DIR *files = opendir("/proc/self/fd");
  if (files == NULL) return -1;
  while (readdir(files) != NULL) count++;
  closedir(files);
  return count;
}

static int64_t allocated_bytes(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return (int64_t)mallinfo2().uordblks;
#else
  return 0;
#endif
}

static int threads_made, threads_ended;

static void thread_ends(void *context) {
  (void)context;
  add(&threads_ended, 1);
}

static void *loop_of_a_thread(void *argument) {
  csuite *t = argument;
  chime_run_loop_t loop = 0;
  chime_queue_t queue = 0;
  int ticks = 0;
  EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(chime_run_loop_queue_create(loop, TRACKING, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, count_action, &ticks, NULL, NULL));
  EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, count_action, &ticks, NULL, NULL));
  EXPECT_OK(chime_run_loop_run(TRACKING, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(ticks, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  return NULL;
}

/* Loops of the host's threads and of Chime's by turns, and queues in every kind of mode on one that stays. */
static void loop_rounds(csuite *t, chime_run_loop_t stays, int loops) {
  int i, made = 0;
  for (i = 0; i < loops; i++) {
    static const char *const modes[] = {NULL, TRACKING, CHIME_RUN_LOOP_COMMON_MODES};
    chime_run_loop_t loop = 0;
    chime_queue_t queue = 0, other = 0;
    EXPECT_OK(chime_run_loop_queue_create(stays, modes[i % 3], NULL, &other));
    if (i % 2 == 0) {
      pthread_t thread;
      if (spawn(t, &thread, loop_of_a_thread, t)) pthread_join(thread, NULL);
    } else {
      made += EXPECT_OK(chime_run_loop_create(NULL, &loop));
      EXPECT_OK(chime_run_loop_queue_create(loop, modes[i % 3], NULL, &queue));
      EXPECT_OK(chime_run_loop_release(loop));
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
    EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
  }
  made += load(&threads_made);
  store(&threads_made, made);
  EXPECT(await(&threads_ended, made));
}

OWN_THREAD_TEST(run_loops_and_their_queues_leave_nothing_behind) {
  int loops = csuite_scaled(10000), files;
  int64_t resident, allocated;
  chime_run_loop_t stays = 0;
  REQUIRE_OK(chime_set_thread_hooks(NULL, thread_ends, NULL));
  REQUIRE_OK(chime_run_loop_current(&stays));
  loop_rounds(t, stays, loops / 4);
  files = open_descriptors();
  resident = resident_bytes();
  allocated = allocated_bytes();
  loop_rounds(t, stays, loops);
  EXPECT_EQ(open_descriptors(), files);
  EXPECT_BETWEEN(allocated_bytes() - allocated, -256 * 1024 * 1024, 64 * 1024);
  /* Fewer rounds do not outweigh what a checker of memory needs for itself. */
  if (resident > 0 && loops >= 10000) {
    EXPECT_BETWEEN(resident_bytes() - resident, -256 * 1024 * 1024, 2 * 1024 * 1024);
  }
  EXPECT_OK(chime_set_thread_hooks(NULL, NULL, NULL));
}

/* They look at the whole process's memory, and so need it to themselves. */
const csuite_test memory_main_tests[] = {
    TEST(weak_timers_leave_no_memory_behind),
    TEST(timers_with_targets_leave_no_memory_behind),
    TEST(run_loops_and_their_queues_leave_nothing_behind),
    {NULL, NULL},
};

const csuite_test weak_timer_tests[] = {
    TEST(a_weak_timer_with_wrong_arguments_is_not_made),
    TEST(a_target_that_has_gone_is_refused),
    TEST(questions_need_a_place_for_the_answer),
    TEST(an_interval_of_zero_or_less_is_a_tenth_of_a_millisecond),
    TEST(a_timer_that_does_not_repeat_has_no_interval),
    TEST(an_interval_without_end_never_ticks),
    TEST(a_repeating_timer_keeps_its_grid),
    TEST(a_one_shot_is_valid_until_its_action_has_returned),
    TEST(a_timer_that_nobody_holds_ticks_until_it_is_invalid),
    TEST(a_timer_is_on_one_loop_only),
    TEST(a_timer_in_two_modes_ticks_in_both_and_once_for_each_due_time),
    TEST(a_weak_timer_rests_in_other_modes_and_tells_what_it_missed),
    TEST(a_timer_may_be_added_to_a_mode_in_its_action),
    TEST(a_mode_added_by_another_thread_costs_no_due_time),
    TEST(timers_end_with_the_thread_of_their_loop),
    TEST(tolerance_is_kept_and_bounded),
    TEST(timers_with_tolerance_share_visits),
    TEST(the_fire_date_moves_the_next_tick_and_the_grid),
    TEST(a_fire_date_in_the_past_is_due_at_once_and_only_once),
    TEST(never_is_a_fire_date_and_can_be_taken_back),
    TEST(a_fire_date_in_the_past_set_in_the_action_lets_the_loop_go_on),
    TEST(fire_calls_the_action_here_and_leaves_the_schedule),
    TEST(fire_ends_a_timer_that_does_not_repeat),
    TEST(fire_inside_the_action_is_ignored),
    TEST(fire_is_ignored_while_the_action_runs_on_another_thread),
    TEST(ticks_wait_for_the_action_that_fire_runs_on_another_thread),
    TEST(fire_on_another_thread_and_ticks_exclude_each_other),
    TEST(a_timer_that_two_threads_fired_and_moved_ticks_on),
    TEST(invalidate_in_the_action_takes_effect_and_finalizes_after_it),
    TEST(release_in_the_action_takes_effect_and_finalizes_after_it),
    TEST(invalidate_and_release_finalize_in_the_call),
    TEST(invalidate_on_another_thread_says_that_the_action_runs),
    TEST(a_target_that_goes_between_ticks_takes_its_timers_along),
    TEST(a_target_that_goes_in_the_action_lives_until_it_returns),
    TEST(a_target_that_goes_before_the_timer_is_added_leaves_nothing_to_add),
    TEST(another_reference_keeps_the_target_and_its_timers),
    TEST(a_timer_in_several_modes_loses_its_target_once),
    TEST(a_storm_of_calls_from_several_threads_finalizes_each_timer_once),
    {NULL, NULL},
};
