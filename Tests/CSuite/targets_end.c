/*
 * targets_end.c - what becomes of a target's timers when it goes, with and beside their queues, and what its destructor may
 * do. Promises 8, 9 and 11.
 */
#include "objects.h"

/* ---- What becomes of the timers --------------------------------------------------------------------------------- */

/* [8] */
TESTS_ON_ALL_QUEUES(a_timer_that_nobody_holds_is_released_with_its_target) {
  chime_schedule schedule = schedule_of(CHIME_HOUR, CHIME_HOUR);
  chime_timer_options options;
  probe *a, *b, *c;
  object *o;
  QUEUE_OR_RETURN(queue, place);
  o = object_new(t, "o");
  a = probe_new(t, queue, "a");
  b = probe_new(t, queue, "b");
  c = probe_new(t, queue, "c");
  options = options_of(a, o);
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  options = options_of(b, o);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &b->timer));
  options = options_of(c, o);
  options.flags = CHIME_TIMER_SELF_RELEASE;
  EXPECT_OK(chime_timer_create(queue, &options, &c->timer)); /* never activated */
  a->on_cancelled = b->on_cancelled = expect_gone;
  EXPECT_EQ(stats_of(t, queue).timers, 3);
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  EXPECT(is_stale(b->timer));
  EXPECT(is_stale(c->timer));
  EXPECT(await(&o->destroyed, 1)); /* a registration handler that runs holds it until it returns */
  EXPECT(await(&a->finalized, 1)); /* without waiting for the end of the queue */
  EXPECT(await(&b->finalized, 1));
  EXPECT(await(&c->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&a->cancelled), 1);
  EXPECT_EQ(load(&b->cancelled), 1);
  EXPECT_EQ(load(&c->cancelled), 0);
  EXPECT_EQ(load(&a->finalized) + load(&b->finalized) + load(&c->finalized), 3);
}

static void release_target_of_unheld(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  object *o = p->user;
  expect_alive(p, tick);
  EXPECT_OK(chime_target_release(o->target));
  EXPECT(is_stale(tick->timer));
  EXPECT_EQ(load(&o->destroyed), 0);
  EXPECT_EQ(load(&p->finalized), 0);
}

/* The same in its own handler: destructor, cancel handler, finalizer, in this order. */
TESTS_ON_ALL_QUEUES(a_timer_that_nobody_holds_may_release_its_own_target) {
  chime_schedule schedule = schedule_of(0, CHIME_MILLISECOND);
  chime_timer_options options;
  object *o;
  probe *p;
  QUEUE_OR_RETURN(queue, place);
  o = object_new(t, "o");
  p = probe_new(t, queue, "a");
  options = options_of(p, o);
  p->quiet = place != VIRTUAL;
  p->on_tick = release_target_of_unheld;
  p->on_cancelled = expect_gone;
  o->user = p;
  o->on_destroy = expect_after_handler;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  run_due(t, queue, place);
  EXPECT(await(&p->finalized, 1));
  if (place == VIRTUAL) EXPECT_LOG("a^ a1@0 ~o a- a.");
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&o->destroyed), 1);
}

/* No cancel handler is called: none of them moves into cancelled. */
TIMELINE(
    a_timer_at_rest_stays_as_it_is_and_never_runs_again,
    "O target; a new full of O; b 5 full of O; c 50/50 full of O; +5; c.cancel; +5 | b^ c^ b1@5 c-; O.release | ~O; "
    "a is over; b is over; c is over; a.fire -> TARGET_GONE; b.fire -> TARGET_GONE; c.fire?; "
    "b.activate -> TARGET_GONE; a.reschedule 5; a.activate -> TARGET_GONE; "
    "a is idle; b is finished; c is cancelled; +100 |; a.release; b.release; c.release | a. b. c.")

TIMELINE(a_suspended_timer_is_cancelled,
         "O target; a 10/10 full of O; b 10/10 remaining full of O; +5; a.suspend; b.suspend | a^ b^; O.release | ~O; "
         "a is over; b is over; a.fire?; b.fire?; a is cancelled; b is cancelled; +100 | a- b-")

/* [7] */
TIMELINE(a_fire_that_has_not_come_is_dropped,
         "O target; a new full of O; b 50/50 full of O; c 50/50 full of O; d 0 full of O; +1 | b^ c^ d^ d1@0; "
         "c.suspend; a.fire; b.fire; c.fire; d.fire; O.release | ~O; +100 | b- c-")

/* What was to be told is told, without the object: the registration of an activation that was made in time. */
TIMELINE(a_registration_that_has_not_come_comes_without_the_target,
         "O target; a 0/10 full of O; O.release; +100 | ~O a^ a-")

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(a_thousand_timers_end_with_their_target) {
  enum { TIMERS = 1000 };
  int i, over = 0, cancelled = 0, finalized = 0;
  probe **all = csuite_memory(t, TIMERS * sizeof *all), *other;
  object *o;
  QUEUE_OR_RETURN(queue, place);
  o = object_new(t, "o");
  other = probe_every_quietly(t, queue, CHIME_HOUR); /* without a target */
  for (i = 0; i < TIMERS; i++) {
    chime_schedule schedule = schedule_of(i % 2 ? CHIME_HOUR + i : i, CHIME_HOUR);
    all[i] = user_of(o, queue, "a");
    all[i]->on_armed = expect_alive_or_gone;
    EXPECT_OK(chime_timer_activate(all[i]->timer, &schedule));
  }
  run_due(t, queue, place);
  EXPECT_EQ(stats_of(t, queue).running, TIMERS + 1);
  EXPECT_OK(chime_target_release(o->target));
  if (place == VIRTUAL) EXPECT_EQ(o->destroyed, 1);
  EXPECT_EQ(stats_of(t, queue).running, 1);
  EXPECT_EQ(stats_of(t, queue).timers, TIMERS + 1);
  for (i = 0; i < TIMERS; i++) over += state_of(t, all[i]->timer) == CHIME_STATE_CANCELLED;
  EXPECT_EQ(over, TIMERS);
  EXPECT_EQ(state_of(t, other->timer), CHIME_STATE_RUNNING);
  csuite_shutdown(t, queue);
  for (i = 0; i < TIMERS; i++) {
    cancelled += load(&all[i]->cancelled);
    finalized += load(&all[i]->finalized);
  }
  EXPECT_EQ(cancelled, TIMERS);
  EXPECT_EQ(finalized, TIMERS);
  EXPECT_EQ(load(&o->destroyed), 1);
}
TEST_ON(a_thousand_timers_end_with_their_target, a_concurrent_queue, CONCURRENT)

/* The next one is in the same place, maybe; the target does not know it. */
TIMELINE(
    a_timer_may_be_released_before_its_target,
    "O target; a 10/10 full of O; +10; a.release | a^ a1@10 a- a.; b 10/10; O.release | ~O; b is running; +10 | b1@20")

TESTS_ON_ALL_QUEUES(a_queue_may_end_before_its_timers_target) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p = distant_user_of(o, queue, expect_alive);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT_EQ(load(&o->destroyed), 0);
  EXPECT_OK(chime_target_retain(o->target, NULL)); /* it lives on, for timers of other queues */
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(load(&o->destroyed), 1);
}

TESTS_ON_ALL_QUEUES(a_queue_may_end_after_its_timers_target) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p = distant_user_of(o, queue, expect_gone);
  EXPECT_OK(chime_target_release(o->target));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT_EQ(load(&p->armed), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
  EXPECT(is_stale(p->timer));
}

/* Timers of one target on several queues. */
TEST(a_target_ends_its_timers_on_every_queue) {
  static const where places[] = {VIRTUAL, SERIAL, CONCURRENT, GLOBAL};
  enum { PLACES = sizeof places / sizeof places[0] };
  probe *p[PLACES];
  uint64_t generations[PLACES];
  object *o;
  int i;
  if (csuite_skips_without_dispatch(t)) return;
  o = object_new(t, "o");
  for (i = 0; i < PLACES; i++) {
    QUEUE_OR_RETURN(queue, places[i]);
    p[i] = distant_user_of(o, queue, expect_gone);
    generations[i] = generation_of(t, p[i]->timer);
  }
  EXPECT_OK(chime_target_release(o->target));
  for (i = 0; i < PLACES; i++) {
    EXPECT(generation_of(t, p[i]->timer) != generations[i]);
    expect_over(t, p[i]->timer);
  }
}

/* ---- The destructor --------------------------------------------------------------------------------------------- */

static void call_the_library(object *o) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  object *next = csuite_memory(t, sizeof *next);
  probe *p;
  int inside = load(&o->user->returned) == 1; /* called by the end of a handler of o->user */
  EXPECT_STATUS(chime_target_retain(o->target, NULL), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_target_release(o->target), CHIME_ERROR_INVALID_HANDLE);
  o->status = chime_timer_cancel_and_wait(o->user->timer, CHIME_FOREVER);
  EXPECT_STATUS(o->status, inside ? CHIME_ERROR_WOULD_DEADLOCK : CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_release(o->user->timer), inside ? CHIME_RUNNING : CHIME_OK);
  EXPECT_TOOK_EFFECT(chime_timer_release(o->other->timer));
  EXPECT_OK(chime_queue_shutdown(o->other->queue, PATIENCE));
  next->t = t;
  next->name = "n";
  EXPECT_OK(chime_target_create(next, object_destroy, &next->target));
  p = distant_user_of(next, o->queue, expect_gone);
  EXPECT_TOOK_EFFECT(chime_timer_reschedule(p->timer, &schedule));
  EXPECT_OK(chime_target_release(next->target));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
  EXPECT_TOOK_EFFECT(chime_timer_release(p->timer));
  store(&o->flag, 1);
}

static void nothing(void *context) { (void)context; }

/* [9]: with no lock held; once in the releasing call, once after the handler that had the object. */
static void a_destructor_may_call_anything(csuite *t, where place, probe_action on_tick) {
  chime_schedule schedule = schedule_of(0, CHIME_HOUR);
  object *o;
  probe *p;
  QUEUE_OR_RETURN(queue, place);
  QUEUE_OR_RETURN(ending, SERIAL);
  o = object_new(t, "o");
  p = user_of(o, queue, "a");
  p->quiet = 1;
  p->on_cancelled = expect_gone;
  if (on_tick != NULL) p->on_tick = on_tick;
  o->on_destroy = call_the_library;
  o->queue = queue;
  o->user = p;
  o->other = distant_user_of(o, ending, expect_gone);
  /* Its registration has the object, too: let go after `p`'s handler, the destructor would run there. */
  EXPECT(await(&o->other->armed, 1));
  EXPECT_OK(chime_queue_sync(ending, nothing, NULL, PATIENCE));
  if (on_tick != NULL) {
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    run_due(t, queue, place);
  } else {
    EXPECT_OK(chime_target_release(o->target));
    EXPECT_EQ(load(&o->flag), 1);
  }
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&o->flag), 1);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT_EQ(load(&o->other->finalized), 1);
  EXPECT_EQ(load(&p->ticks), on_tick != NULL);
}

TESTS_ON_ALL_QUEUES(the_destructor_in_the_release_may_call_anything) { a_destructor_may_call_anything(t, place, NULL); }

TESTS_ON_ALL_QUEUES(the_destructor_after_a_handler_may_call_anything) {
  a_destructor_may_call_anything(t, place, release_the_target);
}

static void shut_the_queue_down(object *o) {
  o->status = chime_queue_shutdown(o->queue, CHIME_FOREVER);
  store(&o->flag, 1);
}

TESTS_ON_ALL_QUEUES(a_destructor_may_shut_down_the_queue_it_runs_on) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p;
  o->queue = queue;
  o->on_destroy = shut_the_queue_down;
  p = ticking_user_of(o, queue, release_the_target);
  if (place == VIRTUAL) EXPECT_STATUS(chime_queue_advance(queue, 10), CHIME_ERROR_SHUT_DOWN);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&o->flag), 1);
  EXPECT_STATUS(o->status, CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  if (place != VIRTUAL) csuite_keep_memory(t); /* nothing tells when the queue's last callback has returned */
}

static void stay_in_the_destructor(object *o) {
  csuite *t = o->t;
  store(&o->flag, 1);
  EXPECT(await(&o->gate, 1));
  store(&o->flag, 2);
}

/* The timer is busy until the destructor that its handler's end calls has returned. */
TESTS_ON_DISPATCH_QUEUES(cancel_and_wait_waits_for_the_destructor) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p;
  o->on_destroy = stay_in_the_destructor;
  p = ticking_user_of(o, queue, release_the_target);
  EXPECT(await(&o->flag, 1));
  EXPECT_EQ(info_of(t, p->timer).busy, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&o->destroyed), 0);
  store(&o->gate, 1);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_EQ(load(&o->flag), 2);
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT_TOOK_EFFECT(chime_timer_release(p->timer)); /* the cancel handler may be running */
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->finalized), 1);
}

TESTS_ON_DISPATCH_QUEUES(shutdown_waits_for_the_destructor) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p;
  o->on_destroy = stay_in_the_destructor;
  p = ticking_user_of(o, queue, release_the_target);
  EXPECT(await(&o->flag, 1));
  EXPECT_STATUS(chime_queue_shutdown(queue, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT_EQ(load(&o->destroyed), 0);
  EXPECT_EQ(load(&p->finalized), 0);
  csuite_keep_memory(t);
  store(&o->gate, 1);
  EXPECT(await(&p->finalized, 1));
  EXPECT_EQ(load(&o->destroyed), 1);
}

/* ---- While the last release is under way ------------------------------------------------------------------------ */

enum { WITNESSES = 24 };

typedef struct witness {
  csuite *t;
  object *o;
  probe *p[WITNESSES];
  int looked;
} witness;

/*
 * Called by the release of a timer that nobody holds, so inside chime_target_release, when the last reference has gone
 * and some of the timers have not been cancelled yet.
 */
static void look_at_the_others(void *context) {
  witness *w = context;
  csuite *t = w->t;
  chime_schedule schedule = schedule_of(1, 1);
  int i;
  EXPECT_EQ(load(&w->o->destroyed), 0);
  EXPECT_STATUS(chime_target_retain(w->o->target, NULL), CHIME_ERROR_INVALID_HANDLE);
  for (i = 0; i < WITNESSES; i++) {
    chime_timer_t timer = w->p[i]->timer;
    chime_state state = state_of(t, timer);
    EXPECT(state == CHIME_STATE_RUNNING || state == CHIME_STATE_CANCELLED);
    EXPECT_STATUS(chime_timer_restart(timer, &schedule), CHIME_ERROR_TARGET_GONE);
    EXPECT_STATUS(chime_timer_activate(timer, &schedule),
                  state == CHIME_STATE_RUNNING ? CHIME_IGNORED : CHIME_ERROR_TARGET_GONE);
    EXPECT_STATUS(chime_timer_fire(timer), CHIME_IGNORED); /* as if it were cancelled already */
    EXPECT_OK(chime_timer_reschedule(timer, &schedule));   /* its declaration knows no TARGET_GONE */
    EXPECT_EQ(state_of(t, timer), state);
  }
  add(&w->looked, 1);
}

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

TEST(no_timer_gets_away_while_its_target_goes) {
  chime_schedule schedule = schedule_of(0, 1);
  witness *w = csuite_memory(t, sizeof *w);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  w->t = t;
  w->o = object_new(t, "o");
  options.handler = ignore_tick;
  options.context = w;
  options.finalizer = look_at_the_others;
  options.target = w->o->target;
  for (i = 0; i < WITNESSES; i++) {
    w->p[i] = running_user_of(w->o, queue, "a", 10, 10);
    w->p[i]->on_armed = expect_alive_or_gone;
    if (i % 2) EXPECT_OK(chime_timer_start(queue, &options, &schedule, NULL));
  }
  EXPECT_OK(chime_target_release(w->o->target));
  EXPECT_EQ(w->looked, WITNESSES / 2);
  EXPECT_EQ(w->o->destroyed, 1);
  for (i = 0; i < WITNESSES; i++) EXPECT_EQ(state_of(t, w->p[i]->timer), CHIME_STATE_CANCELLED);
  EXPECT_OK(chime_queue_advance(queue, 100));
  for (i = 0; i < WITNESSES; i++) EXPECT_EQ(w->p[i]->ticks, 0);
  EXPECT_EQ(stats_of(t, queue).timers, WITNESSES);
}
