/*
 * targets.c - weak targets: a handler finds its target alive for the length of the call; with the last reference the
 * target's timers end at once; each destructor is called once, after the last handler that had the object.
 * Promises 8, 9 and 10. (Many threads at once: targets_storm.c; their ends: targets_end.c.)
 */
#include "objects.h"

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
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&p->cancelled), 1);
  EXPECT_EQ(load(&p->finalized), 1);
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
  csuite_shutdown(t, queue);
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
  csuite_shutdown(t, queue);
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
  EXPECT_STATUS(chime_target_create(NULL, object_destroy, &target), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(target, 77);
  EXPECT_STATUS(chime_target_create(o, object_destroy, NULL), CHIME_ERROR_INVALID_ARGUMENT);
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
