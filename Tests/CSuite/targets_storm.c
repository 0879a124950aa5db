/*
 * targets_storm.c - targets that go while their timers fire, and while timers are being made for them: 200,000 of them.
 * No handler sees an object whose destructor has run, each destructor and each finalizer runs exactly once, and no
 * timer is left running. Promises 5, 8, 9 and 10.
 *
 * Objects and contexts stay in memory until the end of the test, so that a use after the end is seen, not suffered.
 */
#include "harness.h"

#include <sched.h>

enum {
  FIRING = 60000, /* targets of the first storm, on each of three kinds of queue */
  MAKING = 10000, /* of the second, on two kinds: its threads meet at each target, which is slow on a busy machine */
  RING = 64,      /* targets that live at once in the first storm */
  MOST = 8,       /* timers for one target in the second storm */
  ALIVE = 0x600D,
  DEAD = 0xDEAD
};

typedef struct storm storm;

typedef struct object {
  storm *storm;
  chime_target_t target;
  chime_timer_t timer; /* a timer of it that somebody holds */
  int word;            /* ALIVE, then DEAD */
  int users;           /* handlers that have it */
  int destroyed;
} object;

/* The context of a timer. */
typedef struct life {
  object *object;
  int busy;
  int finalized;
  chime_timer_t timer;
} life;

struct storm {
  csuite *t;
  where place;
  chime_queue_t queue;
  int count;
  object *objects;
  life *lives;
  int *ring;   /* numbers of objects, + 1; 0: an empty place */
  int offered; /* the number of the object that is on offer, + 1 */
  int taken;   /* the same, seen by the other thread */
  int ticks;
  int lives_used;
  int end_of_time;
};

static void enter(life *l) {
  csuite *t = l->object->storm->t;
  EXPECT_EQ(add(&l->busy, 1), 1);
  EXPECT_EQ(load(&l->finalized), 0);
}

static void leave(life *l) { add(&l->busy, -1); }

static void on_tick(const chime_tick *tick, void *context) {
  life *l = context;
  object *o = l->object;
  storm *s = o->storm;
  csuite *t = s->t;
  int count = add(&s->ticks, 1);
  enter(l);
  EXPECT(tick->target == o);
  add(&o->users, 1);
  EXPECT_EQ(load(&o->word), ALIVE);
  if (count % 16 == 0) { /* a reference of the handler's own, which may be the last */
    chime_status status = chime_target_retain(o->target, NULL);
    if (status == CHIME_OK) {
      sched_yield();
      EXPECT_OK(chime_target_release(o->target));
    } else {
      EXPECT_STATUS(status, CHIME_ERROR_INVALID_HANDLE);
    }
  } else if (count % 16 == 1) {
    sched_yield();
  } else if (count % 64 == 2) {
    chime_status status = chime_timer_restart(tick->timer, NULL);
    if (status != CHIME_ERROR_TARGET_GONE && status != CHIME_ERROR_INVALID_HANDLE) EXPECT_STATUS(status, CHIME_RUNNING);
  } else if (count % 64 == 3) {
    chime_status status = chime_timer_fire(tick->timer);
    if (status != CHIME_ERROR_TARGET_GONE && status != CHIME_ERROR_INVALID_HANDLE && status != CHIME_IGNORED) {
      EXPECT_OK(status);
    }
  }
  EXPECT_EQ(load(&o->word), ALIVE);
  add(&o->users, -1);
  leave(l);
}

/* Registration and cancel handlers. */
static void on_turn(const chime_tick *tick, void *context) {
  life *l = context;
  csuite *t = l->object->storm->t;
  enter(l);
  if (tick->target != NULL) {
    add(&l->object->users, 1);
    EXPECT(tick->target == l->object);
    EXPECT_EQ(load(&l->object->word), ALIVE);
    add(&l->object->users, -1);
  }
  leave(l);
}

static void destroy(void *context) {
  object *o = context;
  csuite *t = o->storm->t;
  store(&o->word, DEAD);
  EXPECT_EQ(load(&o->users), 0);
  EXPECT_EQ(add(&o->destroyed, 1), 1);
}

static void finalize(void *context) {
  life *l = context;
  csuite *t = l->object->storm->t;
  EXPECT_EQ(load(&l->busy), 0);
  EXPECT_EQ(add(&l->finalized, 1), 1);
}

static object *make_object(storm *s, int i) {
  csuite *t = s->t;
  object *o = &s->objects[i];
  o->storm = s;
  store(&o->word, ALIVE);
  EXPECT_OK(chime_target_create(o, destroy, &o->target));
  return o;
}

/* Starts a timer of the object; one that nobody holds when `timer` is NULL. */
static chime_status start(object *o, chime_target_t target, dice *d, life *l, chime_timer_t *timer) {
  int64_t unit = o->storm->place == VIRTUAL ? 1 : 1000;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = schedule_of(roll_below(d, 3) * unit, (1 + roll_below(d, 50)) * unit);
  if (roll_below(d, 4) == 0) schedule.first_ns = CHIME_HOUR; /* nothing but the target's end stops it in time */
  l->object = o;
  options.handler = on_tick;
  options.context = l;
  options.finalizer = finalize;
  options.target = target;
  if (roll_below(d, 4) == 0) options.registration_handler = on_turn;
  if (roll_below(d, 4) == 0) options.cancel_handler = on_turn;
  if (roll_below(d, 4) == 0) schedule.missed_policy = CHIME_MISSED_DELAY;
  return chime_timer_start(o->storm->queue, &options, &schedule, timer);
}

/* Lets other threads get on, a little or a little more. */
static void dawdle(dice *d) {
  volatile int i;
  int64_t turns = roll_below(d, 200);
  if (roll_below(d, 16) == 0) sched_yield();
  for (i = 0; i < turns; i++) {}
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

static storm *storm_new(csuite *t, where place, chime_queue_t queue, int count, int lives_each) {
  storm *s = csuite_memory(t, sizeof *s);
  s->t = t;
  s->place = place;
  s->queue = queue;
  s->count = csuite_scaled(count);
  s->objects = csuite_memory(t, (size_t)s->count * sizeof *s->objects);
  s->lives = csuite_memory(t, (size_t)(s->count * lives_each) * sizeof *s->lives);
  s->ring = csuite_memory(t, RING * sizeof *s->ring);
  return s;
}

/* When both threads are done: nothing runs and nothing is left, all ends were told once. */
static void expect_all_over(storm *s, int lives_each) {
  csuite *t = s->t;
  int64_t end = monotonic_ns() + PATIENCE;
  int i, used = 0;
  /* A handler's reference may have been the last, and its thread be ending the timers. */
  while (stats_of(t, s->queue).running > 0 && EXPECT(monotonic_ns() < end)) sleep_ns(CHIME_MILLISECOND);
  for (i = 0; i < s->count * lives_each; i++) {
    life *l = &s->lives[i];
    if (l->timer == 0) continue;
    if (!EXPECT_EQ(state_of(t, l->timer), CHIME_STATE_CANCELLED)) break;
    EXPECT_TOOK_EFFECT(chime_timer_release(l->timer));
  }
  while (stats_of(t, s->queue).timers > 0 && EXPECT(monotonic_ns() < end)) sleep_ns(CHIME_MILLISECOND);
  EXPECT_OK(chime_queue_shutdown(s->queue, PATIENCE));
  for (i = 0; i < s->count; i++) {
    if (!EXPECT_EQ(load(&s->objects[i].destroyed), 1)) break;
    if (!EXPECT_STATUS(chime_target_retain(s->objects[i].target, NULL), CHIME_ERROR_INVALID_HANDLE)) break;
  }
  for (i = 0; i < s->count * lives_each; i++) {
    life *l = &s->lives[i];
    if (!EXPECT_EQ(load(&l->finalized), l->object != NULL)) break;
    if (!EXPECT_EQ(load(&l->busy), 0)) break;
    used += l->object != NULL;
  }
  EXPECT_EQ(used, s->lives_used);
}

/* ---- Targets go while their timers fire ------------------------------------------------------------------------- */

/* Makes targets with two or three timers each: one that is held, and one or two that nobody holds. */
static void *make_targets(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0x7A26E7)};
  int i;
  for (i = 0; i < s->count; i++) {
    object *o = make_object(s, i);
    int64_t end = monotonic_ns() + PATIENCE, unheld = 1 + roll_below(&d, 2), j;
    if (!EXPECT_OK(start(o, o->target, &d, &s->lives[3 * i], &o->timer))) return NULL;
    for (j = 1; j <= unheld; j++) {
      if (!EXPECT_OK(start(o, o->target, &d, &s->lives[3 * i + j], NULL))) return NULL;
    }
    s->lives_used += 1 + (int)unheld;
    while (load(&s->ring[i % RING]) != 0) {
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    store(&s->ring[i % RING], i + 1);
  }
  return NULL;
}

static void *release_targets(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0x2E1EA5E)};
  int i;
  for (i = 0; i < s->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    object *o = &s->objects[i];
    while (load(&s->ring[i % RING]) == 0) {
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    dawdle(&d);
    /* Not faster than they can fire, however few processors there are; a whole ring of targets lives meanwhile. */
    if (i % RING == 0 && i + RING < s->count) EXPECT(await(&s->ticks, load(&s->ticks) + 1));
    if (roll_below(&d, 8) == 0) { /* the timer before its target */
      EXPECT_TOOK_EFFECT(chime_timer_release(o->timer));
      EXPECT_OK(chime_target_release(o->target));
    } else {
      EXPECT_OK(chime_target_release(o->target));
      /* A handler may have retained it just before; then the last reference goes a little later. */
      while (chime_target_retain(o->target, NULL) == CHIME_OK) {
        EXPECT_OK(chime_target_release(o->target));
        if (!EXPECT(monotonic_ns() < end)) return NULL;
        sched_yield();
      }
      EXPECT_STATUS(chime_timer_restart(o->timer, NULL), CHIME_ERROR_TARGET_GONE);
      EXPECT_TOOK_EFFECT(chime_timer_release(o->timer));
    }
    store(&s->ring[i % RING], 0);
  }
  return NULL;
}

static void targets_go_while_their_timers_fire(csuite *t, where place) {
  pthread_t maker, releaser, advancer;
  int making, releasing, advancing = 0;
  storm *s;
  QUEUE_OR_RETURN(queue, place);
  s = storm_new(t, place, queue, FIRING, 3);
  if (place == VIRTUAL) advancing = spawn(t, &advancer, advance, s);
  making = spawn(t, &maker, make_targets, s);
  releasing = spawn(t, &releaser, release_targets, s);
  if (making) pthread_join(maker, NULL);
  if (releasing) pthread_join(releaser, NULL);
  if (advancing) {
    store(&s->end_of_time, 1);
    pthread_join(advancer, NULL);
  }
  expect_all_over(s, 3);
}
TEST_ON(targets_go_while_their_timers_fire, a_serial_queue, SERIAL)
TEST_ON(targets_go_while_their_timers_fire, a_concurrent_queue, CONCURRENT)
TEST_ON(targets_go_while_their_timers_fire, a_virtual_queue, VIRTUAL)

/* ---- Targets go while timers are made for them ------------------------------------------------------------------ */

/* Offers a target, waits until the other thread has seen it, and releases it. */
static void *offer_targets(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0x0FFE2)};
  int i;
  for (i = 0; i < s->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    object *o = make_object(s, i);
    int turns = 0;
    store(&s->offered, i + 1);
    while (load(&s->taken) < i + 1) {
      if (++turns % 100 != 0) continue;
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    dawdle(&d);
    EXPECT_OK(chime_target_release(o->target));
  }
  return NULL;
}

/* Makes timers for the target on offer until one is refused; those that were accepted are ended by whoever is last. */
static void *make_timers(void *argument) {
  storm *s = argument;
  csuite *t = s->t;
  dice d = {UINT64_C(0x71E25)};
  int i, j;
  for (i = 0; i < s->count; i++) {
    int64_t end = monotonic_ns() + PATIENCE;
    object *o = &s->objects[i];
    int turns = 0;
    while (load(&s->offered) < i + 1) {
      if (++turns % 100 != 0) continue;
      if (!EXPECT(monotonic_ns() < end)) return NULL;
      sched_yield();
    }
    store(&s->taken, i + 1);
    for (j = 0; j < MOST; j++) {
      life *l = &s->lives[MOST * i + j];
      chime_status status;
      if (roll_below(&d, 4) == 0) sched_yield();
      status = start(o, o->target, &d, l, roll_below(&d, 2) ? &l->timer : NULL);
      if (status == CHIME_OK) {
        s->lives_used++;
        continue;
      }
      EXPECT_STATUS(status, CHIME_ERROR_TARGET_GONE);
      l->object = NULL; /* the context stays the caller's: never to be finalized */
      break;
    }
  }
  return NULL;
}

static void targets_go_while_timers_are_made_for_them(csuite *t, where place) {
  pthread_t offerer, maker;
  int offering, making;
  storm *s;
  QUEUE_OR_RETURN(queue, place);
  s = storm_new(t, place, queue, MAKING, MOST);
  offering = spawn(t, &offerer, offer_targets, s);
  making = spawn(t, &maker, make_timers, s);
  if (offering) pthread_join(offerer, NULL);
  if (making) pthread_join(maker, NULL);
  expect_all_over(s, MOST);
}
TEST_ON(targets_go_while_timers_are_made_for_them, a_serial_queue, SERIAL)
TEST_ON(targets_go_while_timers_are_made_for_them, a_concurrent_queue, CONCURRENT)

/* ---- Queues end while timers of a target that has gone are refused ---------------------------------------------- */

typedef struct refusal {
  csuite *t;
  chime_target_t gone;
  chime_queue_t queue;
  int over;
} refusal;

static void *ask_to_be_refused(void *argument) {
  refusal *r = argument;
  csuite *t = r->t;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_timer_t timer = 0;
  options.handler = on_tick;
  options.target = r->gone;
  while (load(&r->over) == 0) {
    chime_status status = chime_timer_create(__atomic_load_n(&r->queue, __ATOMIC_ACQUIRE), &options, &timer);
    if (status != CHIME_ERROR_INVALID_HANDLE && !EXPECT_STATUS(status, CHIME_ERROR_TARGET_GONE)) break;
  }
  EXPECT_EQ(timer, 0);
  return NULL;
}

/* [16]: who is refused must not keep the queue from ending. */
TEST(a_refused_timer_does_not_hold_its_queue_up) {
  enum { THREADS = 2 };
  pthread_t threads[THREADS];
  int spawned[THREADS], rounds = csuite_scaled(1000), number = 0, i;
  refusal *r = csuite_memory(t, sizeof *r);
  dice d = {UINT64_C(0x2EF)};
  r->t = t;
  REQUIRE_OK(chime_target_create(&number, NULL, &r->gone));
  REQUIRE_OK(chime_target_release(r->gone));
  for (i = 0; i < THREADS; i++) spawned[i] = spawn(t, &threads[i], ask_to_be_refused, r);
  for (i = 0; i < rounds; i++) {
    chime_queue_t queue = 0;
    chime_queue_kind kind = i % 2 && csuite_has_dispatch() ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL;
    if (!EXPECT_OK(chime_queue_create(kind, NULL, &queue))) break;
    __atomic_store_n(&r->queue, queue, __ATOMIC_RELEASE);
    dawdle(&d);
    if (!EXPECT_OK(chime_queue_shutdown(queue, PATIENCE))) break;
  }
  store(&r->over, 1);
  for (i = 0; i < THREADS; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
}
