/*
 * sync.c - the queue as a mutex: functions that run on it by chime_queue_sync and _async, between its handlers. Promises 1
 * and 6.
 */
#include "harness.h"

typedef struct turnstile {
  csuite *t;
  chime_queue_t queue;
  int inside;
  int total; /* guarded by the queue itself */
  int passed;
} turnstile;

static void pass_turnstile(void *context) {
  turnstile *s = context;
  csuite *t = s->t;
  EXPECT_EQ(add(&s->inside, 1), 1);
  s->total++;
  add(&s->inside, -1);
  add(&s->passed, 1);
}

static void pass_turnstile_in_handler(probe *p, const chime_tick *tick) {
  (void)tick;
  pass_turnstile(p->user);
}

static void *sync_again_and_again(void *argument) {
  turnstile *s = argument;
  csuite *t = s->t;
  int count = csuite_scaled(500), i;
  for (i = 0; i < count; i++) {
    EXPECT_OK(chime_queue_sync(s->queue, pass_turnstile, s, CHIME_FOREVER));
    EXPECT_OK(chime_queue_async(s->queue, pass_turnstile, s, NULL));
  }
  return NULL;
}

static void sync_and_async_exclude_the_handlers(csuite *t, where place) {
  chime_schedule schedule = schedule_of(0, 100 * CHIME_MICROSECOND);
  turnstile *s = csuite_memory(t, sizeof *s);
  pthread_t threads[4];
  int spawned[4], i, calls = 0;
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  s->t = t;
  s->queue = queue;
  p->quiet = 1;
  p->user = s;
  p->on_tick = pass_turnstile_in_handler;
  EXPECT_OK(chime_timer_activate(p->timer, &schedule));
  for (i = 0; i < 4; i++) {
    spawned[i] = spawn(t, &threads[i], sync_again_and_again, s);
    if (spawned[i]) calls += 2 * csuite_scaled(500);
  }
  for (i = 0; i < 4; i++) {
    if (spawned[i]) pthread_join(threads[i], NULL);
  }
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT(await(&s->passed, calls + load(&p->ticks)));
  EXPECT_OK(chime_queue_sync(queue, pass_turnstile, s, CHIME_FOREVER));
  EXPECT_EQ(s->total, calls + load(&p->ticks) + 1); /* none was lost */
}
TEST(sync_and_async_exclude_the_handlers_of_a_serial_queue) { sync_and_async_exclude_the_handlers(t, SERIAL); }
TEST(sync_and_async_exclude_the_handlers_of_a_wrapped_queue) { sync_and_async_exclude_the_handlers(t, WRAPPED_SERIAL); }

/* Q1 -> Q2 -> Q1, where libdispatch traps. */
typedef struct nest {
  csuite *t;
  chime_queue_t first;
  chime_queue_t second;
  int innermost;
} nest;

static void nest_innermost(void *context) { add(&((nest *)context)->innermost, 1); }

static void nest_in_second(void *context) {
  nest *n = context;
  csuite *t = n->t;
  EXPECT_OK(chime_queue_sync(n->first, nest_innermost, n, CHIME_FOREVER));
  EXPECT_OK(chime_queue_sync(n->second, nest_innermost, n, 0));
}

static void nest_in_first(void *context) {
  nest *n = context;
  csuite *t = n->t;
  EXPECT_OK(chime_queue_sync(n->second, nest_in_second, n, CHIME_FOREVER));
  EXPECT_EQ(load(&n->innermost), 2);
}

TEST(nested_syncs_run_at_once) {
  nest *n = csuite_memory(t, sizeof *n);
  QUEUE_OR_RETURN(first, SERIAL);
  QUEUE_OR_RETURN(second, SERIAL);
  n->t = t;
  n->first = first;
  n->second = second;
  EXPECT_OK(chime_queue_sync(first, nest_in_first, n, CHIME_FOREVER));
  EXPECT_EQ(load(&n->innermost), 2);
}

static void raise_flag(void *context) { store(&((probe *)context)->flag, 1); }

static void sync_own_queue(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  p->status = chime_queue_sync(p->queue, raise_flag, p, 0);
  EXPECT_EQ(load(&p->flag), 1); /* before it returned */
}

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(sync_inside_a_handler_of_the_queue_runs_at_once) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, 0, sync_own_queue);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT(await(&p->returned, 1));
  EXPECT_OK(p->status);
}

TEST(sync_gives_up_when_its_time_is_over_and_never_runs) {
  chime_schedule at_once = schedule_of(0, 0);
  int64_t begin;
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_idle(t, queue, "a");
  probe *late = probe_new(t, queue, "b"); /* only its flag is used */
  probe *later = probe_new(t, queue, "c");
  p->on_tick = stay_until_gate_opens;
  EXPECT_OK(chime_timer_activate(p->timer, &at_once));
  REQUIRE(await(&p->flag, 1));
  begin = monotonic_ns();
  EXPECT_STATUS(chime_queue_sync(queue, raise_flag, late, 30 * CHIME_MILLISECOND), CHIME_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_queue_sync(queue, raise_flag, late, 0), CHIME_TIMED_OUT);
  open_gate(p);
  EXPECT_OK(chime_queue_sync(queue, raise_flag, later, CHIME_FOREVER));
  EXPECT_EQ(load(&later->flag), 1);
  EXPECT_EQ(load(&late->flag), 0);
}

static void sync_on_the_waiting_queue(probe *p, const chime_tick *tick) {
  (void)tick;
  store(&p->flag, 1);
  while (load(&p->gate) == 0) sleep_ns(CHIME_MILLISECOND);
  sleep_ns(p->number); /* by now the other handler waits for this one, or the round is done again */
  p->status = chime_queue_sync(p->other->queue, raise_flag, p->other, PATIENCE);
}

static void let_the_other_go_and_wait_for_it(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  EXPECT(await(&p->other->flag, 1));
  open_gate(p->other);
  p->status = chime_timer_cancel_and_wait(p->other->timer, PATIENCE);
}

/* Whoever waits second is told. Here that is to be the sync: it begins later in each round. */
TEST(sync_on_a_queue_whose_handler_waits_for_the_caller_would_deadlock) {
  chime_schedule at_once = schedule_of(0, CHIME_HOUR);
  int64_t pause;
  QUEUE_OR_RETURN(first, SERIAL);
  QUEUE_OR_RETURN(second, SERIAL);
  for (pause = 50 * CHIME_MILLISECOND; pause < PATIENCE; pause *= 2) {
    probe *a = probe_idle(t, first, "a");
    probe *b = probe_idle(t, second, "b");
    a->other = b;
    b->other = a;
    b->number = pause;
    a->on_tick = let_the_other_go_and_wait_for_it;
    b->on_tick = sync_on_the_waiting_queue;
    EXPECT_OK(chime_timer_activate(b->timer, &at_once));
    EXPECT_OK(chime_timer_activate(a->timer, &at_once));
    REQUIRE(await(&a->returned, 1));
    REQUIRE(await(&b->returned, 1));
    if (b->status == CHIME_ERROR_WOULD_DEADLOCK) {
      EXPECT_OK(a->status);
      EXPECT_EQ(load(&a->flag), 0); /* the function did not run */
      return;
    }
    EXPECT_OK(b->status);
    EXPECT_STATUS(a->status, CHIME_ERROR_WOULD_DEADLOCK);
    EXPECT_EQ(load(&a->flag), 1);
    EXPECT_TOOK_EFFECT(chime_timer_release(a->timer));
    EXPECT_TOOK_EFFECT(chime_timer_release(b->timer));
  }
  EXPECT(!"the sync is told in some round");
}

enum { LINE = 200 };
typedef struct line {
  csuite *t;
  int next;
  int places[LINE];
} line;
typedef struct ticket {
  line *line;
  int number;
} ticket;

static void take_place(void *context) {
  ticket *k = context;
  line *l = k->line;
  if (l->next < LINE) l->places[l->next] = k->number;
  add(&l->next, 1);
}

TESTS_ON_VIRTUAL_AND_SERIAL(async_keeps_the_order_of_one_thread) {
  line *l = csuite_memory(t, sizeof *l);
  ticket *tickets = csuite_memory(t, LINE * sizeof *tickets);
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < LINE; i++) {
    tickets[i].line = l;
    tickets[i].number = i;
    EXPECT_OK(chime_queue_async(queue, take_place, &tickets[i], NULL));
  }
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
  REQUIRE(await(&l->next, LINE));
  for (i = 0; i < LINE; i++) EXPECT_EQ(l->places[i], i);
}

/* ---- Once, and then finalized: promise 8 -------------------------------------------------------------------------------------------------- */

typedef struct job {
  csuite *t;
  int ran;
  int finalized;
  int ran_before_finalized;
} job;

static void job_run(void *context) {
  job *j = context;
  csuite *t = j->t;
  EXPECT_EQ(load(&j->finalized), 0);
  add(&j->ran, 1);
}

static void job_finalize(void *context) {
  job *j = context;
  csuite *t = j->t;
  store(&j->ran_before_finalized, load(&j->ran));
  EXPECT_EQ(add(&j->finalized, 1), 1);
}

TESTS_ON_ALL_QUEUES(async_runs_once_then_finalizes) {
  job *j = csuite_memory(t, sizeof *j);
  QUEUE_OR_RETURN(queue, place);
  j->t = t;
  EXPECT_OK(chime_queue_async(queue, job_run, j, job_finalize));
  if (place == VIRTUAL) EXPECT_EQ(j->ran, 0); /* at the next advance */
  run_due(t, queue, place);
  EXPECT(await(&j->finalized, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&j->ran), 1);
  EXPECT_EQ(load(&j->ran_before_finalized), 1);
  EXPECT_EQ(load(&j->finalized), 1);
}

TEST(async_without_finalizer_runs) {
  job *j = csuite_memory(t, sizeof *j);
  QUEUE_OR_RETURN(queue, SERIAL);
  j->t = t;
  EXPECT_OK(chime_queue_async(queue, job_run, j, NULL));
  EXPECT(await(&j->ran, 1));
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&j->ran), 1);
}

/* [8] */
TEST(async_is_finalized_when_the_queue_ends_before) {
  job *released = csuite_memory(t, sizeof *released);
  job *shut_down = csuite_memory(t, sizeof *shut_down);
  QUEUE_OR_RETURN(first, VIRTUAL);
  QUEUE_OR_RETURN(second, VIRTUAL);
  released->t = shut_down->t = t;
  EXPECT_OK(chime_queue_async(first, job_run, released, job_finalize));
  EXPECT_OK(chime_queue_async(second, job_run, shut_down, job_finalize));
  EXPECT_OK(chime_queue_release(first));
  EXPECT_OK(chime_queue_shutdown(second, PATIENCE));
  EXPECT_EQ(released->ran, 0);
  EXPECT_EQ(released->finalized, 1);
  EXPECT_EQ(shut_down->ran, 0);
  EXPECT_EQ(shut_down->finalized, 1);
}

/* [8]: a job that waits behind a busy handler of a serial queue that ends. */
TEST(async_behind_a_busy_handler_is_finalized_once) {
  job *j = csuite_memory(t, sizeof *j);
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_held(t, queue, CHIME_MILLISECOND);
  j->t = t;
  EXPECT_OK(chime_queue_async(queue, job_run, j, job_finalize));
  EXPECT_STATUS(chime_queue_release(queue), CHIME_RUNNING);
  EXPECT_EQ(load(&j->ran), 0);
  csuite_keep_memory(t);
  open_gate(p);
  EXPECT(await(&j->finalized, 1));
  EXPECT_EQ(load(&j->ran_before_finalized), load(&j->ran));
}
