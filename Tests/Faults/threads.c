/*
 * threads.c - no threads. This program's pthread_create stands before libc's, for the library too, and answers EAGAIN, as
 * it does at a limit of processes or of a container.
 */
#include "places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A trace file without a thread to write it: the one that was there keeps what it had, and none is made. */
CASE(trace_file) {
  char made[] = "/tmp/chime-trace-XXXXXX", text[8] = "";
  int file = mkstemp(made);
  REQUIRE(file >= 0);
  EXPECT_EQ(write(file, "before", 6), 6);
  store(&none_left, 1);
  EXPECT_EQ(chime_trace_to_file(made), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(pread(file, text, sizeof text, 0), 6);
  EXPECT(strcmp(text, "before") == 0);
  EXPECT_OK(unlink(made));
  EXPECT_EQ(chime_trace_to_file(made), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(access(made, F_OK), -1);
  EXPECT_EQ(load(&refused), 2);
  store(&none_left, 0);
  EXPECT_OK(chime_trace_to_file(made));
  EXPECT_OK(chime_trace_to_file(NULL));
  EXPECT_OK(unlink(made));
  close(file);
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

/* The first queue of the pool is refused; the next ones share the threads that there are, and each tick comes. */
CASES(on_the_threads_that_there_are, where, SERIAL, CONCURRENT) {
  enum { QUEUES = 20, TICKS = 5 };
  static int ticks[QUEUES];
  chime_queue_t queues[QUEUES] = {0};
  int i;
  store(&none_left, 1);
  EXPECT_EQ(place_make(where, NULL, &queues[0]), CHIME_ERROR_RESOURCE);
  EXPECT_EQ(queues[0], 0);
  EXPECT_EQ(load(&refused), 1);
  store(&none_left, 0);
  queues[0] = place_tick(where, &ticks[0], NULL);
  EXPECT(await(&ticks[0], 1));
  store(&none_left, 1);
  for (i = 1; i < QUEUES; i++) queues[i] = place_tick(where, &ticks[i], NULL);
  for (i = 0; i < QUEUES; i++) EXPECT(await(&ticks[i], load(&ticks[i]) + TICKS));
  for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  store(&none_left, 0);
  place_expect_works(where);
}

/* libdispatch asks in vain for a thread to run handlers on, and again each second; then nothing is lost. */
CASES(dispatch, where, DISPATCH, DISPATCH) {
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
