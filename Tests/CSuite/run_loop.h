/* run_loop.h - what run_loop.c and weak_timers.c share. */
#ifndef CSUITE_RUN_LOOP_H
#define CSUITE_RUN_LOOP_H

#include "harness.h"

/** Runs the body on a new thread and waits for its end. */
static inline void run_loop_on_a_thread(csuite *t, void *(*body)(void *)) {
  pthread_t thread;
  if (spawn(t, &thread, body, t)) pthread_join(thread, NULL);
}

/* Begins a test whose body runs on a thread of its own. */
#define OWN_THREAD_TEST(name) \
  static void name##_body(csuite *t); \
  static void *name##_thread(void *t) { \
    name##_body(t); \
    return NULL; \
  } \
  static void name(csuite *t) { run_loop_on_a_thread(t, name##_thread); } \
  static void name##_body(csuite *t)

/** A queue on the calling thread's loop, which the test ends; 0, with the failure recorded, when there is none. */
static inline chime_queue_t run_loop_queue(csuite *t, const char *mode) {
  chime_run_loop_t loop = 0;
  chime_queue_t queue = 0;
  if (!EXPECT_OK(chime_run_loop_current(&loop))) return 0;
  if (!EXPECT_OK(chime_run_loop_queue_create(loop, mode, NULL, &queue))) return 0;
  csuite_ends(t, queue, PATIENCE);
  return queue;
}

#define RUN_LOOP_QUEUE_OR_RETURN(name, mode) \
  chime_queue_t name = run_loop_queue(t, mode); \
  if (name == 0) return

static inline void quiet_handler(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

static inline void quiet_function(void *context) { (void)context; }

#endif /* CSUITE_RUN_LOOP_H */
