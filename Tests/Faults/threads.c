/*
 * threads.c - no threads. This program's pthread_create stands before libc's, for the library too, and answers EAGAIN, as
 * it does at a limit of processes or of a container.
 */
#include "places.h"

#include <errno.h>

static int none_left;
static int refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (load(&none_left)) {
    add(&refused, 1);
    return EAGAIN;
  }
  if (next == NULL) *(void **)(void *)&next = fault_next("pthread_create");
  return next(thread, attributes, body, argument);
}

/* A queue with a thread of its own is refused. */
CASES(precise_and_run_loop, where, PRECISE, RUN_LOOP) {
  chime_queue_t queue = 0;
  store(&none_left, 1);
  EXPECT_EQ(place_make(where, NULL, &queue), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(queue, 0);
  EXPECT_EQ(load(&refused), 1);
  store(&none_left, 0);
  place_expect_works(where);
}

/* One without a thread needs none. */
CASE(host_driven_and_virtual) {
  static int ticks;
  chime_queue_t queue = 0;
  store(&none_left, 1);
  REQUIRE_OK(place_make(HOST, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT_OK(chime_queue_run(queue, 0));
  EXPECT_EQ(load(&ticks), 1);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  place_expect_works(VIRTUAL);
  EXPECT_EQ(load(&refused), 0);
}

/* libdispatch asks in vain for a thread to run handlers on, and again each second; then nothing is lost. */
CASES(dispatch, where, SERIAL, CONCURRENT) {
  static int ticks;
  int64_t end = monotonic_ns() + PATIENCE;
  chime_queue_t queue = place_queue(where, NULL);
  store(&none_left, 1);
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  /* Where a thread of its own is left, it does not ask. */
  while (load(&refused) + load(&ticks) == 0 && monotonic_ns() < end) sleep_ns(CHIME_MILLISECOND);
  store(&none_left, 0);
  EXPECT(await(&ticks, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  place_expect_works(where);
}
