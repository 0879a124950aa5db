/*
 * lifetime.c - what Chime holds, and when it lets go: each finalizer exactly once, after the last callback, in every
 * way a timer can end. Promises 8, 9 and 16.
 *
 * The harness checks in every callback that the finalizer has not run, and in the finalizer that it is the first and
 * that no callback is under way. The shutdown at the end of a test makes the counts final.
 */
#include "timeline.h"

static probe *quiet_full(csuite *t, chime_queue_t queue) {
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_full_options(p);
  p->quiet = 1;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  return p;
}

/* The same at work: due at once, and again each millisecond. */
static probe *quiet_full_at_work(csuite *t, chime_queue_t queue, probe_action on_tick) {
  chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
  probe *p = quiet_full(t, queue);
  p->on_tick = on_tick;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

/* Whose handler has begun, and stays until the gate is opened. */
static probe *quiet_full_held(csuite *t, chime_queue_t queue) {
  probe *p = quiet_full_at_work(t, queue, stay_until_gate_opens);
  EXPECT(await(&p->flag, 1));
  return p;
}

/* ---- Release in every state ------------------------------------------------------------------------------------- */

/* [8] */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(release_in_each_state_finalizes_once) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0), at_once = schedule_of(0, 0);
  probe *p[5];
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = CHIME_STATE_IDLE; i <= CHIME_STATE_CANCELLED; i++) {
    p[i] = quiet_full(t, queue);
    if (i == CHIME_STATE_FINISHED) {
      EXPECT_OK(chime_timer_activate(p[i]->timer, &at_once));
      run_due(t, queue, place);
      EXPECT(await(&p[i]->ticks, 1));
      come_to_rest(t, p[i]->timer);
    } else if (i != CHIME_STATE_IDLE) {
      EXPECT_OK(chime_timer_activate(p[i]->timer, &in_an_hour));
      run_due(t, queue, place);
      EXPECT(await(&p[i]->armed, 1));
      come_to_rest(t, p[i]->timer);
    }
    if (i == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(p[i]->timer));
    if (i == CHIME_STATE_CANCELLED) {
      EXPECT_OK(chime_timer_cancel(p[i]->timer));
      run_due(t, queue, place);
      EXPECT(await(&p[i]->cancelled, 1));
      come_to_rest(t, p[i]->timer);
    }
    EXPECT_EQ(state_of(t, p[i]->timer), i);
    EXPECT_EQ(load(&p[i]->finalized), 0);
    EXPECT_OK(chime_timer_release(p[i]->timer));
    EXPECT(is_stale(p[i]->timer));
    if (place == VIRTUAL) EXPECT_EQ(p[i]->finalized, 1); /* in the releasing call: no pass is running */
    EXPECT(await(&p[i]->finalized, 1));                  /* without waiting for the end of the queue */
  }
  csuite_shutdown(t, queue);
  for (i = CHIME_STATE_IDLE; i <= CHIME_STATE_CANCELLED; i++) {
    EXPECT_EQ(load(&p[i]->finalized), 1);
    EXPECT_EQ(load(&p[i]->cancelled), i == CHIME_STATE_IDLE || i == CHIME_STATE_FINISHED ? 0 : 1);
  }
}
TEST_ON(release_in_each_state_finalizes_once, a_concurrent_queue, CONCURRENT)

static void release_own_and_check(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  p->status = chime_timer_release(tick->timer);
  EXPECT(is_stale(tick->timer));
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&p->finalized), 0); /* not before the handler has returned */
}

/* [8] [9] */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_handler_may_release_its_own_timer) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_full_at_work(t, queue, release_own_and_check);
  run_due(t, queue, place);
  EXPECT(await(&p->finalized, 1));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  csuite_shutdown(t, queue);
  EXPECT_STATUS(p->status, CHIME_RUNNING);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1); /* it was running */
  EXPECT_EQ(load(&p->finalized), 1);
}
TEST_ON(a_handler_may_release_its_own_timer, a_concurrent_queue, CONCURRENT)

static void release_in_cancellation(probe *p, const chime_tick *tick) { p->status = chime_timer_release(tick->timer); }

TESTS_ON_VIRTUAL_AND_SERIAL(a_cancel_handler_may_release_its_own_timer) {
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_full(t, queue);
  p->on_cancelled = release_in_cancellation;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  EXPECT(!CHIME_FAILED(chime_timer_cancel(p->timer)));
  run_due(t, queue, place);
  EXPECT(await(&p->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT(p->status == CHIME_OK || p->status == CHIME_RUNNING);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT_EQ(load(&p->ticks), 0);
}

static void call_the_library(probe *p) {
  csuite *t = p->t;
  /* With no lock held: everything may be called. */
  EXPECT(is_stale(p->timer));
  EXPECT_OK(chime_timer_cancel(p->other->timer));
  EXPECT_OK(chime_timer_release(p->other->timer));
}

/* [8] */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_finalizer_may_call_anything) {
  QUEUE_OR_RETURN(queue, place);
  probe *a = quiet_full(t, queue);
  a->other = quiet_full(t, queue);
  a->on_finalize = call_the_library;
  {
    chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
    EXPECT_OK(chime_timer_activate(a->other->timer, &schedule));
    run_due(t, queue, place);
    EXPECT(await(&a->other->armed, 1));
    come_to_rest(t, a->other->timer);
  }
  EXPECT_OK(chime_timer_release(a->timer));
  run_due(t, queue, place);
  EXPECT(await(&a->finalized, 1));
  EXPECT(await(&a->other->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&a->other->cancelled), 1);
}

/* ---- Timers that release themselves ----------------------------------------------------------------------------- */

static void expect_own_id_valid(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  chime_state state = -1;
  p->timer = tick->timer;
  EXPECT_OK(chime_timer_state(tick->timer, &state));
}

/* [8] */
TESTS_ON_VIRTUAL_AND_SERIAL(a_timer_without_an_id_releases_itself) {
  chime_schedule schedule = schedule_of(0, 0);
  chime_timer_options options;
  probe *a, *b, *c;
  QUEUE_OR_RETURN(queue, place);
  a = probe_new(t, queue, "a");
  b = probe_new(t, queue, "b");
  c = probe_new(t, queue, "c");
  a->on_tick = b->on_tick = c->on_tick = expect_own_id_valid;
  EXPECT_OK(chime_timer_after(queue, 0, probe_handler, a, probe_finalizer, NULL));
  options = probe_options(b);
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  options = probe_full_options(c);
  schedule.interval_ns = 1;
  schedule.tick_limit = 3;
  schedule.missed_policy = CHIME_MISSED_DELAY;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT(await(&a->finalized, 1));
  EXPECT(await(&b->finalized, 1));
  EXPECT(await(&c->finalized, 1));
  EXPECT(is_stale(a->timer));
  EXPECT(is_stale(b->timer));
  EXPECT(is_stale(c->timer));
  EXPECT_EQ(load(&a->ticks), 1);
  EXPECT_EQ(load(&b->ticks), 1);
  EXPECT_EQ(load(&c->ticks), 3);
  EXPECT_EQ(load(&c->cancelled), 0); /* it ended finished */
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  csuite_shutdown(t, queue);
}
TEST_ON(a_timer_without_an_id_releases_itself, a_concurrent_queue, CONCURRENT)

TESTS_ON_VIRTUAL_AND_SERIAL(a_repeating_timer_without_an_id_ends_when_its_handler_cancels_it) {
  probe *p;
  QUEUE_OR_RETURN(queue, place);
  p = probe_new(t, queue, "a");
  p->on_tick = cancel_own;
  EXPECT_OK(chime_timer_every(queue, 1, probe_handler, p, probe_finalizer, NULL));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT(await(&p->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_STATUS(p->status, CHIME_RUNNING);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->finalized), 1);
}

static void activate_own_twice(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  if (load(&p->ticks) <= 2) EXPECT_TOOK_EFFECT(chime_timer_activate(tick->timer, NULL));
}

TESTS_ON_VIRTUAL_AND_SERIAL(a_self_releasing_timer_lives_until_it_is_at_rest) {
  chime_schedule schedule = schedule_of(1, 0);
  chime_timer_options options;
  probe *p;
  QUEUE_OR_RETURN(queue, place);
  p = probe_new(t, queue, "a");
  p->on_tick = activate_own_twice;
  options = probe_options(p);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT(await(&p->finalized, 1));
  EXPECT(is_stale(p->timer));
  EXPECT_EQ(load(&p->ticks), 3);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_ERROR_INVALID_HANDLE);
  csuite_shutdown(t, queue);
}

TIMELINE(a_self_releasing_timer_may_be_released, "a 10 self; a.release | a.; +20 |")

/* ---- The end of a queue ----------------------------------------------------------------------------------------- */

/* A timer in each state that needs no waiting. */
static void populate(csuite *t, chime_queue_t queue, probe **p) {
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, CHIME_HOUR);
  int i;
  for (i = 0; i < 4; i++) p[i] = quiet_full(t, queue);
  EXPECT_OK(chime_timer_activate(p[1]->timer, &in_an_hour)); /* 0 is idle, 1 running */
  EXPECT_OK(chime_timer_activate(p[2]->timer, &in_an_hour));
  EXPECT(!CHIME_FAILED(chime_timer_suspend(p[2]->timer)));
  EXPECT_OK(chime_timer_activate(p[3]->timer, &in_an_hour));
  EXPECT(!CHIME_FAILED(chime_timer_cancel(p[3]->timer)));
}

static void expect_all_gone(csuite *t, probe **p) {
  int i;
  for (i = 0; i < 4; i++) {
    EXPECT(await(&p[i]->finalized, 1));
    EXPECT(is_stale(p[i]->timer));
    EXPECT_EQ(load(&p[i]->finalized), 1);
    EXPECT_EQ(load(&p[i]->ticks), 0);
    EXPECT_EQ(load(&p[i]->cancelled), i == 0 ? 0 : 1);
  }
}

/* [8] [16] */
TESTS_ON_ALL_QUEUES(shutdown_delivers_all_that_is_left) {
  probe *p[4];
  QUEUE_OR_RETURN(queue, place);
  populate(t, queue, p);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&p[0]->finalized) + load(&p[1]->finalized) + load(&p[2]->finalized) + load(&p[3]->finalized), 4);
  expect_all_gone(t, p);
  EXPECT_STATUS(chime_queue_shutdown(queue, 0), CHIME_ERROR_INVALID_HANDLE);
}

/* [8] */
TESTS_ON_VIRTUAL_AND_SERIAL(release_of_a_queue_finalizes_its_timers) {
  chime_status status;
  probe *p[4];
  QUEUE_OR_RETURN(queue, place);
  populate(t, queue, p);
  status = chime_queue_release(queue);
  EXPECT(status == CHIME_OK || (status == CHIME_RUNNING && place != VIRTUAL));
  if (place == VIRTUAL) EXPECT_EQ(p[0]->finalized + p[1]->finalized + p[2]->finalized + p[3]->finalized, 4);
  expect_all_gone(t, p);
  if (place != VIRTUAL) csuite_keep_memory(t); /* nothing tells when the queue's last callback has returned */
  EXPECT_STATUS(chime_queue_release(queue), CHIME_ERROR_INVALID_HANDLE);
}
TEST_ON(release_of_a_queue_finalizes_its_timers, a_concurrent_queue, CONCURRENT)

static void shut_down_own_queue(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  p->status = chime_queue_shutdown(p->queue, CHIME_FOREVER);
  EXPECT(is_stale(tick->timer));
  EXPECT_EQ(load(&p->finalized), 0);
  store(&p->flag, 1);
}

/* [9] */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_handler_may_shut_its_own_queue_down) {
  chime_schedule at_once = schedule_of(0, 1);
  probe *p[4], *a;
  int i;
  QUEUE_OR_RETURN(queue, place);
  populate(t, queue, p);
  a = quiet_full(t, queue);
  a->on_tick = shut_down_own_queue;
  EXPECT_OK(chime_timer_activate(a->timer, &at_once));
  if (place == VIRTUAL) EXPECT_STATUS(chime_queue_advance(queue, 10), CHIME_ERROR_SHUT_DOWN);
  EXPECT(await(&a->finalized, 1));
  expect_all_gone(t, p);
  EXPECT_STATUS(a->status, CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(load(&a->flag), 1);
  EXPECT_EQ(load(&a->ticks), 1);
  for (i = 0; i < 4; i++) EXPECT_EQ(load(&p[i]->finalized), 1);
  if (place != VIRTUAL) csuite_keep_memory(t);
}
TEST_ON(a_handler_may_shut_its_own_queue_down, a_concurrent_queue, CONCURRENT)

static void take_a_while(probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
  sleep_ns(50 * CHIME_MILLISECOND);
  store(&p->flag, 2);
}

/* [16] */
TESTS_ON_DISPATCH_QUEUES(shutdown_waits_for_a_handler_that_runs) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_full_at_work(t, queue, take_a_while);
  int ticks;
  EXPECT(await(&p->flag, 1));
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  EXPECT_EQ(load(&p->flag), 2);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  ticks = load(&p->ticks);
  {
    QUEUE_OR_RETURN(another, place); /* of the same kind, and what is due on it later comes */
    let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  }
  EXPECT_EQ(load(&p->ticks), ticks);
}

static void shutdown_gives_up_when_its_time_is_over(csuite *t, where place) {
  int64_t begin, took;
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_full_held(t, queue);
  begin = monotonic_ns();
  EXPECT_STATUS(chime_queue_shutdown(queue, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  took = monotonic_ns() - begin;
  EXPECT(took >= 30 * CHIME_MILLISECOND);
  EXPECT(is_stale(p->timer)); /* what was asked for is in effect */
  EXPECT_STATUS(chime_queue_shutdown(queue, 0), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&p->finalized), 0);
  csuite_keep_memory(t);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&p->ticks), 1);
}
TEST_ON(shutdown_gives_up_when_its_time_is_over, a_serial_queue, SERIAL)
TEST_ON(shutdown_gives_up_when_its_time_is_over, a_concurrent_queue, CONCURRENT)

/* [7] [8] */
TESTS_ON_DISPATCH_QUEUES(release_of_a_busy_timer_answers_running_and_finalizes_after_the_handler) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = quiet_full_held(t, queue);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT(is_stale(p->timer));
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, 2 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->finalized), 0);
  EXPECT_EQ(load(&p->cancelled), 0);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->ticks), 1);
}

TEST(release_of_a_queue_with_a_busy_timer_answers_running) {
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = quiet_full_held(t, queue);
  EXPECT_STATUS(chime_queue_release(queue), CHIME_RUNNING);
  EXPECT(is_stale(p->timer));
  EXPECT_EQ(load(&p->finalized), 0);
  csuite_keep_memory(t);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&p->ticks), 1);
}

/* "Each gives a queue of the caller's own: ending it touches only timers made through it." */
static void ending_one_queue_leaves_another_on_the_same_place_alone(csuite *t, where place) {
  QUEUE_OR_RETURN(first, place);
  QUEUE_OR_RETURN(second, place);
  probe *a = probe_every_quietly(t, first, CHIME_MILLISECOND);
  probe *b = probe_every_quietly(t, second, CHIME_MILLISECOND);
  EXPECT(await(&b->ticks, 2));
  EXPECT_OK(chime_queue_shutdown(first, PATIENCE));
  EXPECT(is_stale(a->timer));
  EXPECT_EQ(state_of(t, b->timer), CHIME_STATE_RUNNING);
  EXPECT(await(&b->ticks, load(&b->ticks) + 3));
}
TEST(ending_one_queue_leaves_another_on_the_same_global_queue_alone) {
  ending_one_queue_leaves_another_on_the_same_place_alone(t, GLOBAL);
}
TEST(ending_one_queue_leaves_another_on_the_same_wrapped_queue_alone) {
  ending_one_queue_leaves_another_on_the_same_place_alone(t, WRAPPED_SERIAL);
}

/* ---- Many ------------------------------------------------------------------------------------------------------- */

/* [8] [14] */
TESTS_ON_VIRTUAL_AND_SERIAL(thousands_of_timers_end_with_their_queue) {
  int count = csuite_scaled(5000), i, finalized = 0;
  probe **all = csuite_memory(t, (size_t)count * sizeof *all);
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count; i++) {
    all[i] = probe_after(t, queue, "a", CHIME_HOUR + i);
  }
  EXPECT_EQ(stats_of(t, queue).timers, count);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  for (i = 0; i < count; i++) finalized += load(&all[i]->finalized);
  EXPECT_EQ(finalized, count);
}

TEST(queues_come_and_go) {
  int count = csuite_scaled(500), i;
  for (i = 0; i < count && !csuite_failed(t); i++) {
    chime_queue_kind kind = i % 3 == 0 ? CHIME_QUEUE_SERIAL : i % 3 == 1 ? CHIME_QUEUE_CONCURRENT : CHIME_QUEUE_VIRTUAL;
    chime_queue_t queue = 0;
    probe *p;
    if (kind != CHIME_QUEUE_VIRTUAL && !csuite_has_dispatch()) continue;
    EXPECT_OK(chime_queue_create(kind, NULL, &queue));
    p = probe_every_quietly(t, queue, 1000);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    EXPECT_EQ(load(&p->finalized), 1);
  }
}
