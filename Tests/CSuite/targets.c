/*
 * targets.c - weak targets: a handler finds its target alive for the length of the call; with the last reference the
 * target's timers end at once; each destructor is called once, after the last handler that had the object.
 * Promises 8, 9 and 10. (Many threads at once: targets_storm.c.)
 *
 * In a timeline `~o` is the destructor of the object `o`.
 */
#include "timeline.h"

/* An object that a target is made of. It stays in memory after its destructor, so that a use after it is seen. */
typedef struct object object;
struct object {
  csuite *t;
  const char *name;
  chime_target_t target;
  void (*on_destroy)(object *o);
  probe *user; /* a timer that names the target */
  probe *other;
  chime_queue_t queue;
  chime_status status;
  chime_status status2;
  pthread_t thread;  /* that called the destructor */
  pthread_t handler; /* that ran a handler */
  int destroyed;
  int flag;
  int gate;
};

static void destroy(void *context) {
  object *o = context;
  csuite *t = o->t;
  csuite_log(t, "~%s", o->name);
  o->thread = pthread_self();
  if (o->on_destroy != NULL) o->on_destroy(o);
  EXPECT_EQ(add(&o->destroyed, 1), 1);
}

static object *object_new(csuite *t, const char *name) {
  object *o = csuite_memory(t, sizeof *o);
  o->t = t;
  o->name = name;
  EXPECT_OK(chime_target_create(o, destroy, &o->target));
  EXPECT(o->target != 0 && o->target < UINT64_C(1) << 53);
  return o;
}

/* Every callback of a probe that has a target; the test's own action is called after the check. */
static void expect_alive(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  object *o = p->user;
  EXPECT(tick->target == o);
  EXPECT_EQ(load(&o->destroyed), 0);
}

static void expect_alive_or_gone(probe *p, const chime_tick *tick) {
  if (tick->target != NULL) expect_alive(p, tick);
}

static void expect_gone(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  EXPECT(tick->target == NULL);
}

static chime_timer_options options_of(probe *p, object *o) {
  chime_timer_options options = probe_full_options(p);
  p->user = o;
  options.target = o->target;
  return options;
}

/* An idle timer of a target, with all handlers. Once the target is gone its cancel handler gets none. */
static probe *user_of(object *o, chime_queue_t queue, const char *name) {
  csuite *t = o->t;
  probe *p = probe_new(t, queue, name);
  chime_timer_options options = options_of(p, o);
  p->on_tick = p->on_armed = expect_alive;
  p->on_cancelled = expect_gone;
  if (o->user == NULL) o->user = p;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  return p;
}

/* The same, quiet, at work from now on. */
static probe *ticking_user_of(object *o, chime_queue_t queue, probe_action on_tick) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(0, 100 * CHIME_MICROSECOND);
  probe *p = user_of(o, queue, "a");
  p->quiet = 1;
  p->on_tick = on_tick;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

static probe *running_user_of(object *o, chime_queue_t queue, const char *name, int64_t first_ns, int64_t interval_ns) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(first_ns, interval_ns);
  probe *p = user_of(o, queue, name);
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

/* One that is due in an hour, and whose registration may come late. Where other threads run its callbacks. */
static probe *distant_user_of(object *o, chime_queue_t queue, probe_action on_cancelled) {
  csuite *t = o->t;
  chime_schedule schedule = schedule_of(CHIME_HOUR, CHIME_HOUR);
  probe *p = user_of(o, queue, "a");
  p->quiet = 1;
  p->on_armed = expect_alive_or_gone;
  p->on_cancelled = on_cancelled;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  return p;
}

/* A cancelled timer whose target is gone never runs again, and nothing changes it. */
static void expect_over(csuite *t, chime_timer_t timer) {
  chime_schedule schedule = schedule_of(1, 1);
  EXPECT_STATUS(chime_timer_activate(timer, &schedule), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_restart(timer, &schedule), CHIME_ERROR_TARGET_GONE);
  EXPECT_STATUS(chime_timer_fire(timer), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_IGNORED);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT_EQ(deadline_of(t, timer), CHIME_FOREVER);
}

/* ---- The object of a tick --------------------------------------------------------------------------------------- */

/* Cancelled by hand while the target lives, it may run again. */
TIMELINE(a_tick_carries_the_live_target,
         "O target; a 10/10 full of O; +15; a.fire; +0; a.cancel; +0 | a^ a1@10 a2!15 a-; "
         "a.restart; +10; a.release | a^ a1@25 a- a.; O.release | ~O")

TIMELINE(a_timer_without_a_target_has_none_in_its_ticks,
         "O target; a 10/10 full; a.fire; +10; O.release; +10; a.release | a^ a1!0 a2@10 ~O a3@20 a- a.")

/* ---- The last release ------------------------------------------------------------------------------------------- */

/* A cancelled timer may be given a schedule, and stays cancelled. */
TIMELINE(the_last_release_between_two_ticks_cancels_at_once,
         "O target; a 10/10 full of O; +25 | a^ a1@10 a2@20; O.release | ~O; a is cancelled; a.fire?; a is over; "
         "a.reschedule 1/1; a is over; a is cancelled; +100 | a-; a.release; +100 | a.")

/* [5] [8] */
TESTS_ON_DISPATCH_QUEUES(the_last_release_stops_a_fast_timer) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p = ticking_user_of(o, queue, expect_alive);
  int ticks;
  EXPECT(await(&p->ticks, 5));
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
  EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
  EXPECT(await(&p->cancelled, 1));
  EXPECT_EQ(load(&o->destroyed), 1); /* no handler that had it is left, or the cancel handler would not have come */
  ticks = load(&p->ticks);
  let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&p->ticks), ticks);
  EXPECT_EQ(load(&p->finalized), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, PATIENCE), CHIME_IGNORED);
  EXPECT_OK(chime_timer_release(p->timer));
  end_queue(t, queue);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
}

static void expect_after_handler(object *o) {
  csuite *t = o->t;
  EXPECT_EQ(load(&o->user->busy), 0);
  EXPECT_EQ(load(&o->user->returned), 1);
  EXPECT_EQ(load(&o->user->cancelled), 0); /* the cancel handler and the finalizer come later */
  EXPECT_EQ(load(&o->user->finalized), 0);
}

static void release_the_target(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  object *o = p->user;
  expect_alive(p, tick);
  EXPECT_OK(chime_target_release(o->target));
  EXPECT_EQ(load(&o->destroyed), 0); /* this call holds it */
  EXPECT_STATUS(chime_target_retain(o->target, NULL), CHIME_ERROR_INVALID_HANDLE);
  expect_over(t, tick->timer);
  EXPECT_EQ(load(&o->destroyed), 0);
}

/* [8] [9] */
TESTS_ON_ALL_QUEUES(a_handler_may_release_its_own_target) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p = user_of(o, queue, "a");
  chime_schedule schedule = schedule_of(0, 100 * CHIME_MICROSECOND);
  o->on_destroy = expect_after_handler;
  p->quiet = place != VIRTUAL;
  p->on_tick = release_the_target;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  run_due(t, queue, place);
  EXPECT(await(&p->cancelled, 1));
  EXPECT_EQ(load(&o->destroyed), 1);
  if (place == VIRTUAL) {
    EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
    EXPECT_LOG("a^ a1@0 ~o a-");
  }
  come_to_rest(t, p->timer);
  EXPECT_EQ(load(&p->finalized), 0);
  EXPECT_OK(chime_timer_release(p->timer));
  EXPECT(await(&p->finalized, 1));
  end_queue(t, queue);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&o->destroyed), 1);
}

static void stay_with_the_target(probe *p, const chime_tick *tick) {
  object *o = p->user;
  expect_alive(p, tick);
  o->handler = pthread_self();
  stay_until_gate_opens(p, tick);
  expect_alive(p, tick);
}

static void expect_on_the_handlers_thread(object *o) {
  csuite *t = o->t;
  expect_after_handler(o);
  EXPECT(pthread_equal(o->thread, o->handler));
}

/* [8]: whoever holds it last calls the destructor, here the handler's thread, after it has returned. */
TESTS_ON_DISPATCH_QUEUES(a_running_handler_keeps_its_target) {
  QUEUE_OR_RETURN(queue, place);
  object *o = object_new(t, "o");
  probe *p;
  o->on_destroy = expect_on_the_handlers_thread;
  p = ticking_user_of(o, queue, stay_with_the_target);
  EXPECT(await(&p->flag, 1));
  EXPECT_OK(chime_target_release(o->target));
  expect_over(t, p->timer);
  EXPECT_STATUS(chime_target_retain(o->target, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (runs_side_by_side(place)) let_later_ticks_come(t, queue, CHIME_MILLISECOND);
  EXPECT_EQ(load(&o->destroyed), 0);
  EXPECT_EQ(load(&p->cancelled), 0);
  open_gate(p);
  EXPECT(await(&p->cancelled, 1));
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT_EQ(load(&p->finalized), 0);
  come_to_rest(t, p->timer);
  EXPECT_OK(chime_timer_release(p->timer));
  end_queue(t, queue);
  EXPECT_EQ(load(&p->ticks), 1);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
}

/* Two handlers at once: the second to return calls the destructor. */
TEST(the_last_of_two_handlers_lets_the_target_go) {
  QUEUE_OR_RETURN(first, SERIAL);
  QUEUE_OR_RETURN(second, SERIAL);
  object *o = object_new(t, "o");
  probe *a = user_of(o, first, "a"), *b = user_of(o, second, "b");
  chime_schedule at_once = schedule_of(0, 0);
  a->quiet = b->quiet = 1;
  a->on_tick = b->on_tick = stay_until_gate_opens;
  EXPECT_OK(chime_timer_activate(a->timer, &at_once));
  EXPECT_OK(chime_timer_activate(b->timer, &at_once));
  EXPECT(await(&a->flag, 1));
  EXPECT(await(&b->flag, 1));
  EXPECT_OK(chime_target_release(o->target));
  open_gate(b);
  come_to_rest(t, b->timer);
  EXPECT_EQ(load(&o->destroyed), 0);
  open_gate(a);
  come_to_rest(t, a->timer);
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT_EQ(state_of(t, a->timer), CHIME_STATE_FINISHED); /* its last tick was being delivered */
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_OK(chime_timer_release(b->timer));
}

/* ---- References ------------------------------------------------------------------------------------------------- */

TIMELINE(only_the_last_reference_matters,
         "O target; a 10/10 full of O; O.retain; O.retain; O.release; O.release; +10; a is running | a^ a1@10; "
         "O.release | ~O; O.retain -> INVALID_HANDLE; O.release -> INVALID_HANDLE")

TIMELINE(a_handler_may_keep_its_target,
         "O target; a 10 full of O; a: O.retain; +10; O.release | a^ a1@10; O.release | ~O")

TEST(targets_refuse_what_they_cannot_use) {
  object *o = csuite_memory(t, sizeof *o);
  chime_target_t target = 77;
  EXPECT_STATUS(chime_target_create(NULL, destroy, &target), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(target, 77);
  EXPECT_STATUS(chime_target_create(o, destroy, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_target_create(NULL, NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(o->destroyed, 0);
}

TEST(a_target_needs_no_destructor) {
  int number = 0;
  void *found = NULL;
  chime_target_t target = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_full_options(p);
  chime_schedule schedule = schedule_of(0, 10);
  EXPECT_OK(chime_target_create(&number, NULL, &target));
  EXPECT_OK(chime_target_retain(target, &found));
  EXPECT(found == &number);
  EXPECT_OK(chime_target_release(target));
  options.target = target;
  EXPECT_OK(chime_timer_start(queue, &options, &schedule, &p->timer));
  EXPECT_OK(chime_queue_advance(queue, 5));
  EXPECT(p->last.target == &number);
  EXPECT_OK(chime_target_release(target));
  EXPECT_OK(chime_queue_advance(queue, 50));
  EXPECT_LOG("a^ a1@0 a-");
  EXPECT_OK(chime_timer_release(p->timer));
}

/* Two targets of one object are two targets. */
TEST(one_object_may_have_two_targets) {
  int number = 0;
  chime_target_t first = 0, second = 0;
  EXPECT_OK(chime_target_create(&number, NULL, &first));
  EXPECT_OK(chime_target_create(&number, NULL, &second));
  EXPECT(first != second);
  EXPECT_OK(chime_target_release(first));
  EXPECT_OK(chime_target_retain(second, NULL));
  EXPECT_OK(chime_target_release(second));
  EXPECT_OK(chime_target_release(second));
}

/* ---- Ids -------------------------------------------------------------------------------------------------------- */

/* A timer that names this target is refused, in every way to make one, and its context stays the caller's. */
static void expect_refused(csuite *t, chime_queue_t queue, chime_target_t target, chime_status expected) {
  chime_schedule schedule = schedule_of(0, 1);
  probe *p = probe_new(t, queue, "refused");
  chime_timer_options options = probe_full_options(p);
  chime_timer_t timer = 77;
  options.target = target;
  options.label = "refused";
  EXPECT_STATUS(chime_timer_create(queue, &options, &timer), expected);
  EXPECT_STATUS(chime_timer_start(queue, &options, &schedule, &timer), expected);
  EXPECT_STATUS(chime_timer_start(queue, &options, &schedule, NULL), expected);
  EXPECT_EQ(timer, 77);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(p->armed + p->ticks + p->cancelled + p->finalized, 0);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

TEST(a_timer_of_a_target_that_has_gone_is_refused) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  object *o = object_new(t, "o");
  chime_target_t later;
  EXPECT_OK(chime_target_release(o->target));
  expect_refused(t, queue, o->target, CHIME_ERROR_TARGET_GONE);
  later = object_new(t, "p")->target; /* in the same place, maybe */
  expect_refused(t, queue, o->target, CHIME_ERROR_TARGET_GONE);
  EXPECT_OK(chime_target_release(later));
  EXPECT_LOG("~o ~p");
}

/* A number that no target has had yet is not one that has gone. An id is 3 bits of kind, 24 of life, 26 of index. */
TEST(an_id_that_was_never_given_out_has_not_gone) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  object *o = object_new(t, "o");
  const uint64_t one_life = UINT64_C(1) << 26, lives = ((UINT64_C(1) << 24) - 1) << 26;
  expect_refused(t, queue, o->target + one_life, CHIME_ERROR_INVALID_HANDLE);
  expect_refused(t, queue, o->target & ~lives, CHIME_ERROR_INVALID_HANDLE);
  expect_refused(t, queue, o->target | (one_life - 1), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_OK(chime_target_release(o->target));
  expect_refused(t, queue, o->target, CHIME_ERROR_TARGET_GONE);
  expect_refused(t, queue, o->target + one_life, CHIME_ERROR_INVALID_HANDLE); /* the next one in this place */
}

static int by_number(const void *a, const void *b) {
  chime_target_t x = *(const chime_target_t *)a, y = *(const chime_target_t *)b;
  return x < y ? -1 : x > y;
}

static void count_in(void *context) { add(context, 1); }

/* [10] */
TEST(target_ids_are_never_given_out_again) {
  int count = csuite_scaled(100000), at_once = 16, destroyed = 0, i, j;
  chime_target_t *ids;
  count += at_once - count % at_once;
  ids = csuite_memory(t, (size_t)count * sizeof *ids);
  for (i = 0; i < count; i += at_once) {
    for (j = i; j < i + at_once; j++) REQUIRE_OK(chime_target_create(&destroyed, count_in, &ids[j]));
    for (j = i; j < i + at_once; j++) REQUIRE_OK(chime_target_release(ids[j]));
  }
  EXPECT_EQ(destroyed, count);
  for (i = 0; i < count; i++) {
    if (!EXPECT_STATUS(chime_target_retain(ids[i], NULL), CHIME_ERROR_INVALID_HANDLE)) break;
    if (!EXPECT_STATUS(chime_target_release(ids[i]), CHIME_ERROR_INVALID_HANDLE)) break;
  }
  EXPECT_EQ(destroyed, count);
  qsort(ids, (size_t)count, sizeof *ids, by_number);
  for (i = 1; i < count; i++) {
    if (!EXPECT(ids[i - 1] != ids[i])) break;
  }
}

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
  a->quiet = b->quiet = c->quiet = 1;
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
  EXPECT_EQ(load(&o->destroyed), 1);
  EXPECT(await(&a->finalized, 1)); /* without waiting for the end of the queue */
  EXPECT(await(&b->finalized, 1));
  EXPECT(await(&c->finalized, 1));
  end_queue(t, queue);
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
  end_queue(t, queue);
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
    all[i]->quiet = 1;
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
  end_queue(t, queue);
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
  end_queue(t, queue);
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
  end_queue(t, queue);
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
  EXPECT_OK(chime_target_create(next, destroy, &next->target));
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
  end_queue(t, queue);
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
  end_queue(t, queue);
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
