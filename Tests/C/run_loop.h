/* run_loop.h - what the tests of run loops and weak timers share. */
#ifndef CSUITE_RUN_LOOP_H
#define CSUITE_RUN_LOOP_H

#include "harness.h"

/* A mode beside the default one. */
#define TRACKING "tracking"

/* Begins a test whose body runs on a thread of its own. */
#define ON_OWN_THREAD(test, name) \
  static void *name##_thread(void *t); \
  test(name) { run_on_a_thread(t, name##_thread, t); } \
  THREAD_OF_TEST(name##_thread)
#define OWN_THREAD_TEST(name) ON_OWN_THREAD(TEST, name)
#define OWN_THREAD_TEST_ALONE(name) ON_OWN_THREAD(TEST_ALONE, name)

/** The calling thread's loop. */
static inline chime_run_loop_t current_loop(csuite *t) {
  chime_run_loop_t loop = 0;
  EXPECT_OK(chime_run_loop_current(&loop));
  return loop;
}

/** A queue on that loop, which the test ends; 0, with the failure recorded, when there is none. */
static inline chime_queue_t queue_of_loop(csuite *t, chime_run_loop_t loop, const char *mode) {
  chime_queue_t queue = 0;
  if (EXPECT_OK(chime_queue_create_on_run_loop(loop, mode, NULL, &queue))) csuite_ends(t, queue, PATIENCE);
  return queue;
}

/** Runs the calling thread's loop until the value is reached. */
static inline void run_until(csuite *t, const char *mode, const int *value, int least) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (load(value) < least && monotonic_ns() < end) {
    chime_status status = chime_run_loop_run(mode, 10 * CHIME_MILLISECOND, CHIME_RUN_LOOP_UNTIL_TICK);
    if (!EXPECT(status == CHIME_OK || status == CHIME_TIMED_OUT || status == CHIME_STOPPED)) return;
  }
  EXPECT(load(value) >= least);
}

/** Runs it for so long, with nobody who stops it. */
static inline void run_for(csuite *t, const char *mode, int64_t duration_ns) {
  EXPECT_STATUS(chime_run_loop_run(mode, duration_ns, 0), CHIME_TIMED_OUT);
}

/* The same on a thread of its own, with a queue on its loop. */
#define RUN_LOOP_TEST(name, mode) ON_A_QUEUE(OWN_THREAD_TEST, name, queue_of_loop(t, current_loop(t), mode))

#endif /* CSUITE_RUN_LOOP_H */
