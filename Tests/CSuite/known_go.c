/*
 * known_go.c - the cases of Go's src/time sleep_test.go, tick_test.go and internal_test.go, asked of Chime.
 *
 * AfterFunc is a one-shot, Reset is restart, Stop is cancel, a ticker is a repeating timer and Ticker.Reset a
 * reschedule. Stop's answer "it was stopped before it fired" is CHIME_OK; "it had fired" is CHIME_IGNORED. Reset's
 * answer has no counterpart: restart is legal in every state. Chime's question of that kind is postpone. What is about
 * channels and the collector has no counterpart either.
 */
#include "harness.h"

/* ---- One after the other ---------------------------------------------------------------------------------------- */

typedef struct chain {
  chime_queue_t queue;
  int left;
  int calls;
} chain;

/* ---- Stop ------------------------------------------------------------------------------------------------------- */

typedef chime_status (*stop_function)(chime_timer_t timer);

static chime_status stop_by_cancel(chime_timer_t timer) { return chime_timer_cancel(timer); }
static chime_status stop_by_postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR); }

/* TestStopResult and TestResetResult, issue 69312: whoever wins the race of a timer against its stop, the answer and
   what happens agree: OK, and it does not come; IGNORED, and it comes. */
static void check_answers(csuite *t, where place, stop_function stop) {
  chime_schedule at_once = schedule_of(0, 0);
  int i, count = csuite_scaled(1000);
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count; i++) {
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->quiet = 1;
  }
  for (i = 0; i < count; i++) {
    EXPECT_OK(chime_timer_activate(probes[i]->timer, &at_once));
    if (i % 4 == 0) sleep_ns(1 + i % 100 * CHIME_MICROSECOND); /* so that either side wins now and then */
    probes[i]->status = stop(probes[i]->timer);
  }
  for (i = 0; i < count; i++) {
    if (probes[i]->status == CHIME_OK) continue;
    EXPECT_STATUS(probes[i]->status, CHIME_IGNORED);
    REQUIRE(await(&probes[i]->returned, 1));
  }
  let_later_ticks_come(t, queue, 0);
  for (i = 0; i < count; i++) {
    if (!EXPECT_EQ(load(&probes[i]->ticks), probes[i]->status == CHIME_OK ? 0 : 1)) return;
  }
}
TESTS_ON_DISPATCH_QUEUES(the_answer_of_stop_tells_whether_it_comes) {
  check_answers(t, place, stop_by_cancel);
}
TESTS_ON_DISPATCH_QUEUES(the_answer_of_postpone_tells_whether_it_comes) {
  check_answers(t, place, stop_by_postpone);
}

/* ---- Reset ------------------------------------------------------------------------------------------------------ */

/* TestTimerModifiedEarlier, issue 47329: moved into the past again and again, a timer is not dropped. */
TEST(a_timer_moved_earlier_again_and_again_is_not_dropped) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0), past = schedule_at(0, 0);
  int i, j, rounds = csuite_scaled(1000);
  chime_queue_t queue = virtual_queue_at(t, 1000);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  for (i = 1; i <= rounds; i++) {
    EXPECT_OK(chime_timer_restart(p->timer, &in_an_hour));
    for (j = 0; j < 10; j++) {
      EXPECT_OK(chime_timer_cancel(p->timer));
      EXPECT_OK(chime_timer_restart(p->timer, &past));
    }
    if (i % 3 == 0) ADVANCE(1);
    ADVANCE(0);
    if (!EXPECT_EQ(p->ticks, i)) return;
  }
}

/* TestAdjustTimers, issue 47762: a hundred timers, each through ten steps in an order by chance: at once, to minutes,
   stopped, at once again; what is at once comes, the rest does not. */
TEST(timers_moved_to_and_fro_lose_no_tick) {
  enum { COUNT = 100, STEPS = 10 };
  static const int64_t minutes[] = {1, 3, 2};
  probe *probes[COUNT];
  int steps[COUNT] = {0}, left = COUNT, i;
  dice d = {UINT64_C(47762)};
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < COUNT; i++) {
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->quiet = 1;
  }
  while (left > 0) {
    chime_schedule schedule = schedule_of(0, 0);
    probe *p;
    i = (int)roll_below(&d, COUNT);
    if (steps[i] == STEPS) continue;
    p = probes[i];
    switch (steps[i]++) {
      /* clang-format off */
      case 0:
      case 8: EXPECT_OK(chime_timer_restart(p->timer, &schedule)); break;
      case 1: ADVANCE(roll_below(&d, 100)); EXPECT_EQ(p->ticks, 1); break;
      case 2:
      case 4:
      case 6:
        schedule.first_ns = minutes[steps[i] / 2 - 1] * CHIME_MINUTE;
        EXPECT_OK(chime_timer_restart(p->timer, &schedule));
        break;
      case 9: ADVANCE(0); EXPECT_EQ(p->ticks, 2); left--; break;
      /* clang-format on */
      default: EXPECT_OK(chime_timer_cancel(p->timer)); break;
    }
  }
  ADVANCE(CHIME_HOUR);
  for (i = 0; i < COUNT; i++) EXPECT_EQ(probes[i]->ticks, 2);
}

/* ---- Starvation ------------------------------------------------------------------------------------------------- */

static void restart_own_at_once_until_told(probe *p, const chime_tick *tick) {
  chime_schedule at_once = schedule_of(0, 0);
  if (load(&p->gate) == 0) p->status = chime_timer_restart(tick->timer, &at_once);
}

/* A timer that its handler arms at zero again and again does not keep others from coming. */
TESTS_ON_DISPATCH_QUEUES(a_timer_armed_at_zero_for_ever_starves_nobody) {
  chime_schedule at_once = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *greedy = probe_idle(t, queue, "g");
  probe *meek = probe_idle(t, queue, "m");
  chime_schedule schedule = schedule_of(CHIME_MILLISECOND, CHIME_MILLISECOND);
  greedy->quiet = meek->quiet = 1;
  greedy->on_tick = restart_own_at_once_until_told;
  EXPECT_OK(chime_timer_activate(greedy->timer, &at_once));
  EXPECT_OK(chime_timer_activate(meek->timer, &schedule));
  EXPECT(await(&meek->returned, 5));
  EXPECT(await(&greedy->ticks, 1));
  open_gate(greedy);
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(greedy->timer, CHIME_FOREVER)));
}

/* ---- Overflow --------------------------------------------------------------------------------------------------- */

/* TestOverflowRuntimeTimer: now + 2^63 - 1 does not wrap, and does not hang whoever comes after it. */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_sum_that_overflows_hangs_nobody) {
  QUEUE_OR_RETURN(queue, place);
  probe *huge = probe_after(t, queue, "h", INT64_MAX);
  probe *soon;
  EXPECT_EQ(deadline_of(t, huge->timer), CHIME_FOREVER);
  soon = probe_after(t, queue, "s", 1);
  if (place == VIRTUAL) ADVANCE(1);
  EXPECT(await(&soon->returned, 1));
  EXPECT_EQ(load(&huge->ticks), 0);
}

/* The same with a period: due at once, and when + period overflows at its first call. */
TESTS_ON_VIRTUAL_AND_SERIAL(a_period_that_overflows_hangs_nobody) {
  chime_schedule schedule = schedule_of(0, INT64_MAX);
  QUEUE_OR_RETURN(queue, place);
  probe *huge = probe_idle(t, queue, "h");
  probe *soon;
  EXPECT_OK(chime_timer_activate(huge->timer, &schedule));
  if (place == VIRTUAL) ADVANCE(25);
  EXPECT(await(&huge->returned, 1));
  soon = probe_after(t, queue, "s", 1);
  if (place == VIRTUAL) ADVANCE(CHIME_HOUR);
  EXPECT(await(&soon->returned, 1));
  EXPECT_EQ(load(&huge->ticks), 1);
  EXPECT_EQ(state_of(t, huge->timer), CHIME_STATE_RUNNING);
  if (place == VIRTUAL) EXPECT_EQ(deadline_of(t, huge->timer), INT64_MAX); /* 0 + INT64_MAX */
}

/* Periods that overflow only at a later tick: the grid goes on as far as numbers do, and then there is no next time. */
TEST(a_grid_ends_where_numbers_do) {
  static const int64_t starts[] = {0, 1, INT64_C(1) << 40, INT64_C(1) << 62};
  size_t i;
  for (i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    const int64_t interval = INT64_MAX / 4;
    int64_t fitting = (INT64_MAX - 1 - starts[i]) / interval;
    chime_queue_t queue = virtual_queue_at(t, starts[i]);
    probe *p = probe_every_quietly(t, queue, interval);
    ADVANCE_TO(INT64_MAX - 1);
    EXPECT_EQ(p->ticks, fitting);
    EXPECT_EQ(p->last.scheduled_ns, starts[i] + fitting * interval);
    EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
    EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  }
}
