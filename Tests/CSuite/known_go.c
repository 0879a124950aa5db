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

static void start_the_next(const chime_tick *tick, void *context) {
  chain *c = context;
  (void)tick;
  c->calls++;
  if (c->left-- > 0) chime_timer_after(c->queue, 0, start_the_next, c, NULL, NULL);
}

/* TestAfterFunc: a function that starts itself anew, ten times. */
static void a_function_may_start_itself_anew(csuite *t) {
  chain *c = csuite_memory(t, sizeof *c);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  c->queue = queue;
  c->left = 10;
  EXPECT_OK(chime_timer_after(queue, 0, start_the_next, c, NULL, NULL));
  ADVANCE(0);
  EXPECT_EQ(c->calls, 11);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

/* TestAfterQueuing: delays in no order come in theirs, equal ones in the order of their calls. */
static void delays_given_in_no_order_come_in_theirs(csuite *t) {
  static const int64_t delays[] = {5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"};
  size_t i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < sizeof delays / sizeof delays[0]; i++) probe_after(t, queue, names[i], delays[i]);
  ADVANCE(10);
  EXPECT_LOG("m1@0 f1@1 g1@1 h1@2 b1@3 k1@4 a1@5 c1@6 d1@6 e1@6 i1@7 l1@8 j1@9");
}

/* TestZeroTimer, issue 44868: a timer of no duration is not missed, whoever waits for it. */
static void timers_of_no_duration_are_not_missed(csuite *t, where place) {
  chime_schedule at_once = schedule_of(0, 0);
  int i, count = csuite_scaled(200);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  for (i = 1; i <= count; i++) {
    EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, &at_once));
    REQUIRE(await(&p->returned, i));
  }
  EXPECT_EQ(load(&p->ticks), count);
}
ON_DISPATCH_QUEUES(timers_of_no_duration_are_not_missed)

/* ---- Stop ------------------------------------------------------------------------------------------------------- */

/* TestAfterStop: stopped before its time a timer does not come, and a second stop says that there was nothing to do. */
static void stop_says_whether_it_stopped(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 50);
  probe *b = probe_after(t, queue, "b", 150);
  probe *c = probe_after(t, queue, "c", 100);
  EXPECT_OK(chime_timer_cancel(a->timer));
  EXPECT_OK(chime_timer_cancel(b->timer));
  ADVANCE(200);
  EXPECT_LOG("c1@100");
  EXPECT_STATUS(chime_timer_cancel(b->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_cancel(c->timer), CHIME_IGNORED); /* it had fired */
}

/* Stop while the function runs: it does not wait. A one-shot has fired then; a ticker is stopped, and says that it is
   not through. */
static void stop_during_the_call_does_not_wait(csuite *t) {
  chime_schedule schedules[2];
  int i;
  QUEUE_OR_RETURN(queue, SERIAL);
  schedules[0] = schedule_of(0, 0);
  schedules[1] = schedule_of(0, CHIME_HOUR);
  for (i = 0; i < 2; i++) {
    probe *p = probe_idle(t, queue, "a");
    p->quiet = 1;
    p->on_tick = stay_until_gate_opens;
    EXPECT_OK(chime_timer_activate(p->timer, &schedules[i]));
    REQUIRE(await(&p->flag, 1));
    EXPECT_STATUS(chime_timer_cancel(p->timer), i == 0 ? CHIME_IGNORED : CHIME_RUNNING);
    EXPECT_EQ(load(&p->returned), 0);
    open_gate(p);
    REQUIRE(await(&p->returned, 1));
    EXPECT_EQ(load(&p->ticks), 1);
  }
}

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
static void the_answer_of_stop_tells_whether_it_comes(csuite *t, where place) {
  check_answers(t, place, stop_by_cancel);
}
ON_DISPATCH_QUEUES(the_answer_of_stop_tells_whether_it_comes)
static void the_answer_of_postpone_tells_whether_it_comes(csuite *t, where place) {
  check_answers(t, place, stop_by_postpone);
}
ON_DISPATCH_QUEUES(the_answer_of_postpone_tells_whether_it_comes)

/* ---- Reset ------------------------------------------------------------------------------------------------------ */

/* TestReset: later before it fired, then anew after it has. */
static void reset_moves_a_timer_later_and_revives_one_that_fired(csuite *t) {
  chime_schedule later = schedule_of(30, 0), soon = schedule_of(5, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 20);
  ADVANCE(10);
  EXPECT_OK(chime_timer_restart(p->timer, &later));
  ADVANCE(20); /* 30: its first time is long over */
  EXPECT_LOG("");
  ADVANCE(20);
  EXPECT_LOG("a1@40");
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_FINISHED);
  EXPECT_OK(chime_timer_restart(p->timer, &soon));
  ADVANCE(100);
  EXPECT_LOG("a1@55");
}

/* TestTimerModifiedEarlier, issue 47329: moved into the past again and again, a timer is not dropped. */
static void a_timer_moved_earlier_again_and_again_is_not_dropped(csuite *t) {
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
static void timers_moved_to_and_fro_lose_no_tick(csuite *t) {
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
static void a_timer_armed_at_zero_for_ever_starves_nobody(csuite *t, where place) {
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
ON_DISPATCH_QUEUES(a_timer_armed_at_zero_for_ever_starves_nobody)

/* ---- Overflow --------------------------------------------------------------------------------------------------- */

/* TestOverflowRuntimeTimer: now + 2^63 - 1 does not wrap, and does not hang who comes after it. */
static void a_sum_that_overflows_hangs_nobody(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  probe *huge = probe_after(t, queue, "h", INT64_MAX);
  probe *soon;
  EXPECT_EQ(deadline_of(t, huge->timer), CHIME_FOREVER);
  soon = probe_after(t, queue, "s", 1);
  if (place == VIRTUAL) ADVANCE(1);
  EXPECT(await(&soon->returned, 1));
  EXPECT_EQ(load(&huge->ticks), 0);
}
ON_VIRTUAL_AND_SERIAL(a_sum_that_overflows_hangs_nobody)
ON_THE_MAIN_QUEUE(a_sum_that_overflows_hangs_nobody)

/* The same with a period: due at once, and when + period overflows at its first call. */
static void a_period_that_overflows_hangs_nobody(csuite *t, where place) {
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
ON_VIRTUAL_AND_SERIAL(a_period_that_overflows_hangs_nobody)

/* Periods that overflow only at a later tick: the grid goes on as far as numbers do, and then there is no next time. */
static void a_grid_ends_where_numbers_do(csuite *t) {
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

/* TestOverflowSleep: a negative duration fires at once in Go. Chime refuses it, as a mistake; a deadline may lie in the
   past, and fires at once. */
static void a_negative_delay_is_refused_and_a_past_deadline_comes_at_once(csuite *t) {
  chime_schedule negative = schedule_of(INT64_MIN, 0), past = schedule_at(INT64_MIN, 0);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  EXPECT_STATUS(chime_timer_activate(p->timer, &negative), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_IDLE);
  EXPECT_OK(chime_timer_activate(p->timer, &past));
  ADVANCE(0);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_EQ(p->last.missed, 0);
}

/* ---- Tickers ---------------------------------------------------------------------------------------------------- */

/* TestTicker: five ticks, the period doubled, five more, stopped. */
static void a_ticker_whose_period_doubles_takes_the_sum(csuite *t) {
  chime_schedule doubled = schedule_of(40, 40);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 20);
  ADVANCE(100);
  EXPECT_LOG("a1@20 a2@40 a3@60 a4@80 a5@100");
  EXPECT_OK(chime_timer_reschedule(p->timer, &doubled));
  ADVANCE(200);
  EXPECT_LOG("a6@140 a7@180 a8@220 a9@260 a10@300");
  EXPECT_OK(chime_timer_cancel(p->timer));
  ADVANCE(1000);
  EXPECT_LOG("");
}

/* TestNewTickerLtZeroDuration and TestTickerResetLtZeroDuration: no panic, a status; and the ticker goes on. */
static void a_period_below_zero_is_refused_and_the_ticker_goes_on(csuite *t) {
  chime_schedule negative = schedule_of(5, -1);
  chime_timer_t none = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  EXPECT_STATUS(chime_timer_every(queue, -1, probe_handler, p, NULL, &none), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_every(queue, 0, probe_handler, p, NULL, &none), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(none, 0);
  EXPECT_STATUS(chime_timer_reschedule(p->timer, &negative), CHIME_ERROR_INVALID_ARGUMENT);
  ADVANCE(20);
  EXPECT_LOG("a1@10 a2@20");
}

/* TestTeardown: made, one tick, stopped and gone, several times. */
static void tickers_come_and_go(csuite *t) {
  int i;
  QUEUE_OR_RETURN(queue, SERIAL);
  for (i = 0; i < 3; i++) {
    probe *p = probe_every_quietly(t, queue, CHIME_MILLISECOND);
    REQUIRE(await(&p->returned, 1));
    EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
    EXPECT_OK(chime_timer_release(p->timer));
    EXPECT(await(&p->finalized, 1));
  }
}

const csuite_test known_go_tests[] = {
    TEST(a_function_may_start_itself_anew),
    TEST(delays_given_in_no_order_come_in_theirs),
    TESTS_ON_DISPATCH_QUEUES(timers_of_no_duration_are_not_missed),
    TEST(stop_says_whether_it_stopped),
    TEST(stop_during_the_call_does_not_wait),
    TESTS_ON_DISPATCH_QUEUES(the_answer_of_stop_tells_whether_it_comes),
    TESTS_ON_DISPATCH_QUEUES(the_answer_of_postpone_tells_whether_it_comes),
    TEST(reset_moves_a_timer_later_and_revives_one_that_fired),
    TEST(a_timer_moved_earlier_again_and_again_is_not_dropped),
    TEST(timers_moved_to_and_fro_lose_no_tick),
    TESTS_ON_DISPATCH_QUEUES(a_timer_armed_at_zero_for_ever_starves_nobody),
    TESTS_ON_VIRTUAL_AND_SERIAL(a_sum_that_overflows_hangs_nobody),
    TEST_ON_THE_MAIN_QUEUE(a_sum_that_overflows_hangs_nobody),
    TESTS_ON_VIRTUAL_AND_SERIAL(a_period_that_overflows_hangs_nobody),
    TEST(a_grid_ends_where_numbers_do),
    TEST(a_negative_delay_is_refused_and_a_past_deadline_comes_at_once),
    TEST(a_ticker_whose_period_doubles_takes_the_sum),
    TEST(a_period_below_zero_is_refused_and_the_ticker_goes_on),
    TEST(tickers_come_and_go),
    {NULL, NULL},
};
