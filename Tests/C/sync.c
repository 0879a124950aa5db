/*
 * sync.c - the queue as a mutex: functions that run on it by chime_queue_sync and _async, between its handlers.
 * Promises 1, 6 and 8. (Syncs that wait for each other: Storms, meetings.c; functions of a queue that ends: Model.)
 */
#include "harness.h"

#define TESTS_ON_QUEUES_WITH_SYNC(name) \
  TESTS_ON(name); \
  TEST_ON(name, a_serial_queue, SERIAL) \
  TEST_ON(name, a_precise_queue, PRECISE) \
  TEST_ON(name, the_main_queue, MAIN) \
  TEST_ON(name, a_dispatch_queue, DISPATCH) \
  TEST_ON(name, a_wrapped_serial_queue, WRAPPED_SERIAL) \
  TESTS_ON(name)

/* Actions of a function's probe, which checks that it runs alone, and of a handler that calls it. */
static void count(csuite *t, probe *p, const chime_tick *tick) { p->number++; } /* guarded by the queue itself */
static void call_the_other(csuite *t, probe *p, const chime_tick *tick) { probe_function(p->other); }

THREAD(sync_again_and_again, probe, f) {
  for (int i = 0; i < csuite_scaled(500); i++) {
    EXPECT_OK(chime_queue_sync(f->queue, probe_function, f, CHIME_FOREVER));
    EXPECT_OK(chime_queue_async(f->queue, probe_function, f, NULL));
  }
}

TESTS_ON_QUEUES_WITH_SYNC(sync_and_async_exclude_the_handlers) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  int started = 0;
  probe *f = probe_new(t, queue, NULL), *p = probe_idle(t, queue, NULL);
  f->on_tick = count;
  p->on_tick = call_the_other;
  p->other = f;
  EXPECT_OK(chime_timer_activate(p->timer, EVERY(0, 100 * CHIME_MICROSECOND)));
  while (started < THREADS && spawn(t, &threads[started], sync_again_and_again, f)) started++;
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(p->timer, CHIME_FOREVER)));
  EXPECT(await(&f->ticks, 2 * started * csuite_scaled(500) + load(&p->ticks)));
  EXPECT_OK(chime_queue_sync(queue, probe_function, f, CHIME_FOREVER));
  EXPECT_EQ(f->number, 2 * started * csuite_scaled(500) + load(&p->ticks) + 1); /* none was lost */
}

THREAD(put_two_and_sync_again_and_again, probe, f) {
  for (int i = 0; i < csuite_scaled(3000); i += 3) {
    for (int j = 0; j < 2; j++) EXPECT_OK(chime_queue_async(f->queue, probe_function, f, NULL));
    EXPECT_OK(chime_queue_sync(f->queue, probe_function, f, CHIME_FOREVER));
    if (!EXPECT_EQ(f->number, i + 3)) return;
  }
}

TESTS_ON_QUEUES_WITH_SYNC(sync_runs_after_what_its_thread_has_put_on_the_queue) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  int started = 0;
  for (int i = 0; i < THREADS; i++) {
    probe *f = probe_new(t, queue, NULL);
    f->on_tick = count;
    if (spawn(t, &threads[started], put_two_and_sync_again_and_again, f)) started++;
  }
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static void sync_the_other(csuite *t, probe *p, const chime_tick *tick) {
  EXPECT_OK(chime_queue_sync(p->other->queue, probe_function, p->other, p->number));
  EXPECT_EQ(load(&p->other->ticks), 1); /* before it returned */
}

/* Q1 -> Q2 -> Q1, where libdispatch traps. */
TEST(nested_syncs_run_at_once) {
  QUEUE_OR_RETURN(first, SERIAL);
  QUEUE_OR_RETURN(second, SERIAL);
  probe *p = probe_new(t, first, NULL);
  for (int depth = 4; depth > 0; depth--) {
    probe *outer = probe_new(t, depth % 2 ? first : second, NULL);
    outer->other = p;
    outer->on_tick = sync_the_other;
    p = outer;
  }
  p->number = CHIME_FOREVER; /* the others' queues are this thread's own by then: they wait for nothing */
  EXPECT_OK(chime_queue_sync(p->queue, probe_function, p, CHIME_FOREVER));
}

TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(sync_inside_a_handler_of_the_queue_runs_at_once) {
  probe *p = probe_idle(t, queue, NULL);
  p->other = probe_new(t, queue, NULL);
  p->on_tick = sync_the_other;
  EXPECT_OK(chime_timer_activate(p->timer, AFTER(0)));
  run_due(t, queue, place);
  EXPECT(await(&p->returned, 1));
}

/* It never runs, also when two others wait before and behind it. */
TESTS_ON_QUEUES_WITH_SYNC(what_gives_up_leaves_the_queue_at_once) {
  enum { CALLS = 2000 };
  probe *held = probe_held(t, queue, 0), *late = probe_new(t, queue, NULL), *p = probe_new(t, queue, NULL);
  int64_t begin = monotonic_ns();
  EXPECT_OK(chime_queue_async(queue, probe_function, p, NULL));
  EXPECT_STATUS(chime_queue_sync(queue, probe_function, late, 30 * CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
  EXPECT(monotonic_ns() - begin >= 30 * CHIME_MILLISECOND);
  uint64_t used = chime_memory_used();
  for (int i = 0; i < CALLS; i++) {
    EXPECT_STATUS(chime_queue_sync(queue, probe_function, late, i % 2), CHIME_ERROR_TIMED_OUT);
  }
  EXPECT(chime_memory_used() < used + CALLS * 32); /* a call that stays is some 500 bytes */
  EXPECT_OK(chime_queue_async(queue, probe_function, p, NULL));
  open_gate(held);
  EXPECT(await(&p->ticks, 2));
  EXPECT_EQ(load(&late->ticks), 0);
}

/* Functions that put themselves on the queue again, until that is over. */
typedef struct repeated {
  chime_queue_t queue;
  int is_over, ended;
} repeated;

static void run_again(void *context) {
  repeated *r = context;
  if (load(&r->is_over)) add(&r->ended, 1);
  else chime_queue_async(r->queue, run_again, r, NULL);
}

static repeated *begin_functions(csuite *t, chime_queue_t queue, int count) {
  repeated *r = csuite_memory(t, sizeof *r);
  r->queue = queue;
  for (int i = 0; i < count; i++) EXPECT_OK(chime_queue_async(queue, run_again, r, NULL));
  return r;
}

/* More than a slice makes callbacks. */
TESTS_ON_DISPATCH_QUEUES(functions_that_come_again_keep_no_tick_back) { /* [12] */
  probe *p = probe_start(t, queue, NULL, EVERY(CHIME_MILLISECOND, CHIME_MILLISECOND));
  repeated *r = begin_functions(t, queue, 600);
  EXPECT(await(&p->ticks, 5));
  store(&r->is_over, 1);
  EXPECT(await(&r->ended, 600));
}

HOST_TEST(functions_that_come_again_keep_no_tick_back_from_a_call_with_a_limit, 0) { /* [12] */
  for (uint32_t most = 1; most <= 4; most++) {
    probe *p = probe_start(t, queue, NULL, EVERY(CHIME_MILLISECOND, CHIME_MILLISECOND));
    repeated *r = begin_functions(t, queue, 4);
    const int64_t end = monotonic_ns() + PATIENCE;
    while (p->ticks < 3 && monotonic_ns() < end) EXPECT_OK(chime_queue_process(queue, most, NULL));
    EXPECT(p->ticks >= 3);
    EXPECT_TOOK_EFFECT(chime_timer_release(p->timer));
    r->is_over = 1;
    while (r->ended < 4 && monotonic_ns() < end) EXPECT_OK(chime_queue_process(queue, most, NULL));
    EXPECT_EQ(r->ended, 4);
  }
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
