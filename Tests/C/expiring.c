/*
 * expiring.c - values that expire: one that has vanished cannot be acquired, however late its queue is; whoever has
 * acquired it keeps it; the handler of the expiry is called once or never, and each finalizer once, after the last use.
 * Promises 3, 8, 9 and 10. (Many threads at once: storm.c.)
 */
#include "harness.h"

static probe *expects(probe *v, const char *name) {
  csuite *t = v->t;
  probe *n = probe_of_owner(v, name);
  EXPECT_OK(probe_expects(n));
  return n;
}

static void acquire(probe *v) {
  csuite *t = v->t;
  void *found = NULL;
  EXPECT_OK(chime_expiring_acquire(v->id, &found));
  EXPECT(found == v && v->finalized == 0);
}

static void expect_there(probe *v) {
  csuite *t = v->t;
  acquire(v);
  EXPECT_OK(chime_expiring_yield(v->id));
}

/* Every call answers so, and nothing is taken. */
static void expect_over(probe *v, chime_status status) {
  csuite *t = v->t;
  probe *late = probe_of_owner(v, "late");
  void *found;
  EXPECT_STATUS(chime_expiring_acquire(v->id, &found), status);
  EXPECT_STATUS(chime_expiring_yield(v->id), status);
  EXPECT_STATUS(chime_expiring_reset(v->id, 1), status);
  EXPECT_STATUS(probe_expects(late), status);
  EXPECT_STATUS(chime_expiring_on_expiry(v->id, NULL, NULL, NULL), status);
  EXPECT_EQ(late->finalized, 0);
}

/* A value that vanishes in an hour; the handler of its expiry is `other`. */
static probe *distant(csuite *t, chime_queue_t queue) {
  probe *v = probe_value(t, queue, "v", CHIME_HOUR);
  v->other = expects(v, "n");
  return v;
}

/* In a millisecond: not before its handler is there. */
static probe *soon(csuite *t, chime_queue_t queue, probe_action on_expiry) {
  probe *v = distant(t, queue);
  v->other->on_tick = on_expiry;
  EXPECT_OK(chime_expiring_reset(v->id, CHIME_MILLISECOND));
  return v;
}

/* ---- Vanishing -------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(a_value_vanishes_exactly_when_its_time_is_over) {
  probe *v = probe_value(t, queue, "v", 10), *w = probe_value(t, queue, "w", 20);
  expects(v, "n");
  expects(w, "o");
  ADVANCE(9);
  expect_there(v);
  ADVANCE(1);
  EXPECT_LOG("n@10 n. v.");
  expect_over(v, CHIME_IGNORED);
  /* Nobody can acquire it, though its queue has not noticed. */
  JUMP(9);
  expect_there(w);
  JUMP(1);
  expect_vanished(w);
  EXPECT_STATUS(chime_expiring_reset(w->id, 100), CHIME_IGNORED);
  JUMP(25);
  EXPECT_LOG("");
  ADVANCE(0);
  EXPECT_LOG("o@20>45 o. w.");
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_expiring_release(w->id));
  expect_over(v, CHIME_ERROR_INVALID_HANDLE);
}

static void expect_gone(csuite *t, probe *p, const chime_tick *tick) { expect_vanished(p->other); }

/* In the order of its tick or not. */
VIRTUAL_TEST(handlers_that_run_at_the_deadline_do_not_find_the_value) {
  probe *a = probe_after(t, queue, "a", 10), *v = probe_value(t, queue, "v", 10), *b = probe_after(t, queue, "b", 10);
  a->other = b->other = v;
  a->on_tick = b->on_tick = expect_gone;
  ADVANCE(10);
  EXPECT_LOG("a1@10 v. b1@10");
  EXPECT_OK(chime_expiring_release(v->id));
}

/* Also on a clock that stands at the end of time, where sums saturate. */
VIRTUAL_TEST(a_lifetime_without_end_ends_with_a_reset_or_a_release) {
  probe *v = probe_value(t, queue, "v", CHIME_FOREVER), *w = probe_value(t, queue, "w", 5);
  EXPECT_OK(chime_expiring_reset(w->id, CHIME_FOREVER));
  ADVANCE(INT64_C(2838240000000000000)); /* 90 years */
  expect_there(v);
  EXPECT_OK(chime_expiring_reset(v->id, 10));
  JUMP(9);
  expect_there(v);
  JUMP(1);
  expect_vanished(v);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_LOG("v.");
  JUMP(CHIME_FOREVER);
  ADVANCE(0);
  expect_there(w);
  EXPECT_OK(chime_expiring_reset(w->id, 1));
  expect_there(w);
  EXPECT_LOG("");
  EXPECT_OK(chime_expiring_release(w->id));
  EXPECT_LOG("w.");
}

/* In chime_queue_run until its time is over, against the limit until it is released. */
TEST(a_value_counts_as_a_timer_of_its_queue) {
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.timer_limit = 1));
  probe *v = probe_value(t, queue, "v", 20 * CHIME_MILLISECOND);
  EXPECT_OK(chime_queue_run(queue, 0));
  expect_vanished(v);
  EXPECT_STATUS(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, NULL), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, NULL));
}

TESTS_ON_ALL_QUEUES(a_value_has_the_label_that_it_was_given) {
  chime_expiring_t value;
  char text[1000];
  EXPECT_OK(chime_expiring_create(queue, CHIME_HOUR, t, NULL, &EXPIRING_OPTIONS(.label = "a session"), &value));
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, "a session") != NULL);
  EXPECT_OK(chime_expiring_release(value));
}

TEST(a_run_does_not_wait_for_a_value_in_the_background) {
  chime_queue_t queue = host_queue(t, 0);
  chime_expiring_t value;
  EXPECT_OK(
      chime_expiring_create(queue, CHIME_HOUR, t, NULL, &EXPIRING_OPTIONS(.flags = CHIME_TIMER_BACKGROUND), &value));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_OK(chime_expiring_release(value));
}

/* [3] [13]: at the roundest instant of its window, here a multiple of 2^30, also after a reset; it has vanished on time. */
TEST(a_values_callbacks_share_a_wake_up_within_its_leeway) {
  chime_queue_t queue =
      csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY));
  probe *v = probe_new(t, queue, "v");
  EXPECT_OK(chime_expiring_create(queue, CHIME_SECOND, v, probe_finalizer,
                                  &EXPIRING_OPTIONS(.leeway_ns = 500 * CHIME_MILLISECOND), &v->id));
  EXPECT_OK(chime_expiring_reset(v->id, 1100 * CHIME_MILLISECOND));
  expects(v, "n");
  ADVANCE(1100 * CHIME_MILLISECOND);
  expect_vanished(v);
  EXPECT_LOG("");
  ADVANCE(CHIME_SECOND);
  EXPECT_LOG("n@1100000000>1500000000 n. v.");
  EXPECT_OK(chime_expiring_release(v->id));
}

/* [3] [8] [16]: the other one with the queue, without a call. */
TESTS_ON_ALL_QUEUES(a_value_vanishes_on_every_kind_of_queue) {
  probe *v = soon(t, queue, NULL), *other = distant(t, queue);
  if (place == VIRTUAL) ADVANCE(CHIME_MILLISECOND);
  EXPECT(await(&v->other->ticks, 1));
  expect_vanished(v);
  EXPECT(await(&v->other->finalized, 1));
  EXPECT(await(&v->finalized, 1)); /* without waiting for the release, or the end of the queue */
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&other->finalized) + load(&other->other->finalized), 2); /* without a release */
  EXPECT_EQ(load(&other->other->ticks), 0);
  expect_over(other, CHIME_IGNORED);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_expiring_release(other->id));
}

/* [8]: also one whose time is over before the call returns. The last user of a value that nobody has acquired is its queue. */
typedef struct creation {
  pthread_t maker;
  int is_made, finalized, by_maker;
} creation;

static void note_who_finalizes(void *context) {
  creation *c = context;
  if (!load(&c->is_made) && pthread_equal(c->maker, pthread_self())) add(&c->by_maker, 1);
  add(&c->finalized, 1);
}

TESTS_ON_DISPATCH_QUEUES(a_value_that_is_over_at_once_is_finalized_on_its_queue) {
  creation *c = csuite_memory(t, sizeof *c);
  c->maker = pthread_self();
  for (int i = 0; i < csuite_scaled(2000) && !csuite_failed(t); i++) {
    chime_expiring_t value;
    store(&c->is_made, 0);
    EXPECT_OK(chime_expiring_create(queue, i % 8 * 1000, c, note_who_finalizes, NULL, &value));
    store(&c->is_made, 1);
    EXPECT(await(&c->finalized, i + 1));
    EXPECT_OK(chime_expiring_release(value));
  }
  EXPECT_EQ(load(&c->by_maker), 0);
}

VIRTUAL_TEST(a_reset_begins_the_time_anew_later_or_earlier) {
  probe *v = probe_value(t, queue, "v", 10);
  expects(v, "n");
  ADVANCE(9);
  EXPECT_OK(chime_expiring_reset(v->id, 100));
  ADVANCE(90);
  expect_there(v);
  EXPECT_OK(chime_expiring_reset(v->id, 5));
  ADVANCE(4);
  expect_there(v);
  EXPECT_OK(chime_expiring_reset(v->id, 0));
  expect_vanished(v);
  EXPECT_LOG("");
  ADVANCE(1);
  EXPECT_LOG("n@103 n. v.");
  EXPECT_OK(chime_expiring_release(v->id));
}

/* ---- Acquire and yield ------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(who_has_acquired_the_value_keeps_it_beyond_its_time_its_release_and_its_queue) {
  probe *v = probe_value(t, queue, "v", 10), *w = probe_value(t, queue, "w", 50), *x = probe_value(t, queue, "x", 50);
  expects(v, "n");
  expects(w, "o");
  acquire(v);
  acquire(v);
  acquire(w);
  acquire(x);
  ADVANCE(20);
  EXPECT_LOG("n@10 n."); /* of v, whose time is over */
  expect_vanished(v);
  EXPECT_OK(chime_expiring_yield(v->id));
  EXPECT_LOG("");
  EXPECT_OK(chime_expiring_yield(v->id));
  EXPECT_LOG("v.");
  expect_over(v, CHIME_IGNORED);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_expiring_release(w->id));
  EXPECT_LOG("o."); /* in the call, without a call of it */
  EXPECT_STATUS(chime_expiring_reset(w->id, 10), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_expiring_release(w->id), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_OK(chime_expiring_yield(w->id));
  EXPECT_LOG("w.");
  expect_over(w, CHIME_ERROR_INVALID_HANDLE);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  expect_vanished(x);
  EXPECT_OK(chime_expiring_release(x->id));
  EXPECT_LOG("");
  EXPECT_OK(chime_expiring_yield(x->id));
  EXPECT_LOG("x.");
}

/* ---- The handler of the expiry ---------------------------------------------------------------------------------- */

VIRTUAL_TEST(a_handler_replaces_the_one_before) {
  probe *v = probe_value(t, queue, "v", 10), *w = probe_value(t, queue, "w", 20);
  expects(v, "n");
  expects(v, "o");
  expects(w, "p");
  EXPECT_LOG("n.");
  EXPECT_OK(chime_expiring_on_expiry(w->id, NULL, NULL, NULL));
  EXPECT_OK(chime_expiring_on_expiry(w->id, NULL, NULL, NULL));
  EXPECT_LOG("p.");
  ADVANCE(20);
  EXPECT_LOG("o@10 o. v. w.");
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_expiring_release(w->id));
}

static void make_the_next(csuite *t, probe *n, const chime_tick *tick) {
  expect_over(n->owner, CHIME_IGNORED);
  n->other = probe_value(t, n->queue, "w", 10);
  EXPECT_STATUS(chime_expiring_release(n->owner->id), CHIME_RUNNING);
}

static void release_the_queue(csuite *t, probe *n, const chime_tick *tick) {
  EXPECT_STATUS(chime_queue_release(n->queue), CHIME_RUNNING);
}

/* It does not bring the value back. */
VIRTUAL_TEST(the_handler_may_make_the_next_value_and_release_the_queue) {
  probe *n = expects(probe_value(t, queue, "v", 10), "n");
  n->on_tick = make_the_next;
  ADVANCE(10);
  EXPECT_LOG("n@10 n. v.");
  probe *w = n->other, *o = expects(w, "o");
  o->on_tick = release_the_queue;
  EXPECT_STATUS(chime_queue_advance(queue, 30), CHIME_ERROR_SHUT_DOWN);
  EXPECT_LOG("o@20 o. w.");
  EXPECT_OK(chime_expiring_release(w->id));
}

TESTS_ON_DISPATCH_QUEUES(a_release_while_the_handler_runs_leaves_the_end_to_it) { /* [8] [9] */
  probe *v = soon(t, queue, stay_until_gate_opens), *n = v->other;
  EXPECT(await(&n->flag, 1));
  expect_vanished(v);
  EXPECT_STATUS(probe_expects(n), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_release(v->id), CHIME_RUNNING);
  EXPECT_STATUS(chime_expiring_reset(v->id, 1), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&v->finalized) + load(&n->finalized), 0);
  open_gate(n);
  EXPECT(await(&v->finalized, 1) && await(&n->finalized, 1));
}

/* ---- Finalizers ------------------------------------------------------------------------------------------------- */

static void use_the_id(csuite *t, probe *v) { expect_over(v, v->status); }

static probe *that_is_used(csuite *t, chime_queue_t queue, int64_t lifetime, chime_status status) {
  probe *v = probe_value(t, queue, "v", lifetime);
  v->on_finalize = use_the_id;
  v->status = status;
  return v;
}

static void put_another(csuite *t, probe *n) { expects(n->owner, "p"); }

/* With no lock held: a finalizer may call whatever others may. What they answer depends on where the value was. */
VIRTUAL_TEST(finalizers_may_use_the_id) {
  probe *expires = that_is_used(t, queue, 10, CHIME_IGNORED), *yielded = that_is_used(t, queue, 10, CHIME_IGNORED);
  probe *released = that_is_used(t, queue, 20, CHIME_ERROR_INVALID_HANDLE);
  probe *ends = that_is_used(t, queue, 20, CHIME_IGNORED), *v = probe_value(t, queue, "w", 10);
  acquire(yielded);
  expects(v, "n")->on_finalize = put_another;
  expects(v, "o"); /* is replaced in this call, by the finalizer of the one before */
  EXPECT_LOG("n. o.");
  ADVANCE(10);
  EXPECT_LOG("v. p@10 p. w.");
  EXPECT_OK(chime_expiring_yield(yielded->id));
  EXPECT_LOG("v.");
  EXPECT_OK(chime_expiring_release(released->id));
  EXPECT_LOG("v.");
  EXPECT_OK(chime_queue_release(queue));
  EXPECT_LOG("v.");
  EXPECT_OK(chime_expiring_release(expires->id));
  EXPECT_OK(chime_expiring_release(yielded->id));
  EXPECT_OK(chime_expiring_release(ends->id));
  EXPECT_OK(chime_expiring_release(v->id));
}
