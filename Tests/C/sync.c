/*
 * sync.c - the queue as a mutex: functions that run on it by chime_queue_sync and _async, between its handlers.
 * Promises 1, 6 and 8. (Syncs that wait for each other: Storms, meetings.c.)
 */
#include "harness.h"

typedef struct turnstile {
  csuite *t;
  chime_queue_t queue;
  int inside;
  int total; /* guarded by the queue itself */
} turnstile;

static void pass_turnstile(void *context) {
  turnstile *s = context;
  csuite *t = s->t;
  EXPECT_EQ(add(&s->inside, 1), 1);
  s->total++;
  add(&s->inside, -1);
}

static void pass_turnstile_in_handler(csuite *t, probe *p, const chime_tick *tick) { pass_turnstile(p->user); }

THREAD(sync_again_and_again, turnstile, s) {
  for (int i = 0; i < csuite_scaled(500); i++) {
    EXPECT_OK(chime_queue_sync(s->queue, pass_turnstile, s, CHIME_FOREVER));
    EXPECT_OK(chime_queue_async(s->queue, pass_turnstile, s, NULL));
  }
}

TESTS_ON(sync_and_async_exclude_the_handlers) {
  enum { THREADS = 4 };
  turnstile *s = csuite_memory(t, sizeof *s);
  pthread_t threads[THREADS];
  int started = 0;
  probe *p = probe_idle(t, queue, NULL);
  s->t = t;
  s->queue = queue;
  p->user = s;
  p->on_tick = pass_turnstile_in_handler;
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, 100 * CHIME_MICROSECOND)));
  while (started < THREADS && spawn(t, &threads[started], sync_again_and_again, s)) started++;
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT_OK(chime_queue_sync(queue, pass_turnstile, s, CHIME_FOREVER));
  EXPECT_EQ(s->total, 2 * started * csuite_scaled(500) + load(&p->ticks) + 1); /* none was lost */
}
TEST_ON(sync_and_async_exclude_the_handlers, a_serial_queue, SERIAL)
TEST_ON(sync_and_async_exclude_the_handlers, a_wrapped_serial_queue, WRAPPED_SERIAL)

/* Q1 -> Q2 -> Q1, where libdispatch traps. */
typedef struct nest {
  csuite *t;
  chime_queue_t first, second;
  int depth;
} nest;

static void go_deeper(void *context) {
  nest *n = context;
  csuite *t = n->t;
  if (++n->depth > 4) return;
  EXPECT_OK(chime_queue_sync(n->depth % 2 ? n->second : n->first, go_deeper, n, n->depth == 1 ? CHIME_FOREVER : 0));
}

TEST(nested_syncs_run_at_once) {
  nest *n = csuite_memory(t, sizeof *n);
  QUEUE_OR_RETURN(first, SERIAL);
  QUEUE_OR_RETURN(second, SERIAL);
  n->t = t;
  n->first = first;
  n->second = second;
  EXPECT_OK(chime_queue_sync(first, go_deeper, n, CHIME_FOREVER));
  EXPECT_EQ(n->depth, 5);
}

static void raise_flag(void *context) { store(&((probe *)context)->flag, 1); }

static void sync_own_queue(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_sync(p->queue, raise_flag, p, 0));
  EXPECT_EQ(load(&p->flag), 1); /* before it returned */
}

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(sync_inside_a_handler_of_the_queue_runs_at_once) {
  probe *p = probe_quiet(t, queue, 0, 0, sync_own_queue);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT(await(&p->returned, 1));
}

SERIAL_TEST(sync_gives_up_when_its_time_is_over_and_never_runs) {
  probe *p = probe_held(t, queue, 0);
  probe *late = probe_new(t, queue, "b"), *later = probe_new(t, queue, "c"); /* only their flags are used */
  int64_t begin = monotonic_ns();
  EXPECT_STATUS(chime_queue_sync(queue, raise_flag, late, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_queue_sync(queue, raise_flag, late, 0), CHIME_TIMED_OUT);
  open_gate(p);
  EXPECT_OK(chime_queue_sync(queue, raise_flag, later, CHIME_FOREVER));
  EXPECT_EQ(load(&later->flag), 1);
  EXPECT_EQ(load(&late->flag), 0);
}

/* Each is as far from the first as it is late. */
typedef struct ticket {
  struct ticket *first;
  int passed; /* the first one's: so many */
  int turn;
} ticket;

static void take_turn(void *context) {
  ticket *k = context;
  k->turn = load(&k->first->passed);
  add(&k->first->passed, 1);
}

/* Without finalizers. */
TESTS_ON_VIRTUAL_AND_SERIAL(async_keeps_the_order_of_one_thread) {
  enum { TICKETS = 200 };
  ticket *tickets = csuite_memory(t, TICKETS * sizeof *tickets);
  for (int i = 0; i < TICKETS; i++) {
    tickets[i].first = tickets;
    EXPECT_OK(chime_queue_async(queue, take_turn, &tickets[i], NULL));
  }
  run_due(t, queue, place);
  REQUIRE(await(&tickets->passed, TICKETS));
  for (int i = 0; i < TICKETS; i++) EXPECT_EQ(tickets[i].turn, i);
}

TESTS_ON_ALL_QUEUES(async_runs_once_then_finalizes) {
  probe *j = probe_new(t, queue, "j");
  EXPECT_OK(chime_queue_async(queue, probe_function, j, probe_finalizer));
  if (place == VIRTUAL) EXPECT_EQ(j->ticks, 0); /* at the next advance */
  run_due(t, queue, place);
  EXPECT(await(&j->finalized, 1));
  EXPECT_EQ(load(&j->ticks), 1);
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&j->ticks), 1);
  EXPECT_EQ(load(&j->finalized), 1);
}

TEST(async_is_finalized_when_the_queue_ends_before) { /* [8] */
  for (int is_shutdown = 0; is_shutdown < 2; is_shutdown++) {
    QUEUE_OR_RETURN(queue, VIRTUAL);
    probe *j = probe_new(t, queue, "j");
    EXPECT_OK(chime_queue_async(queue, probe_function, j, probe_finalizer));
    EXPECT_OK(is_shutdown ? chime_queue_shutdown(queue, PATIENCE) : chime_queue_release(queue));
    EXPECT_EQ(j->ticks, 0);
    EXPECT_EQ(j->finalized, 1);
  }
}

/* [8]: a function that waits behind a busy handler of a serial queue that ends; it checks that it is not finalized. */
SERIAL_TEST(async_behind_a_busy_handler_is_finalized_once) {
  probe *p = probe_held(t, queue, CHIME_MILLISECOND), *j = probe_new(t, queue, "j");
  EXPECT_OK(chime_queue_async(queue, probe_function, j, probe_finalizer));
  EXPECT_STATUS(chime_queue_release(queue), CHIME_RUNNING);
  EXPECT_EQ(load(&j->ticks), 0);
  csuite_keep_memory(t);
  open_gate(p);
  EXPECT(await(&j->finalized, 1));
}
