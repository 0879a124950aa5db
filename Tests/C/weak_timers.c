/*
 * weak_timers.c - chime_weak_timer_*: timers on run loops that do not keep their target alive: their intervals, ticks
 * and modes, their ends, targets and fire dates. (Arguments: arguments.c, refusals.c; the scripts: weak.h.)
 */
#include "weak.h"

/* ---- Intervals and ticks ----------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(an_interval_of_zero_or_less_is_a_tenth_of_a_millisecond) {
  static const int64_t given[] = {0, -1, INT64_MIN, 100000};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    int64_t began = monotonic_ns();
    weak *w = weak_start(t, given[i], 1, NULL);
    w->interval = 100000;
    run_until_due(w, 3); /* repeats, and does not spin: the grid is checked */
    EXPECT(w->first_due >= began + 100000);
    EXPECT_OK(chime_weak_timer_release(w->timer));
  }
}

WEAK_TIMELINE(an_interval_without_end_never_ticks, "a every never; a due never; rest a; a is valid")
WEAK_TIMELINE(
    a_one_shot_is_valid_until_its_action_has_returned,
    "a once 1; a: a is valid; run a 1; a is invalid; a is over; a due never; rest a; a.add tracking?; a.fire?; "
    "a.invalidate?; a.tolerance 1?; a.date 0?; rest a; a.release")

/* The id of the tick serves as long as the timer is valid. */
WEAK_TIMELINE(a_timer_that_nobody_holds_ticks_until_it_is_invalid,
              "a once 2 unheld; b every 2 unheld; run b 3; a is over; a.fire -> INVALID_HANDLE; "
              "b.invalidate; b is over; b.invalidate -> INVALID_HANDLE")

/* ---- Loops and modes -------------------------------------------------------------------------------------------- */

OWN_THREAD_TEST(a_timer_is_on_one_loop_only) {
  weak *w = weak_new(t);
  chime_run_loop_t other = 0;
  weak_make(w, LOOSE, CHIME_HOUR, 1);
  REQUIRE_OK(chime_run_loop_create(&RUN_LOOP_OPTIONS(.label = "csuite.other"), &other));
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

/* The default mode, in which it is already, is a common one; its target goes once. */
WEAK_TIMELINE(a_timer_in_two_modes_ticks_in_both_and_once_for_each_due_time,
              "a every 2 target; run a 2; a.add tracking; run a 2 in tracking; run a 2; run a 2 in tracking; run a 2; "
              "a.add common; run a 3; a.lose; rest a; rest a in tracking; a is over")

static void *leave_timers_behind(void *argument) {
  weak **w = argument;
  for (int i = 0; i < 3; i++) w[i]->loop = current_loop(w[i]->t);
  weak_make(w[0], SCHEDULED, INTERVAL, 1);
  weak_make(w[1], SCHEDULED, INTERVAL, 1);
  weak_make(w[2], UNHELD, INTERVAL, 1);
  run_until_due(w[2], 1);
  return NULL;
}

OWN_THREAD_TEST(timers_end_with_the_thread_of_their_loop) {
  weak *w[3] = {weak_new(t), weak_with_target(t), weak_with_target(t)}, *late = weak_new(t);
  pthread_t thread;
  if (!spawn(t, &thread, leave_timers_behind, w)) return;
  pthread_join(thread, NULL);
  for (int i = 0; i < 3; i++) EXPECT_EQ(load(&w[i]->finalized), 1);
  EXPECT_EQ(is_valid(t, w[0]->timer), 0);
  EXPECT_STATUS(chime_weak_timer_fire(w[0]->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w[1]->timer), CHIME_IGNORED);
  weak_make(late, LOOSE, INTERVAL, 1);
  EXPECT_STATUS(chime_weak_timer_add(late->timer, w[0]->loop, NULL), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(is_valid(t, late->timer));
}

static uint64_t queues_there(csuite *t) {
  size_t count = 0;
  EXPECT_OK(chime_queue_list(NULL, 0, &count));
  return count;
}

/* Under limits that leave room for ever more of what the call makes: the loop's queue, then the timer. */
OWN_THREAD_TEST_ALONE(a_schedule_that_is_refused_leaves_no_queue_behind) {
  chime_status status = CHIME_ERROR_LIMIT;
  chime_weak_timer_t timer = 0;
  int finalized = 0, refused = 0;
  if (chime_set_memory_limit(0) == CHIME_ERROR_UNSUPPORTED) return;
  current_loop(t);
  uint64_t before = queues_there(t), room = 64;
  while (status == CHIME_ERROR_LIMIT && room < 1 << 22 && !csuite_failed(t)) {
    uint64_t used = chime_memory_used();
    EXPECT_OK(chime_set_memory_limit(used + room));
    status = chime_weak_timer_schedule(CHIME_HOUR, 1, 0, ignore_tick, &finalized, count_call, NULL, &timer);
    EXPECT_OK(chime_set_memory_limit(0));
    if (status != CHIME_ERROR_LIMIT) break;
    refused++;
    EXPECT_EQ(queues_there(t), before);
    EXPECT_EQ(finalized, 0);
    EXPECT_STATUS(chime_run_loop_run(NULL, 0, 0), CHIME_TIMED_OUT); /* where the queue ends */
    /* What it could have, some of which is kept, is more than what comes after it. */
    room = chime_memory_used() > used ? 64 : room + 64;
  }
  EXPECT(refused > 1);
  if (csuite_failed(t)) return;
  EXPECT_OK(status);
  EXPECT_EQ(queues_there(t), before + 1);
  EXPECT_OK(chime_weak_timer_release(timer));
  EXPECT_EQ(finalized, 1);
}

/* ---- Ends ------------------------------------------------------------------------------------------------------- */

/* In the action, of a tick and of fire, of a timer that repeats or not; the finalizer comes afterwards. */
static void ends_in_the_action(csuite *t, const char *target, const char *end, int line) {
  for (int i = 0; i < 4; i++) {
    char *script = csuite_memory(t, 400);
    snprintf(script, 400, "a %s 1 %s; a: %s; %s; a is over; rest a", i % 2 ? "every" : "once", target, end,
             i < 2 ? "run a 1" : "a.fire");
    csuite_weak_timeline(t, script, __FILE__, line);
  }
}

/* A program that ends all queues ends that one, too. */
OWN_THREAD_TEST_ALONE(a_timer_ends_with_the_queue_that_it_is_on_and_the_next_has_another) {
  weak *w = weak_start(t, CHIME_MILLISECOND, 1, NULL);
  chime_queue_t queue;
  size_t count;
  int round;
  for (round = 0; round < 2; round++) {
    run_until_due(w, 2);
    EXPECT_OK(chime_queue_list(&queue, 1, &count));
    EXPECT_EQ(count, 1);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    EXPECT_EQ(is_valid(t, w->timer), 0);
    EXPECT_EQ(load(&w->finalized), 1);
    EXPECT_OK(chime_weak_timer_release(w->timer));
    w = weak_start(t, CHIME_MILLISECOND, 1, NULL);
  }
  EXPECT_OK(chime_weak_timer_release(w->timer));
}

OWN_THREAD_TEST(a_timer_that_ends_in_its_action_is_finalized_after_it) {
  ends_in_the_action(t, "", "a.invalidate!, a.invalidate!?, a is busy", __LINE__);
  ends_in_the_action(t, "", "a.release!, a.release -> INVALID_HANDLE, a is busy", __LINE__);
  ends_in_the_action(t, "target", "a.lose!, a.lose -> INVALID_HANDLE, a is busy, a is invalid", __LINE__);
}

WEAK_TIMELINE(invalidate_and_release_finalize_in_the_call,
              "a every 2; b every 2 loose; c every 2; a.invalidate; a is over; a.invalidate?; b.invalidate; b is over; "
              "c.release; c is over; rest a; a ticked 0; b ticked 0; c ticked 0")

/* ---- Targets ---------------------------------------------------------------------------------------------------- */

/* Whoever asks knows it at once, which changes nothing: it is the loop that lets go. */
WEAK_TIMELINE(
    a_target_that_goes_between_ticks_takes_its_timers_along,
    "a every 2 target; b every 3600000 target; c every 2 target unheld; run c 2; run a 2; a.lose; b.lose; c.lose; "
    "b is invalid; b due never; b is kept; rest a; rest c; a is over; b is over; c is over; a is invalid; a.invalidate?")
WEAK_TIMELINE(
    a_target_that_goes_before_the_timer_is_added_leaves_nothing_to_add,
    "a every 2 target loose; b every 2 target loose; a.lose; a.add -> TARGET_GONE; a is invalid; a.release; a is over; "
    "b.lose; b.fire?; b is over")

/* Of one that is on no loop: a call that changes the timer, and no other. */
WEAK_TIMELINE(
    queries_release_nothing_of_a_timer_whose_target_has_gone,
    "a every 2 target loose; b every 2 target loose; c every 2 target loose; d every 2 target; a.lose; b.lose; c.lose; "
    "d.lose; a is invalid; a due never; a tolerates 0; a.tolerance 1?; a.date 1?; a.add -> TARGET_GONE; a is kept; "
    "a is invalid; a.invalidate?; a is over; b is kept; b.fire?; b is over; c.release; c is over; d is invalid; "
    "d due never; d is kept; d.release; d is over")

/* ---- Tolerance -------------------------------------------------------------------------------------------------- */

/* A late tick moves no other; nothing bounds a one-shot's. */
WEAK_TIMELINE(
    tolerance_is_kept_and_bounded,
    "a every 2 loose; b once 2 loose; a tolerates 0; a.tolerance -1 -> INVALID_ARGUMENT; "
    "a.tolerance 2 -> INVALID_ARGUMENT; a.tolerance max -> INVALID_ARGUMENT; a.tolerance 1; a tolerates 1; "
    "b.tolerance max; b.tolerance min -> INVALID_ARGUMENT; a.add; run a 3; a.tolerance 0; a tolerates 0; run a 3")

OWN_THREAD_TEST(a_timer_has_the_tolerance_and_the_label_that_it_was_given) {
  static const struct {
    int64_t tolerance_ns;
    int repeats;
    chime_status expected;
  } rows[] = {{1, 1, CHIME_OK},
              {CHIME_HOUR - 1, 1, CHIME_OK},
              {CHIME_HOUR, 1, CHIME_ERROR_INVALID_ARGUMENT},
              {CHIME_FOREVER, 0, CHIME_OK}};
  chime_run_loop_t loop = current_loop(t);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const chime_weak_timer_options options =
        WEAK_TIMER_OPTIONS(.tolerance_ns = rows[i].tolerance_ns, .label = "a poll");
    chime_weak_timer_t timer = 0;
    int64_t tolerance = 0;
    size_t told = 0;
    EXPECT_STATUS(chime_weak_timer_create(CHIME_HOUR, rows[i].repeats, 0, ignore_tick, t, NULL, &options, &timer),
                  rows[i].expected);
    EXPECT_EQ(timer != 0, rows[i].expected == CHIME_OK);
    if (timer == 0) continue;
    EXPECT_OK(chime_weak_timer_tolerance(timer, &tolerance));
    EXPECT_EQ(tolerance, rows[i].tolerance_ns);
    /* In a second mode it is another timer of the core's. */
    for (int in_common = 0; in_common < 2; in_common++) {
      chime_queue_t queues[64];
      EXPECT_OK(chime_weak_timer_add(timer, loop, in_common ? CHIME_RUN_LOOP_COMMON_MODES : NULL));
      EXPECT_OK(chime_queue_list(queues, 64, &told));
      size_t count = told;
      told = 0;
      for (size_t q = 0; q < count && q < 64; q++) {
        char text[1000];
        if (chime_queue_dump(queues[q], text, sizeof text, NULL) == CHIME_OK) told += strstr(text, "a poll") != NULL;
      }
      EXPECT_EQ(told, 1);
    }
    EXPECT_OK(chime_weak_timer_release(timer));
  }
}

/* Twenty timers whose windows overlap are served by far fewer visits than ticks. */
OWN_THREAD_TEST(timers_with_tolerance_share_visits) {
  enum { TIMERS = 20 };
  int64_t end = monotonic_ns() + PATIENCE;
  int i, due = 0, visits;
  do {
    weak *w[TIMERS];
    for (i = 0; i < TIMERS; i++) {
      w[i] = weak_new(t);
      weak_make(w[i], LOOSE, (40 + 4 * i) * CHIME_MILLISECOND, 0);
      EXPECT_OK(chime_weak_timer_set_tolerance(w[i]->timer, 400 * CHIME_MILLISECOND));
      EXPECT_OK(chime_weak_timer_add(w[i]->timer, w[i]->loop, NULL));
    }
    for (visits = due = 0; due < TIMERS; visits++) {
      if (!EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK))) return;
      for (due = i = 0; i < TIMERS; i++) due += load(&w[i]->due);
    }
  } while (visits > 4 && monotonic_ns() < end); /* a thread that was held up makes more of them: once more */
  EXPECT_BETWEEN(visits, 1, 4);
}

/* ---- The fire date ---------------------------------------------------------------------------------------------- */

WEAK_TIMELINE(the_fire_date_moves_the_next_tick_and_the_grid,
              "a every 2 loose; a.date 3600000; a due 3600000; a.add; rest a; a due 3600000; a.date 20; run a 3; "
              "a.date never; rest a; a.tolerance 1; a due never; a is valid; a.date 2; run a 3")
WEAK_TIMELINE(a_fire_date_in_the_past_is_due_at_once_and_only_once,
              "a every 3600000; b once 3600000; a.date min; a due -9223372036854; run a 1; rest a; "
              "b.date min; run b 1; b is over; rest b; a.date at 0; run a 1; a.date at -3600000; run a 1; rest a")

/* Foundation's own timer spins inside one run then. */
WEAK_TIMELINE(a_fire_date_in_the_past_set_in_the_action_lets_the_loop_go_on,
              "a every 3600000; b every 2; a: a.date at 0; a.date at 0; run 20; run a 2; run b 1")

/* ---- Fire ------------------------------------------------------------------------------------------------------- */

WEAK_TIMELINE(fire_calls_the_action_here_and_leaves_the_schedule,
              "a every 3600000 target; a.fire; a fired 1; a.fire; a fired 2; a due 3600000; a is valid; a.lose; "
              "a.fire?; a is over")
WEAK_TIMELINE(fire_ends_a_timer_that_does_not_repeat,
              "a once 2; b once 2 loose; a.fire; b.fire; a is over; b is over; a is invalid; rest a; a.fire?")

/* ---- Other threads ----------------------------------------------------------------------------------------------- */

/* Raises the flag; the first time it stays until the gate opens. */
static void stay(weak *w, const chime_tick *tick) {
  csuite *t = w->t;
  if (add(&w->flag, 1) == 1) EXPECT(await(&w->gate, 1));
}

static void *fire_from_here(void *argument) {
  weak *w = argument;
  w->status = chime_weak_timer_fire(w->timer);
  return NULL;
}

OWN_THREAD_TEST(calls_while_the_action_runs_on_another_thread) {
  weak *w = weak_start(t, CHIME_HOUR, 1, stay);
  pthread_t thread;
  if (!spawn(t, &thread, fire_from_here, w)) return;
  EXPECT(await(&w->flag, 1));
  EXPECT_STATUS(chime_weak_timer_fire(w->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_weak_timer_invalidate(w->timer), CHIME_RUNNING);
  EXPECT_EQ(is_valid(t, w->timer), 0);
  EXPECT_EQ(load(&w->finalized), 0);
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  EXPECT_OK(w->status);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT_EQ(load(&w->finalized), 1);
}

/* The ticks that fall due meanwhile come as one when the action has returned, and none is forgotten. */
OWN_THREAD_TEST(ticks_wait_for_the_action_that_fire_runs_on_another_thread) {
  weak *w = weak_new(t);
  pthread_t thread;
  w->on_tick = stay;
  const int64_t begun = monotonic_ns();
  weak_make(w, LOOSE, INTERVAL, 1);
  const int64_t made = monotonic_ns();
  if (!spawn(t, &thread, fire_from_here, w)) return;
  EXPECT(await(&w->flag, 1));
  EXPECT_OK(chime_weak_timer_add(w->timer, w->loop, NULL));
  for (int i = 0; i < 3; i++) run_for(t, NULL, 2 * INTERVAL); /* a tick each, however slow the machine */
  EXPECT_EQ(load(&w->due), 0);
  EXPECT_EQ(load(&w->fired), 1);
  int64_t held = monotonic_ns();
  store(&w->gate, 1);
  pthread_join(thread, NULL);
  EXPECT_OK(w->status);
  run_until_due(w, 1);
  EXPECT_EQ(load(&w->fired), 1);
  EXPECT(w->due_times >= 5); /* what was held back came at once, and is counted */
  EXPECT(w->first_due <= held - 4 * INTERVAL);
  EXPECT_BETWEEN(w->first_due, begun + INTERVAL, made + INTERVAL); /* all of it */
  run_until_due(w, 4);                                             /* the grid is checked */
}

enum { ENDING = 100, ENDERS = 3 };

typedef struct ender {
  weak **w;
  int number, *over;
} ender;

static void *end_each(void *argument) {
  ender *e = argument;
  csuite *t = e->w[0]->t;
  for (int i = 0; i < ENDING; i++) {
    weak *w = e->w[i];
    chime_weak_timer_add(w->timer, w->loop, TRACKING);
    chime_weak_timer_fire(w->timer);
    chime_weak_timer_set_fire_date(w->timer, i % 2 ? 0 : CHIME_FOREVER);
    if (e->number == 0) chime_weak_timer_invalidate(w->timer);
    if (e->number == 1) EXPECT_TOOK_EFFECT(chime_target_release(w->target->id));
    if (e->number == 2) EXPECT_TOOK_EFFECT(chime_weak_timer_release(w->timer));
  }
  add(e->over, 1);
  return NULL;
}

/* [8]: three threads use and end the same timers, beside the loop. At its end each is finalized once: weak_ends. */
OWN_THREAD_TEST(timers_that_several_threads_end_are_finalized_once) {
  EXPECT_OK(chime_run_loop_add_common_mode(current_loop(t), TRACKING));
  for (int round = 0; round < csuite_scaled(100) && !csuite_failed(t); round++) {
    weak *w[ENDING];
    pthread_t threads[ENDERS];
    ender enders[ENDERS];
    int over = 0;
    for (int i = 0; i < ENDING; i++) {
      w[i] = weak_with_target(t);
      weak_make(w[i], SCHEDULED, 50 * CHIME_MICROSECOND, i % 4 != 0);
      w[i]->interval = 0; /* there are many grids */
    }
    for (int i = 0; i < ENDERS; i++) {
      enders[i] = (ender){w, i, &over};
      if (!spawn(t, &threads[i], end_each, &enders[i])) return;
    }
    for (int i = 0; load(&over) < ENDERS; i++) run_for(t, i % 2 ? TRACKING : NULL, 100 * CHIME_MICROSECOND);
    for (int i = 0; i < ENDERS; i++) pthread_join(threads[i], NULL);
  }
}
