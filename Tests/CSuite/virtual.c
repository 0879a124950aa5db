/*
 * virtual.c - timelines in virtual time, exact to the nanosecond. Scripts: timeline.h.
 * Promises 3, 4, 5, 6, 7, 12, 14 and 17, and the rules of SEMANTICS.md on delays, grids and counts.
 */
#include "timeline.h"

/* ---- Single ticks and grids ------------------------------------------------------------------------------------- */

/* [3] */
TIMELINE(a_one_shot_ticks_once_at_its_deadline,
         "a 10; a due 10; +9 |; a is running; +1 | a1@10; a is finished; a due never; +1000 |; now 1010")

TIMELINE(a_delay_counts_from_the_call, "+7; a 10; >5; b 10; a due 17; b due 22; +100 | a1@17 b1@22")

TIMELINE(a_deadline_is_a_point_on_the_queues_clock, "+7; a 25/10 at; =50 | a1@25 a2@35 a3@45")

/* [4] */
TIMELINE(a_repeating_timer_ticks_on_its_grid,
         "a 3/10; +35 | a1@3 a2@13 a3@23 a4@33; a due 43; a is running; +7 |; +1 | a5@43")

TEST(every_begins_one_interval_from_now) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  chime_timer_t timer = 0;
  probe *p = probe_new(t, queue, "a");
  ADVANCE(5);
  EXPECT_OK(chime_timer_every(queue, 10, probe_handler, p, probe_finalizer, &timer));
  ADVANCE_TO(40);
  EXPECT_LOG("a1@15 a2@25 a3@35");
  EXPECT_OK(chime_timer_release(timer));
  EXPECT_LOG("a.");
}

TEST(after_calls_once) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  chime_timer_t timer = 0;
  probe *p = probe_new(t, queue, "a");
  ADVANCE(5);
  EXPECT_OK(chime_timer_after(queue, 10, probe_handler, p, probe_finalizer, &timer));
  ADVANCE_TO(40);
  EXPECT_LOG("a1@15");
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_FINISHED);
  EXPECT_OK(chime_timer_release(timer));
  EXPECT_LOG("a.");
}

/* [4] */
TEST(ten_thousand_ticks_do_not_drift) {
  chime_schedule schedule = schedule_of(12345, 1000003);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_start(t, queue, "a", &schedule);
  ADVANCE(12345 + INT64_C(9999) * 1000003);
  EXPECT_EQ(p->ticks, 10000);
  EXPECT_EQ(p->last.sequence, 10000);
  EXPECT_EQ(p->last.scheduled_ns, 12345 + INT64_C(9999) * 1000003);
  EXPECT_EQ(p->last.actual_ns, p->last.scheduled_ns);
  EXPECT_EQ(p->missed, 0);
}

/* ---- Missed ticks ----------------------------------------------------------------------------------------------- */

/* [5] */
TIMELINE(a_late_one_shot_ticks_once_and_missed_nothing, "a 10; >25 |; +0 | a1@10>25")

/* [5] [4] */
TEST(missed_periods_give_one_tick_and_the_grid_stands) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  JUMP(35);
  ADVANCE(0);
  EXPECT_LOG("a1+2>35");
  EXPECT_EQ(p->last.scheduled_ns % 10, 0);
  EXPECT_BETWEEN(p->last.scheduled_ns, 10, 30);
  EXPECT_EQ(deadline_of(t, p->timer), 40);
  ADVANCE_TO(55);
  EXPECT_LOG("a2@40 a3@50");
  EXPECT_EQ(stats_of(t, queue).missed, 2);
}

/* After the first tick it is 35, and 20 and 30 are over. */
TIMELINE(a_slow_handler_makes_its_own_timer_miss, "a 10/10; a: x1 >25; =50 | a1@10 a2+1>35 a3@40 a4@50")

TIMELINE(a_slow_handler_makes_other_timers_late, "a 10; a: >25; b 20; c 40; =50 | a1@10 b1@20>35 c1@40")

/* The first handler ends at 35. */
TIMELINE(the_delay_policy_spaces_from_the_end_of_the_handler,
         "a 10/10 delay; a: x1 >25; =60 | a1@10 a2@45 a3@55; a due 65")

TIMELINE(under_the_delay_policy_nothing_is_missed, "a 10/10 delay; >35; +0 | a1@10>35; =55 | a2@45 a3@55")

TIMELINE(the_delay_policy_does_not_rearm_over_a_reschedule_or_a_cancel,
         "a 10/10 delay; a: x1 a.reschedule 3/10 delay!; b 10/10 delay; b: b.cancel!; "
         "=30 | a1@10 b1@10 a2@13 a3@23; b is cancelled")

/* ---- Tick limits ------------------------------------------------------------------------------------------------ */

TIMELINE(a_tick_limit_finishes_the_timer, "a 10/10 limit 3; +25; a counted 2; +75 | a1@10 a2@20 a3@30; a is finished")

TIMELINE(missed_ticks_count_against_the_limit,
         "a 10/10 limit 5; >35; +0; a counted 3; =100 | a1+2>35 a2@40 a3@50; a is finished")

/* The third and last due time was 30. */
TIMELINE(a_limit_reached_while_missing_ends_on_time, "a 10/10 limit 3; >55; +100 | a1+2>55; a is finished")

TIMELINE(a_limit_of_one_is_a_one_shot, "a 10/10 limit 1; +100 | a1@10")

TIMELINE(activate_begins_sequence_and_limit_anew, "a 10/10 limit 2; +50; a.activate; +50 | a1@10 a2@20 a1@60 a2@70")

/* ---- Activate, restart, reschedule ------------------------------------------------------------------------------ */

static void activate_own(probe *p, const chime_tick *tick) { p->status = chime_timer_activate(tick->timer, NULL); }

TIMELINE(a_one_shot_may_activate_itself_again, "a 10; a: a.activate; +35 | a1@10 a1@20 a1@30; a due 40")

TIMELINE(the_phase_counts_from_activation_not_from_creation, "a new; +7; a.activate 10/10; =30 | a1@17 a2@27")

/* Running: the sequence goes on; suspended: it runs again; cancelled: a new life. */
TIMELINE(restart_counts_from_now,
         "a 10/10; =15; a.restart; =36 | a1@10 a2@25 a3@35; a.suspend; =52; a.restart; a is running; =63 | a4@62; "
         "a.cancel; =75; a.restart; =86 | a1@85")

TIMELINE(restart_takes_a_new_schedule, "a 10; =20; a.restart 2/7; =30 | a1@10 a1@22 a2@29")

/* [7]: due, but no pass has come. */
TIMELINE(a_restart_drops_the_tick_that_was_due, "a 10; >10; a.restart; +9 |; +1 | a1@20")

TIMELINE(reschedule_keeps_the_sequence_and_begins_the_limit_anew,
         "a 10/10 limit 2; =15; a.reschedule 10/10 limit 2; =100 | a1@10 a2@25 a3@35; a is finished")

/* Without a schedule: the delay it has, anew. */
TIMELINE(reschedule_while_running_counts_from_the_call,
         "a 10/10; =5; a.reschedule 3/7; a due 8; =24 | a1@8 a2@15 a3@22; a.reschedule; =36 | a4@27 a5@34")

TIMELINE(reschedule_can_move_a_timer_earlier,
         "a 3600000000000; +1000000000; a.reschedule 1; +1 | a1@1000000001; +7200000000000 |")

TIMELINE(reschedule_while_suspended_counts_from_the_call_when_coalescing,
         "a 100; =5; a.suspend; =7; a.reschedule 10; a is suspended; =12; a.resume; a due 17; =100 | a1@17")

TIMELINE(reschedule_while_suspended_counts_from_the_resume_when_remaining,
         "a 100 remaining; =5; a.suspend; =7; a.reschedule 10 remaining; =30; a.resume; =100 | a1@40")

/* Idle, finished, cancelled. */
TIMELINE(reschedule_at_rest_counts_from_the_next_activate,
         "a new; a.reschedule 10; a is idle; =50 |; a.activate; =70 | a1@60; a.reschedule 20; =100 |; a.activate; "
         "=110; a.cancel; a.reschedule 30; =200 |; a.activate; =240 | a1@230")

/* [7] */
TIMELINE(after_cancel_nothing_ticks, "a 10/10; >10; a.cancel; +100 |")

/* [7] */
TIMELINE(cancel_inside_the_handler_stops_the_next_tick, "a 10/10; a: a.cancel!; +100 | a1@10; a is cancelled")

/* [7]: both are due in the same pass.: it had not started: OK. */
TIMELINE(a_handler_can_cancel_a_timer_that_is_due_in_the_same_pass,
         "a 10; b 10; a: b.cancel; +100 | a1@10; b is cancelled")

/* ---- Suspend and resume ----------------------------------------------------------------------------------------- */

/* Never inside the call. */
TIMELINE(resume_coalesces_what_was_missed_and_keeps_the_grid,
         "a 10/10; =15; a.suspend; a due never; =47 | a1@10; a.resume |; +0 | a2+2>47; =65 | a3@50 a4@60")

TIMELINE(resume_before_the_deadline_changes_nothing,
         "a 10/10; =12; a.suspend; =15; a.resume; a due 20; =35 | a1@10 a2@20 a3@30")

TIMELINE(a_one_shot_whose_time_passed_while_suspended_ticks_on_resume,
         "a 10; =5; a.suspend; =30 |; a.resume; +0 | a1@10>30; +100 |; a is finished")

/* [7]: suspended when its tick was due already; at most one tick is outstanding after the resume. */
TIMELINE(suspend_holds_back_a_tick_that_was_due,
         "a 10/10; >12; a.suspend; +0 |; a.resume; a.suspend; a.resume; +0 | a1@10>12; =25 | a2@20")

TIMELINE(the_remaining_policy_keeps_the_time_that_was_left,
         "a 10/10 remaining; a left -1; =14; a.suspend; a left 6; =50; a left 6; a.resume; a due 56; "
         "=70 | a1@10 a2@56 a3@66")

/* At the second suspend 3 are left. */
TIMELINE(the_remaining_policy_of_a_one_shot,
         "a 10 remaining; =4; a.suspend; =20; a.resume; =23; a.suspend; =100; a.resume; =200 | a1@103")

/* 10, 20 and 30 are over when it is suspended. */
TIMELINE(the_remaining_policy_carries_what_was_missed_before_the_suspend,
         "a 10/10 remaining; >35; a.suspend; a left 0; =100 |; a.resume; +0 | a1+2>100; =125 | a2@110 a3@120")

/* ---- Postpone --------------------------------------------------------------------------------------------------- */

TIMELINE(postpone_moves_the_deadline_later_never_earlier,
         "a 10; =5; a.postpone 20; a due 25; a.postpone 2; a due 25; a.postpone 0; =24 |; =100 | a1@25")

TIMELINE(postpone_until_takes_a_deadline, "a 10; =5; a.until 30; a.until 3; a due 30; =100 | a1@30")

TIMELINE(postpone_moves_the_grid_of_a_repeating_timer,
         "a 10/10; =15; a.postpone 21; =60 | a1@10 a2@36 a3@46 a4@56; a.until 71; =85 | a5@71 a6@81")

/* The grid moves, nothing counts as missed. */
TIMELINE(postpone_wins_over_a_tick_that_is_due_but_has_not_started,
         "a 10; b 10/10; >35; a.postpone 5; b.postpone 10; =60 | a1@40 b1@45 b2@55")

/* [3] */
TIMELINE(a_handler_can_postpone_a_timer_that_is_due_in_the_same_pass,
         "a 10; b 10; a: b.postpone 1; +10 | a1@10; +10 | b1@11")

TEST(postpone_reaches_any_distance) {
  static const int64_t delays[] = {2000000001, 4294967296, CHIME_HOUR + 7, INT64_C(1) << 42, INT64_C(1) << 55};
  size_t i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 3);
  for (i = 0; i < sizeof delays / sizeof delays[0]; i++) {
    EXPECT_OK(chime_timer_postpone(p->timer, delays[i]));
    EXPECT_EQ(deadline_of(t, p->timer), delays[i]);
    EXPECT_OK(chime_timer_postpone(p->timer, delays[i] - 1));
    EXPECT_EQ(deadline_of(t, p->timer), delays[i]);
  }
  ADVANCE_TO((INT64_C(1) << 55) - 1);
  EXPECT_EQ(p->ticks, 0);
  ADVANCE(1);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_EQ(p->last.scheduled_ns, INT64_C(1) << 55);
}

TIMELINE(the_timeout_wins_once_it_has_started, "a 10; a: a.postpone 5?; =60 | a1@10")

/* The second and the third find it later already. */
TIMELINE(postpone_while_suspended_moves_the_stored_deadline,
         "a 10/10; =5; a.suspend; =7; a.postpone 20; a.postpone 2; a.until 11; a is suspended; =8; a.resume; "
         "=40 | a1@27 a2@37")

TIMELINE(postpone_while_suspended_lengthens_what_remains,
         "a 10 remaining; =5; a.suspend; a.postpone 20; a left 20; a.postpone 1; a left 20; =50; a.resume; "
         "=100 | a1@70")

TEST(an_idle_timeout_touched_often_ticks_once) {
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 100);
  for (i = 0; i < 1000; i++) {
    ADVANCE(99);
    EXPECT_OK(chime_timer_postpone(p->timer, 100));
  }
  EXPECT_LOG("");
  ADVANCE(1000);
  EXPECT_LOG("a1@99100");
}

/* ---- Fire ------------------------------------------------------------------------------------------------------- */

TIMELINE(fire_gives_one_extra_tick_and_leaves_the_schedule_alone,
         "a 10/10; =5; a.fire |; a is running; +0 | a1!5; =25 | a2@10 a3@20")

/* Scheduled: the first call. */
TIMELINE(fires_before_the_extra_tick_are_one,
         "a 100/100; >5; a.fire; >3; a.fire; a.fire; +0 | a1!5>8; a.fire; +0 | a2!8")

TIMELINE(fire_does_not_count_against_the_limit, "a 10/10 limit 2; =5; a.fire; =100 | a1!5 a2@10 a3@20")

TEST(fire_leaves_the_missed_count_pending) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  JUMP(35);
  EXPECT_OK(chime_timer_fire(p->timer));
  ADVANCE(0);
  /* Which of the two comes first is left open; the harness checks that a FIRED tick has missed nothing. */
  EXPECT_EQ(p->ticks, 2);
  EXPECT_EQ(p->missed, 2);
  EXPECT(p->first.kind != p->last.kind);
  EXPECT_EQ(p->last.sequence, 2);
}

TIMELINE(fire_inside_the_handler_ticks_after_it, "a 10/10; a: x1 a.fire; =20 | a1@10 a2!10 a3@20")

TIMELINE(fire_is_delivered_to_a_timer_that_does_not_run,
         "a new; a.fire; +1 | a1!0; a is idle; a.activate 10; a.suspend; a.fire; +1 | a1!1; a is suspended; "
         "a.resume; +10 | a2@11; a is finished; a.fire; +0 | a3!12; a is finished")

TIMELINE(a_later_call_drops_the_extra_tick,
         "a 900/900; a.fire; a.suspend; +1 |; a.fire; a.restart; +1 |; a.fire; a.reschedule 900/900; +1 |; "
         "a.fire; a.cancel; a.fire?; +1 |; a.activate; a.fire; a.release; +1 | a.; b new; b.fire; "
         "b.activate 900/900; +1 |")

/* ---- Registration and cancel handlers --------------------------------------------------------------------------- */

TIMELINE(the_registration_handler_comes_before_the_first_tick,
         "a 0 full |; +0 | a^ a1@0; b 10/10 full; +25 | b^ b1@10 b2@20")

/* The restart of a running timer is no new activation. */
TIMELINE(the_registration_handler_comes_once_for_each_activation,
         "a 10 full; +10 | a^ a1@10; a.activate; +5; a.restart; +10 | a^ a1@25")

TIMELINE(what_the_registration_handler_cancels_or_releases_never_ticks,
         "a 0/10 full; a^: a.cancel!; +50 | a^ a-; a is cancelled; b 0/10 full; b^: b.release!; +50 | b^ b- b.")

TIMELINE(the_cancel_handler_comes_once_for_each_move_into_cancelled,
         "a 10/10 full; +15; a.cancel | a^ a1@10; a.cancel?; +0 | a-; +50 |; a.activate; +5; a.suspend; a.cancel; "
         "+0 | a^ a-; a.release | a.")

TIMELINE(the_cancel_handler_comes_between_the_two_lives,
         "a 10/10 full; a: x1 a.cancel!, a.activate 0; +50 | a^ a1@10 a- a^ a1@10; a is finished")

/* In the releasing call, as no pass is running. */
TIMELINE(release_of_a_running_timer_calls_cancel_handler_then_finalizer,
         "a 10/10 full; +15; a.release | a^ a1@10 a- a.; b 10/10 full; +0; b.suspend; b.release | b^ b- b.; "
         "c 10/10 full; c: c.release!; +50 | c^ c1@25 c- c.")

TIMELINE(release_of_a_timer_at_rest_calls_the_finalizer_only,
         "a new full; b 10 full; +10 | b^ b1@10; a.release | a.; b.release | b.")

/* Released before a pass came to call it. */
TIMELINE(cancel_then_release_calls_the_cancel_handler_once, "a 10/10 full; +0; a.cancel; a.release; +50 | a^ a- a.")

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* [12]: after cancel and activate, a is the later one. */
TIMELINE(equal_deadlines_run_in_the_order_of_activation,
         "a new; b new; c new; c.activate 10; +4; a.activate 6; b.activate 6; +6 | c1@10 a1@10 b1@10; "
         "a.activate 6; b.activate 6; a.cancel; a.activate 6; +6 | b1@16 a1@16")

/* [12] */
TIMELINE(ticks_due_in_one_pass_run_by_deadline, "a 30; b 10; c 20; d 10; >50; +0 | b1@10>50 d1@10>50 c1@20>50 a1@30>50")

/* [12] */
TIMELINE(repeating_timers_that_meet_keep_the_order_of_activation,
         "a 10/10; b 5/5; +20 | b1@5 a1@10 b2@10 b3@15 a2@20 b4@20")

enum { CROWD = 1000 };

typedef struct arrivals {
  int count;
  int order[CROWD];
} arrivals;

static void note_arrival(probe *p, const chime_tick *tick) {
  arrivals *seen = p->user;
  (void)tick;
  if (seen->count < CROWD) seen->order[seen->count] = (int)p->number;
  seen->count++;
}

/* Compares with the order by deadline, then activation: what a sorted array gives. */
static void check_crowd(csuite *t, int64_t spread, int in_one_pass) {
  static const char *const name = "a";
  dice d = {UINT64_C(0x9E3779B97F4A7C15)};
  int64_t *deadlines = csuite_memory(t, CROWD * sizeof *deadlines);
  arrivals *seen = csuite_memory(t, sizeof *seen);
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < CROWD; i++) {
    probe *p;
    deadlines[i] = roll_below(&d, spread);
    p = probe_after(t, queue, name, deadlines[i]);
    p->quiet = 1;
    p->number = i;
    p->user = seen;
    p->on_tick = note_arrival;
  }
  if (in_one_pass) {
    JUMP(spread);
    ADVANCE(0);
  } else {
    ADVANCE(spread);
  }
  REQUIRE(seen->count == CROWD);
  for (i = 1; i < CROWD; i++) {
    int before = seen->order[i - 1], after = seen->order[i];
    if (deadlines[before] == deadlines[after] ? before < after : deadlines[before] < deadlines[after]) continue;
    EXPECT_EQ(deadlines[after] * CROWD + after, deadlines[before] * CROWD + before); /* shows both; fails */
    return;
  }
}

/* [12] */
TEST(a_crowd_in_one_pass_runs_in_order) { check_crowd(t, CHIME_SECOND, 1); }
TEST(a_crowd_with_equal_deadlines_in_one_pass_runs_in_order) { check_crowd(t, 50, 1); }
TEST(a_crowd_runs_in_order_step_by_step) { check_crowd(t, CHIME_HOUR, 0); }
TEST(a_crowd_with_equal_deadlines_runs_in_order_step_by_step) { check_crowd(t, 50, 0); }

/* [12] */
TIMELINE(a_timer_rearmed_at_zero_delay_runs_in_the_next_pass,
         "a 0; a: x5 a.activate; b 0; +0 | a1@0 b1@0 a1@0 a1@0 a1@0 a1@0 a1@0; now 0")

/* [12] */
TEST(a_thousand_passes_at_one_instant_are_the_limit) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  chime_schedule at_once = schedule_of(0, 0), later = schedule_of(10, 0);
  p->quiet = 1;
  ADVANCE(7);
  EXPECT_OK(chime_timer_activate(p->timer, &at_once));
  p->on_tick = activate_own;
  EXPECT_STATUS(chime_queue_advance(queue, 100), CHIME_ERROR_LIMIT);
  EXPECT_EQ(now_of(t, queue), 7); /* time stands there */
  EXPECT_BETWEEN(p->ticks, 999, 1001);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
  p->on_tick = NULL;
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_OK(chime_timer_activate(p->timer, &later));
  p->quiet = 0;
  ADVANCE(100);
  EXPECT_LOG("a1@17");
  EXPECT_EQ(now_of(t, queue), 107);
}
