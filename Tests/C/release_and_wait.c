/*
 * release_and_wait.c - chime_timer_release_and_wait on every kind of queue; timers in the background; the list of queues.
 */
#include "harness.h"

/* ---- chime_timer_release_and_wait ------------------------------------------------------------------------------- */

THREAD(release_and_wait, probe, p) {
  EXPECT_OK(chime_timer_release_and_wait(p->timer, PATIENCE));
  EXPECT_EQ(load(&p->busy), 0); /* the handler has returned before the call */
}

/* [7] The gate is opened once the id is stale: the release has been made, and the handler runs. */
TESTS_ON_DISPATCH_QUEUES(release_and_wait_waits_for_the_handler) {
  pthread_t thread;
  probe *p = probe_held(t, queue, CHIME_HOUR);
  REQUIRE(spawn(t, &thread, release_and_wait, p));
  AWAIT(is_stale(p->timer));
  EXPECT_EQ(load(&p->finalized), 0);
  open_gate(p);
  pthread_join(thread, NULL);
  EXPECT_EQ(p->ticks, 1);
  EXPECT(await(&p->finalized, 1));
}

TESTS_ON_DISPATCH_QUEUES(release_and_wait_ends_with_its_timeout) {
  probe *p = probe_held(t, queue, CHIME_HOUR);
  EXPECT_STATUS(chime_timer_release_and_wait(p->timer, CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT(is_stale(p->timer));
  EXPECT_EQ(load(&p->busy), 1);
  EXPECT_STATUS(chime_timer_release_and_wait(p->timer, 0), CHIME_ERROR_INVALID_HANDLE);
  open_gate(p);
  EXPECT(await(&p->finalized, 1));
}

/* [7] The timer ends with its queue while its handler runs: what the handler uses may be freed after the call, too. */
TESTS_ON_DISPATCH_QUEUES(release_and_wait_waits_for_the_handler_of_a_timer_that_ended_with_its_queue) {
  probe *p = probe_held(t, queue, CHIME_HOUR);
  EXPECT_STATUS(chime_queue_release(queue), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_IGNORED | CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_release_and_wait(p->timer, CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT_EQ(load(&p->busy), 1);
  csuite_keep_memory(t);
  open_gate(p);
  EXPECT_STATUS(chime_timer_release_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_EQ(load(&p->busy), 0);
  EXPECT(await(&p->finalized, 1));
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_IGNORED);
}

static void release_own_and_wait(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_timer_release_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
}

TESTS_ON_ALL_QUEUES(in_its_own_handler_release_and_wait_is_a_deadlock) { /* [1] */
  probe *p = probe_quiet(t, queue, 0, CHIME_MILLISECOND, release_own_and_wait);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(p->ticks, 1);
  EXPECT(is_stale(p->timer));
}

VIRTUAL_TEST(release_and_wait_of_what_does_not_run_returns_at_once) {
  probe *idle = probe_idle(t, queue, "i"), *running = probe_every(t, queue, "r", 10);
  EXPECT_OK(chime_timer_release_and_wait(0, CHIME_FOREVER));
  EXPECT_OK(chime_queue_shutdown(0, CHIME_FOREVER));
  EXPECT_STATUS(chime_queue_shutdown(0, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_timer_release_and_wait(idle->timer, CHIME_FOREVER));
  EXPECT_OK(chime_timer_release_and_wait(running->timer, 0));
  EXPECT_LOG("i. r.");
  EXPECT_STATUS(chime_timer_release_and_wait(running->timer, 0), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_timer_release_and_wait(queue, 0), CHIME_ERROR_INVALID_HANDLE);
}

/* ---- CHIME_TIMER_BACKGROUND ------------------------------------------------------------------------------------- */

/* A queue that the test drives; a running timer in the background. */
static probe *start_in_the_background(csuite *t, chime_queue_t queue, int64_t first, int64_t interval) {
  probe *p = probe_new(t, queue, NULL);
  chime_timer_options options = probe_options(p);
  options.flags = CHIME_TIMER_BACKGROUND;
  EXPECT_OK(chime_timer_start(queue, &options, EVERY(first, interval), &p->timer));
  return p;
}

HOST_TEST(run_does_not_wait_for_timers_in_the_background, 0) {
  const chime_schedule five_times =
      SCHEDULE(.first_ns = CHIME_MILLISECOND, .interval_ns = CHIME_MILLISECOND, .tick_limit = 5);
  probe *often = start_in_the_background(t, queue, 0, 100 * CHIME_MICROSECOND);
  probe *late = start_in_the_background(t, queue, CHIME_HOUR, CHIME_HOUR);
  /* With nothing else to wait for it returns at once. */
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(often->ticks, 0);
  for (int i = 0; i < 3; i++) {
    probe *count = probe_start(t, queue, "count", &five_times);
    EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT_EQ(state_of(t, count->timer), CHIME_STATE_FINISHED);
  }
  EXPECT(often->ticks > 0); /* it ticked meanwhile */
  EXPECT_EQ(late->ticks, 0);
  EXPECT_EQ(state_of(t, often->timer), CHIME_STATE_RUNNING);
}

/* What is due in one pass, too: the run ends with the last tick that it waits for. An extra tick is something to call. */
HOST_TEST(a_run_with_nothing_to_wait_for_begins_no_tick, 0) {
  const int64_t now = monotonic_ns();
  probe *before = probe_new(t, queue, NULL), *behind = probe_new(t, queue, NULL);
  chime_timer_options options = probe_options(before);
  options.flags = CHIME_TIMER_BACKGROUND;
  EXPECT_OK(chime_timer_start(queue, &options, AT(now - 3), &before->timer));
  options.context = behind;
  EXPECT_OK(chime_timer_start(queue, &options, AT(now - 1), &behind->timer));
  EXPECT_OK(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT));
  EXPECT_EQ(before->ticks + behind->ticks, 0);
  probe *last = probe_start(t, queue, NULL, AT(now - 2));
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT_EQ(before->ticks, 1);
    EXPECT_EQ(last->ticks, 1);
    EXPECT_EQ(behind->ticks, 0);
  }
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_OK(chime_timer_fire(before->timer));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(before->ticks, 2);
  EXPECT_OK(chime_queue_process(queue, 0, NULL));
  EXPECT_EQ(behind->ticks, 1);
}

static void release_the_other_later(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence == 3) EXPECT_OK(chime_timer_release(p->other->timer));
}

/* A timer in the background ends the last one that is not: nothing is left to wait for. */
HOST_TEST(a_timer_in_the_background_may_end_the_run, 0) {
  probe *p = start_in_the_background(t, queue, 0, CHIME_MILLISECOND);
  p->other = probe_after(t, queue, "o", CHIME_HOUR);
  p->on_tick = release_the_other_later;
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT(is_stale(p->other->timer));
}

/* A slot that served a timer in the background serves one that is not. */
HOST_TEST(a_slot_does_not_stay_in_the_background, 0) {
  enum { TIMERS = 200 };
  probe *probes[TIMERS];
  for (int i = 0; i < TIMERS; i++) probes[i] = start_in_the_background(t, queue, CHIME_HOUR, 0);
  EXPECT_OK(chime_queue_run(queue, 0));
  for (int i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_release(probes[i]->timer));
  for (int i = 0; i < TIMERS / 2 && !csuite_failed(t); i++) {
    probe *p = probe_new(t, queue, NULL);
    chime_finalizer finalizer = i % 2 == 0 ? probe_finalizer : NULL;
    REQUIRE_OK(chime_timer_after(queue, 200 * CHIME_MICROSECOND, probe_handler, p, finalizer, &p->timer));
    /* That needs a side record, which has told of the background before; the finalizer needs one from the start. */
    EXPECT_OK(chime_timer_fire(p->timer));
    EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT_EQ(p->ticks, 2);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

/* ---- chime_queue_list ------------------------------------------------------------------------------------------- */

static int times_listed(csuite *t, chime_queue_t queue) {
  chime_queue_t queues[1000] = {0};
  size_t count = 0;
  int found = 0;
  EXPECT_OK(chime_queue_list(queues, 1000, &count));
  for (uint64_t i = 0; i < count && i < 1000; i++) found += queues[i] == queue;
  return found;
}

TESTS_ON_ALL_QUEUES(a_queue_is_listed_until_it_is_released) {
  EXPECT_EQ(times_listed(t, queue), 1);
  EXPECT_TOOK_EFFECT(chime_queue_release(queue));
  EXPECT_EQ(times_listed(t, queue), 0);
}
