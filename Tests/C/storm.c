/*
 * storm.c - eight threads and the handlers themselves make random calls (storm.h) on one queue, beside queues that come and
 * go. Promises 1, 3, 6 to 11 and 14. (Each call beside the end of its queue: Tests/Threads/Interleavings.)
 */
#include "storm.h"

#include <sched.h>

enum {
  THREADS = 8,
  DRIVERS = 3 /* of a virtual or host-driven queue */,
  CALLS = 160000 /* on each kind of queue */
};

int storm_lists(storm *s, chime_status status, uint32_t listed, const char *call) {
  if (status_set_has(listed, status)) return 1;
  return csuite_expect_status(s->t, status, CHIME_OK, __FILE__, __LINE__, call);
}

/* ---- The book ---------------------------------------------------------------------------------------------------- */

entry *storm_entry(storm *s, entry *object) {
  int number = add(&s->made, 1) - 1;
  if (number >= s->capacity) return NULL;
  s->book[number].storm = s;
  s->book[number].object = object;
  return &s->book[number];
}

int storm_accepts(entry *e, chime_status status) {
  int accepted = status == CHIME_OK || status == CHIME_RUNNING;
  store(&e->accepted, accepted);
  return accepted;
}

void storm_hold(entry *object) {
  csuite *t = object->storm->t;
  add(&object->busy, 1);
  EXPECT_EQ(load(&object->finalized), 0); /* [11] */
}

void storm_let_go(entry *object) {
  csuite *t = object->storm->t;
  EXPECT_EQ(load(&object->finalized), 0);
  add(&object->busy, -1);
}

/* When nothing can be called any more: each finalizer has been called once, none of what was refused. */
static void balance(storm *s) {
  csuite *t = s->t;
  int made = load(&s->made) < s->capacity ? load(&s->made) : s->capacity;
  for (entry *e = s->book; e < s->book + made; e++) {
    if (load(&e->accepted) && !EXPECT(await(&e->finalized, 1))) return; /* its queue may end later */
    if (!EXPECT_EQ(load(&e->finalized), load(&e->accepted)) || !EXPECT_EQ(load(&e->busy), 0)) return;
  }
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* One of the calls that may still come. [7] */
static void take(entry *e) {
  csuite *t = e->storm->t;
  int left = load(&e->left);
  while (left > 1 && !__atomic_compare_exchange_n(&e->left, &left, left - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
  EXPECT(left != 1);
}

static int is_exclusive(const storm *s) { return s->place != CONCURRENT; }

static void enter(entry *e) {
  csuite *t = e->storm->t;
  if (is_exclusive(e->storm)) EXPECT_EQ(add(&e->storm->inside, 1), 1);
  EXPECT_EQ(add(&e->busy, 1), 1);    /* [6] */
  EXPECT_EQ(load(&e->finalized), 0); /* [8] */
  take(e);
}

static void leave(entry *e) {
  storm_let_go(e);
  if (is_exclusive(e->storm)) add(&e->storm->inside, -1);
}

void storm_on_tick(const chime_tick *tick, void *context) {
  entry *e = context;
  storm *s = e->storm;
  csuite *t = s->t;
  dice d = {(uint64_t)add(&s->ticks, 1) * UINT64_C(0x9E3779B97F4A7C15) + 1};
  enter(e);
  EXPECT(tick->context == e && tick->target == e->object);
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  EXPECT(tick->sequence >= 1);
  if (s->place != VIRTUAL) EXPECT(monotonic_ns() >= tick->scheduled_ns);
  if (e->object != NULL) storm_hold(e->object);
  if (load(&s->over) == 0) {
    int64_t number = roll_below(&d, 16);
    if (number < 4) storm_call_own_timer(s, tick->timer, &d);
    else if (number < 6) storm_call(s, &d, 1);
    else if (number < 7) sched_yield();
  }
  if (e->object != NULL) storm_let_go(e->object);
  leave(e);
}

void storm_on_turn(const chime_tick *tick, void *context) {
  entry *e = context;
  csuite *t = e->storm->t;
  enter(e);
  EXPECT(tick->kind == CHIME_TICK_ARMED || tick->kind == CHIME_TICK_CANCELLED);
  EXPECT_EQ(tick->sequence, 0);
  if (tick->target != NULL) { /* it may have gone before its timer's cancel handler */
    EXPECT(tick->target == e->object);
    storm_hold(e->object);
    storm_let_go(e->object);
  }
  leave(e);
}

void storm_on_named(const chime_tick *tick, void *context) {
  entry *e = context;
  csuite *t = e->storm->t;
  enter(e);
  EXPECT(tick->context == e);
  if (add(&e->storm->named_calls, 1) % 16 == 0) sched_yield();
  leave(e);
}

/* The value is not acquired any more, but there as long as this runs. */
void storm_on_expiry(const chime_tick *tick, void *context) {
  entry *e = context;
  storm *s = e->storm;
  csuite *t = s->t;
  void *found = e;
  enter(e);
  take(e->object); /* told once */
  EXPECT(tick->target == e->object);
  storm_hold(e->object);
  LISTED(chime_expiring_acquire(e->object->id, &found), MAY(IGNORED) | STALE);
  if (add(&s->expiries, 1) % 8 == 0) sched_yield();
  storm_let_go(e->object);
  leave(e);
}

void storm_on_function(void *context) {
  enter(context);
  leave(context);
}

void storm_finalize(void *context) {
  entry *e = context;
  csuite *t = e->storm->t;
  EXPECT_EQ(load(&e->busy), 0);
  EXPECT_EQ(add(&e->finalized, 1), 1); /* [8] */
}

/* ---- The threads ------------------------------------------------------------------------------------------------- */

static int has_seen_all_kinds_of_callback(const storm *s) {
  return load(&s->ticks) > 0 && load(&s->named_calls) > 0 && load(&s->expiries) > 0 && load(&s->acquired) > 0;
}

THREAD(call_at_random, storm, s) {
  static int threads;
  dice d = {UINT64_C(0x5EED0000) + (uint64_t)add(&threads, 1) * 7919 + (uint64_t)s->place};
  for (int i = 0; i < s->calls_of_each_thread && !(i % 1024 == 0 && csuite_failed(t)); i++) storm_call(s, &d, 0);
}

/* The queue may have had too few turns beside all those calls, or its timers may have been moved before they were due: a few
 * calls more, by one thread, at its leisure. */
static void go_on_alone(storm *s) {
  dice d = {UINT64_C(0xA107E) + (uint64_t)s->place};
  int64_t end = monotonic_ns() + PATIENCE;
  while (!has_seen_all_kinds_of_callback(s) && monotonic_ns() < end) {
    storm_call(s, &d, 0);
    sleep_ns(CHIME_MILLISECOND);
  }
}

/* Several threads drive one queue. */
static void *drive_at_random(void *argument) {
  storm *s = argument;
  dice d = {UINT64_C(0xD21E) + (uint64_t)(uintptr_t)&argument};
  while (load(&s->end_of_time) == 0) {
    chime_queue_t queue = s->queue;
    if (s->place == VIRTUAL) {
      LISTED(chime_queue_advance(queue, roll_below(&d, 1000)), MAY(OK) | MAY(ERROR_BUSY) | MAY(ERROR_LIMIT));
    } else {
      LISTED(chime_queue_process(queue, (uint32_t)roll_below(&d, 8), NULL), MAY(OK) | MAY(ERROR_BUSY));
    }
  }
  return NULL;
}

TESTS_ON(a_storm_of_calls) {
  int calls = csuite_scaled(CALLS / THREADS), calling = 0, driving = 0;
  storm *s = csuite_memory(t, sizeof *s);
  pthread_t callers[THREADS], drivers[DRIVERS];
  if (place == HOST) queue = host_queue(t, 0); /* that nobody else drives */
  *s = (storm){.t = t, .place = place, .queue = queue, .calls_of_each_thread = calls};
  s->capacity = calls * THREADS / 2 + 60000;
  s->book = csuite_memory(t, (size_t)s->capacity * sizeof *s->book);
  if (place == VIRTUAL || place == HOST) {
    while (driving < DRIVERS && spawn(t, &drivers[driving], drive_at_random, s)) driving++;
  }
  while (calling < THREADS && spawn(t, &callers[calling], call_at_random, s)) calling++;
  while (calling > 0) pthread_join(callers[--calling], NULL);
  go_on_alone(s);
  store(&s->over, 1);
  /* What nobody holds ends by itself; a handler that was under way may have put something there again. */
  int64_t end = monotonic_ns() + PATIENCE;
  do {
    storm_release_all(s);
    sleep_ns(CHIME_MILLISECOND);
  } while (stats_of(t, queue).timers > 0 && EXPECT(monotonic_ns() < end));
  store(&s->end_of_time, 1);
  while (driving > 0) pthread_join(drivers[--driving], NULL);
  EXPECT_EQ(stats_of(t, queue).running, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  storm_release_all(s);
  balance(s);
  EXPECT(load(&s->ticks) > 0);
  EXPECT(load(&s->named_calls) > 0);
  EXPECT(load(&s->expiries) > 0);
  EXPECT(load(&s->acquired) > 0);
}
TEST_ON(a_storm_of_calls, a_virtual_queue, VIRTUAL)
TEST_ON(a_storm_of_calls, a_serial_queue, SERIAL)
TEST_ON(a_storm_of_calls, a_concurrent_queue, CONCURRENT)
TEST_ON(a_storm_of_calls, a_dispatch_queue, DISPATCH)
TEST_ON(a_storm_of_calls, a_host_driven_queue, HOST)
TEST_ON(a_storm_of_calls, a_precise_queue, PRECISE)
