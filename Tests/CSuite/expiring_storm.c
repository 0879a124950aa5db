/*
 * expiring_storm.c - values are acquired, yielded, reset and released while they expire, and while their queue ends:
 * 100,000 values. Nobody who has one sees it finalized, each finalizer is called once, no handler starts after the
 * release has returned. Promises 8, 9 and 10.
 *
 * Values and contexts stay in memory until the end of the test, so that a use after the end is seen, not suffered.
 */
#include "harness.h"

#include <sched.h>

enum {
  VALUES = 33000, /* of the first storm, on each of three kinds of queue */
  QUEUES = 500,   /* of the second storm, with VALUES_EACH values */
  VALUES_EACH = 4,
  THREADS = 2, /* that use the values */
  RING = 16,   /* values that live at once */
  ALIVE = 0x600D,
  DEAD = 0xDEAD
};

typedef struct storm storm;

typedef struct value {
  storm *storm;
  chime_expiring_t expiring;
  int word; /* ALIVE, then DEAD */
  int users;
  int released; /* 1: the release has returned, and no handler ran */
  int calls;    /* of handlers */
  int finalized;
} value;

/* The context of a handler. */
typedef struct notice {
  value *value;
  int busy;
  int accepted;
  int finalized;
} notice;

struct storm {
  csuite *t;
  where place;
  chime_queue_t queue;
  int count;
  value *values;
  notice *notices; /* one for each value, and one more that may replace it */
  int ring[RING];  /* numbers of values, + 1; 0: an empty place */
  int over;
  int joined;
  int used;  /* acquired */
  int calls; /* of handlers */
};

static void finalize_value(void *context) {
  value *v = context;
  csuite *t = v->storm->t;
  EXPECT_EQ(load(&v->users), 0);
  store(&v->word, DEAD);
  EXPECT_EQ(load(&v->users), 0);
  EXPECT_EQ(add(&v->finalized, 1), 1);
}

static void finalize_notice(void *context) {
  notice *n = context;
  csuite *t = n->value->storm->t;
  EXPECT_EQ(load(&n->busy), 0);
  EXPECT_EQ(add(&n->finalized, 1), 1);
}

static void on_expiry(const chime_tick *tick, void *context) {
  notice *n = context;
  value *v = n->value;
  csuite *t = v->storm->t;
  void *found = v;
  chime_status status;
  add(&v->users, 1);
  EXPECT(tick->target == v);
  EXPECT_EQ(load(&v->released), 0);
  EXPECT_EQ(add(&v->calls, 1), 1);
  EXPECT_EQ(add(&n->busy, 1), 1);
  EXPECT_EQ(load(&n->finalized), 0);
  EXPECT_EQ(load(&v->word), ALIVE);
  status = chime_expiring_acquire(v->expiring, &found);
  if (status != CHIME_ERROR_INVALID_HANDLE) EXPECT_STATUS(status, CHIME_IGNORED);
  if (add(&v->storm->calls, 1) % 8 == 0) sched_yield();
  EXPECT_EQ(load(&v->word), ALIVE);
  EXPECT_EQ(load(&n->finalized), 0);
  add(&n->busy, -1);
  add(&v->users, -1);
}

static void put_notice(value *v, notice *n) {
  csuite *t = v->storm->t;
  chime_status status;
  n->value = v;
  status = chime_expiring_on_expiry(v->expiring, on_expiry, n, finalize_notice);
  if (status == CHIME_OK) {
    store(&n->accepted, 1);
  } else if (status != CHIME_IGNORED) {
    EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
  }
}

/* OK, or what is answered when the value has vanished or was released. */
static int took(storm *s, chime_status status) {
  csuite *t = s->t;
  if (status == CHIME_OK) return 1;
  if (status != CHIME_IGNORED) EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
  return 0;
}

static int64_t some_lifetime(storm *s, dice *d) {
  int64_t unit = s->place == VIRTUAL ? 1 : CHIME_MICROSECOND;
  return roll_below(d, 4) == 0 ? CHIME_HOUR : roll_below(d, 100) * unit;
}

static void use(storm *s, value *v, dice *d) {
  csuite *t = s->t;
  void *found = v;
  chime_status status = chime_expiring_acquire(v->expiring, &found);
  if (took(s, status)) {
    EXPECT(found == v);
    add(&v->users, 1);
    add(&s->used, 1);
    EXPECT_EQ(load(&v->word), ALIVE);
    if (roll_below(d, 8) == 0) sched_yield();
    if (roll_below(d, 4) == 0) took(s, chime_expiring_reset(v->expiring, some_lifetime(s, d)));
    EXPECT_EQ(load(&v->word), ALIVE);
    add(&v->users, -1);
    EXPECT_OK(chime_expiring_yield(v->expiring));
  } else {
    EXPECT(status == CHIME_IGNORED ? found == NULL : found == v);
    took(s, chime_expiring_reset(v->expiring, some_lifetime(s, d)));
  }
}

static void *use_values(void *argument) {
  storm *s = argument;
  int number = add(&s->joined, 1);
  dice d = {UINT64_C(0x05E) + (uint64_t)number};
  while (load(&s->over) == 0) {
    int i = load(&s->ring[roll_below(&d, RING)]) - 1;
    if (i < 0) {
      sched_yield();
      continue;
    }
    use(s, &s->values[i], &d);
    /* One of the threads replaces notices, each at most once. */
    if (number == 1 && roll_below(&d, 4) == 0 && s->notices[2 * i + 1].value == NULL) {
      put_notice(&s->values[i], &s->notices[2 * i + 1]);
    }
  }
  return NULL;
}

static void *advance(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  while (load(&s->over) == 0) {
    chime_status status = chime_queue_advance(s->queue, 10);
    if (status != CHIME_ERROR_BUSY) EXPECT_OK(status); /* a release calls finalizers on its own thread */
    sched_yield();
  }
  return NULL;
}

static storm *storm_new(csuite *t, where place, int count) {
  storm *s = csuite_memory(t, sizeof *s);
  s->t = t;
  s->place = place;
  s->count = count;
  s->values = csuite_memory(t, (size_t)count * sizeof *s->values);
  s->notices = csuite_memory(t, (size_t)(2 * count) * sizeof *s->notices);
  return s;
}

static void make_value(storm *s, int i, int64_t lifetime_ns) {
  csuite *t = s->t;
  value *v = &s->values[i];
  v->storm = s;
  store(&v->word, ALIVE);
  EXPECT_OK(chime_expiring_create(s->queue, v, finalize_value, lifetime_ns, &v->expiring));
  put_notice(v, &s->notices[2 * i]);
  store(&s->ring[i % RING], i + 1);
}

/* Makes one that lasts, and waits until one was used: values must not come and go faster than that, however few
   processors there are. */
static void make_value_and_wait(storm *s, int i) {
  csuite *t = s->t;
  int used = load(&s->used);
  make_value(s, i, CHIME_HOUR);
  EXPECT(await(&s->used, used + 1));
}

static void release_value(storm *s, int i) {
  csuite *t = s->t;
  value *v = &s->values[i];
  chime_status status = chime_expiring_release(v->expiring);
  EXPECT_TOOK_EFFECT(status);
  if (status == CHIME_OK) store(&v->released, 1);
  EXPECT_STATUS(chime_expiring_release(v->expiring), CHIME_ERROR_INVALID_HANDLE);
}

/* When all threads are done and the queue has ended. */
static void expect_all_over(storm *s) {
  csuite *t = s->t;
  int i;
  for (i = 0; i < s->count; i++) {
    value *v = &s->values[i];
    if (!EXPECT_EQ(load(&v->finalized), 1)) break;
    if (!EXPECT_EQ(load(&v->users), 0)) break;
    if (!EXPECT_STATUS(chime_expiring_yield(v->expiring), CHIME_ERROR_INVALID_HANDLE)) break;
  }
  for (i = 0; i < 2 * s->count; i++) {
    if (!EXPECT_EQ(load(&s->notices[i].finalized), load(&s->notices[i].accepted))) break;
  }
}

/* ---- Values are used while they expire -------------------------------------------------------------------------- */

static void values_are_used_while_they_expire(csuite *t, where place) {
  pthread_t threads[THREADS], advancer;
  int spawned[THREADS], advancing = 0, i;
  dice d = {UINT64_C(0xE091E)};
  storm *s;
  QUEUE_OR_RETURN(queue, place);
  s = storm_new(t, place, csuite_scaled(VALUES));
  s->queue = queue;
  if (place == VIRTUAL) advancing = spawn(t, &advancer, advance, s);
  for (i = 0; i < THREADS; i++) spawned[i] = spawn(t, &threads[i], use_values, s);
  for (i = 0; i < s->count + RING && !csuite_failed(t); i++) {
    if (i >= RING && i - RING < s->count) release_value(s, i - RING);
    if (i >= s->count) continue;
    if (i % 256 == 0) {
      make_value_and_wait(s, i);
    } else {
      make_value(s, i, some_lifetime(s, &d));
    }
  }
  store(&s->over, 1);
  for (i = 0; i < THREADS; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  if (advancing) pthread_join(advancer, NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  expect_all_over(s);
}
TEST_ON(values_are_used_while_they_expire, a_serial_queue, SERIAL)
TEST_ON(values_are_used_while_they_expire, a_concurrent_queue, CONCURRENT)
TEST_ON(values_are_used_while_they_expire, a_virtual_queue, VIRTUAL)

/* ---- Values are used while their queue ends --------------------------------------------------------------------- */

/* [16] */
TEST(values_are_used_while_their_queue_ends) {
  pthread_t threads[THREADS];
  int spawned[THREADS], rounds = csuite_scaled(QUEUES), i, j;
  dice d = {UINT64_C(0xE2D)};
  storm *s = storm_new(t, SERIAL, rounds * VALUES_EACH);
  for (i = 0; i < THREADS; i++) spawned[i] = spawn(t, &threads[i], use_values, s);
  for (i = 0; i < rounds && !csuite_failed(t); i++) {
    chime_queue_kind kind = i % 2 && csuite_has_dispatch() ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL;
    if (!EXPECT_OK(chime_queue_create(kind, NULL, &s->queue))) break;
    for (j = 1; j < VALUES_EACH; j++) make_value(s, VALUES_EACH * i + j, some_lifetime(s, &d));
    if (i % 64 == 0) {
      make_value_and_wait(s, VALUES_EACH * i);
    } else {
      make_value(s, VALUES_EACH * i, some_lifetime(s, &d));
      for (j = (int)roll_below(&d, 500); j > 0; j--) load(&s->used);
    }
    if (!EXPECT_OK(chime_queue_shutdown(s->queue, PATIENCE))) break;
    for (j = 0; j < VALUES_EACH; j++) {
      /* Its queue has ended: nobody gets it any more, and it goes with those who have it. */
      void *found = s;
      EXPECT_STATUS(chime_expiring_acquire(s->values[VALUES_EACH * i + j].expiring, &found), CHIME_IGNORED);
      EXPECT(found == NULL);
      release_value(s, VALUES_EACH * i + j);
    }
  }
  store(&s->over, 1);
  for (i = 0; i < THREADS; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  if (!csuite_failed(t)) expect_all_over(s);
}
