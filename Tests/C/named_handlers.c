/*
 * named_handlers.c - the handlers of a timer beside its own: called after that, in the order in which their keys came,
 * each with its own context; one that was removed does not start any more, in a tick that has started neither; each
 * finalizer is called once, after the last call. Promises 6, 8, 9 and 10. (What handlers, finalizers and other callbacks do to
 * each other's keys in every combination: Tests/Model. Many threads at once: storm.c.)
 */
#include "timeline.h"

static probe *handler_of(probe *p, const char *key) {
  csuite *t = p->t;
  probe *x = probe_of_owner(p, key);
  EXPECT_OK(probe_add(x, key));
  return x;
}

static void activate_fast(csuite *t, probe *p) {
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, 100 * CHIME_MICROSECOND)));
}

/* ---- Order, ticks and contexts ---------------------------------------------------------------------------------- */

TIMELINE(handlers_are_called_after_the_timers_own_in_the_order_in_which_they_came,
         "a 10/10; a.add y; a.add x; +10; a.add b; +10 | a1@10 y1 x1 a2@20 y2 x2 b2; a.release | y. x. b. a.")

/* Their ticks are compared with the timer's own (timeline.c). */
TIMELINE(each_handler_gets_the_same_tick_with_its_own_context, "a 10/10; a.add x; a.add y; >35; +0 | a1+2>35 x1 y1")

/* They belong to the timer, not to one of its lives. */
TIMELINE(handlers_may_be_added_in_any_state_and_stay,
         "a new; a.add i; a.activate 10; a.add r; a.suspend; a.add s; a.resume; +10; a is finished; a.add f; "
         "a.activate; a.cancel; a.add c; a.restart; +10 | a1@10 i1 r1 s1 a1@20 i1 r1 s1 f1 c1")

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

TIMELINE(a_handler_takes_the_place_of_the_one_that_had_its_key,
         "a 10/10; a.add x; a.add y; +10; a.add z as x | a1@10 x1 y1 x.; +10 | a2@20 z2 y2; "
         "a.remove x; +10 | z. a3@30 y3")

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

/* It comes back as one that never was there: after the others. */
TIMELINE(a_handler_that_was_removed_between_two_ticks_is_not_called,
         "a 10/10; a.add x; a.add y; +10; a.remove x | a1@10 x1 y1 x.; a.remove x?; +10 | a2@20 y2; "
         "a.add x; +10 | a3@30 y3 x3")
TIMELINE(a_removed_handler_does_not_start_in_a_tick_that_has_started,
         "a 10/10; a.add w; a.add x; a.add y; a.add z; +10 | a1@10 w1 x1 y1 z1; "
         "a: x1 a.remove x; w: x1 a.remove y; +10 | a2@20 w2 z2 x. y.")

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

/* [8] [9]: and the finalizers come after the last of them. */
TIMELINE(all_handlers_of_a_tick_run_when_one_releases_the_timer,
         "a 10/10; a.add x; a.add y; x: a.release!, a.remove x -> INVALID_HANDLE; +30 | a1@10 x1 y1 x. y. a.")
TIMELINE(a_named_handler_cannot_wait_for_its_own_timer,
         "a 10/10; a.add x; x: a is busy, a.cancel_and_wait -> WOULD_DEADLOCK, a is cancelled; +20 | a1@10 x1")

/* The tick ends with the last of its handlers: for cancel_and_wait, for the statuses, for the finalizers. */
TESTS_ON_DISPATCH_QUEUES(a_timer_is_busy_until_its_named_handlers_have_returned) {
  probe *p = probe_idle(t, queue, NULL), *x = handler_of(p, "x"), *y = handler_of(p, "y");
  x->on_tick = stay_until_gate_opens;
  activate_fast(t, p);
  EXPECT(await(&x->flag, 1));
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT_STATUS(chime_timer_release(p->timer), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "x"), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&x->finalized) + load(&y->finalized) + load(&p->finalized), 0);
  open_gate(x);
  EXPECT(await(&p->finalized, 1) && await(&x->finalized, 1) && await(&y->finalized, 1));
  EXPECT(load(&x->ticks) == 1 && load(&y->ticks) == 1);
}

/* ---- Finalizers ------------------------------------------------------------------------------------------------- */

static void count_in(const chime_tick *tick, void *context) { ++*(int *)context; }

VIRTUAL_TEST(finalizers_of_named_handlers_may_be_missing) {
  probe *p = probe_every(t, queue, "a", 10);
  int calls = 0;
  for (int i = 0; i < 2; i++) {
    EXPECT_OK(chime_timer_add_handler(p->timer, "x", count_in, &calls, NULL));
    ADVANCE(10);
    EXPECT_EQ(calls, i + 1);
    EXPECT_OK(i == 0 ? chime_timer_remove_handler(p->timer, "x") : chime_timer_release(p->timer));
  }
}

/* ---- Timers with targets ----------------------------------------------------------------------------------------- */

/* Later handlers are of no use, but no error. */
TIMELINE(the_target_lives_until_the_last_handler_has_returned,
         "O target; a 10/10 of O; a.add x; a.add y; +10; x: O.release; +20 | a1@10 x1 y1 a2@20 x2 y2 O.; "
         "a.add z; a.release | x. y. z. a.")
TIMELINE(the_end_of_the_target_ends_the_handlers_of_a_timer_that_nobody_holds,
         "O target; a 10/10 self of O; a.add x; O.release; +30 | x. a. O.; a.add y -> INVALID_HANDLE")
