/*
 * weak_timers.c - chime_weak_timer_*: timers on run loops that do not keep their target alive: how they are made, their
 * ticks and modes, their ends and targets. (Tolerance, fire date and fire: weak_timers_moved.c.)
 */
#include "weak.h"

/* ---- Creation --------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_weak_timer_with_wrong_arguments_is_not_made) {
  weak *w = weak_new(t), *of_gone = weak_with_target(t);
  chime_weak_timer_t timer = 7;
  size_t i;
  EXPECT_OK(chime_target_release(of_gone->target));
  {
    const struct {
      int32_t repeats;
      chime_target_t target;
      chime_handler action;
      chime_status expected;
    } wrong[] = {{1, 0, NULL, CHIME_ERROR_INVALID_ARGUMENT},
                 {2, 0, weak_action, CHIME_ERROR_INVALID_ARGUMENT},
                 {-1, 0, weak_action, CHIME_ERROR_INVALID_ARGUMENT},
                 {1, 12345, weak_action, CHIME_ERROR_INVALID_HANDLE},
                 {1, w->loop, weak_action, CHIME_ERROR_INVALID_HANDLE},
                 {1, of_gone->target, weak_action, CHIME_ERROR_TARGET_GONE}};
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
      EXPECT_STATUS(chime_weak_timer_create(INTERVAL, wrong[i].repeats, wrong[i].target, wrong[i].action, w,
                                            weak_finalizer, &timer),
                    wrong[i].expected);
      EXPECT_STATUS(chime_weak_timer_schedule(INTERVAL, wrong[i].repeats, wrong[i].target, wrong[i].action, w,
                                              weak_finalizer, NULL),
                    wrong[i].expected);
    }
  }
  EXPECT_STATUS(chime_weak_timer_create(INTERVAL, 1, 0, weak_action, w, weak_finalizer, NULL),
                CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(timer, 7);
  expect_no_tick(w); /* and user_info stays the caller's */
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
}

static int64_t interval_of(weak *w) {
  csuite *t = w->t;
  int64_t interval = -1;
  EXPECT_OK(chime_weak_timer_interval(w->timer, &interval));
  return interval;
}

OWN_THREAD_TEST(an_interval_of_zero_or_less_is_a_tenth_of_a_millisecond) {
  static const int64_t given[] = {0, -1, INT64_MIN, 100000};
  size_t i;
  for (i = 0; i < sizeof given / sizeof given[0]; i++) {
    weak *w = weak_new(t);
    weak_schedule(w, given[i], 1);
    w->interval = 100000;
    EXPECT_EQ(interval_of(w), 100000);
    run_until_due(w, 3); /* repeats, and does not spin: the grid is checked */
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

OWN_THREAD_TEST(a_timer_that_does_not_repeat_has_no_interval) {
  weak *w = weak_new(t);
  weak_create(w, CHIME_HOUR, 0);
  EXPECT_EQ(interval_of(w), 0);
  EXPECT_BETWEEN(fire_date(w) - wall_ns(), CHIME_HOUR - CHIME_MINUTE, CHIME_HOUR);
}

OWN_THREAD_TEST(an_interval_without_end_never_ticks) {
  weak *w = weak_new(t);
  weak_schedule(w, CHIME_FOREVER, 1);
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  expect_no_tick(w);
  EXPECT(is_valid(w));
}

/* ---- Ticks ------------------------------------------------------------------------------------------------------ */

OWN_THREAD_TEST(a_repeating_timer_keeps_its_grid) {
  weak *w = repeating(t);
  int64_t created = monotonic_ns();
  run_until_due(w, 10);
  EXPECT_BETWEEN(w->first_due, created - CHIME_MINUTE, created + INTERVAL);
  EXPECT(is_valid(w));
}

static void look_at_validity(weak *w, const chime_tick *tick) {
  (void)tick;
  w->status = is_valid(w);
}

OWN_THREAD_TEST(a_one_shot_is_valid_until_its_action_has_returned) {
  weak *w = weak_new(t);
  w->on_tick = look_at_validity;
  weak_schedule(w, CHIME_MILLISECOND, 0);
  run_until_due(w, 1);
  EXPECT_EQ(w->status, 1);
  EXPECT_EQ(is_valid(w), 0);
  EXPECT_EQ(load(&w->finalized), 1); /* after the action, with the id still held */
  EXPECT_EQ(fire_date(w), CHIME_FOREVER);
  EXPECT_STATUS(chime_weak_timer_add(w->timer, w->loop, TRACKING), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_set_tolerance(w->timer, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_set_fire_date(w->timer, 0), CHIME_IGNORED);
  expect_no_tick(w);
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(a_timer_that_nobody_holds_ticks_until_it_is_invalid) {
  weak *once = weak_new(t), *again = weak_new(t);
  weak_schedule_unheld(once, INTERVAL, 0);
  weak_schedule_unheld(again, INTERVAL, 1);
  run_until_due(again, 3);
  run_until_due(once, 1);
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
  int i;
  weak_create(w, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  run_until_due(w, 2);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, TRACKING));
  for (i = 0; i < 6; i++) {
    const char *mode = i % 2 ? TRACKING : NULL;
    int ticks = load(&w->due);
    run_for(t, mode, INTERVAL);
    run_until(t, mode, &w->due, ticks + 1);
  }
  /* The default mode, in which it is already, is one of them. */
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, CHIME_RUN_LOOP_COMMON_MODES));
  run_until_due(w, load(&w->due) + 3);
}

OWN_THREAD_TEST(a_weak_timer_rests_in_other_modes_and_tells_what_it_missed) {
  weak *w = repeating(t), *common = weak_new(t);
  weak_create(common, INTERVAL, 1);
  EXPECT_OK(chime_run_loop_add_common_mode(w->loop, TRACKING));
  EXPECT_OK(chime_weak_timer_add(common->timer, w->loop, CHIME_RUN_LOOP_COMMON_MODES));
  run_for(t, TRACKING, 20 * CHIME_MILLISECOND);
  run_until(t, TRACKING, &common->due, 1);
  EXPECT_EQ(load(&w->due), 0);
  run_until_due(w, 1);
  EXPECT(w->last.missed >= 8);
  run_until_due(w, 3);
  run_until_due(common, load(&common->due) + 2);
  run_until(t, TRACKING, &common->due, load(&common->due) + 2); /* goes on whenever the mode changes */
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
  run_until_due(w, 2);
  EXPECT_OK(w->status);
  run_until(t, TRACKING, &w->due, 4);
  run_until_due(w, 6);
  EXPECT_EQ(load(&once->due), 1);
  EXPECT_EQ(load(&once->finalized), 1);
}

static void *leave_timers_behind(void *argument) {
  weak **w = argument;
  int i;
  for (i = 0; i < 3; i++) w[i]->loop = current_loop(w[i]->t);
  weak_schedule(w[0], INTERVAL, 1);
  weak_schedule(w[1], INTERVAL, 1);
  weak_schedule_unheld(w[2], INTERVAL, 1);
  run_until_due(w[2], 1);
  return NULL;
}

OWN_THREAD_TEST(timers_end_with_the_thread_of_their_loop) {
  weak *w[3] = {weak_new(t), weak_with_target(t), weak_with_target(t)}, *late = weak_new(t);
  pthread_t thread;
  int i;
  if (!spawn(t, &thread, leave_timers_behind, w)) return;
  pthread_join(thread, NULL);
  for (i = 0; i < 3; i++) EXPECT_EQ(load(&w[i]->finalized), 1);
  EXPECT_EQ(is_valid(w[0]), 0);
  EXPECT_STATUS(chime_weak_timer_fire(w[0]->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w[1]->timer), CHIME_IGNORED);
  weak_create(late, INTERVAL, 1);
  EXPECT_STATUS(chime_weak_timer_add(late->timer, w[0]->loop, NULL), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(is_valid(late));
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

static void release_the_target_inside(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  (void)tick;
  w->status = chime_target_release(w->target);
  w->status2 = chime_target_release(w->target);
  EXPECT_EQ(load(&w->objects_destroyed), 0); /* it lives until the action has returned */
  EXPECT_EQ(is_valid(w), 0);
  store(&w->flag, load(&w->finalized));
}

/* Ends the timer in its action, of a tick and of fire, and of one that repeats or not; its finalizer comes afterwards. */
static void ends_in_the_action(csuite *t, int has_target, void (*end)(weak *w, const chime_tick *tick),
                               chime_status first, chime_status second) {
  int repeats, fires;
  for (repeats = 0; repeats < 2; repeats++) {
    for (fires = 0; fires < 2; fires++) {
      weak *w = has_target ? weak_with_target(t) : weak_new(t);
      w->on_tick = end;
      weak_schedule(w, CHIME_MILLISECOND, repeats);
      if (fires) EXPECT_OK(chime_weak_timer_fire(w->timer));
      else run_until_due(w, 1);
      EXPECT_STATUS(w->status, first);
      EXPECT_STATUS(w->status2, second);
      EXPECT_EQ(load(&w->flag), 0);
      EXPECT_EQ(load(&w->finalized), 1);
      EXPECT_EQ(load(&w->objects_destroyed), has_target);
      expect_no_tick(w);
    }
  }
}

OWN_THREAD_TEST(invalidate_in_the_action_takes_effect_and_finalizes_after_it) {
  ends_in_the_action(t, 0, invalidate_inside, CHIME_RUNNING, CHIME_IGNORED);
}

OWN_THREAD_TEST(release_in_the_action_takes_effect_and_finalizes_after_it) {
  ends_in_the_action(t, 0, release_inside, CHIME_RUNNING, CHIME_ERROR_INVALID_HANDLE);
}

OWN_THREAD_TEST(a_target_that_goes_in_the_action_lives_until_it_returns) {
  ends_in_the_action(t, 1, release_the_target_inside, CHIME_OK, CHIME_ERROR_INVALID_HANDLE);
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
  expect_no_tick(on_loop);
  EXPECT_EQ(load(&on_loop->due) + load(&on_none->due) + load(&released->due), 0);
  EXPECT_OK(chime_weak_timer_release(on_loop->timer));
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
}

/* ---- Targets ---------------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_target_that_goes_between_ticks_takes_its_timers_along) {
  weak *held = weak_with_target(t), *asked = weak_with_target(t), *unheld = weak_with_target(t);
  int ticks;
  weak_schedule(held, INTERVAL, 1);
  weak_schedule(asked, CHIME_HOUR, 1);
  weak_schedule_unheld(unheld, INTERVAL, 1);
  run_until_due(unheld, 2);
  run_until_due(held, 2);
  ticks = load(&unheld->due);
  EXPECT_OK(chime_target_release(held->target));
  EXPECT_OK(chime_target_release(asked->target));
  EXPECT_OK(chime_target_release(unheld->target));
  EXPECT_EQ(load(&held->objects_destroyed) + load(&asked->objects_destroyed) + load(&unheld->objects_destroyed), 3);
  /* Whoever asks knows it at once, and ends the timer by that. */
  EXPECT_EQ(is_valid(asked), 0);
  EXPECT_EQ(load(&asked->finalized), 1);
  EXPECT_EQ(fire_date(asked), CHIME_FOREVER);
  /* Otherwise it is the loop that lets go. */
  expect_no_tick(held);
  EXPECT_EQ(load(&unheld->due), ticks);
  EXPECT_EQ(load(&held->finalized), 1);
  EXPECT_EQ(load(&unheld->finalized), 1);
  EXPECT_EQ(is_valid(held), 0);
  EXPECT_STATUS(chime_weak_timer_invalidate(held->timer), CHIME_IGNORED);
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
}

OWN_THREAD_TEST(another_reference_keeps_the_target_and_its_timers) {
  weak *w = weak_with_target(t);
  weak_schedule(w, INTERVAL, 1);
  EXPECT_OK(chime_target_retain(w->target, NULL));
  EXPECT_OK(chime_target_release(w->target));
  run_until_due(w, 2);
  EXPECT(is_valid(w));
  EXPECT_OK(chime_target_release(w->target));
  EXPECT_EQ(is_valid(w), 0);
}

OWN_THREAD_TEST(a_timer_in_several_modes_loses_its_target_once) {
  weak *w = weak_with_target(t);
  weak_schedule(w, INTERVAL, 1);
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, TRACKING));
  run_until(t, TRACKING, &w->due, 1);
  EXPECT_OK(chime_target_release(w->target));
  expect_no_tick(w);
  run_for(t, TRACKING, 2 * INTERVAL);
  EXPECT_EQ(load(&w->due), 1);
  EXPECT_EQ(load(&w->finalized), 1);
}
