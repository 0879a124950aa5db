/*
 * no_threads.c - threads that cannot be had for a moment, or are all taken. This program's pthread_create stands before
 * libc's, for the library too, and answers EAGAIN as often as it is told to.
 */
#include "guest.h"

#include <errno.h>

static int to_grant;  /* how many calls before those */
static int to_refuse; /* how many of the next calls; below 0: all */
static int refused;
static int64_t refused_at;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&to_grant) > 0) {
    add(&to_grant, -1);
  } else if (load(&to_refuse) != 0) {
    if (load(&to_refuse) > 0) add(&to_refuse, -1);
    __atomic_store_n(&refused_at, monotonic_ns(), __ATOMIC_SEQ_CST);
    add(&refused, 1);
    return EAGAIN;
  }
  if (next == NULL) *(void **)(void *)&next = fault_next("pthread_create");
  return next(thread, attributes, body, argument);
}

/* ---- Refused for a moment ------------------------------------------------------------------------------------------- */

static int staying, may_go, ticks;

static void stay(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  add(&staying, 1);
  await(&may_go, 1);
}

/*
 * A handler stays, and the thread that was to serve the other queues is refused `times` times. It is tried again within
 * 10 ms each time. The best of several rounds counts, since the machine may be busy; but each round ends.
 */
static void expect_tried_again(int where, int times, int64_t best_ns) {
  enum { ROUNDS = 8 };
  chime_queue_t queues[ROUNDS], other = place_tick(where, &ticks, NULL);
  int64_t best = INT64_MAX;
  int i;
  guest_ends_within(100);
  REQUIRE(await(&ticks, 3));
  for (i = 0; i < ROUNDS; i++) {
    int64_t begun;
    int before = load(&refused);
    REQUIRE_OK(place_make(where, NULL, &queues[i]));
    store(&to_refuse, times);
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
    REQUIRE(await(&staying, i + 1));
    begun = monotonic_ns();
    REQUIRE(await(&ticks, load(&ticks) + 5));
    if (load(&refused) > before && load(&to_refuse) == 0 && monotonic_ns() - begun < best)
      best = monotonic_ns() - begun;
    store(&to_refuse, 0);
    REQUIRE(await(&ticks, load(&ticks) + 5));
  }
  EXPECT(load(&refused) >= times);
  EXPECT_BETWEEN(best, 0, best_ns);
  fault_seen("%d refused: %lld us", load(&refused), (long long)best / 1000);
  store(&may_go, 1);
  for (i = 0; i < ROUNDS; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
}

/* With the five ticks that are awaited, a millisecond each. */
CASES(a_thread_refused_once, where, SERIAL, CONCURRENT) { expect_tried_again(where, 1, 40 * CHIME_MILLISECOND); }
CASES(a_thread_refused_ten_times, where, SERIAL, CONCURRENT) { expect_tried_again(where, 10, 250 * CHIME_MILLISECOND); }

/* The only thread's handler stays, no other can be had, and another queue is made: it ticks when there are threads again. */
CASES(a_queue_made_meanwhile, where, SERIAL, CONCURRENT) {
  chime_queue_t queue = place_queue(where, NULL), other;
  guest_ends_within(100);
  store(&to_refuse, -1);
  EXPECT_OK(chime_timer_after(queue, 0, stay, NULL, NULL, NULL));
  REQUIRE(await(&staying, 1));
  other = place_tick(where, &ticks, NULL);
  store(&to_refuse, 0);
  EXPECT(await(&ticks, 5));
  store(&may_go, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
}

/* ---- All wait for a queue that has no thread ------------------------------------------------------------------------- */

enum { MOST_THREADS = 255 };

static chime_queue_t awaited;
static int arrived, answered, ran, ran_before;

static void wait_for_turn(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  add(&arrived, 1);
  if (!await(&may_go, 1)) return;
  EXPECT_OK(chime_queue_sync(awaited, count_call, &ran, CHIME_FOREVER));
  EXPECT(load(&ran_before) >= 1); /* it has had its turn before */
  add(&answered, 1);
}

/* As many handlers as the pool has threads, each on one, wait for a queue for whose function none is left. */
CASES(all_threads_wait_for_a_queue, argument, 0, 1) {
  static chime_queue_t queues[MOST_THREADS];
  int i;
  guest_ends_within(120);
  REQUIRE_OK(place_make(SERIAL, NULL, &awaited));
  for (i = 0; i < MOST_THREADS; i++) {
    REQUIRE_OK(place_make(SERIAL, NULL, &queues[i]));
    EXPECT_OK(chime_timer_after(queues[i], 0, wait_for_turn, NULL, NULL, NULL));
  }
  REQUIRE(await(&arrived, MOST_THREADS));
  if (argument == 0) EXPECT_OK(chime_queue_async(awaited, count_call, &ran_before, NULL));
  else EXPECT_OK(chime_timer_after(awaited, 0, count_tick, &ran_before, NULL, NULL));
  if (argument == 1) {
    store(&ran_before, 1); /* a tick that is due has no turn before a function of sync */
    sleep_ns(2 * CHIME_MILLISECOND);
  }
  store(&may_go, 1);
  EXPECT(await(&answered, MOST_THREADS));
  EXPECT_EQ(load(&ran), MOST_THREADS);
  for (i = 0; i < MOST_THREADS; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(awaited, PATIENCE));
}

static chime_status status_of_wait = 99;
static int kind_of_wait;
static chime_timer_t waited_for;

static void wait_alone(const chime_tick *tick, void *context) {
  (void)tick;
  if (kind_of_wait == 0) EXPECT_OK(chime_queue_async(awaited, count_call, &ran_before, NULL));
  switch (kind_of_wait) {
    case 0: status_of_wait = chime_queue_sync(awaited, count_call, &ran, CHIME_FOREVER); break;
    case 1: status_of_wait = chime_queue_shutdown(awaited, CHIME_FOREVER); break;
    case 2: status_of_wait = chime_timer_release_and_wait(waited_for, CHIME_FOREVER); break;
    default: break;
  }
  add(context, 1);
}

/* One thread is granted, and its handler waits: for a function, for the end of a queue, for a timer. */
CASES(the_only_thread_waits, argument, 0, 2) {
  static int finalized;
  chime_queue_t queue;
  kind_of_wait = argument;
  guest_ends_within(60);
  store(&to_grant, 1);
  store(&to_refuse, -1);
  REQUIRE_OK(place_make(SERIAL, NULL, &awaited));
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_after(awaited, CHIME_HOUR, ignore_tick, &finalized, count_call, &waited_for));
  EXPECT_OK(chime_timer_after(queue, 0, wait_alone, &answered, NULL, NULL));
  EXPECT(await(&answered, 1));
  EXPECT_OK(status_of_wait);
  if (argument == 0) EXPECT_EQ(load(&ran_before), 1);
  if (argument == 0) EXPECT_EQ(load(&ran), 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (argument != 1) EXPECT_OK(chime_queue_shutdown(awaited, PATIENCE));
  EXPECT_EQ(load(&finalized), 1);
}
