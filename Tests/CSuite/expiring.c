/*
 * expiring.c - values that expire: one that has vanished cannot be acquired, however late its queue is; whoever has
 * acquired it keeps it; the handler of the expiry is called once or never, and each finalizer once, after the last use.
 * Promises 3, 8, 9 and 10. (Many threads at once: expiring_storm.c.)
 *
 * In a timeline `n@10` is the call of the handler with the notice `n` at 10, `v.` the finalizer of the value `v`.
 */
#include "timeline.h"

/* A value. It stays in memory after its finalizer, so that a use after it is seen. */
typedef struct value value;
struct value {
  csuite *t;
  const char *name;
  chime_expiring_t expiring;
  void (*on_finalize)(value *v);
  chime_status status;
  int quiet; /* 1: nothing in the timeline */
  int finalized;
};

/* The context of an expiry's handler. */
typedef struct notice notice;
struct notice {
  csuite *t;
  const char *name;
  value *value;
  void (*on_expiry)(notice *n, const chime_tick *tick);
  void (*on_finalize)(notice *n);
  chime_queue_t queue; /* for the action's use */
  chime_tick last;
  int busy;
  int calls;
  int finalized;
  int flag;
  int gate;
};

static void value_finalizer(void *context) {
  value *v = context;
  csuite *t = v->t;
  if (!v->quiet) csuite_log(t, "%s.", v->name);
  if (v->on_finalize != NULL) v->on_finalize(v);
  EXPECT_EQ(add(&v->finalized, 1), 1); /* [8] */
}

static void notice_finalizer(void *context) {
  notice *n = context;
  csuite *t = n->t;
  EXPECT_EQ(load(&n->busy), 0);
  if (n->on_finalize != NULL) n->on_finalize(n);
  EXPECT_EQ(add(&n->finalized, 1), 1); /* [8] */
}

static void expect_vanished(value *v) {
  csuite *t = v->t;
  void *found = v;
  EXPECT_STATUS(chime_expiring_acquire(v->expiring, &found), CHIME_IGNORED);
  EXPECT(found == NULL);
}

static void notice_handler(const chime_tick *tick, void *context) {
  notice *n = context;
  csuite *t = n->t;
  EXPECT_EQ(add(&n->busy, 1), 1);
  EXPECT_EQ(add(&n->calls, 1), 1);
  EXPECT_EQ(load(&n->finalized), 0);
  EXPECT_EQ(load(&n->value->finalized), 0);
  EXPECT(tick->target == n->value);
  EXPECT(tick->context == n);
  EXPECT_EQ(tick->timer, 0);
  EXPECT_EQ(tick->kind, CHIME_TICK_DUE);
  EXPECT_EQ(tick->sequence, 1);
  EXPECT_EQ(tick->missed, 0);
  EXPECT_EQ(tick->reserved, 0);
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* [3] */
  expect_vanished(n->value);
  n->last = *tick;
  if (!n->value->quiet) csuite_log(t, "%s@%" PRId64, n->name, tick->actual_ns);
  if (n->on_expiry != NULL) n->on_expiry(n, tick);
  EXPECT_EQ(load(&n->finalized), 0);
  EXPECT_EQ(load(&n->value->finalized), 0);
  add(&n->busy, -1);
}

static value *value_new(csuite *t, const char *name) {
  value *v = csuite_memory(t, sizeof *v);
  v->t = t;
  v->name = name;
  return v;
}

static value *value_create(csuite *t, chime_queue_t queue, const char *name, int64_t lifetime_ns) {
  value *v = value_new(t, name);
  EXPECT_OK(chime_expiring_create(queue, v, value_finalizer, lifetime_ns, &v->expiring));
  EXPECT(v->expiring != 0 && v->expiring < UINT64_C(1) << 53);
  return v;
}

static notice *notice_new(value *v, const char *name) {
  notice *n = csuite_memory(v->t, sizeof *n);
  n->t = v->t;
  n->name = name;
  n->value = v;
  return n;
}

static chime_status notice_put(notice *n) {
  return chime_expiring_on_expiry(n->value->expiring, notice_handler, n, notice_finalizer);
}

static void acquire(value *v) {
  csuite *t = v->t;
  void *found = NULL;
  EXPECT_OK(chime_expiring_acquire(v->expiring, &found));
  EXPECT(found == v);
  EXPECT_EQ(load(&v->finalized), 0);
}

static void yield(value *v) {
  csuite *t = v->t;
  EXPECT_OK(chime_expiring_yield(v->expiring));
}

/* Every function answers so: ids.c. */
static void expect_no_value(csuite *t, chime_expiring_t expiring) {
  EXPECT_STATUS(chime_expiring_reset(expiring, 1), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_expiring_yield(expiring), CHIME_ERROR_INVALID_HANDLE);
}

static void run_a_millisecond(csuite *t, chime_queue_t queue, where place) {
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_MILLISECOND));
}

/* A value with a notice that vanishes in an hour, where other threads run the handler. */
static notice *distant(csuite *t, chime_queue_t queue, void (*on_expiry)(notice *n, const chime_tick *tick)) {
  value *v = value_create(t, queue, "v", CHIME_HOUR);
  notice *n = notice_new(v, "n");
  v->quiet = 1;
  n->queue = queue;
  n->on_expiry = on_expiry;
  EXPECT_OK(notice_put(n));
  return n;
}

/* One that vanishes in a millisecond: not before its handler is there. */
static notice *soon(csuite *t, chime_queue_t queue, void (*on_expiry)(notice *n, const chime_tick *tick)) {
  notice *n = distant(t, queue, on_expiry);
  EXPECT_OK(chime_expiring_reset(n->value->expiring, CHIME_MILLISECOND));
  return n;
}

/* ---- Vanishing -------------------------------------------------------------------------------------------------- */

TIMELINE(a_value_vanishes_exactly_when_its_time_is_over,
         "V value 10; V.on n; +9; V is there; +1; V is gone | n@10 n. V.; V.yield?; +100; V.release |; V is released")

/* Nobody can acquire it, though its queue has not noticed. */
TIMELINE(
    a_value_is_gone_before_its_queue_notices,
    "V value 10; V.on n; >9; V is there; >1; V is gone; V.reset 100?; V.on m?; >25; V is gone |; +0 | n@10>35 n. V.")

/* In the order of its tick or not: a handler that runs at the deadline does not find it. */
TIMELINE(handlers_that_run_at_the_deadline_do_not_find_the_value,
         "a 5/5; V value 10; b 5/5; a: V is there; b: V is there; +5 | a1@5 b1@5; "
         "a: V is gone; b: V is gone; +10 | a2@10 V. b2@10 a3@15 b3@15")

/* But it is finalized on the queue. */
TIMELINE(a_lifetime_of_0_is_over_at_once, "V value 0; V is gone; V.on n?; V.reset 10? |; +0 | V.")

/* It is 90 years later. */
TIMELINE(a_lifetime_without_end_ends_with_a_reset_or_a_release,
         "V value max; W value 5; V.on n; W.reset max; +2838240000000000000; V is there; W is there; "
         "V.reset 10; >9; V is there; >1; V is gone; +0 | n@2838240000000000010 n. V.; W.release | W.")

/* Sums saturate, and INT64_MAX is never: also on a clock that stands there. */
TIMELINE(the_end_of_time_ends_no_value,
         ">9223372036854775802; V value max; W value 4; +4 | W.; >3600000000000; now max; +0; V is there; "
         "V.reset 1; V is there |; V.release | V.")

TIMELINE(values_vanish_in_the_order_of_their_deadlines,
         "U value 30; V value 10; W value 20; V.on n; W.on o; +40 | n@10 n. V. o@20 o. W. U.")

/* [3] */
TESTS_ON_ALL_QUEUES(a_value_vanishes_on_every_kind_of_queue) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = soon(t, queue, NULL);
  run_a_millisecond(t, queue, place);
  EXPECT(await(&n->calls, 1));
  expect_vanished(n->value);
  EXPECT(await(&n->finalized, 1));
  EXPECT(await(&n->value->finalized, 1)); /* without waiting for the release, or the end of the queue */
  EXPECT_OK(chime_expiring_release(n->value->expiring));
  expect_no_value(t, n->value->expiring);
}

TEST(a_value_vanishes_on_the_clock_of_its_queue) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  notice *n;
  if (csuite_skips_without_dispatch(t)) return;
  options.clock = CHIME_CLOCK_WALL;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue));
  csuite_ends(t, queue, PATIENCE);
  n = soon(t, queue, NULL);
  EXPECT(await(&n->calls, 1));
  EXPECT(await(&n->finalized, 1));
  EXPECT(n->last.scheduled_ns > INT64_C(1600000000) * CHIME_SECOND); /* a time of day, of this century */
  EXPECT_OK(chime_expiring_release(n->value->expiring));
}

/* ---- Reset ------------------------------------------------------------------------------------------------------ */

TIMELINE(
    a_reset_begins_the_time_anew_later_or_earlier,
    "V value 10; V.on n; +9; V.reset 10; +9; V is there; V.reset 100; +80; V is there; V.reset 5; +4; V is there |; "
    "+1; V is gone | n@103 n. V.; V.reset 100?; V is gone; +200 |")

TIMELINE(a_reset_to_0_ends_the_value_at_once, "V value 10; V.on n; +3; V.reset 0; V is gone |; +0 | n@3 n. V.")

/* ---- Acquire and yield ------------------------------------------------------------------------------------------ */

TIMELINE(who_has_acquired_the_value_keeps_it_beyond_its_time,
         "V value 10; V.on n; V.acquire; V.acquire; +20 | n@10 n.; V is gone; V.yield |; V.yield | V.; "
         "V.yield?; V is gone; V.release |")

TIMELINE(who_has_acquired_the_value_keeps_it_beyond_its_release,
         "V value 10; V.on n; V.acquire; V.acquire; V.release | n.; V.acquire -> INVALID_HANDLE; "
         "V.reset 10 -> INVALID_HANDLE; V.on m -> INVALID_HANDLE; V.release -> INVALID_HANDLE; "
         "V.yield; +20 |; V.yield | V.; V is released")

TESTS_ON_ALL_QUEUES(who_has_acquired_the_value_keeps_it_beyond_both_and_its_queue) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = distant(t, queue, NULL), *m = distant(t, queue, NULL);
  acquire(n->value);
  acquire(m->value);
  EXPECT_OK(chime_expiring_reset(n->value->expiring, 0));
  run_a_millisecond(t, queue, place);
  EXPECT(await(&n->finalized, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&m->calls), 0);
  EXPECT_EQ(load(&n->value->finalized) + load(&m->value->finalized), 0);
  EXPECT_OK(chime_expiring_release(n->value->expiring));
  EXPECT_OK(chime_expiring_release(m->value->expiring));
  EXPECT_EQ(load(&n->value->finalized) + load(&m->value->finalized), 0);
  yield(n->value);
  yield(m->value);
  EXPECT_EQ(load(&n->value->finalized) + load(&m->value->finalized), 2);
  expect_no_value(t, n->value->expiring);
  expect_no_value(t, m->value->expiring);
}

TIMELINE(a_yield_without_an_acquire_is_ignored,
         "V value 10; V.yield?; V.acquire; V.yield; V.yield?; V is there |; V.release | V.; V is released")

/* ---- The handler of the expiry ---------------------------------------------------------------------------------- */

TIMELINE(a_handler_replaces_the_one_before, "V value 10; V.on n; V.on o | n.; +10 | o@10 o. V.; "
                                            "W value 10; W.on p; W.on nothing | p.; W.on nothing; +10 | W.")

TIMELINE(a_handler_that_comes_too_late_stays_the_callers,
         "V value 10; +10 | V.; V.on n?; V.on nothing?; V.release; V.on n -> INVALID_HANDLE; +10 |")

TIMELINE(the_handler_does_not_bring_the_value_back,
         "V value 10; V.on n; n: V is gone, V.reset 10?, V.yield?, V.on m?; +30 | n@10 n. V.")

TIMELINE(the_handler_may_make_the_next_value,
         "V value 10; V.on n; n: W value 10, W.on o, V.release!; +30 | n@10 n. V. o@20 o. W.")

/* ---- Release ---------------------------------------------------------------------------------------------------- */

static void a_release_finalizes_and_nothing_is_called(csuite *t, where place) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = distant(t, queue, NULL);
  value *v = n->value;
  EXPECT_OK(chime_expiring_release(v->expiring));
  EXPECT_EQ(load(&v->finalized), 1); /* in this call */
  EXPECT_EQ(load(&n->finalized), 1);
  expect_no_value(t, v->expiring);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 2 * CHIME_HOUR));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&n->calls), 0);
}
TEST_ON(a_release_finalizes_and_nothing_is_called, a_virtual_queue, VIRTUAL)
TEST_ON(a_release_finalizes_and_nothing_is_called, a_host_driven_queue, HOST)
TEST_ON(a_release_finalizes_and_nothing_is_called, a_serial_queue, SERIAL)

static void release_it(notice *n, const chime_tick *tick) {
  csuite *t = n->t;
  (void)tick;
  EXPECT_STATUS(chime_expiring_release(n->value->expiring), CHIME_RUNNING);
  EXPECT_EQ(load(&n->value->finalized) + load(&n->finalized), 0);
  expect_no_value(t, n->value->expiring);
  store(&n->flag, 1);
}

/* [8] [9] */
TESTS_ON_ALL_QUEUES(the_handler_may_release_the_value) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = soon(t, queue, release_it);
  run_a_millisecond(t, queue, place);
  EXPECT(await(&n->flag, 1));
  EXPECT(await(&n->value->finalized, 1));
  EXPECT(await(&n->finalized, 1));
  EXPECT_EQ(load(&n->calls), 1);
}

static void stay_here(notice *n, const chime_tick *tick) {
  csuite *t = n->t;
  (void)tick;
  store(&n->flag, 1);
  EXPECT(await(&n->gate, 1));
}

/* [8] */
TESTS_ON_DISPATCH_QUEUES(a_release_while_the_handler_runs_leaves_the_end_to_it) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = soon(t, queue, stay_here);
  EXPECT(await(&n->flag, 1));
  expect_vanished(n->value);
  EXPECT_STATUS(notice_put(notice_new(n->value, "late")), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_release(n->value->expiring), CHIME_RUNNING);
  expect_no_value(t, n->value->expiring);
  EXPECT_EQ(load(&n->value->finalized) + load(&n->finalized), 0);
  store(&n->gate, 1);
  EXPECT(await(&n->value->finalized, 1));
  EXPECT(await(&n->finalized, 1));
}

/* ---- The end of the queue --------------------------------------------------------------------------------------- */

/* [8] [16] */
TESTS_ON_ALL_QUEUES(values_vanish_with_their_queue_without_a_call) {
  QUEUE_OR_RETURN(queue, place);
  notice *n = distant(t, queue, NULL);
  value *v = n->value, *w = value_create(t, queue, "w", CHIME_FOREVER);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&v->finalized), 1); /* when the shutdown has returned, without a release */
  EXPECT_EQ(load(&w->finalized), 1);
  EXPECT_EQ(load(&n->finalized), 1);
  EXPECT_EQ(load(&n->calls), 0);
  expect_vanished(v);
  EXPECT_STATUS(chime_expiring_reset(v->expiring, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_yield(v->expiring), CHIME_IGNORED);
  EXPECT_STATUS(notice_put(notice_new(v, "late")), CHIME_IGNORED);
  EXPECT_OK(chime_expiring_release(v->expiring));
  EXPECT_OK(chime_expiring_release(w->expiring));
  expect_no_value(t, v->expiring);
}

TIMELINE(the_handler_may_release_the_queue,
         "V value 10; W value 20; V.on n; W.on o; n: queue.release!; +30 -> SHUT_DOWN | n@10 n. V. W. o.; W is gone")

/* ---- Finalizers ------------------------------------------------------------------------------------------------- */

/* With no lock held: a finalizer may call whatever others may. What they answer depends on where the value was. */
TIMELINE(finalizers_of_values_may_use_the_id, "V value 10; V.: V is ended; +10 | V.; "
                                              "W value max; W.: W is released; W.release | W.; "
                                              "X value 10; X.: X is ended; X.acquire; +10; X.yield | X.; "
                                              "Z value 10; Z.: Z is ended, Z.release; +10 | Z.; Z is released; "
                                              "Y value max; Y.: Y is ended; queue.release | Y.")

/* What V.on puts is replaced in this call, by the finalizer of the one before. */
TIMELINE(a_contexts_finalizer_may_use_the_id, "V value 10; V.on n; n.: V.on p; V.on o | n. o.; +10 | p@10 p. V.")

TEST(finalizers_of_values_may_be_missing) {
  int number = 0;
  void *found = NULL;
  chime_expiring_t expiring = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  value *v = value_create(t, queue, "v", 10);
  notice *n = notice_new(v, "n");
  EXPECT_OK(chime_expiring_create(queue, &number, NULL, 10, &expiring));
  EXPECT_OK(chime_expiring_acquire(expiring, &found));
  EXPECT(found == &number);
  EXPECT_OK(chime_expiring_on_expiry(v->expiring, notice_handler, n, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(chime_expiring_release(expiring));
  EXPECT_OK(chime_expiring_yield(expiring));
  expect_no_value(t, expiring);
  EXPECT_LOG("n@10 v.");
  EXPECT_EQ(n->finalized, 0);
  EXPECT_OK(chime_expiring_release(v->expiring));
}

static void count_expiry(const chime_tick *tick, void *context) {
  value *v = tick->target;
  if (context == NULL && tick->context == NULL) v->status++;
}

TEST(the_context_of_an_expiry_may_be_null) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  value *v = value_create(t, queue, "v", 10);
  v->status = 0;
  EXPECT_OK(chime_expiring_on_expiry(v->expiring, count_expiry, NULL, NULL));
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(v->status, 1);
  EXPECT_OK(chime_expiring_release(v->expiring));
}

/* ---- Arguments and ids ------------------------------------------------------------------------------------------ */

TEST(bad_arguments_leave_the_value_with_the_caller) {
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t records = 0, gone = 0, limited = 0;
  chime_expiring_t id = 77, first = 0;
  value *v = value_new(t, "v");
  notice *n = notice_new(v, "n");
  void *found = v;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  EXPECT_STATUS(chime_expiring_create(queue, NULL, value_finalizer, 1, &id), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(queue, v, value_finalizer, -1, &id), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(queue, v, value_finalizer, INT64_MIN, &id), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(queue, v, value_finalizer, 1, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(0, v, value_finalizer, 1, &id), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_expiring_create(UINT64_MAX, v, value_finalizer, 1, &id), CHIME_ERROR_INVALID_HANDLE);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &gone));
  EXPECT_OK(chime_queue_release(gone));
  EXPECT_STATUS(chime_expiring_create(gone, v, value_finalizer, 1, &id), CHIME_ERROR_INVALID_HANDLE);
  queue_options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &queue_options, &records));
  csuite_ends(t, records, PATIENCE);
  EXPECT_STATUS(chime_expiring_create(records, v, value_finalizer, 1, &id), CHIME_ERROR_UNSUPPORTED);
  queue_options.flags = 0;
  queue_options.timer_limit = 1;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &limited));
  csuite_ends(t, limited, PATIENCE);
  EXPECT_OK(chime_expiring_create(limited, t, NULL, 1, &first));
  EXPECT_STATUS(chime_expiring_create(limited, v, value_finalizer, 1, &id), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_expiring_release(first));
  EXPECT_EQ(id, 77);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_OK(chime_queue_advance(limited, 10));
  EXPECT_EQ(v->finalized, 0);
  EXPECT_OK(chime_expiring_create(limited, v, value_finalizer, 1, &v->expiring)); /* there is room again */

  EXPECT_STATUS(chime_expiring_on_expiry(v->expiring, NULL, n, notice_finalizer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_on_expiry(v->expiring, NULL, NULL, notice_finalizer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_acquire(v->expiring, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_reset(v->expiring, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_reset(v->expiring, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_yield(v->expiring), CHIME_IGNORED); /* nothing was acquired */
  EXPECT_OK(chime_expiring_acquire(v->expiring, &found));
  EXPECT_OK(chime_expiring_yield(v->expiring));
  EXPECT_EQ(v->finalized + n->finalized, 0);
  EXPECT_OK(chime_queue_advance(limited, 1)); /* its time is what it was */
  EXPECT_LOG("v.");
  EXPECT_STATUS(chime_expiring_reset(v->expiring, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_expiring_release(v->expiring));
  EXPECT_EQ(n->calls + n->finalized, 0);
}

static int by_number(const void *a, const void *b) {
  chime_expiring_t x = *(const chime_expiring_t *)a, y = *(const chime_expiring_t *)b;
  return x < y ? -1 : x > y;
}

static void count_in(void *context) { add(context, 1); }

/* [10] */
TEST(ids_of_values_are_never_given_out_again) {
  int count = csuite_scaled(5000), at_once = 16, finalized = 0, i, j;
  chime_expiring_t *ids;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  count += at_once - count % at_once;
  ids = csuite_memory(t, (size_t)count * sizeof *ids);
  for (i = 0; i < count; i += at_once) {
    for (j = i; j < i + at_once; j++) REQUIRE_OK(chime_expiring_create(queue, &finalized, count_in, 10, &ids[j]));
    for (j = i; j < i + at_once; j++) REQUIRE_OK(chime_expiring_release(ids[j]));
  }
  EXPECT_EQ(finalized, count);
  for (i = 0; i < count; i++) {
    if (!EXPECT_STATUS(chime_expiring_yield(ids[i]), CHIME_ERROR_INVALID_HANDLE)) break;
    if (!EXPECT_STATUS(chime_expiring_release(ids[i]), CHIME_ERROR_INVALID_HANDLE)) break;
  }
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  qsort(ids, (size_t)count, sizeof *ids, by_number);
  for (i = 1; i < count; i++) {
    if (!EXPECT(ids[i - 1] != ids[i])) break;
  }
}

TEST(one_object_may_be_two_values) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  value *v = value_create(t, queue, "v", 10), *w = value_create(t, queue, "w", 10);
  chime_expiring_t second = 0;
  void *found = NULL;
  EXPECT_OK(chime_expiring_create(queue, v, NULL, 20, &second));
  EXPECT(second != v->expiring && second != w->expiring);
  EXPECT_OK(chime_queue_advance(queue, 15));
  expect_vanished(v);
  EXPECT_OK(chime_expiring_acquire(second, &found));
  EXPECT(found == v);
  EXPECT_OK(chime_expiring_release(second));
  EXPECT_OK(chime_expiring_yield(second));
  EXPECT_OK(chime_expiring_release(v->expiring));
  EXPECT_OK(chime_expiring_release(w->expiring));
  EXPECT_LOG("v. w.");
}
