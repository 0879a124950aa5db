/*
 * thread_exits.c - a thread of the host's ends, and the destructor of a thread-specific value of its calls Chime, in each of
 * the rounds that POSIX has: nothing grows.
 */
#include "guest.h"

#include <limits.h>

enum { THREADS = 500, MOST_ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };

static chime_queue_t queue;
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

static void run_threads(int count) {
  int i;
  for (i = 0; i < count; i++) run_on_a_thread(body, NULL);
}

/*
 * Arguments: the round, 0 for all; whether the thread has called Chime before; and whether the key is older than any of
 * Chime's, and so its destructor comes first in each round.
 */
CASES(a_destructor_calls, argument, 0, 4 * (MOST_ROUNDS + 1) - 1) {
  uint64_t used, used_after;
  int64_t before, after;
  in_round = argument / 4;
  calls_before = argument % 2;
  if (argument / 2 % 2) REQUIRE_OK(pthread_key_create(&key, destroy));
  queue = place_queue(SERIAL, NULL);
  call_chime();
  if (!(argument / 2 % 2)) REQUIRE_OK(pthread_key_create(&key, destroy));
  run_threads(THREADS / 5);
  before = resident_kib();
  used = chime_memory_used();
  run_threads(THREADS);
  after = resident_kib();
  used_after = chime_memory_used();
  EXPECT_EQ(rounds[MOST_ROUNDS], THREADS + THREADS / 5);
  if (!EXPECT_BETWEEN(after - before, -100000, 1024) || used_after > used + 100000)
    fault_seen("round %d, %lld KiB, %lld bytes of Chime's more", in_round, (long long)(after - before),
               (long long)(used_after - used));
  EXPECT_BETWEEN((int64_t)used_after, 0, (int64_t)used + 100000);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
