/*
 * known_libuv.c - the cases of libuv's test-timer.c and test-timer-again.c, asked of Chime.
 *
 * libuv's start on an active handle is Chime's restart, again() is restart with the schedule kept, stop is cancel, and
 * close is release. A turn of its loop is one chime_queue_process of a host-driven queue. Where Chime has another rule
 * than libuv the comment says so. Two cases have no counterpart: a null callback is refused where the timer is made
 * (arguments.c), and there is no unref.
 */
#include "harness.h"

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* timer_order, extended: in libuv a start anew, of a handle that is active too, goes to the end. Chime promises that
   for an activation; of a restart or reschedule that finds the timer running the contract says nothing: as in libuv. */
TEST(a_restart_to_the_same_deadline_goes_to_the_end) {
  chime_schedule schedule = schedule_at(10, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_start(t, queue, "a", &schedule);
  probe *b = probe_start(t, queue, "b", &schedule);
  probe *c = probe_start(t, queue, "c", &schedule);
  probe_start(t, queue, "d", &schedule);
  EXPECT_OK(chime_timer_cancel(a->timer));
  EXPECT_OK(chime_timer_activate(a->timer, NULL));
  EXPECT_OK(chime_timer_restart(b->timer, NULL));
  EXPECT_OK(chime_timer_reschedule(c->timer, NULL));
  ADVANCE_TO(10);
  EXPECT_LOG("d1@10 a1@10 b1@10 c1@10");
}

/* ---- Turns ------------------------------------------------------------------------------------------------------ */

static void restart_own_at_once(probe *p, const chime_tick *tick) {
  chime_schedule at_once = schedule_of(0, 0);
  p->status = chime_timer_restart(tick->timer, &at_once);
}

/* timer_zero_timeout: armed at zero in its own callback, it runs in the next turn, not in this one. */
TEST(a_zero_delay_armed_in_the_callback_runs_in_the_next_turn) {
  int turn;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_after(t, queue, "a", 0);
  p->quiet = 1;
  p->on_tick = restart_own_at_once;
  for (turn = 1; turn <= 5; turn++) {
    EXPECT_OK(chime_queue_wait(queue, PATIENCE));
    EXPECT_EQ(process(t, queue, 0), 1);
    EXPECT_EQ(p->ticks, turn);
  }
  EXPECT_OK(chime_timer_cancel(p->timer));
  EXPECT_EQ(process(t, queue, 0), 0);
}

/* timer_run_once: a turn that waits runs the one timer that there is; with none, a turn does nothing. */
TEST(one_turn_runs_a_one_shot_and_a_turn_without_timers_nothing) {
  static const int64_t delays[] = {0, CHIME_MILLISECOND};
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_idle(t, queue, "a");
  size_t i;
  p->quiet = 1;
  for (i = 0; i < 2; i++) {
    chime_schedule schedule = schedule_of(delays[i], 0);
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    EXPECT_OK(chime_queue_wait(queue, PATIENCE));
    EXPECT_EQ(process(t, queue, 0), 1);
    EXPECT_EQ(p->ticks, (int)i + 1);
  }
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_EQ(process(t, queue, 0), 0);
  EXPECT_EQ(p->finalized, 1);
  EXPECT_OK(chime_queue_run(queue, 0)); /* returns: no timer runs */
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
}

/* timer_no_double_call_once and _nowait: two periods pass before the loop turns; one call, not two. Chime's call says
   what it stands for. */
TEST(periods_slept_through_give_one_call_in_one_turn) {
  const int64_t interval = 10 * CHIME_MILLISECOND;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_every_quietly(t, queue, interval);
  sleep_ns(2 * interval);
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT_EQ(p->ticks, 1);
  EXPECT(p->last.missed >= 1);
  EXPECT_BETWEEN(p->last.actual_ns - p->last.scheduled_ns, 0, INT64_MAX);
}

/* timer_early_check: by a clock of its own, a call never comes before its time. */
TEST(by_the_systems_clock_no_call_of_a_turn_is_early) {
  int i;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  for (i = 0; i < csuite_scaled(20); i++) {
    int64_t delay = CHIME_MILLISECOND + i * 1001;
    int64_t not_before = monotonic_ns() + delay;
    chime_schedule schedule = schedule_of(delay, 0);
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    EXPECT_OK(chime_queue_wait(queue, PATIENCE));
    EXPECT(monotonic_ns() >= not_before);
    EXPECT_EQ(process(t, queue, 0), 1);
    EXPECT(p->last.actual_ns >= not_before);
  }
}

/* ---- In a callback ---------------------------------------------------------------------------------------------- */

static void restart_the_other_in_fifty(probe *p, const chime_tick *tick) {
  chime_schedule schedule = schedule_of(50, 0);
  (void)tick;
  p->status = chime_timer_cancel(p->other->timer);
  p->status2 = chime_timer_activate(p->other->timer, &schedule);
}

/* timer_from_check: stopped and started again elsewhere in the turn in which it is due, it comes later, once. */
TEST(a_due_timer_stopped_and_started_by_another_callback_comes_later) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 50);
  a->other = probe_after(t, queue, "b", 50);
  a->on_tick = restart_the_other_in_fifty;
  ADVANCE(500);
  EXPECT_LOG("a1@50 b1@100");
  EXPECT_OK(a->status);
  EXPECT_OK(a->status2);
}

static void release_the_other(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_timer_release(p->other->timer);
}

/* uv_close and uv_timer_stop, in the callback of a timer that is due before it in the same turn. */
TEST(a_due_timer_stopped_or_closed_by_another_callback_does_not_tick) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 10);
  probe *b = probe_every(t, queue, "b", 10);
  probe *c = probe_every(t, queue, "c", 10);
  probe *d = probe_after(t, queue, "d", 10);
  a->other = b;
  a->on_tick = cancel_the_other;
  d->other = c;
  d->on_tick = release_the_other; /* c has ticked by then */
  ADVANCE(100);
  EXPECT_LOG("a1@10 c1@10 d1@10 c.");
  EXPECT_OK(a->status);
  EXPECT_OK(d->status);
  EXPECT_EQ(state_of(t, b->timer), CHIME_STATE_CANCELLED);
}
