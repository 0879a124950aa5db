/* storm_objects.c - a storm's calls on targets, on values that expire, and on queues. */
#include "storm.h"

/* ---- Targets ----------------------------------------------------------------------------------------------------- */

static void make_target(storm *s, entry **place) {
  entry *e = storm_entry(s, NULL), *nothing = NULL;
  if (e == NULL) return;
  if (!LISTED(chime_target_create(e, storm_finalize, &e->id), MAY(OK))) return;
  storm_accepts(e, CHIME_OK);
  if (__atomic_compare_exchange_n(place, &nothing, e, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  LISTED(chime_target_release(e->id), MAY(OK)); /* another thread was first */
}

void storm_call_target(storm *s, dice *d) {
  csuite *t = s->t;
  entry **place = &s->shared[TARGETS][roll_below(d, PLACES)], *e = LOAD(*place);
  void *object = NULL;
  if (e == NULL) {
    make_target(s, place);
  } else if (roll_below(d, 4) == 0) {
    e = SWAP(*place, NULL);
    if (e == NULL) return;
    LISTED(chime_target_release(e->id), MAY(OK));
    __atomic_store_n(&s->gone, e, __ATOMIC_RELEASE);
  } else if (LISTED(chime_target_retain(e->id, &object), MAY(OK) | STALE) && object != NULL) {
    EXPECT(object == e);
    storm_hold(e);
    storm_let_go(e);
    LISTED(chime_target_release(e->id), MAY(OK)); /* perhaps the last */
  }
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static int64_t some_lifetime(storm *s, dice *d) {
  return roll_below(d, 4) == 0 ? CHIME_HOUR : roll_below(d, 100) * storm_unit(s);
}

/* Gives the value an expiry handler, in place of the one that it has. */
static void put_handler(storm *s, entry *value) {
  entry *e = storm_entry(s, value);
  if (e == NULL) return;
  chime_status status = chime_expiring_on_expiry(value->id, storm_on_expiry, e, storm_finalize);
  LISTED(status, MAY(OK) | MAY(IGNORED) | STALE);
  storm_accepts(e, status);
}

static void release_value(storm *s, entry *e) {
  chime_status status = chime_expiring_release(e->id);
  LISTED(status, MAY(OK) | MAY(RUNNING));
  storm_stops(e, status);
  LISTED(chime_expiring_release(e->id), STALE);
}

static void make_value(storm *s, entry **place, dice *d) {
  entry *e = storm_entry(s, NULL), *old;
  if (e == NULL) return;
  store(&e->left, 2); /* it expires once */
  chime_status status = chime_expiring_create(s->queue, e, storm_finalize, some_lifetime(s, d), &e->id);
  LISTED(status, MAY(OK));
  if (!storm_accepts(e, status)) return;
  put_handler(s, e);
  old = SWAP(*place, e);
  if (old != NULL) release_value(s, old);
}

void storm_call_value(storm *s, dice *d) {
  csuite *t = s->t;
  entry **place = &s->shared[VALUES][roll_below(d, PLACES)], *e = LOAD(*place);
  void *found = e;
  if (e == NULL || roll_below(d, 16) == 0) {
    make_value(s, place, d);
    return;
  }
  if (roll_below(d, 16) == 0) put_handler(s, e);
  if (roll_below(d, 4) == 0) LISTED(chime_expiring_reset(e->id, some_lifetime(s, d)), MAY(OK) | MAY(IGNORED) | STALE);
  chime_status status = chime_expiring_acquire(e->id, &found);
  LISTED(status, MAY(OK) | MAY(IGNORED) | STALE);
  EXPECT(found == (status == CHIME_IGNORED ? NULL : e));
  if (status != CHIME_OK) return;
  add(&s->acquired, 1);
  storm_hold(e);
  storm_let_go(e);
  LISTED(chime_expiring_yield(e->id), MAY(OK));
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void sync_queue(storm *s, chime_queue_t queue, dice *d, int inside) {
  csuite *t = s->t;
  int ran = 0;
  uint32_t listed = MAY(ERROR_UNSUPPORTED);
  chime_status status = chime_queue_sync(queue, count_call, &ran, roll_below(d, 200) * CHIME_MICROSECOND);
  if (s->place == SERIAL || s->place == DISPATCH || s->place == PRECISE) listed = MAY(OK) | MAY(TIMED_OUT);
  if (inside) listed |= MAY(OK); /* inside a callback of the queue */
  LISTED(status, listed);
  EXPECT_EQ(load(&ran), status == CHIME_OK);
}

static void give_function(storm *s) {
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return;
  store(&e->left, 2);
  chime_status status = chime_queue_async(s->queue, storm_on_function, e, storm_finalize);
  LISTED(status, MAY(OK));
  storm_accepts(e, status);
}

/* One that ends with a timer on it, perhaps beside its tick; other threads then call with the timer's id. */
static void make_and_release_a_queue(storm *s, dice *d) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  entry *e = storm_entry(s, NULL);
  if (e == NULL) return;
  int is_serial = roll_below(d, 2);
  LISTED(chime_queue_create(is_serial ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &queue), MAY(OK));
  chime_status status =
      chime_timer_after(queue, roll_below(d, 50) * CHIME_MICROSECOND, ignore_tick, e, storm_finalize, &timer);
  LISTED(status, MAY(OK));
  storm_accepts(e, status);
  LISTED(chime_queue_release(queue), MAY(OK) | MAY(RUNNING));
  LISTED(chime_queue_release(queue), STALE | MAY(IGNORED));
  storm_remember(s, timer, d);
}

static void look_at_queue(storm *s, chime_queue_t queue) {
  csuite *t = s->t;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  char text[512] = "";
  LISTED(chime_queue_get_stats(queue, &stats), MAY(OK));
  LISTED(chime_queue_dump(queue, text, sizeof text, NULL), MAY(OK));
  EXPECT(strlen(text) < sizeof text);
}

static void advance_queue(storm *s, chime_queue_t queue, dice *d, int inside) {
  uint32_t listed = MAY(OK) | MAY(ERROR_BUSY) | MAY(ERROR_LIMIT);
  if (s->place != VIRTUAL) listed = MAY(ERROR_UNSUPPORTED);
  if (s->place == VIRTUAL && inside) listed = MAY(ERROR_WOULD_DEADLOCK);
  LISTED(chime_queue_advance(queue, roll_below(d, 100)), listed);
}

void storm_call_queue(storm *s, dice *d, int inside) {
  uint32_t moves = s->place == VIRTUAL ? MAY(OK) : MAY(ERROR_UNSUPPORTED);
  int64_t number = roll_below(d, 100);
  if (number < 1) look_at_queue(s, s->queue);
  else if (number < 5) LISTED(chime_queue_jump(s->queue, roll_below(d, 1000)), moves);
  else if (number < 20) make_and_release_a_queue(s, d);
  else if (number < 45) advance_queue(s, s->queue, d, inside);
  else if (number < 70) sync_queue(s, s->queue, d, inside);
  else give_function(s);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void storm_release_all(storm *s) {
  for (int i = 0; i < PLACES; i++) {
    entry *timer = SWAP(s->shared[TIMERS][i], NULL), *target = SWAP(s->shared[TARGETS][i], NULL);
    entry *value = SWAP(s->shared[VALUES][i], NULL);
    if (timer != NULL) LISTED(chime_timer_release(timer->id), MAY(OK) | MAY(RUNNING) | STALE);
    if (target != NULL) LISTED(chime_target_release(target->id), MAY(OK));
    if (value != NULL) release_value(s, value);
  }
}
