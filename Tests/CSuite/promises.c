/*
 * promises.c - what no other test noticed when a line of the library was broken on purpose (../README.md). Most of it
 * is about bare timers, which have a handler and a context and nothing else: they are cancelled and released by one
 * compare-and-swap, where the probes of the other tests, with their finalizers, take the long way.
 */
#include "harness.h"

typedef struct bare {
  csuite *t;
  chime_queue_t queue;
  chime_timer_t timer;
  uint64_t generation;
  int ticks;
  int returned;
} bare;

static bare *bare_new(csuite *t, chime_queue_t queue) {
  bare *b = csuite_memory(t, sizeof *b);
  b->t = t;
  b->queue = queue;
  return b;
}

/* ---- Busy and generation: promises 2 and 7 ---------------------------------------------------------------------- */

static void cancel_start_and_release_own(const chime_tick *tick, void *context) {
  bare *b = context;
  csuite *t = b->t;
  add(&b->ticks, 1);
  EXPECT_OK(chime_timer_check_generation(tick->timer, tick->generation));
  EXPECT_STATUS(chime_timer_cancel(tick->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(tick->timer, tick->generation), CHIME_IGNORED);
  EXPECT_OK(chime_timer_activate(tick->timer, NULL));
  EXPECT_STATUS(chime_timer_release(tick->timer), CHIME_RUNNING);
  EXPECT(is_stale(tick->timer));
  add(&b->returned, 1);
}

static void a_bare_timer_says_that_its_handler_runs(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  bare *b = bare_new(t, queue);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, cancel_start_and_release_own, b, NULL, &b->timer));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 10 * CHIME_MILLISECOND));
  EXPECT(await(&b->returned, 1));
  EXPECT_EQ(load(&b->ticks), 1);
}
ON_DISPATCH_QUEUES(a_bare_timer_says_that_its_handler_runs)
static void a_bare_timer_says_that_its_handler_runs_on_a_virtual_queue(csuite *t) {
  a_bare_timer_says_that_its_handler_runs(t, VIRTUAL);
}

static void linger(const chime_tick *tick, void *context) {
  bare *b = context;
  int64_t end = monotonic_ns() + 20 * CHIME_MICROSECOND;
  (void)tick;
  add(&b->ticks, 1);
  while (monotonic_ns() < end) continue;
  add(&b->returned, 1);
}

/* OK says that it has not started and never will, IGNORED that it has. */
static void the_answer_of_cancel_is_true_of_a_bare_timer(csuite *t, where place) {
  int count = csuite_scaled(400), i;
  bare **timers = csuite_memory(t, (size_t)count * sizeof *timers);
  int *was_stopped = csuite_memory(t, (size_t)count * sizeof *was_stopped);
  dice d = {UINT64_C(77)};
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < count; i++) {
    int64_t delay = 100 * CHIME_MICROSECOND, end = monotonic_ns() + delay + roll_below(&d, 150 * CHIME_MICROSECOND);
    chime_status status;
    timers[i] = bare_new(t, queue);
    EXPECT_OK(chime_timer_after(queue, delay, linger, timers[i], NULL, &timers[i]->timer));
    while (monotonic_ns() < end) continue;
    status = chime_timer_cancel(timers[i]->timer);
    was_stopped[i] = status == CHIME_OK;
    EXPECT(status == CHIME_OK || status == CHIME_IGNORED); /* a one-shot is finished before its handler starts */
    if (was_stopped[i]) EXPECT_EQ(load(&timers[i]->ticks), 0);
    EXPECT_TOOK_EFFECT(chime_timer_release(timers[i]->timer));
  }
  REQUIRE_OK(chime_queue_shutdown(queue, PATIENCE));
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&timers[i]->ticks), load(&timers[i]->returned));
    if (was_stopped[i]) EXPECT_EQ(load(&timers[i]->ticks), 0);
  }
}
ON_DISPATCH_QUEUES(the_answer_of_cancel_is_true_of_a_bare_timer)

/* ---- Order: promise 12 ------------------------------------------------------------------------------------------ */

static void restart_the_other(probe *p, const chime_tick *tick) {
  chime_schedule at_once = schedule_of(0, 0);
  (void)tick;
  p->status = chime_timer_restart(p->other->timer, &at_once);
}

/* It was collected with the others, but the turn that it has now is that of its new activation. */
static void a_due_timer_started_anew_by_another_handler_comes_after_the_others(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = probe_after(t, queue, "a", 10);
  a->other = probe_after(t, queue, "b", 10);
  a->on_tick = restart_the_other;
  probe_after(t, queue, "c", 10);
  ADVANCE(20);
  EXPECT_OK(a->status);
  EXPECT_LOG("a1@10 c1@10 b1@10");
}

/* ---- Ids: promise 10 -------------------------------------------------------------------------------------------- */

/* The low bits are left alone: with one of them changed an id may be that of a neighbour. */
static void an_id_with_a_high_bit_changed_names_nothing(csuite *t) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  bare *b = bare_new(t, queue);
  chime_target_t target = 0;
  chime_expiring_t expiring = 0;
  int bit;
  EXPECT_OK(chime_timer_after(queue, 10, linger, b, NULL, &b->timer));
  EXPECT_OK(chime_target_create(b, NULL, &target));
  EXPECT_OK(chime_expiring_create(queue, b, NULL, 10, &expiring));
  for (bit = 26; bit < 64; bit++) {
    uint64_t flipped = UINT64_C(1) << bit;
    int64_t now = 77;
    void *object = b;
    EXPECT(is_stale(b->timer ^ flipped));
    EXPECT_STATUS(chime_queue_now(queue ^ flipped, &now), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_STATUS(chime_target_retain(target ^ flipped, &object), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_STATUS(chime_expiring_acquire(expiring ^ flipped, &object), CHIME_ERROR_INVALID_HANDLE);
    EXPECT(now == 77 && object == b);
  }
  EXPECT_OK(chime_expiring_release(expiring));
  EXPECT_OK(chime_target_release(target));
}

const csuite_test promises_tests[] = {
    TESTS_ON_DISPATCH_QUEUES(a_bare_timer_says_that_its_handler_runs),
    TEST(a_bare_timer_says_that_its_handler_runs_on_a_virtual_queue),
    TESTS_ON_DISPATCH_QUEUES(the_answer_of_cancel_is_true_of_a_bare_timer),
    TEST(a_due_timer_started_anew_by_another_handler_comes_after_the_others),
    TEST(an_id_with_a_high_bit_changed_names_nothing),
    {NULL, NULL},
};
