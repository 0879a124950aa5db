/*
 * named_handlers_storm.c - named handlers come and go while their timer ticks: 100,000 operations. No call starts after
 * a removal has returned, none runs when its finalizer has, each finalizer is called once and not before the handler
 * was removed; a handler that was refused is the caller's. Promises 6, 8, 9 and 10.
 *
 * Contexts stay in memory until the end of the test, so that a use after the end is seen, not suffered.
 */
#include "harness.h"

#include <sched.h>

enum {
  OPERATIONS = 14000, /* of each thread of the first storm, on each of two kinds of queue */
  THREADS = 3,
  KEYS = 4,      /* of each thread */
  ENDING = 4000, /* timers of the second storm, on each of two kinds of queue */
  MOST = 8       /* handlers for one timer in the second storm */
};

/* What a handler may still expect. */
enum {
  LIVES = 0,
  LEAVES = 1, /* somebody is about to remove it */
  LAST = 2,   /* the removal said RUNNING: that call is the last */
  GONE = 3    /* the removal said OK, or the last call has returned */
};

typedef struct storm storm;

/* The context of one handler. */
typedef struct guest {
  storm *storm;
  int accepted; /* by the thread that adds */
  int state;
  int busy;
  int late; /* calls that returned after a removal had said RUNNING */
  int finalized;
} guest;

struct storm {
  csuite *t;
  chime_queue_t queue;
  chime_timer_t timer;
  where place;
  int count;
  guest *guests;
  int ticks;
  int calls;
  int joined; /* numbers threads and their keys */
  int offered;
  int taken;
  int end_of_time;
  chime_timer_t *timers;
};

static void on_tick(const chime_tick *tick, void *context) {
  storm *s = context;
  (void)tick;
  add(&s->ticks, 1);
}

static void on_named(const chime_tick *tick, void *context) {
  guest *g = context;
  csuite *t = g->storm->t;
  int count = add(&g->storm->calls, 1);
  EXPECT(tick->context == g);
  EXPECT(load(&g->state) != GONE);
  EXPECT_EQ(add(&g->busy, 1), 1);
  EXPECT_EQ(load(&g->finalized), 0);
  if (count % 16 == 0) sched_yield();
  EXPECT_EQ(load(&g->finalized), 0);
  add(&g->busy, -1);
  if (load(&g->state) == LAST) {
    EXPECT_EQ(add(&g->late, 1), 1);
    store(&g->state, GONE);
  }
}

static void finalize(void *context) {
  guest *g = context;
  csuite *t = g->storm->t;
  EXPECT(load(&g->state) != LIVES);
  EXPECT_EQ(load(&g->busy), 0);
  EXPECT_EQ(add(&g->finalized, 1), 1);
}

/* What the removal of this handler, or its replacement, has answered. */
static void has_left(guest *g, chime_status status) {
  csuite *t = g->storm->t;
  int leaves = LEAVES;
  if (status == CHIME_OK) {
    store(&g->state, GONE);
  } else if (EXPECT_STATUS(status, CHIME_RUNNING)) {
    __atomic_compare_exchange_n(&g->state, &leaves, LAST, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
}

static storm *storm_new(csuite *t, where place, chime_queue_t queue, int count, int guests) {
  storm *s = csuite_memory(t, sizeof *s);
  int i;
  s->t = t;
  s->place = place;
  s->queue = queue;
  s->count = count;
  s->guests = csuite_memory(t, (size_t)guests * sizeof *s->guests);
  for (i = 0; i < guests; i++) s->guests[i].storm = s;
  return s;
}

/* When all threads are done and the queue has ended. */
static void expect_all_over(storm *s, int guests) {
  csuite *t = s->t;
  int i;
  for (i = 0; i < guests; i++) {
    guest *g = &s->guests[i];
    if (!EXPECT_EQ(load(&g->finalized), load(&g->accepted))) break;
    if (!EXPECT_EQ(load(&g->busy), 0)) break;
  }
}

static void *advance(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  while (load(&s->end_of_time) == 0) {
    chime_status status = chime_queue_advance(s->queue, 20);
    if (status != CHIME_ERROR_BUSY) EXPECT_OK(status); /* a release calls finalizers on its own thread */
    sched_yield();
  }
  return NULL;
}

/* ---- Handlers come and go while the timer ticks ----------------------------------------------------------------- */

/* Adds, replaces and removes under its own keys, so that it knows whom each call concerns. */
static void *come_and_go(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  guest *here[KEYS] = {NULL};
  int number = add(&s->joined, 1) - 1, i;
  dice d = {UINT64_C(0x6E57) + (uint64_t)number};
  for (i = 0; i < s->count; i++) {
    int k = (int)roll_below(&d, KEYS);
    guest *g = &s->guests[number * s->count + i], *old = here[k];
    char key[32];
    chime_status status;
    snprintf(key, sizeof key, "%d of %d", k, number);
    if (old != NULL) store(&old->state, LEAVES);
    if (roll_below(&d, 3) == 0) {
      status = chime_timer_remove_handler(s->timer, key);
      here[k] = NULL;
    } else {
      status = chime_timer_add_handler(s->timer, key, on_named, g, finalize);
      store(&g->accepted, 1);
      here[k] = g;
    }
    if (old != NULL) {
      has_left(old, status);
    } else if (!EXPECT_STATUS(status, here[k] == NULL ? CHIME_IGNORED : CHIME_OK)) {
      break;
    }
    if (roll_below(&d, 64) == 0) EXPECT_OK(chime_timer_fire(s->timer));
    if (roll_below(&d, 16) == 0) sched_yield();
    /* Not faster than the timer can tick, however few processors there are. */
    if (i % 256 == 0) EXPECT(await(&s->ticks, load(&s->ticks) + 1));
  }
  for (i = 0; i < KEYS; i++) { /* those that stay end with the timer */
    if (here[i] != NULL) store(&here[i]->state, LEAVES);
  }
  return NULL;
}

static void handlers_come_and_go_while_the_timer_ticks(csuite *t, where place) {
  pthread_t threads[THREADS];
  int spawned[THREADS], count = csuite_scaled(OPERATIONS), i;
  chime_schedule schedule = schedule_of(0, 10 * CHIME_MICROSECOND);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  storm *s;
  QUEUE_OR_RETURN(queue, place);
  s = storm_new(t, place, queue, count, THREADS * count);
  options.handler = on_tick;
  options.context = s;
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &s->timer));
  for (i = 0; i < THREADS; i++) spawned[i] = spawn(t, &threads[i], come_and_go, s);
  for (i = 0; i < THREADS; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  EXPECT_TOOK_EFFECT(chime_timer_release(s->timer));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  expect_all_over(s, THREADS * count);
  if (count > 1000) EXPECT(load(&s->calls) > 0);
}
TEST_ON(handlers_come_and_go_while_the_timer_ticks, a_serial_queue, SERIAL)
TEST_ON(handlers_come_and_go_while_the_timer_ticks, a_concurrent_queue, CONCURRENT)

/* ---- Handlers come while the timer goes ------------------------------------------------------------------------- */

/* Makes timers, some of which tick and some of which are idle, and releases each one that the other thread has seen. */
static void *make_and_release(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0x2E1EA5E)};
  int i;
  for (i = 0; i < s->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    int turns = 0;
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    chime_schedule schedule = schedule_of(0, s->place == VIRTUAL ? 1 : 1000);
    options.handler = on_tick;
    options.context = s;
    if (!EXPECT_OK(chime_timer_create(s->queue, &options, &s->timers[i]))) return NULL;
    if (roll_below(&d, 2)) EXPECT_OK(chime_timer_activate(s->timers[i], &schedule));
    store(&s->offered, i + 1);
    while (load(&s->taken) < i + 1) {
      if (++turns % 100 != 0) continue;
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    for (turns = (int)roll_below(&d, 200); turns > 0; turns--) load(&s->taken);
    EXPECT_TOOK_EFFECT(chime_timer_release(s->timers[i]));
  }
  return NULL;
}

static void *add_until_refused(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0xADD)};
  int i, j;
  for (i = 0; i < s->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    int turns = 0;
    while (load(&s->offered) < i + 1) {
      if (++turns % 100 != 0) continue;
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    store(&s->taken, i + 1);
    for (j = 0; j < MOST; j++) {
      guest *g = &s->guests[MOST * i + j];
      char key[32];
      chime_status status;
      snprintf(key, sizeof key, "%d", j);
      store(&g->state, LEAVES); /* with the timer */
      status = chime_timer_add_handler(s->timers[i], key, on_named, g, finalize);
      if (status != CHIME_OK) {
        EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
        break;
      }
      store(&g->accepted, 1);
      if (roll_below(&d, 8) == 0) sched_yield();
    }
  }
  return NULL;
}

static void handlers_come_while_the_timer_goes(csuite *t, where place) {
  pthread_t releaser, adder, advancer;
  int count = csuite_scaled(ENDING), releasing, adding, advancing = 0;
  storm *s;
  QUEUE_OR_RETURN(queue, place);
  s = storm_new(t, place, queue, count, MOST * count);
  s->timers = csuite_memory(t, (size_t)count * sizeof *s->timers);
  if (place == VIRTUAL) advancing = spawn(t, &advancer, advance, s);
  releasing = spawn(t, &releaser, make_and_release, s);
  adding = spawn(t, &adder, add_until_refused, s);
  if (releasing) pthread_join(releaser, NULL);
  if (adding) pthread_join(adder, NULL);
  if (advancing) {
    store(&s->end_of_time, 1);
    pthread_join(advancer, NULL);
  }
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  expect_all_over(s, MOST * count);
}
TEST_ON(handlers_come_while_the_timer_goes, a_serial_queue, SERIAL)
TEST_ON(handlers_come_while_the_timer_goes, a_virtual_queue, VIRTUAL)
