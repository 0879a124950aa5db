/*
 * promises.c - what no other test noticed when a line of the library was broken on purpose (../README.md). Most of it
 * is about bare timers, which have a handler and a context and nothing else: they are cancelled and released by one
 * compare-and-swap, where the probes of the other tests, with their finalizers, take the long way.
 */
#include "timeline.h"

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

TESTS_ON_ALL_QUEUES(a_bare_timer_says_that_its_handler_is_running) {
  QUEUE_OR_RETURN(queue, place);
  bare *b = bare_new(t, queue);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, cancel_start_and_release_own, b, NULL, &b->timer));
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 10 * CHIME_MILLISECOND));
  EXPECT(await(&b->returned, 1));
  EXPECT_EQ(load(&b->ticks), 1);
}

static void linger(const chime_tick *tick, void *context) {
  bare *b = context;
  int64_t end = monotonic_ns() + 20 * CHIME_MICROSECOND;
  (void)tick;
  add(&b->ticks, 1);
  while (monotonic_ns() < end) continue;
  add(&b->returned, 1);
}

/*
 * A crowd that is due at once, cancelled from its end while the first of it run: all were collected by the pass. OK
 * says that the timer has not started and never will, IGNORED that it has (a one-shot is finished before its handler
 * starts).
 */
TESTS_ON_DISPATCH_QUEUES(the_answer_of_cancel_is_true_of_a_bare_timer) {
  enum { CROWD = 64 };
  int rounds = csuite_scaled(20), round, i;
  QUEUE_OR_RETURN(queue, place);
  for (round = 0; round < rounds; round++) {
    int64_t deadline = now_of(t, queue) + CHIME_MILLISECOND, end = monotonic_ns() + PATIENCE;
    bare *crowd[CROWD];
    int was_stopped[CROWD], started = 0;
    for (i = 0; i < CROWD; i++) {
      chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
      chime_schedule schedule = schedule_at(deadline, 0);
      crowd[i] = bare_new(t, queue);
      options.handler = linger;
      options.context = crowd[i];
      EXPECT_OK(chime_timer_start(queue, &options, &schedule, &crowd[i]->timer));
    }
    while (started == 0 && EXPECT(monotonic_ns() < end)) {
      for (i = 0; i < CROWD; i++) started += load(&crowd[i]->ticks);
    }
    for (i = CROWD - 1; i >= 0; i--) {
      chime_status status = chime_timer_cancel(crowd[i]->timer);
      was_stopped[i] = status == CHIME_OK;
      EXPECT(status == CHIME_OK || status == CHIME_IGNORED);
    }
    let_later_ticks_come(t, queue, 0);
    for (i = 0; i < CROWD; i++) {
      if (!was_stopped[i]) EXPECT(await(&crowd[i]->ticks, 1));
      EXPECT_EQ(load(&crowd[i]->ticks), was_stopped[i] ? 0 : 1);
      EXPECT_TOOK_EFFECT(chime_timer_release(crowd[i]->timer));
    }
  }
}

/* ---- Bounds: promise 14 ----------------------------------------------------------------------------------------- */

/* Each move to an earlier time leaves an entry behind, until there are too many. */
TEST(moves_to_earlier_times_leave_nothing_behind) {
  int count = 20000, i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 2 * CHIME_HOUR);
  int64_t far = 2 * CHIME_HOUR;
  for (i = 0; i < count; i++) {
    chime_schedule schedule = schedule_at(far - i * CHIME_MICROSECOND, 0);
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
    ADVANCE(1);
  }
  EXPECT_BETWEEN(stats_of(t, queue).entries, 1, 1100);
  EXPECT_EQ(load(&p->ticks), 0);
}

/* ---- Never early: promise 3 ------------------------------------------------------------------------------------- */

typedef struct punctual {
  csuite *t;
  int64_t not_before;
  int ticks;
} punctual;

static void check_the_time(const chime_tick *tick, void *context) {
  punctual *p = context;
  csuite *t = p->t;
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  EXPECT_BETWEEN(tick->scheduled_ns, p->not_before, INT64_MAX);
  EXPECT_BETWEEN(monotonic_ns(), p->not_before, INT64_MAX);
  p->ticks++;
}

/* Elsewhere the way to the handler takes longer than the wheel's tick, a microsecond, and hides one that is early. */
TEST(a_host_that_never_rests_gets_no_tick_early) {
  int rounds = csuite_scaled(1000), i;
  chime_queue_t queue = host_queue(t, CHIME_QUEUE_BOUND);
  punctual *p = csuite_memory(t, sizeof *p);
  p->t = t;
  for (i = 0; i < rounds; i++) {
    int64_t delay = 20 * CHIME_MICROSECOND, end;
    p->not_before = monotonic_ns() + delay;
    EXPECT_OK(chime_timer_after(queue, delay, check_the_time, p, NULL, NULL));
    end = monotonic_ns() + PATIENCE;
    while (p->ticks == i && monotonic_ns() < end) process(t, queue, 0);
    REQUIRE(p->ticks == i + 1);
  }
}

/* ---- Order: promise 12 ------------------------------------------------------------------------------------------ */

/* It was collected with the others, but the turn that it has now is that of its new activation. */
TIMELINE(a_due_timer_started_anew_by_another_handler_comes_after_the_others,
         "a 10; b 10; c 10; a: b.restart 0; +20 | a1@10 c1@10 b1@10")

/* ---- Extremes: promise 17 --------------------------------------------------------------------------------------- */

/* Later than a number can say. */
TEST(a_tick_late_beyond_all_numbers_is_counted_as_the_latest) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  chime_schedule schedule = schedule_at(INT64_MIN + 1, 0);
  probe *p = probe_idle(t, queue, "a");
  JUMP(10);
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  ADVANCE(0);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(stats_of(t, queue).lateness[31], 1);
}

/* ---- Ids: promise 10 -------------------------------------------------------------------------------------------- */

/* The low bits are left alone: with one of them changed an id may be that of a neighbour. */
TEST(an_id_with_a_high_bit_changed_names_nothing) {
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
