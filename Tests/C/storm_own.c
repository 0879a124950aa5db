/*
 * storm_own.c - a timer in the midst of a storm that only one thread knows: no call of another reaches it, also not one
 * with the id of a timer that had its slot before; and each call says what it does to its handlers.
 */
#include "storm.h"

static void make(caller *c) {
  storm *s = c->storm;
  csuite *t = s->t;
  reign *reign = LOAD(s->reign);
  entry *e = storm_entry(s, reign, NULL);
  chime_timer_options options =
      TIMER_OPTIONS(.handler = storm_on_tick, .context = e, .finalizer = storm_finalize_on_queue);
  c->timer = NULL;
  memset(c->named, 0, sizeof c->named);
  if (e == NULL) return;
  e->is_private = 1;
  chime_status status =
      chime_timer_start(reign->queue, &options, EVERY(0, (20 + roll_below(&c->d, 80)) * storm_unit(s)), &e->id);
  LISTED(status, MAY(OK) | storm_or_ended(s));
  if (!storm_accepts(e, status)) return;
  c->timer = e;
  if (!s->queues_end) c->generation = generation_of(t, e->id);
}

void storm_release_private(caller *c) {
  storm *s = c->storm;
  if (c->timer == NULL) return;
  chime_status status = chime_timer_release(c->timer->id);
  LISTED(status, MAY(OK) | MAY(RUNNING) | storm_or_ended(s));
  storm_stops(c->timer, status);
  storm_remember(s, c->timer->id, &c->d);
  c->timer = NULL;
}

/* Adds, replaces or removes a named handler. */
static void change_handlers(caller *c) {
  static const char *const keys[OWN_KEYS] = {"a", "b", "c", "d"};
  storm *s = c->storm;
  int64_t k = roll_below(&c->d, OWN_KEYS);
  entry *before = c->named[k], *after = roll_below(&c->d, 3) == 0 ? NULL : storm_entry(s, c->timer->reign, NULL);
  uint32_t listed = (before != NULL ? MAY(OK) | MAY(RUNNING) : 0) | storm_or_ended(s);
  chime_status status;
  if (after == NULL) {
    status = chime_timer_remove_handler(c->timer->id, keys[k]);
    LISTED(status, listed | (before == NULL ? MAY(IGNORED) : 0));
  } else {
    status = chime_timer_add_handler(c->timer->id, keys[k], storm_on_named, after, storm_finalize);
    LISTED(status, listed | MAY(OK));
    storm_accepts(after, status);
  }
  if (before != NULL) storm_stops(before, status);
  c->named[k] = after;
}

/* Between the two no tick starts. */
static void suspend_and_resume(caller *c) {
  storm *s = c->storm;
  chime_status status = chime_timer_suspend(c->timer->id);
  LISTED(status, MAY(OK) | MAY(RUNNING) | storm_or_ended(s));
  storm_stops(c->timer, status);
  LISTED(chime_timer_cancel(LOAD(s->reign)->queue), STALE); /* an id of another kind */
  store(&c->timer->left, 0);
  LISTED(chime_timer_resume(c->timer->id), MAY(OK) | storm_or_ended(s));
  if (!s->queues_end) chime_timer_generation(c->timer->id, &c->generation);
}

void storm_call_private(caller *c) {
  storm *s = c->storm;
  csuite *t = s->t;
  if (c->timer == NULL) make(c);
  if (c->timer == NULL) return;
  if (!s->queues_end) { /* [10] */
    EXPECT_EQ(state_of(t, c->timer->id), CHIME_STATE_RUNNING);
    EXPECT_OK(chime_timer_check_generation(c->timer->id, c->generation));
    EXPECT(deadline_of(t, c->timer->id) < now_of(t, s->reign->queue) + CHIME_SECOND);
  }
  switch (roll_below(&c->d, 8)) {
    case 0: storm_release_private(c); break;
    case 1: suspend_and_resume(c); break;
    case 2: LISTED(chime_timer_fire(c->timer->id), MAY(OK) | storm_or_ended(s)); break;
    default: change_handlers(c); break;
  }
}
