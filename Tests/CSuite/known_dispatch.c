/*
 * known_dispatch.c - the cases of libdispatch's own tests (dispatch_timer*.c, dispatch_suspend_timer.c,
 * dispatch_drift.c, dispatch_after.c), asked of Chime.
 *
 * A timer source is a timer; its data, the number of due times a call stands for, is missed + 1;
 * dispatch_source_set_timer is reschedule. libdispatch counts suspensions; Chime's second suspend is ignored.
 */
#include "harness.h"

/* ---- Suspending ------------------------------------------------------------------------------------------------- */

static void suspend_own_when_armed(probe *p, const chime_tick *tick) { p->status = chime_timer_suspend(tick->timer); }

enum { CROWD = 25000, FEW_TICKS = 100 };

/* dispatch_timer_short: 25,000 timers of 5 us, each suspended by its registration handler before its first call, stand
   before one of the same period; that one is not starved, and none of them comes. */
static void a_crowd_of_suspended_timers_starves_nobody(csuite *t, where place) {
  chime_schedule schedule = schedule_of(0, 5 * CHIME_MICROSECOND);
  int i, count = csuite_scaled(CROWD);
  probe **crowd = csuite_memory(t, (size_t)count * sizeof *crowd);
  QUEUE_OR_RETURN(queue, place);
  probe *alone = probe_idle(t, queue, "a");
  for (i = 0; i < count; i++) {
    chime_timer_options options;
    crowd[i] = probe_new(t, queue, "c");
    crowd[i]->quiet = 1;
    crowd[i]->on_armed = suspend_own_when_armed;
    options = probe_full_options(crowd[i]);
    EXPECT_OK(chime_timer_create(queue, &options, &crowd[i]->timer));
    EXPECT_OK(chime_timer_activate(crowd[i]->timer, &schedule));
  }
  for (i = 0; i < count; i++) REQUIRE(await(&crowd[i]->armed, 1));
  alone->quiet = 1;
  EXPECT_OK(chime_timer_activate(alone->timer, &schedule));
  EXPECT(await(&alone->returned, FEW_TICKS));
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(alone->timer, CHIME_FOREVER)));
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&crowd[i]->ticks), 0);
    if (!EXPECT_EQ(state_of(t, crowd[i]->timer), CHIME_STATE_SUSPENDED)) return;
  }
}
TEST_ON(a_crowd_of_suspended_timers_starves_nobody, a_serial_queue, SERIAL)
TEST_ON(a_crowd_of_suspended_timers_starves_nobody, a_precise_queue, PRECISE)

/* dispatch_timer_short and dispatch_timer_timeout: due timers of a queue that is blocked do not keep another queue's
   from coming; the one that blocks has one call, however often it was due. */
TEST(a_crowd_of_due_timers_on_a_blocked_queue_starves_no_other_queue) {
  chime_schedule short_period = schedule_of(0, 100), schedule = schedule_of(0, 5 * CHIME_MICROSECOND);
  int i, count = csuite_scaled(CROWD);
  probe **crowd = csuite_memory(t, (size_t)count * sizeof *crowd);
  QUEUE_OR_RETURN(blocked, SERIAL);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *blocker = probe_idle(t, blocked, "b");
  probe *alone = probe_idle(t, queue, "a");
  blocker->quiet = alone->quiet = 1;
  blocker->on_tick = stay_until_gate_opens;
  EXPECT_OK(chime_timer_activate(blocker->timer, &short_period));
  REQUIRE(await(&blocker->flag, 1));
  for (i = 0; i < count; i++) {
    crowd[i] = probe_idle(t, blocked, "c");
    crowd[i]->quiet = 1;
    EXPECT_OK(chime_timer_activate(crowd[i]->timer, &schedule));
  }
  EXPECT_OK(chime_timer_activate(alone->timer, &schedule));
  EXPECT(await(&alone->returned, FEW_TICKS));
  EXPECT_EQ(load(&blocker->ticks), 1);
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&crowd[i]->ticks), 0);
    if (!EXPECT_OK(chime_timer_cancel(crowd[i]->timer))) break;
  }
  EXPECT_STATUS(chime_timer_cancel(blocker->timer), CHIME_RUNNING);
  open_gate(blocker);
}

/* ---- Far intervals ---------------------------------------------------------------------------------------------- */

/* dispatch_timer_bit31, dispatch_timer_bit63: delays and periods around the bits at which a narrower number would wrap
   or change its sign. libdispatch's 2^63 + 1 cannot be said here: durations are signed. */
TEST(intervals_at_every_bit_keep_their_time) {
  int bit, off;
  for (bit = 30; bit <= 63; bit++) {
    chime_queue_t queue;
    if (bit > 33 && bit < 61) continue;
    queue = virtual_queue_at(t, 12345);
    for (off = -1; off <= 1; off++) {
      int64_t interval = bit < 63 ? (INT64_C(1) << bit) + off : INT64_MAX - 1 + off;
      int64_t start = now_of(t, queue), second;
      probe *p;
      if (bit == 63 && off == 1) continue; /* no such number */
      p = probe_every_quietly(t, queue, interval);
      if (interval > INT64_MAX - 1 - start) {
        EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
        ADVANCE(INT64_C(1) << 40);
        EXPECT_EQ(p->ticks, 0);
        EXPECT_OK(chime_timer_release(p->timer));
        continue;
      }
      EXPECT_EQ(deadline_of(t, p->timer), start + interval);
      EXPECT_EQ(next_deadline(t, queue), start + interval);
      ADVANCE(interval - 1);
      EXPECT_EQ(p->ticks, 0);
      ADVANCE(1);
      EXPECT_EQ(p->ticks, 1);
      EXPECT_EQ(p->last.actual_ns, start + interval);
      second = deadline_of(t, p->timer);
      EXPECT_EQ(second, interval > INT64_MAX - (start + interval) ? CHIME_FOREVER : start + 2 * interval);
      if (second < INT64_MAX && bit < 62) {
        ADVANCE(interval);
        EXPECT_EQ(p->ticks, 2);
        EXPECT_EQ(p->last.actual_ns, start + 2 * interval);
      }
      EXPECT_OK(chime_timer_release(p->timer));
      if (bit >= 61) break; /* the clock cannot go on so far again */
    }
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

/* dispatch_timer_bit63: due at once and a period without end: one call, and none before later ticks. */
TESTS_ON_DISPATCH_QUEUES(a_period_at_bit_63_has_its_first_call_only) {
  chime_schedule schedule = schedule_of(0, INT64_MAX);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await(&p->returned, 1));
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), 1);
}

/* ---- Drift ------------------------------------------------------------------------------------------------------ */

enum { DRIFT_TICKS = 2500 };

static void be_slow_at_times(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  EXPECT_EQ(tick->scheduled_ns, (int64_t)tick->sequence * p->number);
  if (tick->sequence % 3 == 0) EXPECT_OK(chime_queue_jump(p->queue, (int64_t)(tick->sequence * 7919) % p->number));
}

/* dispatch_drift: 2,500 ticks of 10 ms; here none is off by a nanosecond, though some handlers take time. */
TEST(over_2500_ticks_of_10_ms_nothing_drifts) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every_quietly(t, queue, 10 * CHIME_MILLISECOND);
  p->number = 10 * CHIME_MILLISECOND;
  p->on_tick = be_slow_at_times;
  ADVANCE_TO(DRIFT_TICKS * 10 * CHIME_MILLISECOND);
  EXPECT_EQ(p->ticks, DRIFT_TICKS);
  EXPECT_EQ(p->missed, 0);
  EXPECT_EQ(p->last.scheduled_ns, DRIFT_TICKS * 10 * CHIME_MILLISECOND);
}

/* dispatch_drift on the real clock, 2,500 due times of 400 us: each on its grid to the nanosecond, none early, none
   lost; where the machine was late, due times are merged and counted. */
static void over_2500_ticks_of_400_us_nothing_drifts(csuite *t, where place) {
  grid *g = csuite_memory(t, sizeof *g);
  int count = csuite_scaled(DRIFT_TICKS);
  chime_schedule schedule;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  p->on_tick = check_grid;
  p->user = g;
  g->interval_ns = 400 * CHIME_MICROSECOND;
  g->first_ns = now_of(t, queue) + CHIME_MILLISECOND;
  schedule = schedule_at(g->first_ns, g->interval_ns);
  schedule.tick_limit = (uint64_t)count;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await_finished(t, p->timer));
  EXPECT_EQ(g->due_times, count);
  EXPECT_EQ(load(&p->ticks) + p->missed, count);
  EXPECT_BETWEEN(p->last.actual_ns, g->first_ns + (count - 1) * g->interval_ns, INT64_MAX);
}
TEST_ON(over_2500_ticks_of_400_us_nothing_drifts, a_serial_queue, SERIAL)
