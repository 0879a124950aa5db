/*
 * virtual.c - of virtual time what Tests/Model, which holds calls and time in all combinations against its model, leaves
 * open: several threads and queues, the ends of numbers, slots that are used again within a pass.
 * Promises 3, 10, 12, 13, 14 and 17.
 */
#include "harness.h"
#include "refusals.h"

/* ---- Order ------------------------------------------------------------------------------------------------------ */

typedef struct activation {
  csuite *t;
  probe *p;
  int before; /* of the timers that its thread starts on a queue of its own, and that count for themselves */
} activation;

THREAD(activate_at_10, activation, a) {
  QUEUE_OR_RETURN(other, VIRTUAL);
  for (int i = 0; i < a->before; i++) probe_after(t, other, NULL, 10);
  EXPECT_OK(chime_timer_restart(a->p->timer, AT(10)));
}

/* [12]: one after the other, those that had started more timers first. */
VIRTUAL_TEST(equal_deadlines_set_by_several_threads_run_in_the_order_of_activation) {
  enum { THREADS = 5 };
  probe *p[THREADS];
  for (int i = 0; i < THREADS; i++) p[i] = probe_idle(t, queue, (const char *[]){"a", "b", "c", "d", "e"}[i]);
  for (int i = 0; i < THREADS; i++) {
    activation a = {t, p[(i + 2) % THREADS], 3 * (THREADS - i)};
    run_on_a_thread(t, activate_at_10, &a);
  }
  ADVANCE(10);
  EXPECT_LOG("c1@10 d1@10 e1@10 a1@10 b1@10");
}

static void activate_own(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_timer_activate(tick->timer, AFTER(0)), CHIME_RUNNING);
}

VIRTUAL_TEST(a_thousand_passes_at_one_instant_are_the_limit) { /* [12] */
  probe *p = probe_quiet(t, queue, 7, 0, activate_own);
  EXPECT_STATUS(chime_queue_advance(queue, 100), CHIME_ERROR_LIMIT);
  EXPECT_EQ(now_of(t, queue), 7); /* time stands there */
  EXPECT_BETWEEN(p->ticks, 999, 1001);
  EXPECT_OK(chime_timer_cancel(p->timer));
  ADVANCE(100);
  EXPECT_EQ(now_of(t, queue), 107);
}

/* What repeats would tick for 292 years; here it is cancelled before that. */
static void cancel_the_fifth(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence == 5) EXPECT_STATUS(chime_timer_cancel(tick->timer), CHIME_RUNNING);
}

VIRTUAL_TEST(an_advance_without_end_is_refused) {
  probe *p = probe_quiet(t, queue, 7, 7, cancel_the_fifth);
  EXPECT_DETAIL(chime_queue_advance(queue, CHIME_FOREVER), CHIME_ERROR_INVALID_ARGUMENT,
                "an advance needs an end, because a timer that repeats has none: give a time");
  EXPECT_EQ(p->ticks, 0);
  EXPECT_EQ(now_of(t, queue), 0);
  ADVANCE(CHIME_FOREVER - 1);
  EXPECT_EQ(p->ticks, 5);
  EXPECT_EQ(now_of(t, queue), CHIME_FOREVER - 1);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------ */

/*
 * A turn in a pass ends with its timer, so that a timer that is made in the slot of one that was released does not come
 * before its own turn.
 */

/* So many that one of them has the slot, in whatever order slots are given out. */
enum { MADE = 300 };

typedef struct plan {
  chime_tick_kind kind; /* that those made later ask for: FIRED, or ARMED */
  probe *b, *made[MADE];
  int callbacks;
} plan;

/* Of extra ticks that were asked for at one instant, that comes first whose timer was activated first. */
static void begin(probe *p, chime_timer_options options, int is_fired) {
  csuite *t = p->t;
  EXPECT_OK(chime_timer_start(p->queue, &options, AFTER(CHIME_HOUR), &p->timer));
  if (is_fired) EXPECT_OK(chime_timer_fire(p->timer));
}

static void take_a_turn(csuite *t, probe *p, const chime_tick *tick) { p->number = ++((plan *)p->user)->callbacks; }

/* a's callback: b, whose turn is next, goes, and others come. */
static void take_a_turn_and_replace_b(csuite *t, probe *p, const chime_tick *tick) {
  plan *s = p->user;
  int is_fired = s->kind == CHIME_TICK_FIRED;
  take_a_turn(t, p, tick);
  EXPECT_TOOK_EFFECT(chime_timer_release(s->b->timer));
  for (int i = 0; i < MADE; i++)
    begin(s->made[i], is_fired ? probe_options(s->made[i]) : probe_full_options(s->made[i]), is_fired);
}

static probe *of_plan(csuite *t, chime_queue_t queue, plan *s, probe_action action) {
  probe *p = probe_new(t, queue, NULL);
  p->user = s;
  p->on_tick = p->on_armed = action;
  return p;
}

/* b has nothing to call last, so that its slot is free at once. */
static void check_turns(csuite *t, chime_queue_t queue, chime_tick_kind kind) {
  plan *s = csuite_memory(t, sizeof *s);
  probe *a = of_plan(t, queue, s, take_a_turn_and_replace_b), *c = of_plan(t, queue, s, take_a_turn);
  s->kind = kind;
  s->b = of_plan(t, queue, s, take_a_turn);
  for (int i = 0; i < MADE; i++) s->made[i] = of_plan(t, queue, s, take_a_turn);
  chime_timer_options of_b = probe_options(s->b);
  of_b.finalizer = NULL;
  begin(a, probe_options(a), 0);
  begin(s->b, of_b, 0);
  begin(c, probe_options(c), 0);
  ADVANCE(0);
  EXPECT_OK(chime_timer_fire(a->timer));
  EXPECT_OK(chime_timer_fire(s->b->timer));
  EXPECT_OK(chime_timer_fire(c->timer));
  ADVANCE(0);
  /* Those that were asked for first come first: b's turn, before c's, is nobody's. */
  EXPECT(s->b->number == 0 && a->number == 1 && c->number == 2);
  for (int i = 0; i < MADE; i++) {
    if (!EXPECT_EQ(s->made[i]->number, i + 3)) break;
  }
}

VIRTUAL_TEST(an_extra_tick_is_not_early_by_the_turn_of_a_timer_that_went) { /* [10] [12] */
  check_turns(t, queue, CHIME_TICK_FIRED);
}
VIRTUAL_TEST(a_registration_is_not_early_by_the_turn_of_a_timer_that_went) { check_turns(t, queue, CHIME_TICK_ARMED); }

/* ---- Moving time ------------------------------------------------------------------------------------------------ */

THREAD(expect_busy, probe, p) { EXPECT_STATUS(chime_queue_advance(p->queue, 5), CHIME_ERROR_BUSY); }

/* Another queue, and this one from another thread. */
static void advance_others(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_advance(p->other->queue, 30));
  run_on_a_thread(t, expect_busy, p);
}

VIRTUAL_TEST(a_handler_may_advance_another_queue_and_a_second_thread_finds_this_one_busy) {
  QUEUE_OR_RETURN(second, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 10);
  p->other = probe_after(t, second, "b", 25);
  p->on_tick = advance_others;
  probe_after(t, queue, "c", 10);
  ADVANCE(20);
  EXPECT_LOG("a1@10 b1@25 c1@10");
  EXPECT_EQ(now_of(t, queue), 20);
}

THREAD(load_a_door, probe, p) { EXPECT_OK(chime_timer_restart(p->timer, AT(40))); }

/* As a game advances its world: in frames of any length, with pauses, and with timers that a loader's thread starts. */
VIRTUAL_TEST(ticks_come_at_their_deadlines_however_time_is_cut_into_frames) { /* [3] */
  static const int frames[] = {16, 0, 0, 3, 33, 1, 47};
  int64_t left = 0;
  probe *enemy = probe_start(t, queue, "e", &SCHEDULE(.first_ns = 30, .interval_ns = 30));
  probe *door = probe_idle(t, queue, "d");
  for (int i = 0; i < 7; i++) {
    if (i == 2) run_on_a_thread(t, load_a_door, door);
    ADVANCE(frames[i]);
  }
  EXPECT_LOG("e1@30 d1@40 e2@60 e3@90");
  /* A saved game: what is left goes on, in a world whose time begins anew. */
  EXPECT_OK(chime_timer_remaining(enemy->timer, &left));
  QUEUE_OR_RETURN(loaded, VIRTUAL);
  probe *again = probe_start(t, loaded, "f", &SCHEDULE(.first_ns = left, .interval_ns = 30));
  EXPECT_OK(chime_queue_advance(loaded, 60));
  EXPECT_EQ(again->ticks, 2);
  EXPECT_EQ(again->last.scheduled_ns, 50);
}

/* ---- Exactness and leeway --------------------------------------------------------------------------------------- */

static void expect_left(csuite *t, const probe *p, int64_t expected) {
  int64_t left = -1;
  EXPECT_OK(chime_timer_remaining(p->timer, &left));
  EXPECT_EQ(left, expected);
}

static void fall_behind(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence > 1) return;
  expect_left(t, p, 10);
  EXPECT_OK(chime_queue_jump(p->queue, 15));
  expect_left(t, p, 0);
}

static void take_more_than_there_is(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_jump(p->queue, 12));
}

/* The handlers take 12 ns of each 10. */
VIRTUAL_TEST(an_advance_ends_though_its_handlers_take_ever_more_time) {
  probe *p = probe_new(t, queue, NULL);
  p->on_tick = take_more_than_there_is;
  EXPECT_OK(chime_timer_every(queue, 10, probe_handler, p, NULL, &p->timer));
  EXPECT_STATUS(chime_queue_advance(queue, 10), CHIME_ERROR_LIMIT);
  EXPECT(strstr(chime_last_error_detail(), "beyond the end of the advance") != NULL);
}

/* The queue has taken in a registration, and the timer then goes without a callback. */
VIRTUAL_TEST(nothing_is_due_once_what_had_a_turn_has_gone) { /* [18] */
  probe *p = probe_new(t, queue, NULL), *other = probe_after(t, queue, NULL, 100);
  chime_timer_options options = probe_full_options(p);
  options.finalizer = NULL;
  options.cancel_handler = NULL;
  EXPECT_OK(chime_timer_start(queue, &options, AFTER(100), &p->timer));
  EXPECT_OK(chime_timer_release(other->timer)); /* for whose finalizer the queue looks at its inbox */
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
}

VIRTUAL_TEST(the_time_that_is_left_is_that_to_the_next_deadline_or_what_a_suspended_timer_keeps) {
  const chime_schedule keeps = SCHEDULE(.first_ns = 10, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING);
  probe *p = probe_after(t, queue, NULL, 10);
  ADVANCE(4);
  expect_left(t, p, 6);
  EXPECT_OK(chime_timer_suspend(p->timer));
  expect_left(t, p, CHIME_FOREVER);
  EXPECT_OK(chime_timer_restart(p->timer, &keeps));
  ADVANCE(7);
  EXPECT_OK(chime_timer_suspend(p->timer));
  ADVANCE(100);
  expect_left(t, p, 3);
  EXPECT_OK(chime_timer_resume(p->timer));
  expect_left(t, p, 3);
  p->on_tick = fall_behind;
  ADVANCE(3);
  EXPECT_EQ(p->ticks, 2);
}

/* Five of ten were missed before a suspend: a tick counts them, unless the timer was postponed; the two ways are one. */
VIRTUAL_TEST(nothing_counts_as_missed_after_a_postponement) {
  const chime_schedule keeps = SCHEDULE(.first_ns = 10, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING);
  for (int way = 0; way < 5; way++) {
    probe *p = probe_start(t, queue, NULL, &keeps);
    JUMP(65);
    EXPECT_OK(chime_timer_suspend(p->timer));
    if (way == 1) EXPECT_OK(chime_timer_postpone(p->timer, 0));
    if (way == 2) EXPECT_OK(chime_timer_postpone_until(p->timer, now_of(t, queue)));
    EXPECT_OK(chime_timer_resume(p->timer));
    if (way == 3) EXPECT_OK(chime_timer_postpone(p->timer, 5));
    if (way == 4) EXPECT_OK(chime_timer_postpone_until(p->timer, now_of(t, queue) + 5));
    ADVANCE(5);
    EXPECT_EQ(p->ticks, 1);
    EXPECT_EQ(p->last.missed, way == 0 ? 5 : 0);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

/* Two were missed before the suspend, so the limit leaves the tick and one more due time, however late it is. */
VIRTUAL_TEST(a_limit_ends_with_the_last_due_time_that_it_counts) {
  probe *p = probe_start(
      t, queue, NULL,
      &SCHEDULE(.first_ns = 10, .interval_ns = 10, .tick_limit = 4, .resume_policy = CHIME_RESUME_REMAINING));
  JUMP(30);
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_OK(chime_timer_resume(p->timer));
  JUMP(100);
  ADVANCE(0);
  EXPECT_EQ(p->last.missed, 3);
  EXPECT_EQ(p->last.scheduled_ns, 40);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
}

/* [3] [13]: a tick comes at the roundest instant of its window, here multiples of 2^30 and 2^28. */
TEST(a_virtual_queue_can_honour_leeway_and_windows_share_wake_ups) {
  static const char *const names[] = {"a", "b", "c"};
  chime_queue_t queue =
      csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY));
  for (int i = 0; i < 3; i++) {
    probe_start(t, queue, names[i], &SCHEDULE(.first_ns = 1100000000 + i * 49000000, .leeway_ns = 500000000));
  }
  ADVANCE(1499999999);
  EXPECT_LOG("");
  ADVANCE(1000000000);
  EXPECT_LOG("a1@1100000000>1500000000 b1@1149000000>1500000000 c1@1198000000>1500000000");
}

/* ---- Extremes [17] ---------------------------------------------------------------------------------------------- */

/* Every period that there is was missed, and no time is left for another tick. */
VIRTUAL_TEST(a_grid_from_the_beginning_to_the_end_of_time_has_one_tick) {
  const chime_schedule schedule = schedule_at(INT64_MIN, 1);
  JUMP(CHIME_FOREVER);
  probe *p = probe_start(t, queue, "a", &schedule);
  ADVANCE(0);
  ADVANCE(0);
  EXPECT_LOG("a1+18446744073709551615>9223372036854775807");
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
}

/* Later than a number can say. */
VIRTUAL_TEST(a_tick_late_beyond_all_numbers_is_counted_as_the_latest) { /* [17] */
  JUMP(10);
  probe_start(t, queue, "a", AT(INT64_MIN + 1));
  ADVANCE(0);
  EXPECT_EQ(stats_of(t, queue).lateness[31], 1);
}

/* ---- Bounds [14] ------------------------------------------------------------------------------------------------- */

/* Each move to an earlier time leaves an entry behind, until there are too many. */
VIRTUAL_TEST(moves_to_earlier_times_leave_nothing_behind) {
  int count = 20000;
  probe *p = probe_after(t, queue, "a", 2 * CHIME_HOUR);
  int64_t far = 2 * CHIME_HOUR;
  for (int i = 0; i < count; i++) {
    EXPECT_OK(chime_timer_restart(p->timer, AT(far - i * CHIME_MICROSECOND)));
    ADVANCE(1);
  }
  EXPECT_BETWEEN(stats_of(t, queue).entries, 1, 1100);
  EXPECT_EQ(load(&p->ticks), 0);
}
