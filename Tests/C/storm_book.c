/* storm_book.c - what a storm has given to Chime, and the callbacks, which check that it is theirs. */
#include "storm.h"

#include <sched.h>

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

void storm_stops(entry *e, chime_status status) {
  if (status == CHIME_OK || status == CHIME_RUNNING) store(&e->left, status == CHIME_RUNNING ? 2 : 1);
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
  csuite *t = e->storm->t;
  EXPECT_EQ(load(&e->finalized), 0);
  add(&e->busy, -1);
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
    if (number < 4 && !e->is_private) storm_call_own_timer(s, tick->timer, &d);
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

void storm_balance(storm *s) {
  csuite *t = s->t;
  int made = load(&s->made) < s->capacity ? load(&s->made) : s->capacity, i;
  for (i = 0; i < made; i++) {
    if (load(&s->book[i].accepted) && !EXPECT(await(&s->book[i].finalized, 1))) return; /* its queue may end later */
    if (!EXPECT_EQ(load(&s->book[i].finalized), load(&s->book[i].accepted))) return;
    if (!EXPECT_EQ(load(&s->book[i].busy), 0)) return;
  }
}
