/*
 * lifetime.c - what Chime holds, and when it lets go: each finalizer exactly once, after the last callback, in every
 * way a timer can end. Promises 8, 9 and 16.
 *
 * The harness checks in every callback that the finalizer has not run, and in the finalizer that it is the first and
 * that no callback is under way. The shutdown at the end of a test makes the counts final.
 */
#include "harness.h"

static probe *quiet_full(csuite *t, chime_queue_t queue) { return probe_start_full(t, queue, NULL, NULL); }

/* The same at work: due at once, and again each millisecond. */
static probe *quiet_full_at_work(csuite *t, chime_queue_t queue, probe_action on_tick) {
  probe *p = quiet_full(t, queue);
  p->on_tick = on_tick;
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, CHIME_MILLISECOND)));
  return p;
}

/* Whose handler has begun, and stays until the gate is opened. */
static probe *quiet_full_held(csuite *t, chime_queue_t queue) {
  probe *p = quiet_full_at_work(t, queue, stay_until_gate_opens);
  EXPECT(await(&p->flag, 1));
  return p;
}

/* ---- Release in every state ------------------------------------------------------------------------------------- */

static void await_callback(probe *p, where place, const int *count) {
  csuite *t = p->t;
  run_due(t, p->queue, place);
  EXPECT(await(count, 1));
  come_to_rest(t, p->timer);
}

TESTS_ON_ALL_QUEUES(release_in_each_state_finalizes_once) { /* [8] [14] */
  probe *probes[5];
  for (int i = CHIME_STATE_IDLE; i <= CHIME_STATE_CANCELLED; i++) {
    probe *p = probes[i] = quiet_full(t, queue);
    if (i != CHIME_STATE_IDLE) {
      int is_finished = i == CHIME_STATE_FINISHED;
      EXPECT_OK(chime_timer_activate(p->timer, AFTER(is_finished ? 0 : CHIME_HOUR)));
      await_callback(p, place, is_finished ? &p->ticks : &p->armed);
    }
    if (i == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(p->timer));
    if (i == CHIME_STATE_CANCELLED) {
      EXPECT_OK(chime_timer_cancel(p->timer));
      await_callback(p, place, &p->cancelled);
    }
    EXPECT_EQ(state_of(t, p->timer), i);
    EXPECT_EQ(load(&p->finalized), 0);
    EXPECT_OK(chime_timer_release(p->timer));
    EXPECT(is_stale(p->timer));
    if (place == VIRTUAL) EXPECT_EQ(p->finalized, 1); /* in the releasing call: no pass is running */
    EXPECT(await(&p->finalized, 1));                  /* without waiting for the end of the queue */
  }
  csuite_shutdown(t, queue);
  for (int i = CHIME_STATE_IDLE; i <= CHIME_STATE_CANCELLED; i++) {
    EXPECT_EQ(load(&probes[i]->finalized), 1);
    EXPECT_EQ(load(&probes[i]->cancelled), i == CHIME_STATE_IDLE || i == CHIME_STATE_FINISHED ? 0 : 1);
  }
}

static void release_own_and_check(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_RUNNING);
  EXPECT(is_stale(tick->timer));
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&p->finalized), 0); /* not before the handler has returned */
}

TESTS_ON_ALL_QUEUES(a_handler_may_release_its_own_timer) { /* [8] [9] */
  probe *p = quiet_full_at_work(t, queue, release_own_and_check);
  run_due(t, queue, place);
  EXPECT(await(&p->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1); /* it was running */
}

static void end_the_other(csuite *t, probe *p) {
  EXPECT(is_stale(p->timer));
  EXPECT_OK(chime_timer_cancel(p->other->timer));
  EXPECT_OK(chime_timer_release(p->other->timer));
}

/* [8] [9]: it is called with no lock held. */
TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_finalizer_may_call_anything) {
  probe *a = quiet_full(t, queue), *other = quiet_full(t, queue);
  a->other = other;
  a->on_finalize = end_the_other;
  EXPECT_OK(chime_timer_activate(other->timer, AFTER(CHIME_HOUR)));
  await_callback(other, place, &other->armed);
  EXPECT_OK(chime_timer_release(a->timer));
  run_due(t, queue, place);
  EXPECT(await(&a->finalized, 1) && await(&other->finalized, 1));
  EXPECT_EQ(load(&other->cancelled), 1);
}

TESTS_ON_DISPATCH_QUEUES(release_of_a_busy_timer_answers_running_and_finalizes_after_the_handler) { /* [7] [8] */
  probe *p = quiet_full_held(t, queue);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT(is_stale(p->timer));
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, 2 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->finalized) + load(&p->cancelled), 0);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->ticks), 1);
}

static probe *self_releasing(csuite *t, chime_queue_t queue, const chime_schedule *schedule) {
  probe *p = probe_new(t, queue, NULL);
  chime_timer_options options = probe_options(p);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_start(queue, &options, schedule, &p->timer));
  return p;
}

/* [8] By its last tick, and by cancels from outside: one that has ticked, and one that has not. */
TESTS_ON_ALL_QUEUES(a_timer_releases_itself_however_it_comes_to_rest) {
  probe *p[] = {self_releasing(t, queue, AFTER(0)), self_releasing(t, queue, EVERY(0, CHIME_HOUR)),
                self_releasing(t, queue, AFTER(CHIME_HOUR))};
  run_due(t, queue, place);
  EXPECT(await(&p[0]->finalized, 1) && await(&p[1]->returned, 1));
  come_to_rest(t, p[1]->timer);
  for (int i = 1; i < 3; i++) {
    EXPECT_OK(chime_timer_cancel(p[i]->timer));
    run_due(t, queue, place);
    EXPECT(await(&p[i]->finalized, 1));
    EXPECT(is_stale(p[i]->timer));
  }
}

TESTS_ON_ALL_QUEUES(an_idle_timer_that_releases_itself_outlives_extra_ticks) { /* [8] */
  probe *p = probe_new(t, queue, NULL);
  chime_timer_options options = probe_options(p);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  for (int i = 1; i <= 2; i++) {
    EXPECT_OK(chime_timer_fire(p->timer));
    run_due(t, queue, place);
    EXPECT(await(&p->returned, i));
    come_to_rest(t, p->timer);
  }
  EXPECT_EQ(load(&p->finalized), 0);
  EXPECT_OK(chime_timer_activate(p->timer, AFTER(0)));
  run_due(t, queue, place);
  EXPECT(await(&p->finalized, 1));
}

static void drop_the_extra_tick(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_timer_reschedule(p->other->timer, AFTER(0)));
}

static void fire_own(csuite *t, probe *p, const chime_tick *tick) { EXPECT_OK(chime_timer_fire(tick->timer)); }

/* The one that it was to have before. */
VIRTUAL_TEST(a_timer_releases_itself_when_its_extra_tick_is_dropped) {
  probe *p = self_releasing(t, queue, AFTER(0)), *other = probe_after(t, queue, NULL, 0);
  p->on_tick = fire_own;
  other->on_tick = drop_the_extra_tick;
  other->other = p;
  ADVANCE(0);
  EXPECT_EQ(p->ticks, 1);
  EXPECT_EQ(p->finalized, 1);
}

/* ---- A registration that has not begun --------------------------------------------------------------------------- */

static chime_status cancel_it(probe *p) { return chime_timer_cancel(p->timer); }
static chime_status cancel_it_and_wait(probe *p) { return chime_timer_cancel_and_wait(p->timer, PATIENCE); }
static chime_status suspend_and_cancel_it(probe *p) {
  chime_timer_suspend(p->timer);
  return chime_timer_cancel(p->timer);
}
static chime_status release_it(probe *p) { return chime_timer_release(p->timer); }
static chime_status release_it_and_wait(probe *p) { return chime_timer_release_and_wait(p->timer, PATIENCE); }
static chime_status release_its_target(probe *p) { return chime_target_release(p->target->id); }
static chime_status (*const ways_to_stop[])(probe *p) = {cancel_it,  cancel_it_and_wait,  suspend_and_cancel_it,
                                                         release_it, release_it_and_wait, release_its_target};
enum { WAYS_TO_STOP = sizeof ways_to_stop / sizeof ways_to_stop[0] };

/* Each has a registration to come. */
static void stop_what_has_not_begun(csuite *t, probe *p, const chime_tick *tick) {
  probe **stopped = p->user;
  for (int i = 0; i < WAYS_TO_STOP; i++) {
    EXPECT_OK(chime_timer_activate(stopped[i]->timer, AFTER(0)));
    stopped[i]->status = ways_to_stop[i](stopped[i]);
    stopped[i]->number = load(&stopped[i]->armed);
  }
  EXPECT_OK(chime_timer_activate(p->other->timer, AFTER(0)));
  EXPECT(!CHIME_FAILED(chime_timer_cancel(p->other->timer))); /* another thread may have been first */
  EXPECT_TOOK_EFFECT(chime_timer_activate(p->other->timer, AFTER(CHIME_HOUR)));
}

/* [7]: after OK nothing but the cancel handler is called with the context. The queue is held up by the handler that stops
 * it, except where another thread may begin meanwhile. */
TESTS_ON_ALL_QUEUES(what_stops_a_timer_drops_a_registration_that_has_not_begun) {
  probe *stopped[WAYS_TO_STOP], *p = probe_new(t, queue, NULL), *again = probe_start_full(t, queue, "a", NULL);
  for (int i = 0; i < WAYS_TO_STOP; i++) {
    stopped[i] = probe_new(t, queue, NULL);
    stopped[i]->target = probe_target(t, NULL);
    chime_timer_options options = probe_full_options(stopped[i]);
    EXPECT_OK(chime_timer_create(queue, &options, &stopped[i]->timer));
  }
  p->user = stopped;
  p->other = again;
  p->on_tick = stop_what_has_not_begun;
  EXPECT_OK(chime_timer_after(queue, 0, probe_handler, p, probe_finalizer, &p->timer));
  run_due(t, queue, place);
  EXPECT(await(&p->returned, 1) && await(&again->armed, 1));
  for (int i = 0; i < WAYS_TO_STOP; i++) chime_target_release(stopped[i]->target->id);
  csuite_shutdown(t, queue);
  for (int i = 0; i < WAYS_TO_STOP; i++) {
    if (!runs_side_by_side(place)) EXPECT(stopped[i]->status == CHIME_OK && stopped[i]->number == 0);
    if (stopped[i]->status == CHIME_OK && !(ways_to_stop[i] == release_its_target && runs_side_by_side(place)))
      EXPECT_EQ(load(&stopped[i]->armed), stopped[i]->number);
    if (load(&stopped[i]->armed) == 0) EXPECT(load(&stopped[i]->ticks) == 0 && load(&stopped[i]->cancelled) == 1);
  }
  if (!runs_side_by_side(place)) EXPECT_LOG("a- a^ a- a.");
}

/* ---- The end of a queue ----------------------------------------------------------------------------------------- */

static void expect_the_other_to_be_stale(csuite *t, probe *p) { EXPECT(is_stale(p->other->timer)); }
static void expect_it_in_the_cancel_handler(csuite *t, probe *p, const chime_tick *tick) {
  expect_the_other_to_be_stale(t, p);
}

/* [10]: both ids are stale before anything is called. */
static void end_with_two_timers(csuite *t, chime_queue_t queue, int by_release) {
  probe *p[2] = {quiet_full(t, queue), quiet_full(t, queue)};
  for (int i = 0; i < 2; i++) {
    p[i]->other = p[1 - i];
    p[i]->on_cancelled = expect_it_in_the_cancel_handler;
    p[i]->on_finalize = expect_the_other_to_be_stale;
    EXPECT_OK(chime_timer_activate(p[i]->timer, AFTER(CHIME_HOUR)));
  }
  if (by_release) EXPECT_OK(chime_queue_release(queue));
  else csuite_shutdown(t, queue);
  for (int i = 0; i < 2; i++) EXPECT(p[i]->cancelled == 1 && p[i]->finalized == 1);
}

/* [10] */
VIRTUAL_TEST(the_ids_of_a_queue_are_stale_before_its_last_callbacks) { end_with_two_timers(t, queue, 0); }
VIRTUAL_TEST(the_ids_of_a_released_queue_are_stale_before_its_last_callbacks) { end_with_two_timers(t, queue, 1); }
HOST_TEST(the_ids_of_a_host_driven_queue_are_stale_before_its_last_callbacks, 0) { end_with_two_timers(t, queue, 1); }

/* A timer in each state that needs no waiting: idle, running, suspended and cancelled. */
static void populate(csuite *t, chime_queue_t queue, probe **p) {
  for (int i = 0; i < 4; i++) p[i] = quiet_full(t, queue);
  for (int i = 1; i < 4; i++) EXPECT_OK(chime_timer_activate(p[i]->timer, EVERY(CHIME_HOUR, CHIME_HOUR)));
  EXPECT_TOOK_EFFECT(chime_timer_suspend(p[2]->timer));
  EXPECT_TOOK_EFFECT(chime_timer_cancel(p[3]->timer));
}

/* Soon, or already. */
static void expect_all_gone(csuite *t, probe **p, int already) {
  for (int i = 0; i < 4; i++) {
    EXPECT(already ? load(&p[i]->finalized) == 1 : await(&p[i]->finalized, 1));
    EXPECT(is_stale(p[i]->timer));
    EXPECT_EQ(load(&p[i]->ticks), 0);
    EXPECT_EQ(load(&p[i]->cancelled), i == 0 ? 0 : 1);
  }
}

/* A program may end in any order. */
static void expect_ended(csuite *t, chime_queue_t queue, probe **p) {
  EXPECT_STATUS(chime_queue_shutdown(queue, 0), CHIME_IGNORED);
  for (int i = 0; i < 4; i++) EXPECT_STATUS(chime_timer_release(p[i]->timer), CHIME_IGNORED);
}

TESTS_ON_ALL_QUEUES(shutdown_delivers_all_that_is_left) { /* [8] [16] */
  probe *p[4];
  populate(t, queue, p);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  expect_all_gone(t, p, 1);
  expect_ended(t, queue, p);
}

TESTS_ON_ALL_QUEUES(release_of_a_queue_finalizes_its_timers) { /* [8] */
  probe *p[4];
  populate(t, queue, p);
  EXPECT_TOOK_EFFECT(chime_queue_release(queue));
  expect_all_gone(t, p, place == VIRTUAL);
  AWAIT(chime_queue_release(queue) == CHIME_IGNORED); /* until it has ended that is a mistake */
  expect_ended(t, queue, p);
}

static void shut_down_own_queue(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_queue_shutdown(p->queue, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT(is_stale(tick->timer));
  EXPECT_EQ(load(&p->finalized), 0);
}

TESTS_ON_ALL_QUEUES(a_handler_may_shut_its_own_queue_down) { /* [9] */
  probe *p[4], *a;
  populate(t, queue, p);
  a = quiet_full(t, queue);
  a->on_tick = shut_down_own_queue;
  EXPECT_OK(chime_timer_activate(a->timer, EVERY(0, 1)));
  if (place == VIRTUAL) EXPECT_STATUS(chime_queue_advance(queue, 10), CHIME_ERROR_SHUT_DOWN);
  EXPECT(await(&a->finalized, 1));
  EXPECT_EQ(load(&a->ticks), 1);
  expect_all_gone(t, p, 0);
  if (place != VIRTUAL) csuite_keep_memory(t);
}

static void take_a_while(csuite *t, probe *p, const chime_tick *tick) {
  store(&p->flag, 1);
  sleep_ns(50 * CHIME_MILLISECOND);
  store(&p->flag, 2);
}

TESTS_ON_DISPATCH_QUEUES(shutdown_waits_for_a_handler_that_runs) { /* [16] */
  QUEUE_OR_RETURN(another, place);
  probe *p = quiet_full_at_work(t, queue, take_a_while);
  EXPECT(await(&p->flag, 1));
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  EXPECT_EQ(load(&p->flag), 2);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  int ticks = load(&p->ticks);
  let_later_ticks_come(t, another, 2 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), ticks);
}

/* [16]: where its callbacks run, too: they run in that call. */
TESTS_ON(a_queue_that_was_released_is_shut_down_where_it_runs) {
  QUEUE_OR_RETURN(ends, place);
  probe *p = probe_start_full(t, ends, NULL, AFTER(CHIME_HOUR));
  EXPECT_OK(chime_queue_release(ends));
  chime_status status = chime_queue_shutdown(ends, PATIENCE);
  EXPECT(status == CHIME_OK || status == CHIME_IGNORED);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT_STATUS(chime_queue_shutdown(ends, 0), CHIME_IGNORED);
}
TEST_ON(a_queue_that_was_released_is_shut_down_where_it_runs, the_main_queue, MAIN)
TEST_ON(a_queue_that_was_released_is_shut_down_where_it_runs, a_run_loop_queue, RUN_LOOP)
TEST_ON(a_queue_that_was_released_is_shut_down_where_it_runs, a_serial_queue, SERIAL)
TEST_ON(a_queue_that_was_released_is_shut_down_where_it_runs, a_host_driven_queue, HOST)
TEST_ON(a_queue_that_was_released_is_shut_down_where_it_runs, a_virtual_queue, VIRTUAL)

static void release_from_a_function(void *context) {
  probe *p = context;
  csuite *t = p->t;
  EXPECT_STATUS(chime_queue_release(p->queue), CHIME_RUNNING);
  probe_function(p);
}
static void release_from_a_finalizer(csuite *t, probe *p) {
  EXPECT_STATUS(chime_queue_release(p->queue), CHIME_RUNNING);
}

/* [16]: a function of `async`, one of `sync`, what frees a context; and a queue that is at rest. */
TESTS_ON_ALL_QUEUES(release_of_a_queue_says_what_runs) {
  for (int what = 0; what < 4; what++) {
    QUEUE_OR_RETURN(ends, place);
    probe *p = probe_new(t, ends, NULL);
    chime_timer_t timer = 0;
    if (what == 0) EXPECT_OK(chime_queue_async(ends, release_from_a_function, p, NULL));
    if (what == 1) {
      chime_status status = chime_queue_sync(ends, release_from_a_function, p, CHIME_FOREVER);
      if (status == CHIME_ERROR_UNSUPPORTED) continue;
      EXPECT_OK(status);
    }
    if (what == 2) {
      p->on_finalize = release_from_a_finalizer;
      EXPECT_OK(chime_timer_after(ends, CHIME_HOUR, probe_handler, p, probe_finalizer, &timer));
      EXPECT_OK(chime_timer_release(timer));
    }
    if (place == VIRTUAL) chime_queue_advance(ends, 0);
    if (what < 2) EXPECT(await(&p->ticks, 1));
    if (what == 2) EXPECT(await(&p->finalized, 1));
    if (what == 3) EXPECT_OK(chime_queue_release(ends));
    EXPECT(!CHIME_FAILED(chime_queue_shutdown(ends, PATIENCE)));
  }
}

/* "Each gives a queue of the caller's own: ending it touches only timers made through it." */
TESTS_ON(ending_one_queue_leaves_another_on_the_same_place_alone) {
  QUEUE_OR_RETURN(second, place);
  probe *a = probe_every_quietly(t, queue, CHIME_MILLISECOND);
  probe *b = probe_every_quietly(t, second, CHIME_MILLISECOND);
  EXPECT(await(&b->ticks, 2));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT(is_stale(a->timer));
  EXPECT(await(&b->ticks, load(&b->ticks) + 3));
}
TEST_ON(ending_one_queue_leaves_another_on_the_same_place_alone, a_concurrent_queue, CONCURRENT)
TEST_ON(ending_one_queue_leaves_another_on_the_same_place_alone, a_wrapped_serial_queue, WRAPPED_SERIAL)
