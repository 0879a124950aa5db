/*
 * named_handlers.c - the handlers of a timer beside its own: called after that, in the order in which their keys came,
 * each with its own context; one that was removed does not start any more, in a tick that has started neither; each
 * finalizer is called once, after the last call. Promises 6, 8, 9 and 10. (What handlers, finalizers and other callbacks do to
 * each other's keys in every combination: Tests/Model. Many threads at once: storm.c.)
 */
#include "harness.h"

static probe *handler_of(probe *p, const char *key) {
  csuite *t = p->t;
  probe *x = probe_of_owner(p, key);
  EXPECT_OK(probe_add(x, key));
  return x;
}

static void activate_fast(csuite *t, probe *p) {
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, 100 * CHIME_MICROSECOND)));
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(keys_are_copied_and_compared_byte_by_byte) {
  static const char *const keys[] = {
      "", "k", "K", "k ", "ke", "\xc3\xa9", "e\xcc\x81" /* the same letter in two code points */, "\xe2\x8f\xb0"};
  enum { KEYS = sizeof keys / sizeof keys[0] };
  probe *p = probe_idle(t, queue, NULL), *handlers[KEYS];
  char key[8];
  for (int i = 0; i < KEYS; i++) {
    strcpy(key, keys[i]);
    handlers[i] = handler_of(p, key);
    memset(key, '?', sizeof key);
  }
  for (int i = 0; i < KEYS; i++) {
    for (int j = 0; j < KEYS; j++) EXPECT_EQ(handlers[j]->finalized, j < i);
    EXPECT_OK(chime_timer_remove_handler(p->timer, keys[i]));
    EXPECT_STATUS(chime_timer_remove_handler(p->timer, keys[i]), CHIME_IGNORED);
  }
}

/* ---- Removing ---------------------------------------------------------------------------------------------------- */

static void remove_oneself(csuite *t, probe *x, const chime_tick *tick) {
  EXPECT_STATUS(chime_timer_remove_handler(tick->timer, x->name), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_remove_handler(tick->timer, x->name), CHIME_IGNORED);
  EXPECT_EQ(load(&x->finalized), 0);
}

/* [8] [9] [16]: and the end of the queue finalizes those that are left. */
TESTS_ON_ALL_QUEUES(a_handler_may_remove_itself) {
  probe *p = probe_idle(t, queue, NULL);
  probe *x = handler_of(p, "x"), *y = handler_of(p, "y"), *idle = handler_of(probe_idle(t, queue, NULL), "x");
  x->on_tick = remove_oneself;
  activate_fast(t, p);
  run_due(t, queue, place);
  if (place == VIRTUAL) ADVANCE(CHIME_MILLISECOND);
  EXPECT(await(&x->finalized, 1) && await(&y->ticks, 5));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&idle->ticks), 0);
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&idle->finalized), 3);
  EXPECT_STATUS(probe_add(probe_of_owner(p, "z"), "z"), CHIME_ERROR_INVALID_HANDLE);
}

static void expect_a_later_tick(csuite *t, probe *x, const chime_tick *tick) { EXPECT(tick->sequence > 1); }

/* [6] [8] [9]: x stays in its first call; y and z would come after it in the same tick. */
TESTS_ON_DISPATCH_QUEUES(another_thread_may_change_the_handlers_of_a_tick_that_runs) {
  probe *p = probe_idle(t, queue, NULL);
  probe *x = handler_of(p, "x"), *y = handler_of(p, "y"), *z = handler_of(p, "z");
  probe *second_x = probe_of_owner(p, "x"), *new_x = probe_of_owner(p, "x"), *new_z = probe_of_owner(p, "z");
  new_x->on_tick = new_z->on_tick = expect_a_later_tick;
  x->on_tick = stay_until_gate_opens;
  activate_fast(t, p);
  EXPECT(await(&x->flag, 1));
  EXPECT_STATUS(probe_add(second_x, "x"), CHIME_RUNNING);
  EXPECT_OK(chime_timer_remove_handler(p->timer, "y")); /* no call of it is under way */
  EXPECT_OK(probe_add(new_z, "z"));
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&z->finalized), 0); /* when the tick has ended */
  EXPECT_OK(probe_add(new_x, "x"));         /* the second has not been called, and never will be */
  EXPECT_EQ(load(&second_x->finalized), 1); /* nothing holds it: the tick began before it came */
  open_gate(x);
  EXPECT(await(&x->finalized, 1) && await(&y->finalized, 1) && await(&z->finalized, 1));
  EXPECT(await(&new_x->ticks, 2) && await(&new_z->ticks, 2));
  EXPECT_EQ(load(&x->ticks), 1);
  EXPECT_EQ(load(&y->ticks) + load(&z->ticks) + load(&second_x->ticks), 0);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&new_x->finalized) + load(&new_z->finalized), 2);
}

/* ---- What handlers do to the timer ------------------------------------------------------------------------------- */

/* The tick ends with the last of its handlers: for cancel_and_wait, for the statuses, for the finalizers. */
TESTS_ON_DISPATCH_QUEUES(a_timer_is_busy_until_its_named_handlers_have_returned) {
  probe *p = probe_idle(t, queue, NULL), *x = handler_of(p, "x"), *y = handler_of(p, "y");
  x->on_tick = stay_until_gate_opens;
  activate_fast(t, p);
  EXPECT(await(&x->flag, 1));
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "x"), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&p->finalized), 0);
  open_gate(x);
  EXPECT(await(&p->finalized, 1) && await(&x->finalized, 1) && await(&y->finalized, 1));
  EXPECT(load(&x->ticks) == 1 && load(&y->ticks) == 1);
}
