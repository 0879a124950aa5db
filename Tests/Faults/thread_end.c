/*
 * thread_end.c - threads of the host that have used Chime end: whoever made a queue, a timer, drove a queue. What belongs
 * to others goes on; what Chime kept for the thread is given back. (Who had a run loop: run_loop.c and weak_timers.c of the
 * C suite.) Promises 20 and 21.
 */
#include "places.h"

#include <limits.h>

static int ticks, place;
static uint32_t flags;
static chime_queue_t queue;
static chime_timer_t timer;

/* Makes both, drives a host-driven queue once, and ends. */
static void *make_and_end(void *is_exit) {
  if (!place_is_there(place)) fault_skip("the library has no libdispatch");
  EXPECT_OK(place_make(place, &QUEUE_OPTIONS(.flags = flags), &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, count_call, &timer));
  if (place == HOST) EXPECT_OK(chime_queue_process(queue, 0, NULL));
  if (is_exit != NULL) pthread_exit(NULL);
  return NULL;
}

/* Queue and timer were made by a thread that has ended: they go on. */
CASES(who_made_it, argument, SERIAL, HOST) {
  place = argument;
  run_on_a_thread(make_and_end, place % 2 ? &place : NULL);
  place_drive(place, queue);
  EXPECT(place_await(place, queue, &ticks, load(&ticks) + 3));
  EXPECT_OK(chime_timer_cancel_and_wait(timer, PATIENCE));
  place_end(place, queue);
}

/* The thread that a host-driven queue is bound to has ended: nobody drives it, anybody may end it. */
CASE(who_is_bound) {
  int before;
  place = HOST;
  flags = CHIME_QUEUE_FLAG_BOUND;
  run_on_a_thread(make_and_end, NULL);
  before = load(&ticks); /* 1, where that thread was slower than the timer */
  EXPECT_EQ(chime_queue_process(queue, 0, NULL), CHIME_ERROR_WRONG_THREAD);
  EXPECT_EQ(chime_queue_run(queue, 0), CHIME_ERROR_WRONG_THREAD);
  EXPECT_OK(chime_timer_suspend(timer));
  EXPECT_OK(chime_timer_resume(timer));
  EXPECT_OK(chime_timer_release(timer));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&ticks), before + 1); /* the finalizer, in this call */
}

/* ---- What Chime keeps for a thread ------------------------------------------------------------------------------ */

enum { THREADS = 1000, TIMERS = 100 };

/* With somewhere to leave its timers for another thread, which releases them; else it releases them itself. */
static void *make_timers(void *left) {
  chime_timer_t own[TIMERS], *timers = left != NULL ? left : own;
  int i;
  for (i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &ticks, NULL, &timers[i]));
  for (i = 0; i < TIMERS && left == NULL; i++) EXPECT_OK(chime_timer_release(timers[i]));
  return NULL;
}

static void run_threads(int count) {
  static chime_timer_t left[TIMERS];
  int i, t;
  for (i = 0; i < count; i++) {
    run_on_a_thread(make_timers, i % 2 == 0 ? NULL : left);
    for (t = 0; i % 2 == 1 && t < TIMERS; t++) EXPECT_OK(chime_timer_release(left[t]));
  }
}

/* Slots in the cache of a thread that has ended would be missing, and others be made; so would what holds the cache. */
CASES(caches_of_1000_threads, kind, SERIAL, PRECISE) {
  int64_t before, after;
  queue = place_queue(kind, NULL);
  run_threads(THREADS / 10);
  before = resident_kib();
  run_threads(THREADS);
  after = resident_kib();
  fault_seen("%s: %lld KiB more", place_name(kind), (long long)(after - before));
  EXPECT_BETWEEN(after - before, -100000, 512);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* ---- Destructors of thread-specific values that call Chime, in each of the rounds that POSIX has ------------------- */

enum { ENDS = 500, MOST_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

static pthread_key_t key;
static int in_round, rounds[MOST_ROUNDS + 1], counted;

static void call_chime(void) {
  chime_timer_t timer;
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, &counted, count_call, &timer));
  EXPECT_OK(chime_queue_sync(queue, count_call, &counted, PATIENCE));
  EXPECT(chime_timer_release(timer) >= 0);
  EXPECT_EQ(chime_timer_cancel(timer), CHIME_ERROR_INVALID_HANDLE);
}

/* The value counts the rounds. */
static void destroy(void *value) {
  const int round = (int)(intptr_t)value;
  add(&rounds[round], 1);
  if (round == in_round || in_round == 0) call_chime();
  if (round < MOST_ROUNDS) pthread_setspecific(key, (void *)(intptr_t)(round + 1));
}

static int calls_before;

static void *body(void *unused) {
  (void)unused;
  if (calls_before) call_chime();
  pthread_setspecific(key, (void *)1);
  return NULL;
}

/*
 * Arguments: the round, 0 for all; whether the thread has called Chime before; and whether the key is older than any of
 * Chime's, and so its destructor comes first in each round.
 */
CASES(a_destructor_calls, argument, 0, 4 * (MOST_ROUNDS + 1) - 1) {
  uint64_t used, used_after;
  int64_t before, after;
  int i;
  in_round = argument / 4;
  calls_before = argument % 2;
  if (argument / 2 % 2) REQUIRE_OK(pthread_key_create(&key, destroy));
  queue = place_queue(SERIAL, NULL);
  call_chime();
  if (!(argument / 2 % 2)) REQUIRE_OK(pthread_key_create(&key, destroy));
  for (i = 0; i < ENDS / 5; i++) run_on_a_thread(body, NULL);
  before = resident_kib();
  used = chime_memory_used();
  for (i = 0; i < ENDS; i++) run_on_a_thread(body, NULL);
  after = resident_kib();
  used_after = chime_memory_used();
  EXPECT_EQ(rounds[MOST_ROUNDS], ENDS + ENDS / 5);
  if (!EXPECT_BETWEEN(after - before, -100000, 1024) || used_after > used + 100000)
    fault_seen("round %d, %lld KiB, %lld bytes of Chime's more", in_round, (long long)(after - before),
               (long long)(used_after - used));
  EXPECT_BETWEEN((int64_t)used_after, 0, (int64_t)used + 100000);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
