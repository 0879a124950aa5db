/*
 * run_loop.h - what run_loop.c and weak_timers.c share. Their tests are skipped when the suite is linked to libchime,
 * which has no run loops: the functions are declared weakly.
 */
#ifndef CSUITE_RUN_LOOP_H
#define CSUITE_RUN_LOOP_H

#include "harness.h"

#pragma weak chime_run_loop_current
#pragma weak chime_run_loop_main
#pragma weak chime_run_loop_create
#pragma weak chime_run_loop_run
#pragma weak chime_run_loop_stop
#pragma weak chime_run_loop_release
#pragma weak chime_run_loop_add_common_mode
#pragma weak chime_run_loop_queue_create
#pragma weak chime_weak_timer_create
#pragma weak chime_weak_timer_schedule
#pragma weak chime_weak_timer_add
#pragma weak chime_weak_timer_fire
#pragma weak chime_weak_timer_invalidate
#pragma weak chime_weak_timer_is_valid
#pragma weak chime_weak_timer_set_tolerance
#pragma weak chime_weak_timer_tolerance
#pragma weak chime_weak_timer_set_fire_date
#pragma weak chime_weak_timer_fire_date
#pragma weak chime_weak_timer_interval
#pragma weak chime_weak_timer_release

/** Runs the body on a new thread and waits for its end; skips the test when there are no run loops. */
static inline void run_loop_on_a_thread(csuite *t, void *(*body)(void *)) {
  pthread_t thread;
  if (!csuite_has_run_loops()) {
    csuite_skip(t, "the library has no run loops");
    return;
  }
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
