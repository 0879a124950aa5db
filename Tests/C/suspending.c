/*
 * suspending.c - chime_queue_suspend and chime_queue_resume: while a queue is suspended, nothing of it begins, and time
 * goes on. Promises 1, 5, 7, 8. (That nothing wakes up: queries.c; random calls: Model.)
 */
#include "run_loop.h"

/* What a test's callbacks find: 1, once the queue was resumed. Nothing else than that is waited for. */
typedef struct gate {
  csuite *t;
  int is_open;
} gate;

static void expect_open(csuite *t, probe *p, const chime_tick *tick) {
  gate *g = p->user;
  EXPECT_EQ(load(&g->is_open), 1);
}

static void expect_open_at_the_end(csuite *t, probe *p) { expect_open(t, p, NULL); }

static probe *behind(gate *g, probe *p) {
  p->user = g;
  p->on_tick = p->on_armed = p->on_cancelled = expect_open;
  p->on_finalize = expect_open_at_the_end;
  return p;
}

static void let_time_pass(csuite *t, chime_queue_t queue, where place) {
  if (place == VIRTUAL) ADVANCE(10 * CHIME_MILLISECOND);
  else sleep_ns(10 * CHIME_MILLISECOND);
}

/* Whatever it is, and whether it was there before or has come since; two suspends need two resumes. */
TESTS_ON_ALL_QUEUES(nothing_begins_on_a_suspended_queue) {
  gate *g = csuite_memory(t, sizeof *g);
  chime_timer_options options;
  probe *p[10], *before = probe_start_full(t, queue, NULL, AFTER(CHIME_HOUR));
  probe *armed = behind(g, probe_start_full(t, queue, NULL, NULL)), *repeating, *function, *value, *expiry;
  run_due(t, queue, place);
  EXPECT(await(&before->armed, 1));
  behind(g, before);
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  for (int i = 0; i < 10; i++) p[i] = behind(g, probe_new(t, queue, NULL));
  for (int i = 0; i < 10; i++) {
    options = probe_full_options(p[i]);
    EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), &p[i]->timer));
  }
  repeating = behind(g, probe_new(t, queue, NULL));
  options = probe_options(repeating);
  EXPECT_OK(chime_timer_start(queue, &options, EVERY(0, CHIME_MILLISECOND), &repeating->timer));
  EXPECT_OK(chime_timer_activate(armed->timer, AFTER(CHIME_HOUR)));
  EXPECT_OK(chime_timer_fire(before->timer));
  EXPECT_OK(chime_timer_cancel(p[8]->timer));
  EXPECT_OK(chime_timer_release(p[9]->timer));
  function = behind(g, probe_new(t, queue, NULL));
  EXPECT_OK(chime_queue_async(queue, probe_function, function, probe_finalizer));
  value = behind(g, probe_value(t, queue, NULL, 1));
  expiry = behind(g, probe_of_owner(value, NULL));
  expiry->quiet = 1;
  if (place == VIRTUAL) EXPECT_OK(probe_expects(expiry));
  let_time_pass(t, queue, place);
  expect_vanished(value);
  EXPECT_OK(chime_queue_resume(queue));
  let_time_pass(t, queue, place);
  EXPECT_EQ(state_of(t, p[0]->timer), CHIME_STATE_RUNNING);
  EXPECT(deadline_of(t, p[0]->timer) <= now_of(t, queue));
  int64_t resumed = now_of(t, queue);
  store(&g->is_open, 1);
  EXPECT_OK(chime_queue_resume(queue));
  EXPECT_STATUS(chime_queue_resume(queue), CHIME_IGNORED);
  run_due(t, queue, place);
  for (int i = 0; i < 8; i++) EXPECT(await(&p[i]->returned, 1) && p[i]->last.actual_ns >= resumed);
  EXPECT(await(&p[8]->cancelled, 1) && await(&p[9]->cancelled, 1) && await(&p[9]->finalized, 1));
  EXPECT(await(&function->finalized, 1) && await(&value->finalized, 1) && await(&armed->armed, 1));
  EXPECT(await(&before->returned, 1) && before->last.kind == CHIME_TICK_FIRED);
  if (place == VIRTUAL) EXPECT_EQ(expiry->ticks, 1);
  EXPECT(await(&repeating->returned, 1));
  EXPECT_BETWEEN(repeating->first.missed, 19, INT64_MAX); /* [5] */
  EXPECT_EQ(function->ticks, 1);
  for (int i = 0; i < 10; i++) EXPECT_EQ(load(&p[i]->ticks), i < 8);
  EXPECT_OK(chime_expiring_release(value->id));
}

static void suspend_from_within(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_queue_suspend(p->queue), CHIME_RUNNING);
  store(&p->flag, 1);
}

/* A handler, a function, a registration handler: it goes on, and nothing follows, not even of its own timer. */
TESTS_ON_ALL_QUEUES(a_callback_may_suspend_its_own_queue) {
  for (int kind = 0; kind < 3; kind++) {
    gate *g = csuite_memory(t, sizeof *g);
    probe *p = probe_new(t, queue, NULL), *next;
    chime_timer_options options = probe_full_options(p);
    p->user = g;
    if (kind == 1) {
      p->on_armed = suspend_from_within;
      p->on_tick = expect_open;
    } else {
      p->on_tick = suspend_from_within;
    }
    if (kind == 2) EXPECT_OK(chime_queue_async(queue, probe_function, p, NULL));
    else EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), &p->timer));
    if (place == VIRTUAL) ADVANCE(0);
    EXPECT(await(&p->flag, 1));
    next = behind(g, probe_after(t, queue, NULL, 0));
    let_time_pass(t, queue, place);
    store(&g->is_open, 1);
    EXPECT_OK(chime_queue_resume(queue));
    run_due(t, queue, place);
    EXPECT(await(&next->returned, 1) && await(&p->ticks, 1));
  }
}

static void *open_gate_of(void *argument) {
  sleep_ns(10 * CHIME_MILLISECOND);
  open_gate(argument);
  return NULL;
}

/* In a handler, in a function of async; and, once that has returned, not any more. */
TESTS_ON_DISPATCH_QUEUES(a_suspend_says_whether_a_callback_runs) {
  for (int kind = 0; kind < 2; kind++) {
    probe *p;
    pthread_t thread;
    if (kind == 0) {
      p = probe_held(t, queue, 0);
    } else {
      p = probe_new(t, queue, NULL);
      p->on_tick = stay_until_gate_opens;
      EXPECT_OK(chime_queue_async(queue, probe_function, p, NULL));
      EXPECT(await(&p->flag, 1));
    }
    EXPECT_STATUS(chime_queue_suspend(queue), CHIME_RUNNING);
    EXPECT_STATUS(chime_queue_suspend(queue), CHIME_RUNNING);
    if (!spawn(t, &thread, open_gate_of, p)) return;
    int suspends = 2;
    AWAIT((suspends++, chime_queue_suspend(queue)) == CHIME_OK);
    EXPECT_EQ(load(&p->gate), 1);
    while (suspends-- > 0) EXPECT_OK(chime_queue_resume(queue));
    pthread_join(thread, NULL);
  }
}

THREAD(stay_in_a_sync, probe, f) { EXPECT_OK(chime_queue_sync(f->queue, probe_function, f, CHIME_FOREVER)); }

THREAD(sync_and_note, probe, f) {
  EXPECT_OK(chime_queue_sync(f->queue, probe_function, f, CHIME_FOREVER));
  store(&f->flag, 1);
}

#define TESTS_ON_QUEUES_WITH_SYNC(name) \
  TESTS_ON(name); \
  TEST_ON(name, a_serial_queue, SERIAL) \
  TEST_ON(name, a_precise_queue, PRECISE) \
  TEST_ON(name, the_main_queue, MAIN) \
  TEST_ON(name, a_dispatch_queue, DISPATCH) \
  TEST_ON(name, a_wrapped_serial_queue, WRAPPED_SERIAL) \
  TESTS_ON(name)

TESTS_ON_QUEUES_WITH_SYNC(a_suspend_says_that_a_function_of_sync_runs) {
  probe *f = probe_new(t, queue, NULL);
  pthread_t thread;
  f->on_tick = stay_until_gate_opens;
  if (!spawn(t, &thread, stay_in_a_sync, f)) return;
  EXPECT(await(&f->flag, 1));
  EXPECT_STATUS(chime_queue_suspend(queue), CHIME_RUNNING);
  open_gate(f);
  pthread_join(thread, NULL);
  AWAIT(chime_queue_suspend(queue) == CHIME_OK);
}

TESTS_ON_QUEUES_WITH_SYNC(sync_waits_for_the_resume) {
  gate g = {t, 0};
  probe *never = probe_new(t, queue, NULL), *f = behind(&g, probe_new(t, queue, NULL));
  pthread_t thread;
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  EXPECT_STATUS(chime_queue_sync(queue, probe_function, never, 0), CHIME_ERROR_TIMED_OUT);
  EXPECT_STATUS(chime_queue_sync(queue, probe_function, never, 5 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  if (!spawn(t, &thread, sync_and_note, f)) return;
  sleep_ns(5 * CHIME_MILLISECOND);
  EXPECT_EQ(load(&f->flag), 0);
  store(&g.is_open, 1);
  EXPECT_OK(chime_queue_resume(queue));
  pthread_join(thread, NULL);
  EXPECT_EQ(f->ticks, 1);
  EXPECT_EQ(never->ticks, 0);
}

/* Its own thread would wait for itself; inside a callback the function is part of that. */
RUN_LOOP_TEST(sync_on_the_thread_of_a_suspended_queue_would_deadlock, NULL) {
  probe *f = probe_new(t, queue, NULL);
  EXPECT_OK(chime_queue_sync(queue, probe_function, f, CHIME_FOREVER));
  EXPECT_OK(chime_queue_suspend(queue));
  EXPECT_STATUS(chime_queue_sync(queue, probe_function, f, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT(strstr(chime_last_error_detail(), "queue is suspended") != NULL);
  EXPECT_OK(chime_queue_resume(queue));
  EXPECT_OK(chime_queue_sync(queue, probe_function, f, 0));
  EXPECT_EQ(f->ticks, 2);
}

/* [8] Nothing ticks, and all that is owed is called; the ids are stale. */
TESTS_ON_ALL_QUEUES(a_suspended_queue_may_be_ended) {
  probe *running, *due, *released, *function = probe_new(t, queue, NULL);
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  running = probe_start_full(t, queue, NULL, AFTER(CHIME_HOUR));
  due = probe_start_full(t, queue, NULL, AFTER(0));
  released = probe_start_full(t, queue, NULL, AFTER(0));
  EXPECT_OK(chime_queue_async(queue, probe_function, function, probe_finalizer));
  EXPECT_OK(chime_timer_release(released->timer));
  let_time_pass(t, queue, place);
  EXPECT_EQ(load(&released->cancelled), 0);
  csuite_shutdown(t, queue);
  probe *all[] = {running, due, released};
  for (int i = 0; i < 3; i++) EXPECT(all[i]->cancelled == 1 && all[i]->finalized == 1 && all[i]->ticks == 0);
  EXPECT(function->finalized == 1 && function->ticks == 0);
  EXPECT_STATUS(chime_queue_resume(queue), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_STATUS(chime_queue_suspend(queue), CHIME_ERROR_INVALID_HANDLE);
}

TESTS_ON_ALL_QUEUES(a_suspended_queue_may_be_released) {
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  probe *due = probe_start_full(t, queue, NULL, AFTER(0));
  EXPECT_TOOK_EFFECT(chime_queue_release(queue));
  EXPECT(await(&due->finalized, 1) && due->ticks == 0);
  csuite_keep_memory(t); /* the finalizer may be about to return */
}

/* ---- Virtual queues: exactly what comes when ------------------------------------------------------------------------ */

VIRTUAL_TEST(virtual_time_moves_without_callbacks) {
  probe *a = probe_every(t, queue, "a", 10);
  ADVANCE(25);
  EXPECT_OK(chime_queue_suspend(queue));
  probe_after(t, queue, "b", 5);
  ADVANCE(50);
  EXPECT_EQ(now_of(t, queue), 75);
  EXPECT_EQ(deadline_of(t, a->timer), 30);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_LOG("a1@10 a2@20");
  EXPECT_OK(chime_queue_resume(queue));
  EXPECT_EQ(next_deadline(t, queue), 30);
  ADVANCE(5);
  EXPECT_LOG("a3+4>75 b1@30>75 a4@80");
}

static void suspend_here(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_STATUS(chime_queue_suspend(p->queue), CHIME_RUNNING);
}

/* Those that were due with it keep their turns; what comes afterwards is behind them. */
VIRTUAL_TEST(a_pass_goes_on_where_its_queue_was_suspended) {
  probe *a = probe_after(t, queue, "a", 10);
  a->on_tick = suspend_here;
  probe_after(t, queue, "b", 10);
  probe *c = probe_after(t, queue, "c", 10);
  probe_after(t, queue, "d", 15);
  ADVANCE(20);
  EXPECT_OK(chime_timer_cancel(c->timer));
  EXPECT_LOG("a1@10");
  EXPECT_OK(chime_queue_resume(queue));
  ADVANCE(0);
  EXPECT_LOG("b1@10>20 d1@15>20");
}

/* Of a released timer, one callback after the other. */
VIRTUAL_TEST(last_callbacks_wait_for_the_resume_each) {
  probe *a = probe_start_full(t, queue, "a", AFTER(10));
  ADVANCE(0);
  a->on_cancelled = suspend_here;
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_LOG("a^ a-");
  ADVANCE(5);
  EXPECT_LOG("");
  EXPECT_OK(chime_queue_resume(queue));
  ADVANCE(0);
  EXPECT_LOG("a.");
}

static void note_order(csuite *t, probe *p, const chime_tick *tick) { csuite_log(t, "%s", p->name); }

VIRTUAL_TEST(functions_keep_their_order_over_a_suspension) {
  static const char *const names[] = {"f", "g", "h"};
  for (int i = 0; i < 3; i++) {
    probe *f = probe_new(t, queue, names[i]);
    f->on_tick = i == 0 ? suspend_here : note_order;
    EXPECT_OK(chime_queue_async(queue, probe_function, f, NULL));
  }
  ADVANCE(1);
  EXPECT_LOG("");
  probe *i = probe_new(t, queue, "i");
  i->on_tick = note_order;
  EXPECT_OK(chime_queue_async(queue, probe_function, i, NULL));
  EXPECT_OK(chime_queue_resume(queue));
  ADVANCE(0);
  EXPECT_LOG("g h i");
}

VIRTUAL_TEST(a_suspended_queue_says_so) {
  char text[1024];
  probe *due = probe_after(t, queue, NULL, 10), *idle = probe_idle(t, queue, NULL);
  EXPECT_OK(chime_queue_suspend(queue));
  ADVANCE(30);
  EXPECT_OK(chime_timer_explain(due->timer, text, sizeof text, NULL));
  EXPECT_TEXT(text, "it was due 20 ns ago; its queue is suspended.");
  EXPECT_OK(chime_timer_explain(idle->timer, text, sizeof text, NULL));
  EXPECT_TEXT(text, "it was never activated, and has no schedule.");
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, ", suspended\n") != NULL);
  EXPECT_OK(chime_queue_resume(queue));
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, "suspended") == NULL);
}

/* ---- Host-driven queues --------------------------------------------------------------------------------------------- */

static void expect_at_rest(csuite *t, chime_queue_t queue) {
  EXPECT_EQ(is_readable(fd_of(t, queue), 0), 0);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  EXPECT_EQ(poll_timeout(t, queue), -1);
}

/* After one look, which the first change of a timer may ask for. */
HOST_TEST(the_descriptor_of_a_suspended_queue_is_at_rest, 0) {
  int fd = fd_of(t, queue);
  EXPECT_OK(chime_queue_suspend(queue));
  probe *p = probe_after(t, queue, NULL, 0);
  EXPECT_EQ(process(t, queue, 0), 0);
  expect_at_rest(t, queue);
  EXPECT_OK(chime_queue_async(queue, ignore_call, NULL, NULL));
  probe *q = probe_after(t, queue, NULL, 0);
  expect_at_rest(t, queue);
  EXPECT_OK(chime_queue_resume(queue));
  EXPECT(is_readable(fd, LONG));
  EXPECT(next_deadline(t, queue) <= now_of(t, queue));
  EXPECT_EQ(process(t, queue, 0), 3);
  EXPECT(p->ticks == 1 && q->ticks == 1);
}

HOST_TEST(a_suspended_queue_gives_no_records, CHIME_QUEUE_FLAG_RECORDS) {
  chime_timer_t timer;
  chime_tick ticks[4];
  size_t count = 9;
  REQUIRE_OK(chime_timer_after(queue, 0, NULL, NULL, NULL, &timer));
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4, &count));
  EXPECT_EQ(count, 1);
  EXPECT_STATUS(chime_queue_suspend(queue), CHIME_RUNNING); /* the record has not ended */
  EXPECT_TOOK_EFFECT(chime_timer_restart(timer, AFTER(0)));
  EXPECT_OK(chime_queue_async(queue, NULL, NULL, NULL));
  EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4, &count));
  EXPECT_EQ(count, 0);
  EXPECT_EQ(info_of(t, timer).busy, 0);
  EXPECT_OK(chime_queue_suspend(queue));
  expect_at_rest(t, queue);
  for (int i = 0; i < 2; i++) EXPECT_OK(chime_queue_resume(queue));
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4, &count));
  EXPECT_EQ(count, 2);
}

typedef struct runner {
  csuite *t;
  chime_queue_t queue;
  uint32_t flags;
  int ended;
  chime_status status;
} runner;

THREAD(run_the_queue, runner, r) {
  r->status = chime_queue_run(r->queue, r->flags);
  store(&r->ended, 1);
}

/* It waits for what it waits for elsewhere, and for no more. */
HOST_TEST(a_run_waits_on_a_suspended_queue, 0) {
  enum { ENDS = 4 };
  probe *p[ENDS];
  EXPECT_OK(chime_queue_suspend(queue));
  EXPECT_OK(chime_queue_run(queue, 0)); /* for nothing */
  for (int end = 0; end < ENDS; end++) {
    runner r = {t, queue, 0, 0, INT32_MIN};
    pthread_t thread;
    p[end] = probe_after(t, queue, NULL, 0);
    EXPECT_STATUS(chime_queue_run(queue, CHIME_QUEUE_RUN_NO_WAIT), CHIME_TIMED_OUT);
    if (!spawn(t, &thread, run_the_queue, &r)) return;
    if (end % 2 == 1) sleep_ns(5 * CHIME_MILLISECOND); /* it sleeps by then, or looks first */
    EXPECT_EQ(load(&r.ended), 0);
    if (end < 2) EXPECT_OK(chime_timer_cancel(p[end]->timer));
    else EXPECT_OK(end == 2 ? chime_queue_stop(queue) : chime_queue_resume(queue));
    pthread_join(thread, NULL);
    EXPECT_STATUS(r.status, end == 2 ? CHIME_STOPPED : CHIME_OK);
  }
  for (int end = 0; end < ENDS; end++) EXPECT_EQ(p[end]->ticks, end >= 2);
}
