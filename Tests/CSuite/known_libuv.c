/*
 * known_libuv.c - the cases of libuv's test-timer.c and test-timer-again.c, asked of Chime.
 *
 * libuv's start on an active handle is Chime's restart, again() is restart with the schedule kept, stop is cancel, and
 * close is release. A turn of its loop is one chime_queue_process of a host-driven queue. Where Chime has another rule
 * than libuv the comment says so. Two cases have no counterpart: a null callback is refused where the timer is made
 * (arguments.c), and there is no unref.
 */
#include "harness.h"

/* ---- Starting --------------------------------------------------------------------------------------------------- */

/* timer: ten one-shots, one that closes itself in its fifth call, and one that was stopped before it began. */
static void release_own_at_the_fifth(probe *p, const chime_tick *tick) {
  if (tick->sequence == 5) release_own(p, tick);
}

static void one_shots_a_repeating_timer_and_a_stopped_one_share_a_queue(csuite *t) {
  enum { COUNT = 10 };
  probe *once[COUNT], *repeating, *never;
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < COUNT; i++) {
    once[i] = probe_after(t, queue, "o", i * 50);
    once[i]->quiet = 1;
    once[i]->on_tick = release_own;
  }
  repeating = probe_every(t, queue, "r", 100);
  repeating->on_tick = release_own_at_the_fifth;
  never = probe_every(t, queue, "n", 100);
  EXPECT_OK(chime_timer_cancel(never->timer));
  ADVANCE(10000);
  EXPECT_LOG("r1@100 r2@200 r3@300 r4@400 r5@500 r.");
  for (i = 0; i < COUNT; i++) {
    EXPECT_EQ(once[i]->last.actual_ns, i * 50);
    EXPECT_EQ(once[i]->ticks, 1);
    EXPECT_EQ(once[i]->finalized, 1);
  }
  EXPECT_EQ(never->ticks, 0);
  EXPECT_EQ(stats_of(t, queue).timers, 1);
}

/* timer_init: what a timer says that was never started. */
static void a_timer_that_was_never_started_is_not_due(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_IDLE);
  EXPECT_EQ(info_of(t, p->timer).interval_ns, 0);
  EXPECT_EQ(info_of(t, p->timer).has_schedule, 0);
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
}

/* timer_start_twice: the second start replaces the first, which leaves nothing behind. Chime's activate is ignored on a
   timer that runs; restart is the one that replaces. */
static void a_timer_started_twice_ticks_for_the_second_start_only(csuite *t) {
  chime_schedule second = schedule_of(10, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 24 * CHIME_HOUR);
  EXPECT_STATUS(chime_timer_activate(p->timer, &second), CHIME_IGNORED);
  EXPECT_EQ(deadline_of(t, p->timer), 24 * CHIME_HOUR);
  EXPECT_OK(chime_timer_restart(p->timer, &second));
  EXPECT_EQ(deadline_of(t, p->timer), 10);
  ADVANCE(48 * CHIME_HOUR);
  EXPECT_LOG("a1@10");
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
}

/* timer_is_closing: a handle that was closed cannot be started. */
static void a_released_timer_cannot_be_started(csuite *t) {
  chime_schedule schedule = schedule_of(100, 100);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_STATUS(chime_timer_activate(p->timer, &schedule), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_timer_restart(p->timer, &schedule), CHIME_ERROR_INVALID_HANDLE);
  ADVANCE(1000);
  EXPECT_LOG("a.");
}

/* ---- Order ------------------------------------------------------------------------------------------------------ */

/* timer_order: two timers of zero delay, started a then b, later b then a. */
static void zero_delays_run_in_the_order_of_their_starts_either_way(csuite *t) {
  chime_schedule at_once = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_idle(t, queue, "a");
  probe *b = probe_idle(t, queue, "b");
  EXPECT_OK(chime_timer_activate(a->timer, &at_once));
  EXPECT_OK(chime_timer_activate(b->timer, &at_once));
  ADVANCE(0);
  EXPECT_LOG("a1@0 b1@0");
  EXPECT_STATUS(chime_timer_cancel(a->timer), CHIME_IGNORED); /* finished: libuv's stop is harmless too */
  EXPECT_STATUS(chime_timer_cancel(b->timer), CHIME_IGNORED);
  EXPECT_OK(chime_timer_activate(b->timer, &at_once));
  EXPECT_OK(chime_timer_activate(a->timer, &at_once));
  ADVANCE(0);
  EXPECT_LOG("b1@0 a1@0");
}

/* timer_order, extended: in libuv a start anew, of a handle that is active too, goes to the end. Chime promises that
   for an activation; of a restart or reschedule that finds the timer running the contract says nothing: as in libuv. */
static void a_restart_to_the_same_deadline_goes_to_the_end(csuite *t) {
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
static void a_zero_delay_armed_in_the_callback_runs_in_the_next_turn(csuite *t) {
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
static void one_turn_runs_a_one_shot_and_a_turn_without_timers_nothing(csuite *t) {
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
static void periods_slept_through_give_one_call_in_one_turn(csuite *t) {
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
static void by_the_systems_clock_no_call_of_a_turn_is_early(csuite *t) {
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

/* ---- Huge ------------------------------------------------------------------------------------------------------- */

static void release_three(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  probe **huge = p->user;
  EXPECT_OK(chime_timer_release(huge[0]->timer));
  EXPECT_OK(chime_timer_release(huge[1]->timer));
  release_own(p, tick);
}

/* timer_huge_timeout: timeouts of nearly all that a number holds do not wrap to the front of the queue. */
static void huge_delays_do_not_come_before_a_small_one(csuite *t) {
  chime_queue_t queue = virtual_queue_at(t, CHIME_HOUR);
  probe *huge[2], *tiny;
  tiny = probe_after(t, queue, "t", 1);
  huge[0] = probe_after(t, queue, "g", INT64_MAX - 1);
  huge[1] = probe_after(t, queue, "h", INT64_MAX);
  EXPECT_EQ(deadline_of(t, huge[0]->timer), CHIME_FOREVER); /* the sum saturates */
  EXPECT_EQ(deadline_of(t, huge[1]->timer), CHIME_FOREVER);
  tiny->on_tick = release_three;
  tiny->user = huge;
  EXPECT_EQ(next_deadline(t, queue), CHIME_HOUR + 1);
  tiny->quiet = huge[0]->quiet = huge[1]->quiet = 1;
  ADVANCE(1000);
  EXPECT_EQ(tiny->last.actual_ns, CHIME_HOUR + 1);
  EXPECT_EQ(tiny->ticks, 1);
  EXPECT_EQ(huge[0]->ticks + huge[1]->ticks, 0);
  EXPECT_EQ(tiny->finalized + huge[0]->finalized + huge[1]->finalized, 3);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
}

static void cancel_both_at_the_ninth(probe *p, const chime_tick *tick) {
  if (tick->sequence != 9) return;
  cancel_own(p, tick);
  p->other->status = chime_timer_cancel(p->other->timer);
}

/* timer_huge_repeat: the first call of the huge repeat comes, its second never, and the tiny one goes on. */
static void a_huge_repeat_comes_once_and_the_tiny_one_goes_on(csuite *t) {
  chime_schedule huge = schedule_of(1, INT64_MAX);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *tiny = probe_every(t, queue, "t", 2);
  tiny->other = probe_start(t, queue, "h", &huge);
  tiny->on_tick = cancel_both_at_the_ninth;
  ADVANCE(CHIME_HOUR);
  EXPECT_LOG("h1@1 t1@2 t2@4 t3@6 t4@8 t5@10 t6@12 t7@14 t8@16 t9@18");
  EXPECT_STATUS(tiny->status, CHIME_RUNNING);
  EXPECT_OK(tiny->other->status); /* it still ran, though it would never have come */
}

/* ---- In a callback ---------------------------------------------------------------------------------------------- */

static void restart_own_in_seven(probe *p, const chime_tick *tick) {
  chime_schedule schedule = schedule_of(7, 0);
  if (load(&p->ticks) < 4) p->status = chime_timer_restart(tick->timer, &schedule);
}

/* uv_timer_start in the handle's own callback. */
static void a_one_shot_started_again_in_its_callback_comes_again(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 5);
  p->on_tick = restart_own_in_seven;
  ADVANCE(100);
  EXPECT_LOG("a1@5 a1@12 a1@19 a1@26");
  EXPECT_STATUS(p->status, CHIME_RUNNING);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
}

static void restart_the_other_in_fifty(probe *p, const chime_tick *tick) {
  chime_schedule schedule = schedule_of(50, 0);
  (void)tick;
  p->status = chime_timer_cancel(p->other->timer);
  p->status2 = chime_timer_activate(p->other->timer, &schedule);
}

/* timer_from_check: stopped and started again elsewhere in the turn in which it is due, it comes later, once. */
static void a_due_timer_stopped_and_started_by_another_callback_comes_later(csuite *t) {
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
static void a_due_timer_stopped_or_closed_by_another_callback_does_not_come(csuite *t) {
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

/* uv_close in the handle's own callback: the close callback comes once, after it. */
static void a_repeating_timer_closed_in_its_callback_ends_there(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  p->on_tick = release_own;
  ADVANCE(100);
  EXPECT_LOG("a1@10 a.");
  EXPECT_STATUS(p->status, CHIME_RUNNING);
}

/* ---- Again ------------------------------------------------------------------------------------------------------ */

/* timer_again: a timer that never had a schedule cannot be started again. */
static void again_needs_a_timer_that_was_started(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  EXPECT_STATUS(chime_timer_restart(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_IDLE);
  ADVANCE(100);
  EXPECT_LOG("");
}

static void again_the_other_until_500(probe *p, const chime_tick *tick) {
  p->status = chime_timer_restart(p->other->timer, NULL);
  if (tick->actual_ns >= 500) cancel_own(p, tick);
}

/* Its repeat becomes 0: what runs now is the last. */
static void make_own_a_one_shot(probe *p, const chime_tick *tick) {
  chime_schedule schedule = schedule_of(100, 0);
  if (tick->sequence == 1) p->status = chime_timer_reschedule(tick->timer, &schedule);
}

/* timer_again: restarted by another one each 50, a timer of 100 does not come until that one stops; then it comes at
   its own pace, and its repeat, set to 0 in its callback, makes the next call its last. In libuv a repeat that is set
   alone takes effect after the next call; Chime's reschedule gives delay and interval together, which is the same. */
static void a_timer_started_again_and_again_comes_only_when_that_stops(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_every(t, queue, "a", 50);
  a->other = probe_every(t, queue, "b", 100);
  a->on_tick = again_the_other_until_500;
  a->other->on_tick = make_own_a_one_shot;
  ADVANCE_TO(500);
  EXPECT_LOG("a1@50 a2@100 a3@150 a4@200 a5@250 a6@300 a7@350 a8@400 a9@450 a10@500");
  ADVANCE_TO(10000);
  EXPECT_LOG("b1@600 b2@700");
  EXPECT_EQ(state_of(t, a->other->timer), CHIME_STATE_FINISHED);
}

/* timer_again: a one-shot gets a repeat before it came, and keeps to it. */
static void a_one_shot_can_be_made_repeating(csuite *t) {
  chime_schedule schedule = schedule_of(50, 50);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 50);
  EXPECT_EQ(info_of(t, p->timer).interval_ns, 0);
  EXPECT_OK(chime_timer_reschedule(p->timer, &schedule));
  EXPECT_EQ(info_of(t, p->timer).interval_ns, 50);
  ADVANCE(160);
  EXPECT_LOG("a1@50 a2@100 a3@150");
}

static void double_own_interval(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  int64_t interval = 2 * info_of(t, tick->timer).interval_ns;
  chime_schedule schedule = schedule_of(interval, interval);
  p->status = chime_timer_reschedule(tick->timer, &schedule);
}

/* uv_timer_set_repeat in the callback, each time; the sequence goes on. */
static void the_repeat_can_be_changed_in_each_callback(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  p->on_tick = double_own_interval;
  ADVANCE_TO(1000);
  EXPECT_LOG("a1@10 a2@30 a3@70 a4@150 a5@310 a6@630");
  EXPECT_STATUS(p->status, CHIME_RUNNING);
}

const csuite_test known_libuv_tests[] = {
    TEST(one_shots_a_repeating_timer_and_a_stopped_one_share_a_queue),
    TEST(a_timer_that_was_never_started_is_not_due),
    TEST(a_timer_started_twice_ticks_for_the_second_start_only),
    TEST(a_released_timer_cannot_be_started),
    TEST(zero_delays_run_in_the_order_of_their_starts_either_way),
    TEST(a_restart_to_the_same_deadline_goes_to_the_end),
    TEST(a_zero_delay_armed_in_the_callback_runs_in_the_next_turn),
    TEST(one_turn_runs_a_one_shot_and_a_turn_without_timers_nothing),
    TEST(periods_slept_through_give_one_call_in_one_turn),
    TEST(by_the_systems_clock_no_call_of_a_turn_is_early),
    TEST(huge_delays_do_not_come_before_a_small_one),
    TEST(a_huge_repeat_comes_once_and_the_tiny_one_goes_on),
    TEST(a_one_shot_started_again_in_its_callback_comes_again),
    TEST(a_due_timer_stopped_and_started_by_another_callback_comes_later),
    TEST(a_due_timer_stopped_or_closed_by_another_callback_does_not_come),
    TEST(a_repeating_timer_closed_in_its_callback_ends_there),
    TEST(again_needs_a_timer_that_was_started),
    TEST(a_timer_started_again_and_again_comes_only_when_that_stops),
    TEST(a_one_shot_can_be_made_repeating),
    TEST(the_repeat_can_be_changed_in_each_callback),
    {NULL, NULL},
};
