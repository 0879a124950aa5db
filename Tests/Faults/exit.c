/*
 * exit.c - the process ends while handlers run: by main's return, exit, quick_exit or _exit, on the main thread or in a
 * handler, with functions of atexit that call Chime. Its status is the one asked for; no crash, no hang, no finalizer.
 * Promises 16 and 20.
 */
#include "places.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATUS = 42, QUEUES = 4, TIMERS = 8 };
enum { BY_RETURN, BY_EXIT, BY_QUICK_EXIT, BY_UNDERSCORE_EXIT, WAYS };

static void end_by(int way) {
  if (fault_failures() > 0) fault_leave();
  if (way == BY_EXIT) exit(STATUS);
  if (way == BY_QUICK_EXIT) quick_exit(STATUS);
  if (way == BY_UNDERSCORE_EXIT) _exit(STATUS);
  fault_return(STATUS);
}

static void no_finalizer(void *context) {
  (void)context;
  fprintf(stderr, "a finalizer was called at exit\n");
  abort();
}

/* ---- While handlers run ----------------------------------------------------------------------------------------- */

static int busy;
static chime_queue_t serial;

/* Computes, calls Chime, allocates: whatever a handler may be in the middle of. */
static void keep_busy(const chime_tick *tick, void *context) {
  int i;
  (void)context;
  add(&busy, 1);
  for (i = 0; i < 200; i++) {
    chime_timer_state(tick->timer, &(chime_state){0});
    free(malloc(100 + (size_t)i));
  }
}

static void load_queues(void) {
  int i, where, t;
  for (where = SERIAL; where <= HOST; where++) {
    for (i = 0; i < (where == RUN_LOOP ? 1 : QUEUES); i++) {
      chime_queue_t queue = place_queue(where, NULL);
      if (where == SERIAL) serial = queue;
      for (t = 0; t < TIMERS; t++) {
        EXPECT_OK(chime_timer_every(queue, 100 * CHIME_MICROSECOND, keep_busy, &busy, no_finalizer, NULL));
      }
    }
  }
  EXPECT(await(&busy, 200));
}

CASES_THAT_END(while_handlers_run, way, BY_RETURN, WAYS - 1, STATUS) {
  load_queues();
  end_by(way);
}

/* A signal that ends the process, amid ticks: nothing of Chime's catches it. */
CASES_THAT_END(by_a_signal, only, 0, 0, FAULT_BY_SIGNAL + SIGTERM) {
  load_queues();
  raise(SIGTERM);
}

/* Threads go on while functions of atexit run, which may use them, make queues and end them. */
static void call_chime_at_exit(void) {
  static int ticks, called;
  EXPECT_OK(chime_timer_every(serial, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 3));
  EXPECT_OK(chime_queue_sync(serial, count_call, &called, PATIENCE));
  place_expect_works(SERIAL);
  if (fault_failures() > 0) fault_leave();
}

CASES_THAT_END(functions_of_atexit, way, BY_RETURN, BY_EXIT, STATUS) {
  atexit(call_chime_at_exit);
  load_queues();
  end_by(way);
}

/* ---- In a handler ----------------------------------------------------------------------------------------------- */

static void exit_in_handler(const chime_tick *tick, void *way) {
  if (tick->sequence >= 3) end_by(*(int *)way);
}

/* argument: a kind of queue and a way. */
CASES_THAT_END(in_a_handler, argument, 0, PLACES *WAYS - 1, STATUS) {
  static int way, never;
  int where = argument / WAYS;
  chime_queue_t queue = 0;
  way = argument % WAYS;
  if (way == BY_RETURN) fault_skip("a handler returns to Chime");
  REQUIRE_OK(place_make(where, NULL, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, exit_in_handler, &way, no_finalizer, NULL));
  if (where == HOST) EXPECT_OK(chime_queue_run(queue, 0));
  place_await(where, queue, &never, 1);
}
