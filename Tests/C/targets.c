/*
 * targets.c - weak targets: a handler finds its target alive for the length of the call; with the last reference the
 * target's timers end at once; each destructor is called once, after the last handler that had the object, and may call
 * anything. Promises 8, 9, 10 and 11. (Timers in each state, and each call on them: Model. Many threads at once: storm.c.)
 */
#include "harness.h"

/* ---- The last release ------------------------------------------------------------------------------------------- */

static void expect_gone(csuite *t, probe *p, const chime_tick *tick) { EXPECT(tick->target == NULL); }

/* A timer of that target, idle and quiet. Once the target is gone its cancel handler gets none. */
static probe *user_of(probe *o, chime_queue_t queue, probe_action on_tick) {
  csuite *t = o->t;
  probe *p = probe_new(t, queue, NULL);
  p->target = o;
  p->on_tick = on_tick;
  p->on_cancelled = expect_gone;
  o->other = p;
  chime_timer_options options = probe_full_options(p);
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  return p;
}

static probe *ticking_user_of(probe *o, chime_queue_t queue, probe_action on_tick) {
  csuite *t = o->t;
  probe *p = user_of(o, queue, on_tick);
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, 100 * CHIME_MICROSECOND)));
  return p;
}

/* A cancelled timer whose target is gone never runs again, and nothing changes it. */
static void expect_over(csuite *t, chime_timer_t timer) {
  EXPECT_STATUS(chime_timer_activate(timer, EVERY(1, 1)), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_restart(timer, EVERY(1, 1)), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_fire(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_cancel(timer), info_of(t, timer).busy ? CHIME_IGNORED | CHIME_RUNNING : CHIME_IGNORED);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT_EQ(deadline_of(t, timer), CHIME_FOREVER);
}

TESTS_ON_DISPATCH_QUEUES(the_last_release_stops_a_fast_timer) { /* [5] [8] */
  probe *o = probe_target(t, "o"), *p = ticking_user_of(o, queue, NULL);
  EXPECT(await(&p->ticks, 5));
  EXPECT_TOOK_EFFECT(chime_target_release(o->id));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
  EXPECT(await(&p->cancelled, 1));
  EXPECT_EQ(load(&o->finalized), 1); /* no handler that had it is left, or the cancel handler would not have come */
  int ticks = load(&p->ticks);
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), ticks);
  EXPECT_EQ(load(&p->finalized), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_OK(chime_timer_release(p->timer));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
}

static void expect_on_the_handlers_thread(csuite *t, probe *o) {
  EXPECT_EQ(load(&o->other->busy), 0);
  EXPECT_EQ(load(&o->other->returned), 1);
  EXPECT_EQ(load(&o->other->cancelled), 0); /* the cancel handler and the finalizer come later */
  EXPECT_EQ(load(&o->other->finalized), 0);
  EXPECT(pthread_equal(o->thread, o->other->thread));
}

/* [8]: whoever holds it last calls the destructor, here the handler's thread, after it has returned. */
TESTS_ON_DISPATCH_QUEUES(a_running_handler_keeps_its_target) {
  probe *o = probe_target(t, "o"), *p;
  o->on_finalize = expect_on_the_handlers_thread;
  p = ticking_user_of(o, queue, stay_until_gate_opens);
  EXPECT(await(&p->flag, 1));
  EXPECT_STATUS(chime_target_release(o->id), CHIME_RUNNING);
  expect_over(t, p->timer);
  EXPECT_STATUS(chime_target_retain(o->id, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&o->finalized), 0);
  EXPECT_EQ(load(&p->cancelled), 0);
  open_gate(p);
  EXPECT(await(&p->cancelled, 1));
  EXPECT_EQ(load(&o->finalized), 1);
  EXPECT_EQ(load(&p->finalized), 0);
  come_to_rest(t, p->timer);
  EXPECT_OK(chime_timer_release(p->timer));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
}

/* ---- What becomes of the timers --------------------------------------------------------------------------------- */

enum { HELD = 4 };

static void try_to_get_away(csuite *t, probe *p) {
  probe **held = p->user;
  EXPECT_STATUS(chime_target_retain(p->target->id, NULL), CHIME_ERROR_INVALID_HANDLE);
  for (int i = 0; i < HELD; i++) {
    EXPECT_STATUS(chime_timer_restart(held[i]->timer, EVERY(1, 1)), CHIME_ERROR_TARGET_GONE);
    EXPECT_STATUS(chime_timer_fire(held[i]->timer), CHIME_IGNORED);
    EXPECT_OK(chime_timer_reschedule(held[i]->timer, EVERY(1, 1)));
  }
}

/* In the finalizer of one that nobody holds: the last reference has gone, some timers have not been cancelled yet. */
VIRTUAL_TEST(no_timer_gets_away_while_its_target_goes) { /* [11] */
  probe *o = probe_target(t, "o"), *held[HELD], *unheld = probe_new(t, queue, "u");
  unheld->target = o;
  unheld->user = held;
  unheld->on_finalize = try_to_get_away;
  chime_timer_options options = probe_options(unheld);
  for (int i = 0; i < HELD; i++) {
    if (i == HELD / 2) EXPECT_OK(chime_timer_start(queue, &options, EVERY(10, 10), NULL));
    held[i] = user_of(o, queue, NULL);
    EXPECT_OK(chime_timer_activate(held[i]->timer, EVERY(10, 10)));
  }
  EXPECT_TOOK_EFFECT(chime_target_release(o->id));
  EXPECT_LOG("u. o.");
  for (int i = 0; i < HELD; i++) expect_over(t, held[i]->timer);
  ADVANCE(100);
  for (int i = 0; i < HELD; i++) EXPECT_EQ(held[i]->ticks, 0);
}

/* ---- The destructor --------------------------------------------------------------------------------------------- */

static void call_the_library(csuite *t, probe *o) {
  probe *user = o->other, *distant = o->user, *p = probe_every_quietly(t, user->queue, CHIME_HOUR);
  int inside = load(&user->returned) == 1; /* called by the end of a handler of `user` */
  EXPECT_STATUS(chime_target_retain(o->id, NULL), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_target_release(o->id), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_timer_cancel_and_wait(user->timer, CHIME_FOREVER),
                inside ? CHIME_ERROR_WOULD_DEADLOCK : CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_release(user->timer), inside ? CHIME_RUNNING : CHIME_OK);
  EXPECT_TOOK_EFFECT(chime_timer_release(distant->timer));
  EXPECT_OK(chime_queue_shutdown(distant->queue, PATIENCE));
  EXPECT_OK(chime_timer_release(p->timer));
  store(&o->flag, 1);
}

static void release_the_target(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_target_release(p->target->id), CHIME_RUNNING);
  EXPECT_EQ(load(&p->target->finalized), 0); /* this call holds it */
  EXPECT_STATUS(chime_target_retain(p->target->id, NULL), CHIME_ERROR_INVALID_HANDLE);
  expect_over(t, tick->timer);
}

/* [9]: with no lock held; once in the releasing call, once after the handler that had the object. */
static void a_destructor_may_call_anything(csuite *t, where place, chime_queue_t queue, int is_after_a_handler) {
  probe *o = probe_target(t, "o"), *distant, *p;
  QUEUE_OR_RETURN(ending, SERIAL);
  o->user = distant = user_of(o, ending, NULL);
  o->on_finalize = call_the_library;
  p = user_of(o, queue, release_the_target);
  EXPECT_OK(chime_timer_activate(distant->timer, AFTER(CHIME_HOUR)));
  /* Its registration has the object, too: let go after `p`'s handler, the destructor would run there. */
  EXPECT(await(&distant->armed, 1));
  EXPECT_OK(chime_queue_sync(ending, ignore_call, NULL, PATIENCE));
  if (is_after_a_handler) {
    EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, CHIME_HOUR)));
    run_due(t, queue, place);
  } else {
    EXPECT_TOOK_EFFECT(chime_target_release(o->id));
    EXPECT_EQ(load(&o->flag), 1);
  }
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&o->flag), 1);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&o->finalized), 1);
  EXPECT_EQ(load(&distant->finalized), 1);
  EXPECT_EQ(load(&p->ticks), is_after_a_handler);
}
TESTS_ON_ALL_QUEUES(the_destructor_in_the_release_may_call_anything) {
  a_destructor_may_call_anything(t, place, queue, 0);
}
TESTS_ON_ALL_QUEUES(the_destructor_after_a_handler_may_call_anything) {
  a_destructor_may_call_anything(t, place, queue, 1);
}

static void stay_in_the_destructor(csuite *t, probe *o) { stay_until_gate_opens(t, o, NULL); }

/* The timer is busy until the destructor that its handler's end calls has returned. */
TESTS_ON_DISPATCH_QUEUES(shutdown_waits_for_the_destructor_as_does_cancel_and_wait) {
  probe *o = probe_target(t, "o"), *p;
  o->on_finalize = stay_in_the_destructor;
  p = ticking_user_of(o, queue, release_the_target);
  EXPECT(await(&o->flag, 1));
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 30 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  int64_t begin = monotonic_ns();
  EXPECT_STATUS(chime_queue_shutdown(queue, 30 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_queue_shutdown(queue, 0), CHIME_ERROR_TIMED_OUT);
  EXPECT_EQ(load(&o->finalized), 0);
  EXPECT_EQ(load(&p->finalized), 0);
  csuite_keep_memory(t);
  open_gate(o);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&o->finalized), 1);
}
