/*
 * virtual_time.c - order in virtual time, moving it, how exact it is, leeway, and the ends of numbers. (In all
 * combinations, inside handlers too: Tests/Model.) Promises 1, 3, 10, 12, 13, 14 and 17.
 */
#include "timeline.h"

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* [12]: after cancel and activate, a is the later one. */
TIMELINE(equal_deadlines_run_in_the_order_of_activation,
         "a new; b new; c new; c.activate 10; +4; a.activate 6; b.activate 6; +6 | c1@10 a1@10 b1@10; "
         "a.activate 6; b.activate 6; a.cancel; a.activate 6; +6 | b1@16 a1@16")
TIMELINE(ticks_due_in_one_pass_run_by_deadline,
         /* [12] */ "a 30; b 10; c 20; d 10; >50; +0 | b1@10>50 d1@10>50 c1@20>50 a1@30>50")

/* [12]: it was collected with the others, but the turn that it has now is that of its new activation. */
TIMELINE(a_due_timer_started_anew_by_another_handler_comes_after_the_others,
         "a 10; b 10; c 10; a: b.restart 0; +20 | a1@10 c1@10 b1@10")
TIMELINE(entries_that_overtake_each_other_come_in_their_new_order,
         "a 200; b 250; +0; a.restart 300; next 250; b.restart 350; next 300; a.restart 400; next 350; =310 |; "
         "=500 | b1@350 a1@400; a.restart 700 at; b.restart 750 at; +0; b.restart 600 at; next 600; "
         "a.restart 550 at; next 550; =1000 | a1@550 b1@600")

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

typedef struct course {
  int64_t latest_ns;
  int ticks, is_out_of_order;
} course;

static void go_on(const chime_tick *tick, void *context) {
  course *c = context;
  c->is_out_of_order |= tick->scheduled_ns < c->latest_ns;
  c->latest_ns = tick->scheduled_ns;
  c->ticks++;
}

/* [12] [14]: so many that the pass gives the room for them back, which the next one then takes again. */
VIRTUAL_TEST(thousands_due_in_one_pass_run_by_deadline_in_the_next_one_too) {
  enum { TIMERS = 6000 };
  course c = {0, 0, 0};
  dice d = {UINT64_C(12)};
  for (int pass = 1; pass <= 2; pass++) {
    for (int i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_after(queue, roll_below(&d, 1000), go_on, &c, NULL, NULL));
    JUMP(1000);
    ADVANCE(0);
    EXPECT(c.ticks == pass * TIMERS && !c.is_out_of_order);
  }
}

/* A release outside a pass calls back, but is no pass for the others; nor is a look at them. */
TIMELINE(a_release_between_fire_and_advance_changes_no_order,
         "o 9 full; a 9; b 9; a: x1 a.fire; +1 | o^; a.fire; b.fire; o.release | o- o.; a is running; a left -1; "
         "+0 | a1!1 b1!1 a2!1")
TIMELINE(a_timer_rearmed_at_zero_delay_runs_in_the_next_pass, /* [12] */
         "a 0; a: x5 a.activate; b 0; +0 | a1@0 b1@0 a1@0 a1@0 a1@0 a1@0 a1@0; now 0")

static void activate_own(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_timer_activate(tick->timer, AFTER(0)));
}

/* [17]: every period that there is was missed, and no time is left for another tick. */
TIMELINE(a_grid_from_the_beginning_to_the_end_of_time_has_one_tick,
         ">max; a new; a.restart min/1 at; +0; +0 | a1+18446744073709551615>9223372036854775807; a due never")

static int64_t left_of(csuite *t, const probe *p) {
  int64_t left = -1;
  EXPECT_OK(chime_timer_remaining(p->timer, &left));
  return left;
}

static void is_due_now(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence > 1) return;
  EXPECT_EQ(left_of(t, p), 10);
  EXPECT_OK(chime_queue_jump(p->queue, 15));
  EXPECT_EQ(left_of(t, p), 0);
}

VIRTUAL_TEST(the_time_that_is_left_is_that_to_the_next_deadline_or_what_a_suspended_timer_keeps) {
  const chime_schedule keeps = SCHEDULE(.first_ns = 10, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING);
  probe *p = probe_idle(t, queue, NULL), *never = probe_after(t, queue, NULL, CHIME_FOREVER);
  EXPECT_EQ(left_of(t, p), CHIME_FOREVER);
  EXPECT_EQ(left_of(t, never), CHIME_FOREVER);
  EXPECT_OK(chime_timer_restart(p->timer, AFTER(10)));
  ADVANCE(4);
  EXPECT_EQ(left_of(t, p), 6);
  EXPECT_OK(chime_timer_postpone(p->timer, 20));
  EXPECT_EQ(left_of(t, p), 20);
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_EQ(left_of(t, p), CHIME_FOREVER);
  EXPECT_OK(chime_timer_restart(p->timer, &keeps));
  ADVANCE(7);
  EXPECT_OK(chime_timer_suspend(p->timer));
  ADVANCE(100);
  EXPECT_EQ(left_of(t, p), 3);
  EXPECT_OK(chime_timer_resume(p->timer));
  EXPECT_EQ(left_of(t, p), 3);
  p->on_tick = is_due_now;
  ADVANCE(3);
  EXPECT_EQ(p->ticks, 2);
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_EQ(left_of(t, p), CHIME_FOREVER);
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

/* ---- Turns ------------------------------------------------------------------------------------------------------ */

/*
 * A turn in a pass ends with its timer, so that a timer that is made in the slot of one that was released does not come
 * before its own turn.
 */

/* So many that one of them has the slot, in whatever order slots are given out. */
enum { MADE = 300 };

typedef struct plan {
  chime_queue_t queue;
  chime_tick_kind kind; /* that those made later ask for: FIRED, or ARMED */
  probe *b, *made[MADE];
  int callbacks;
} plan;

/* Of extra ticks that were asked for at one instant, that comes first whose timer was activated first. */
static void activate(csuite *t, probe *p) { EXPECT_OK(chime_timer_activate(p->timer, AFTER(CHIME_HOUR))); }

static void take_a_turn(csuite *t, probe *p, const chime_tick *tick) { p->number = ++((plan *)p->user)->callbacks; }

/* a's callback: b, whose turn is next, goes, and others come. */
static void take_a_turn_and_replace_b(csuite *t, probe *p, const chime_tick *tick) {
  plan *s = p->user;
  take_a_turn(t, p, tick);
  EXPECT_TOOK_EFFECT(chime_timer_release(s->b->timer));
  for (int i = 0; i < MADE; i++) {
    int is_fired = s->kind == CHIME_TICK_FIRED;
    chime_timer_options options = is_fired ? probe_options(s->made[i]) : probe_full_options(s->made[i]);
    EXPECT_OK(chime_timer_create(s->queue, &options, &s->made[i]->timer));
    activate(t, s->made[i]);
    if (is_fired) EXPECT_OK(chime_timer_fire(s->made[i]->timer));
  }
}

/* b has nothing to call last, so that its slot is free at once. */
static void check_turns(csuite *t, chime_queue_t queue, chime_tick_kind kind) {
  enum { A, B, C, BEFORE };
  plan *s = csuite_memory(t, sizeof *s);
  probe *probes[BEFORE + MADE];
  s->kind = kind;
  s->queue = queue;
  for (int i = 0; i < BEFORE + MADE; i++) {
    probe *p = probes[i] = probe_new(t, queue, NULL);
    p->user = s;
    p->on_tick = p->on_armed = i == A ? take_a_turn_and_replace_b : take_a_turn;
    if (i >= BEFORE) s->made[i - BEFORE] = p;
  }
  s->b = probes[B];
  for (int i = A; i < BEFORE; i++) {
    chime_timer_options options = probe_options(probes[i]);
    if (i == B) options.finalizer = NULL;
    REQUIRE_OK(chime_timer_create(queue, &options, &probes[i]->timer));
    activate(t, probes[i]);
  }
  ADVANCE(0);
  for (int i = A; i < BEFORE; i++) EXPECT_OK(chime_timer_fire(probes[i]->timer));
  ADVANCE(0);
  /* Those that were asked for first come first: b's turn, before c's, is nobody's. */
  EXPECT_EQ(probes[B]->number, 0);
  EXPECT_EQ(probes[A]->number, 1);
  for (int i = C; i < BEFORE + MADE; i++) {
    if (!EXPECT_EQ(probes[i]->number, i)) break;
  }
}

VIRTUAL_TEST(an_extra_tick_is_not_early_by_the_turn_of_a_timer_that_went) { /* [10] [12] */
  check_turns(t, queue, CHIME_TICK_FIRED);
}
VIRTUAL_TEST(a_registration_is_not_early_by_the_turn_of_a_timer_that_went) { check_turns(t, queue, CHIME_TICK_ARMED); }

/* ---- Moving time ------------------------------------------------------------------------------------------------ */

/* "Time never goes back." */
TIMELINE(an_advance_by_nothing_runs_what_is_due_and_moves_nothing, "=20; a 0; +0 | a1@20; now 20")
TIMELINE(a_nested_advance_would_deadlock,
         "a 10; b 12; a: +5 -> WOULD_DEADLOCK, =100 -> WOULD_DEADLOCK, now 10; +20 | a1@10 b1@12; now 20")

static void advance_the_other_queue(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_advance(p->other->queue, 30));
}

VIRTUAL_TEST(a_handler_may_advance_another_queue) {
  QUEUE_OR_RETURN(second, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 10);
  p->other = probe_after(t, second, "b", 25);
  p->on_tick = advance_the_other_queue;
  probe_after(t, queue, "c", 10);
  ADVANCE(20);
  EXPECT_LOG("a1@10 b1@25 c1@10");
}

THREAD(expect_busy, probe, p) { EXPECT_STATUS(chime_queue_advance(p->queue, 5), CHIME_ERROR_BUSY); }

static void have_a_thread_advance(csuite *t, probe *p, const chime_tick *tick) { run_on_a_thread(t, expect_busy, p); }

VIRTUAL_TEST(a_second_thread_finds_the_queue_busy) {
  probe *p = probe_after(t, queue, "a", 10);
  p->on_tick = have_a_thread_advance;
  ADVANCE(20);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_EQ(now_of(t, queue), 20);
}

/* ---- Exactness and leeway --------------------------------------------------------------------------------------- */

/* [3] [13]: a tick comes at the roundest instant of its window, here multiples of 2^30 and 2^28. */
TIMELINE(a_virtual_queue_can_honour_leeway_and_windows_share_wake_ups,
         "queue with leeway; a 1000000000 leeway 500000000; b 1002000000 leeway 500000000; "
         "c 1098000000 leeway 500000000; +1073741823 |; +1000000000 | "
         "a1@1000000000>1073741824 b1@1002000000>1073741824 c1@1098000000>1342177280")
TIMELINE(late_within_leeway_is_not_missed_and_keeps_the_grid, /* [4] */
         "queue with leeway; a 1003/1000 leeway 999; "
         "=6000 | a1@1003>1024 a2@2003>2048 a3@3003>3072 a4@4003>4096 a5@5003>5120; a due 6003")

/* ---- Extremes [17] ---------------------------------------------------------------------------------------------- */

/* The sums saturate. */
TIMELINE(a_delay_of_forever_never_ends,
         "+1000; a max; a due never; a is running; b max at; b due never; +1152921504606846976 |; +max |; "
         "now max; +max; >max; now max; a is running")
TIMELINE(periods_over_centuries_keep_their_grid,
         "a 4611686018427387903/4611686018427387903; +max | a1@4611686018427387903 a2@9223372036854775806; "
         "a due never; next never")
TIMELINE(an_interval_of_forever_never_comes_round,
         "a 10/max; +3600000000000 | a1@10; a is running; a due never; +2305843009213693952 |")

/* Deadlines are signed: the far end of the past is a deadline too. */
TIMELINE(the_earliest_of_all_deadlines_is_due_at_once,
         "+1000; a min at; b min/max at; +0 | a1@-9223372036854775808>1000 b1+1>1000; +1000 |")

/* A nanosecond's period over an hour that was slept through: counted, not spun through. */
TIMELINE(a_short_period_over_a_long_gap_is_counted_not_spun,
         "a 1/1; >3600000000000; +0 | a1+3599999999999>3600000000000; a.cancel")
TIMELINE(postponing_to_the_end_of_time_saturates,
         "a 10; +5; a.postpone max; a due never; a.until min; a due never; +1152921504606846976 |; a is running")

/* Later than a number can say. */
VIRTUAL_TEST(a_tick_late_beyond_all_numbers_is_counted_as_the_latest) {
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
