/*
 * weak_timers_moved.c - what chime_weak_timer_set_tolerance, _set_fire_date and _fire do to a weak timer, on its loop's
 * thread and on others.
 */
#include "weak.h"

/* ---- Tolerance -------------------------------------------------------------------------------------------------- */

static int64_t tolerance_of(weak *w) {
  csuite *t = w->t;
  int64_t tolerance = -1;
  EXPECT_OK(chime_weak_timer_tolerance(w->timer, &tolerance));
  return tolerance;
}

OWN_THREAD_TEST(tolerance_is_kept_and_bounded) {
  weak *w = weak_new(t), *once = weak_new(t);
  weak_create(w, INTERVAL, 1);
  weak_create(once, INTERVAL, 0);
  EXPECT_EQ(tolerance_of(w), 0);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, INTERVAL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, INT64_MAX), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, INTERVAL - 1));
  EXPECT_EQ(tolerance_of(w), INTERVAL - 1);
  EXPECT_OK(chime_weak_timer_set_tolerance(once->timer, INT64_MAX)); /* nothing bounds a one-shot's */
  EXPECT_STATUS(chime_weak_timer_set_tolerance(once->timer, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_until_due(w, 3); /* on its grid: a late tick moves no other */
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, 0));
  EXPECT_EQ(tolerance_of(w), 0);
  run_until_due(w, 6);
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
  run_until_due(w, 2);
  monotonic = monotonic_ns(); /* before the wall clock: what lies between counts for the timer */
  EXPECT(w->first_due >= monotonic - (wall_ns() - date) - CHIME_SECOND);
  /* On the loop: an hour later. */
  date = wall_ns() + CHIME_HOUR;
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, date));
  EXPECT_BETWEEN(fire_date(w) - date, -CHIME_MINUTE, CHIME_MINUTE);
  expect_no_tick(w);
  w->on_new_grid = 1;
  /* Back again. */
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, wall_ns() + INTERVAL));
  run_until_due(w, load(&w->due) + 3);
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
    run_until_due(w, 1);
    run_until(t, NULL, &once->finalized, 1);
    EXPECT_EQ(load(&w->due), 1);
    EXPECT_EQ(load(&once->due), 1);
    EXPECT_EQ(load(&once->finalized), 1);
    expect_no_tick(w);
    EXPECT_BETWEEN(fire_date(w) - wall_ns(), 0, CHIME_HOUR);
    EXPECT_OK(chime_weak_timer_release(w->timer));
    EXPECT_OK(chime_weak_timer_release(once->timer));
  }
}

OWN_THREAD_TEST(never_is_a_fire_date_and_can_be_taken_back) {
  weak *w = repeating(t);
  run_until_due(w, 1);
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, CHIME_FOREVER));
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  expect_no_tick(w);
  w->on_new_grid = 1;
  EXPECT(is_valid(w));
  EXPECT_OK(chime_weak_timer_set_tolerance(w->timer, 1));
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  EXPECT_OK(chime_weak_timer_set_fire_date(w->timer, wall_ns()));
  run_until_due(w, load(&w->due) + 2);
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
  run_until_due(w, 2);
  run_until_due(other, 1);
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
  expect_no_tick(w);
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
}

static void fire_inside(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = chime_weak_timer_fire(w->timer);
}

OWN_THREAD_TEST(fire_inside_the_action_is_ignored) {
  weak *w = weak_new(t);
  w->on_tick = fire_inside;
  weak_schedule(w, INTERVAL, 1);
  run_until_due(w, 1);
  EXPECT_STATUS(w->status, CHIME_IGNORED);
  w->status = CHIME_OK;
  EXPECT_OK(chime_weak_timer_fire(w->timer));
  EXPECT_STATUS(w->status, CHIME_IGNORED);
  EXPECT_EQ(load(&w->fired), 1);
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
  run_until_due(w, 1);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT(w->due_times >= 5); /* what was held back came at once, and is counted */
  EXPECT(w->first_due <= held - 4 * INTERVAL);
  run_until_due(w, 4); /* the grid is checked */
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
  run_until_due(w, csuite_scaled(1000));
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  run_until_due(w, load(&w->due) + 2);
  EXPECT_EQ(load(&w->fired), load(&w->flag));
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
    run_until_due(w, load(&w->due) + 2);
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

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
  run_until_due(w[MOVED - 1], 2);
  if (!spawn(t, &thread, add_each_to_tracking, w)) return;
  while (!load(&w[0]->gate)) run_for(t, NULL, CHIME_MILLISECOND);
  pthread_join(thread, NULL);
  for (i = 0; i < MOVED; i++) {
    run_until_due(w[i], load(&w[i]->due) + 1);
    EXPECT_OK(chime_weak_timer_release(w[i]->timer));
    EXPECT_EQ(load(&w[i]->finalized), 1);
  }
}

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
