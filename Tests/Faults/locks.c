/*
 * locks.c - a thread that waits for one timer costs the ticks of others nothing: they take no lock more than without it.
 * Counted, as a time would hang on the machine: this program's pthread_mutex_lock stands before the C library's.
 * Promise 18.
 */
#include "places.h"

enum { WAITERS = 8, TICKS = 10000 };

static __thread int64_t locks;

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*lock)(pthread_mutex_t *);
  if (lock == NULL) *(void **)(void *)&lock = fault_next("pthread_mutex_lock");
  locks++;
  return lock(mutex);
}

static chime_timer_t held;

static void *wait_for_it(void *context) {
  EXPECT(chime_timer_cancel_and_wait(held, CHIME_FOREVER) >= 0);
  add(context, 1);
  return NULL;
}

/* Locks that this thread takes while it runs the ticks of a queue that nobody waits for. */
static int64_t locks_of_ticks(chime_queue_t queue) {
  int64_t before = locks;
  EXPECT_OK(chime_queue_advance(queue, TICKS * CHIME_MICROSECOND));
  return locks - before;
}

CASE(ticks_beside_waiting_threads) {
  static int ticks, ended;
  chime_queue_t queue = place_queue(VIRTUAL, NULL), slow = place_queue(SERIAL, NULL);
  pthread_t waiters[WAITERS];
  int64_t without, with;
  int i;
  REQUIRE_OK(chime_timer_every(queue, CHIME_MICROSECOND, count_tick, &ticks, NULL, NULL));
  locks_of_ticks(queue); /* what is done once is done */
  without = locks_of_ticks(queue);
  REQUIRE_OK(chime_timer_after(slow, 0, stay, NULL, NULL, &held));
  REQUIRE(await(&staying, 1));
  for (i = 0; i < WAITERS; i++) waiters[i] = spawn(wait_for_it, &ended);
  sleep_ns(300 * CHIME_MILLISECOND); /* they wait */
  with = locks_of_ticks(queue);
  EXPECT_EQ(load(&ended), 0);
  store(&may_go, 1);
  for (i = 0; i < WAITERS; i++) pthread_join(waiters[i], NULL);
  EXPECT_EQ(load(&ticks), 3 * TICKS);
  fault_seen("%d ticks take %lld locks, beside %d waiting threads %lld", TICKS, (long long)without, WAITERS,
             (long long)with);
  EXPECT_BETWEEN(with, 0, without + TICKS / 2); /* one a tick would be TICKS more */
  EXPECT_OK(chime_queue_shutdown(slow, PATIENCE));
}
