/*
 * thread_end.c - threads of the host that have used Chime end: whoever made a queue, a timer, drove a queue, had a run loop.
 * What belongs to others goes on; what Chime kept for the thread is given back.
 */
#include "places.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static int ticks;
static int finalized;

typedef struct made {
  place where;
  uint32_t flags;
  int by_exit;
  chime_queue_t queue;
  chime_timer_t timer;
  chime_status status;
} made;

static void *make_and_end(void *context) {
  made *m = context;
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.flags = m->flags;
  m->status = place_make(m->where, &options, &m->queue);
  if (m->status == CHIME_OK) {
    m->status = chime_timer_every(m->queue, CHIME_MILLISECOND, count_tick, &ticks, count_call, &m->timer);
  }
  if (m->where == HOST && m->status == CHIME_OK) m->status = chime_queue_process(m->queue, 0, NULL);
  if (m->by_exit) pthread_exit(NULL);
  return NULL;
}

/* Queue and timer were made by a thread that has ended: they go on. */
static void maker_ends(int where) {
  made m = {SERIAL, 0, 0, 0, 0, 0};
  pthread_t thread;
  m.where = (place)where;
  m.by_exit = where % 2;
  REQUIRE_OK(pthread_create(&thread, NULL, make_and_end, &m));
  pthread_join(thread, NULL);
  REQUIRE_OK(m.status);
  place_drive(m.where, m.queue);
  EXPECT(place_await(m.where, m.queue, &ticks, load(&ticks) + 3));
  EXPECT_OK(chime_timer_cancel_and_wait(m.timer, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(m.queue, PATIENCE));
  fault_seen("%s goes on", place_name(m.where));
}

/* The thread that a host-driven queue is bound to has ended: nobody drives it, anybody may end it. */
static void bound_thread_ends(int argument) {
  made m = {HOST, CHIME_QUEUE_BOUND, 0, 0, 0, 0};
  pthread_t thread;
  chime_status status;
  int before;
  (void)argument;
  REQUIRE_OK(pthread_create(&thread, NULL, make_and_end, &m));
  /* The next thread would get the address of one that has been joined; so that is left for the end. */
  while (chime_queue_now(m.queue, &(int64_t){0}) != CHIME_OK) sleep_ms(1);
  sleep_ms(50);
  EXPECT_OK(m.status);
  before = load(&ticks); /* 1, where that thread was slower than the timer */
  status = chime_queue_process(m.queue, 0, NULL);
  fault_seen("process on another thread: %s", chime_status_name(status));
  EXPECT_EQ(status, CHIME_ERROR_WRONG_THREAD);
  EXPECT_EQ(chime_queue_wait(m.queue, CHIME_MILLISECOND), CHIME_ERROR_WRONG_THREAD);
  EXPECT_OK(chime_timer_suspend(m.timer));
  EXPECT_OK(chime_timer_resume(m.timer));
  EXPECT_OK(chime_timer_release(m.timer));
  EXPECT_OK(chime_queue_shutdown(m.queue, PATIENCE));
  EXPECT_EQ(load(&ticks), before + 1); /* the finalizer, in this call */
  pthread_join(thread, NULL);
}

/* ---- What Chime keeps for a thread ------------------------------------------------------------------------------ */

enum { THREADS = 1000, TIMERS = 100 };
static chime_queue_t shared;

static void *make_timers(void *context) {
  chime_timer_t timers[TIMERS];
  int i, is_keeper = context != NULL;
  for (i = 0; i < TIMERS; i++) {
    EXPECT_OK(chime_timer_after(shared, CHIME_HOUR, count_tick, &ticks, NULL, &timers[i]));
  }
  /* Half of them leave timers to another thread, which releases them. */
  for (i = 0; i < TIMERS; i++) {
    if (is_keeper) {
      ((chime_timer_t *)context)[i] = timers[i];
    } else {
      EXPECT_OK(chime_timer_release(timers[i]));
    }
  }
  return NULL;
}

static void run_threads(int count) {
  static chime_timer_t left[TIMERS];
  int i, t;
  for (i = 0; i < count; i++) {
    pthread_t thread;
    REQUIRE_OK(pthread_create(&thread, NULL, make_timers, i % 2 == 0 ? NULL : left));
    pthread_join(thread, NULL);
    for (t = 0; i % 2 == 1 && t < TIMERS; t++) EXPECT_OK(chime_timer_release(left[t]));
  }
}

static void caches(int where) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  int64_t before, after;
  REQUIRE_OK(place_make((place)where, NULL, &shared));
  run_threads(THREADS / 10);
  before = resident_kib();
  run_threads(THREADS);
  after = resident_kib();
  EXPECT_OK(chime_queue_get_stats(shared, &stats));
  EXPECT_EQ(stats.timers, 0);
  fault_seen("%s: %d threads, %d timers: %lld KiB more", place_name((place)where), THREADS, THREADS * TIMERS,
             (long long)(after - before));
  EXPECT_BETWEEN(after - before, -100000, 512); /* 16 slots of 96 bytes lost by each thread would be 1.5 MB */
  EXPECT_OK(chime_queue_shutdown(shared, PATIENCE));
}

/* A queue with a limit: slots in the cache of a thread that has ended would be missing here. */
static void limited(int argument) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  (void)argument;
  options.timer_limit = TIMERS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &shared));
  run_threads(200);
  EXPECT_OK(chime_queue_shutdown(shared, PATIENCE));
  fault_seen("%d timers can be made each time", TIMERS);
}

/* ---- Run loops -------------------------------------------------------------------------------------------------- */

static chime_run_loop_t loop;
static chime_queue_t loop_queue;
static chime_weak_timer_t weak_timer;

static void *have_a_run_loop(void *context) {
  (void)context;
  EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(chime_run_loop_queue_create(loop, NULL, NULL, &loop_queue));
  EXPECT_OK(chime_timer_every(loop_queue, CHIME_MILLISECOND, count_tick, &ticks, count_call, NULL));
  EXPECT_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, count_tick, &finalized, count_call, &weak_timer));
  EXPECT_EQ(chime_run_loop_run(NULL, 20 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  return NULL;
}

static void run_loop_thread_ends(int argument) {
  pthread_t thread;
  int32_t valid = 1;
  int at_end;
  (void)argument;
  REQUIRE_OK(pthread_create(&thread, NULL, have_a_run_loop, NULL));
  pthread_join(thread, NULL);
  EXPECT(load(&ticks) >= 3);
  at_end = load(&ticks);
  EXPECT_EQ(chime_run_loop_stop(loop), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(chime_run_loop_queue_create(loop, NULL, NULL, &shared), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_OK(chime_weak_timer_is_valid(weak_timer, &valid));
  EXPECT_EQ(valid, 0);
  let_others_tick();
  EXPECT_EQ(load(&ticks), at_end);
  EXPECT_OK(chime_queue_shutdown(loop_queue, CHIME_FOREVER));
  EXPECT_EQ(load(&ticks), at_end + 1); /* the finalizer */
  fault_seen("no tick more, the loop's id is stale, shutdown delivers the finalizer");
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"who-made-it", maker_ends, SERIAL, RUN_LOOP, 0, 0},
      {"who-is-bound", bound_thread_ends, 0, 0, 0, 0},
      {"caches-of-1000-threads", caches, SERIAL, PRECISE, 0, 0},
      {"caches-and-a-limit", limited, 0, 0, 0, 0},
      {"run-loop", run_loop_thread_ends, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
