/*
 * dispatch.c - the promises in real time, on serial, concurrent, global and wrapped queues. What is asserted of time
 * cannot be early; how late something comes is never asserted, only that it comes. Promises 1, 3, 4, 6, 7 and 12.
 */
#include "harness.h"

#include <errno.h>

/* ---- Never early, no drift -------------------------------------------------------------------------------------- */

static void check_not_early(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  int64_t now = 0;
  EXPECT_OK(chime_now(CHIME_CLOCK_MONOTONIC, &now));
  EXPECT_BETWEEN(tick->scheduled_ns, p->number, INT64_MAX);
  EXPECT_BETWEEN(tick->actual_ns, p->number, now);
  EXPECT_EQ(tick->missed, 0);
}

/* [3] */
TESTS_ON_DISPATCH_QUEUES(no_one_shot_is_early) {
  enum { COUNT = 100 };
  dice d = {UINT64_C(77777)};
  probe *probes[COUNT];
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < COUNT; i++) {
    int64_t delay = roll_below(&d, 60 * CHIME_MILLISECOND);
    chime_schedule schedule = schedule_of(delay, 0);
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->on_tick = check_not_early;
    probes[i]->number = now_of(t, queue) + delay;
    EXPECT_OK(chime_timer_activate(probes[i]->timer, &schedule));
  }
  for (i = 0; i < COUNT; i++) {
    REQUIRE(await(&probes[i]->returned, 1));
    EXPECT_EQ(load(&probes[i]->ticks), 1);
    EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_FINISHED);
  }
}

/* [3] [4] [5] */
TESTS_ON_DISPATCH_QUEUES(a_hundred_ticks_of_two_milliseconds_do_not_drift) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  grid *g = csuite_memory(t, sizeof *g);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->on_tick = check_grid;
  p->user = g;
  g->interval_ns = 2 * CHIME_MILLISECOND;
  g->first_ns = now_of(t, queue) + 5 * CHIME_MILLISECOND;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = g->first_ns;
  schedule.interval_ns = g->interval_ns;
  schedule.tick_limit = 100;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await_finished(t, p->timer));
  EXPECT_EQ(g->due_times, 100);
  EXPECT_EQ(p->last.sequence, load(&p->ticks));
  EXPECT_BETWEEN(p->last.actual_ns, g->first_ns + 99 * g->interval_ns, INT64_MAX);
}

/* [3] [12]: more at once than one pass takes. */
static void ten_thousand_one_shots_all_come(csuite *t, where place) {
  int count = csuite_scaled(10000), i;
  int64_t end;
  dice d = {UINT64_C(4242)};
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count; i++) {
    int64_t delay = roll_below(&d, 100 * CHIME_MILLISECOND);
    chime_schedule schedule = schedule_of(delay, 0);
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->quiet = 1;
    probes[i]->on_tick = check_not_early;
    probes[i]->number = now_of(t, queue) + delay;
    EXPECT_OK(chime_timer_activate(probes[i]->timer, &schedule));
  }
  for (i = 0; i < count; i++) REQUIRE(await(&probes[i]->returned, 1));
  EXPECT_EQ(stats_of(t, queue).running, 0);
  end = monotonic_ns() + PATIENCE; /* a tick may be counted when its handler has returned */
  while (stats_of(t, queue).ticks != (uint64_t)count) {
    REQUIRE(monotonic_ns() < end);
    sleep_ns(CHIME_MILLISECOND);
  }
}
TEST_ON(ten_thousand_one_shots_all_come, a_serial_queue, SERIAL)
TEST_ON(ten_thousand_one_shots_all_come, a_concurrent_queue, CONCURRENT)

TESTS_ON_DISPATCH_QUEUES(an_earlier_timer_added_later_comes_first) {
  QUEUE_OR_RETURN(queue, place);
  probe *late = probe_after(t, queue, "a", CHIME_HOUR);
  probe *early;
  let_later_ticks_come(t, queue, 0); /* then the queue sleeps for the hour */
  early = probe_after(t, queue, "b", CHIME_MILLISECOND);
  EXPECT(await(&early->returned, 1));
  EXPECT_EQ(load(&late->ticks), 0);
}

/* "No tick starts before now + delay." */
TESTS_ON_DISPATCH_QUEUES(an_idle_timeout_comes_only_after_the_last_touch) {
  int i;
  int64_t not_before = 0, delay = 40 * CHIME_MILLISECOND;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, delay, 0, NULL);
  for (i = 0; i < 20; i++) {
    int64_t now = now_of(t, queue);
    chime_status status = chime_timer_postpone(p->timer, delay);
    if (status == CHIME_IGNORED) break; /* this machine was slow: the timeout won */
    EXPECT_OK(status);
    not_before = now + delay;
    sleep_ns(4 * CHIME_MILLISECOND);
  }
  REQUIRE(await(&p->returned, 1));
  EXPECT_BETWEEN(p->last.actual_ns, not_before, INT64_MAX);
  EXPECT_BETWEEN(p->last.scheduled_ns, not_before, INT64_MAX);
  EXPECT_EQ(load(&p->ticks), 1);
}

/* ---- No overlap ------------------------------------------------------------------------------------------------- */

static void be_slow(probe *p, const chime_tick *tick) {
  (void)p;
  (void)tick;
  sleep_ns(300 * CHIME_MICROSECOND);
}

static void *fire_again_and_again(void *argument) {
  probe *p = argument;
  while (load(&p->gate) == 0) {
    chime_timer_fire(p->timer);
    sleep_ns(50 * CHIME_MICROSECOND);
  }
  return NULL;
}

/* [6]: ticks faster than their handler, and extra ones from two threads; the probe checks each entry. */
TESTS_ON_DISPATCH_QUEUES(the_calls_of_one_timer_never_overlap) {
  pthread_t threads[2];
  int spawned[2], i;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, 50 * CHIME_MICROSECOND, be_slow);
  for (i = 0; i < 2; i++) spawned[i] = spawn(t, &threads[i], fire_again_and_again, p);
  EXPECT(await(&p->returned, csuite_scaled(200)));
  open_gate(p);
  for (i = 0; i < 2; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_EQ(load(&p->ticks), load(&p->returned));
}

/* ---- Stopping --------------------------------------------------------------------------------------------------- */

/* [7] */
TESTS_ON_DISPATCH_QUEUES(calls_while_the_handler_runs_answer_running) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, CHIME_HOUR);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_held(t, queue, CHIME_HOUR);
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_EQ(info_of(t, p->timer).sequence, 1);
  EXPECT_STATUS(chime_timer_suspend(p->timer), CHIME_RUNNING);
  EXPECT_OK(chime_timer_resume(p->timer));
  EXPECT_STATUS(chime_timer_reschedule(p->timer, &in_an_hour), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_restart(p->timer, NULL), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_activate(p->timer, NULL), CHIME_OK);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  open_gate(p);
  EXPECT_OK(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER));
  EXPECT_EQ(info_of(t, p->timer).busy, 0);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_OK(chime_timer_activate(p->timer, NULL)); /* nothing is busy: OK again */
  EXPECT_OK(chime_timer_suspend(p->timer));
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT_EQ(load(&p->ticks), 1);
}

/* [6]: "A tick that falls due meanwhile waits for the return." */
TESTS_ON_DISPATCH_QUEUES(a_tick_due_while_the_handler_runs_waits_for_it) {
  chime_schedule at_once = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_held(t, queue, 0);
  EXPECT_TOOK_EFFECT(chime_timer_activate(p->timer, &at_once)); /* finished: a new life, due at once */
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, 0);
  EXPECT_EQ(load(&p->ticks), 1);
  open_gate(p);
  EXPECT(await(&p->returned, 2)); /* the probe checks that they did not overlap */
}

/* [7] */
TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_waits_for_the_handler) {
  int64_t begin;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_held(t, queue, CHIME_HOUR);
  begin = monotonic_ns();
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED); /* what was asked for is in effect */
  EXPECT_EQ(load(&p->returned), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 0), CHIME_TIMED_OUT);
  open_gate(p);
  /* Cancelled already, and still it waits. */
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER), CHIME_IGNORED);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_EQ(load(&p->ticks), 1);
}

static void be_busy_for_a_while(probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
  sleep_ns(40 * CHIME_MILLISECOND);
  store(&p->flag, 2);
}

TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_returns_when_the_handler_has_returned) {
  chime_schedule one_shot = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, CHIME_HOUR, be_busy_for_a_while);
  REQUIRE(await(&p->flag, 1));
  EXPECT_OK(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER));
  EXPECT_EQ(load(&p->flag), 2);
  EXPECT_EQ(load(&p->busy), 0);
  store(&p->flag, 0);
  EXPECT_OK(chime_timer_activate(p->timer, &one_shot));
  REQUIRE(await(&p->flag, 1));
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER), CHIME_IGNORED); /* finished */
  EXPECT_EQ(load(&p->flag), 2);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER), CHIME_IGNORED);
}

static void cancel_and_wait_for_the_other(probe *p, const chime_tick *tick) {
  (void)tick;
  p->status = chime_timer_cancel_and_wait(p->other->timer, CHIME_FOREVER);
}

/* "From another handler of the same serial queue nothing is busy and it returns at once." */
TEST(cancel_and_wait_in_another_handler_of_a_serial_queue_returns_at_once) {
  chime_schedule at_once = schedule_of(0, 0);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_idle(t, queue, "a");
  p->other = probe_after(t, queue, "b", CHIME_HOUR);
  p->on_tick = cancel_and_wait_for_the_other;
  EXPECT_OK(chime_timer_activate(p->timer, &at_once));
  EXPECT(await(&p->returned, 1));
  EXPECT_OK(p->status);
  EXPECT_EQ(state_of(t, p->other->timer), CHIME_STATE_CANCELLED);
}

/* All begin; then each waits for the next, and the last for the first. */
static void meet_and_wait_for_the_next(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  int *met = p->user;
  (void)tick;
  add(met, 1);
  EXPECT(await(met, (int)p->number));
  p->status = chime_timer_cancel_and_wait(p->other->timer, PATIENCE);
}

static void check_ring(csuite *t, int count, where place, int one_queue) {
  chime_schedule schedule = schedule_of(0, CHIME_HOUR);
  chime_queue_t queue = 0;
  probe *probes[3];
  int *met = csuite_memory(t, sizeof *met);
  int i, deadlocks = 0;
  for (i = 0; i < count; i++) {
    if (queue == 0 || !one_queue) queue = csuite_queue(t, place);
    if (queue == 0) return;
    probes[i] = probe_idle(t, queue, "a");
    probes[i]->quiet = 1;
    probes[i]->on_tick = meet_and_wait_for_the_next;
    probes[i]->user = met;
    probes[i]->number = count;
  }
  for (i = 0; i < count; i++) probes[i]->other = probes[(i + 1) % count];
  for (i = 0; i < count; i++) EXPECT_OK(chime_timer_activate(probes[i]->timer, &schedule));
  for (i = 0; i < count; i++) REQUIRE(await(&probes[i]->returned, 1));
  for (i = 0; i < count; i++) {
    chime_status status = probes[i]->status;
    if (status == CHIME_ERROR_WOULD_DEADLOCK) {
      deadlocks++;
    } else {
      EXPECT_OK(status);
    }
    EXPECT_EQ(state_of(t, probes[i]->timer), CHIME_STATE_CANCELLED); /* with every answer */
  }
  EXPECT(deadlocks >= 1);
}

/* [1] */
TEST(two_handlers_that_wait_for_each_other_get_would_deadlock) { check_ring(t, 2, SERIAL, 0); }
TEST(two_handlers_of_one_concurrent_queue_that_wait_for_each_other_are_told) { check_ring(t, 2, CONCURRENT, 1); }
TEST(three_handlers_that_wait_in_a_ring_get_would_deadlock) { check_ring(t, 3, SERIAL, 0); }

/* ---- No stale tick ---------------------------------------------------------------------------------------------- */

/* A tick of the generation in `forbidden` must not start. */
typedef struct race {
  uint64_t forbidden;
} race;

static void check_not_stale(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  race *r = p->user;
  EXPECT(__atomic_load_n(&r->forbidden, __ATOMIC_SEQ_CST) != tick->generation);
}

static void spin_ns(int64_t duration_ns) {
  int64_t end = monotonic_ns() + duration_ns;
  while (monotonic_ns() < end) {}
}

typedef chime_status (*stopper)(chime_timer_t timer);

static chime_status stop_by_reschedule(chime_timer_t timer) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0);
  return chime_timer_reschedule(timer, &in_an_hour);
}
static chime_status stop_by_restart(chime_timer_t timer) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0);
  return chime_timer_restart(timer, &in_an_hour);
}
static chime_status stop_by_postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR); }

/* [7]: OK says that the one-shot has not started; it must not start any more. */
static void check_stops(csuite *t, where place, stopper stop) {
  int count = csuite_scaled(3000), i;
  dice d = {UINT64_C(1234567)};
  race *r = csuite_memory(t, sizeof *r);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  p->quiet = 1;
  p->user = r;
  p->on_tick = check_not_stale;
  for (i = 0; i < count && !csuite_failed(t); i++) {
    chime_schedule soon = schedule_of(roll_below(&d, 40) * CHIME_MICROSECOND, 0);
    uint64_t generation;
    chime_status status = chime_timer_restart(p->timer, &soon);
    EXPECT(status == CHIME_OK || status == CHIME_RUNNING);
    generation = generation_of(t, p->timer);
    spin_ns(roll_below(&d, 120) * CHIME_MICROSECOND);
    if (stop(p->timer) == CHIME_OK && state_of(t, p->timer) != CHIME_STATE_FINISHED) {
      __atomic_store_n(&r->forbidden, generation, __ATOMIC_SEQ_CST);
      /* Else one that comes is soon another generation's. */
      if (i % 50 == 0) let_later_ticks_come(t, queue, 50 * CHIME_MICROSECOND);
    }
  }
}

TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_cancel) { check_stops(t, place, chime_timer_cancel); }
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_suspend) { check_stops(t, place, chime_timer_suspend); }
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_reschedule) { check_stops(t, place, stop_by_reschedule); }
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_restart) { check_stops(t, place, stop_by_restart); }
TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_postpone) { check_stops(t, place, stop_by_postpone); }

static void expect_not_released(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT_EQ(load(&p->flag), 0);
}

TESTS_ON_DISPATCH_QUEUES(no_tick_starts_after_release) {
  int count = csuite_scaled(2000), i;
  dice d = {UINT64_C(7654321)};
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count && !csuite_failed(t); i++) {
    chime_schedule soon = schedule_of(roll_below(&d, 40) * CHIME_MICROSECOND, 0);
    chime_status status;
    probe *p = probes[i] = probe_idle(t, queue, "a");
    p->on_tick = expect_not_released;
    EXPECT_OK(chime_timer_activate(p->timer, &soon));
    spin_ns(roll_below(&d, 120) * CHIME_MICROSECOND);
    status = chime_timer_release(p->timer);
    if (status == CHIME_OK) store(&p->flag, 1);
    EXPECT(status == CHIME_OK || status == CHIME_RUNNING);
  }
  count = i;
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  for (i = 0; i < count; i++) EXPECT_EQ(load(&probes[i]->finalized), 1);
}

/* ---- The rest --------------------------------------------------------------------------------------------------- */

TESTS_ON_DISPATCH_QUEUES(time_of_a_dispatch_queue_is_the_monotonic_clock) {
  int64_t before, now, after;
  QUEUE_OR_RETURN(queue, place);
  before = monotonic_ns();
  now = now_of(t, queue);
  after = monotonic_ns();
  EXPECT_BETWEEN(now, before, after);
}

/* [17] */
TESTS_ON_DISPATCH_QUEUES(a_deadline_long_past_is_due_at_once_and_does_not_spin) {
  chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
  int64_t begin;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  schedule.flags = CHIME_SCHEDULE_DEADLINE; /* at the clock's zero: since then millions were missed */
  begin = now_of(t, queue);
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  REQUIRE(await(&p->ticks, 3));
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT_BETWEEN(p->first.missed, begin / CHIME_MILLISECOND, INT64_MAX);
  EXPECT_BETWEEN(load(&p->ticks), 3, (now_of(t, queue) - begin) / CHIME_MILLISECOND + 2);
}

/* [17] */
TESTS_ON_DISPATCH_QUEUES(a_timer_that_never_comes_can_be_ended) {
  chime_schedule schedule = schedule_of(CHIME_FOREVER, CHIME_FOREVER);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_start(t, queue, "a", &schedule);
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), 0);
  EXPECT_OK(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER));
  EXPECT_OK(chime_timer_release(p->timer));
}

static void nothing(void *context) { (void)context; }

TEST(calls_preserve_errno) {
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_idle(t, queue, "a");
  errno = 77;
  chime_timer_activate(p->timer, &schedule);
  chime_timer_postpone(p->timer, 2 * CHIME_HOUR);
  chime_timer_fire(p->timer);
  chime_timer_cancel_and_wait(p->timer, CHIME_MILLISECOND);
  chime_queue_sync(queue, nothing, NULL, CHIME_FOREVER);
  chime_timer_release(p->timer);
  chime_timer_release(p->timer);
  EXPECT_EQ(errno, 77);
}
