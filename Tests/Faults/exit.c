/*
 * exit.c - the process ends while handlers run: by main's return, exit, quick_exit or _exit, on the main thread or in a
 * handler, with functions of atexit that call Chime. Its status is the one asked for; no crash, no hang, no finalizer.
 */
#include "places.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATUS = 42, QUEUES = 4, TIMERS = 8 };
enum { BY_RETURN, BY_EXIT, BY_QUICK_EXIT, BY_UNDERSCORE_EXIT, WAYS };

static int busy;
static chime_queue_t queues[PLACES * QUEUES];
static int queue_count;

static void no_finalizer(void *context) {
  static const char text[] = "a finalizer was called at exit\n";
  (void)context;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) abort();
  abort();
}

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
  for (where = SERIAL; where <= RUN_LOOP; where++) {
    for (i = 0; i < (where == RUN_LOOP ? 1 : QUEUES); i++) {
      chime_queue_t queue = 0;
      EXPECT_OK(place_make((place)where, NULL, &queue));
      place_drive((place)where, queue);
      queues[queue_count++] = queue;
      for (t = 0; t < TIMERS; t++) {
        EXPECT_OK(chime_timer_every(queue, 100 * CHIME_MICROSECOND, keep_busy, &busy, no_finalizer, NULL));
      }
    }
  }
}

static void end_by(int way) {
  if (way == BY_EXIT) exit(STATUS);
  if (way == BY_QUICK_EXIT) quick_exit(STATUS);
  if (way == BY_UNDERSCORE_EXIT) _exit(STATUS);
}

static const char *const way_names[] = {"return", "exit", "quick_exit", "_exit"};

/* The case's process returns from main with a status of its own, so that a return can be told from a failure. */
static int returned_status;

static void while_handlers_run(int way) {
  load_queues();
  EXPECT(await(&busy, 200));
  if (fault_failures() > 0) _exit(1);
  fault_seen("%s, %d ticks", way_names[way], load(&busy));
  end_by(way);
  returned_status = STATUS;
}

/* ---- In a handler ----------------------------------------------------------------------------------------------- */

static int handler_way;

static void exit_in_handler(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->sequence < 3) return;
  if (fault_failures() > 0) _exit(1);
  end_by(handler_way);
}

static void in_a_handler(place where, int way) {
  static int never;
  chime_queue_t queue = 0;
  handler_way = way;
  fault_seen("%s", way_names[way]);
  REQUIRE_OK(place_make(where, NULL, &queue));
  if (where != HOST) place_drive(where, queue);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, exit_in_handler, NULL, no_finalizer, NULL));
  if (where == HOST) EXPECT_OK(chime_queue_run(queue, 0));
  place_await(where, queue, &never, 1);
}

#define IN_A_HANDLER(where, name) \
  static void handler_##name(int way) { in_a_handler(where, way); }
IN_A_HANDLER(SERIAL, serial)
IN_A_HANDLER(CONCURRENT, concurrent)
IN_A_HANDLER(GLOBAL, global)
IN_A_HANDLER(HOST, host)
IN_A_HANDLER(PRECISE, precise)
IN_A_HANDLER(RUN_LOOP, run_loop)
IN_A_HANDLER(MAIN, main)
IN_A_HANDLER(VIRTUAL, virtual)

/* ---- Functions of atexit that call Chime ------------------------------------------------------------------------ */

static void call_chime_at_exit(void) {
  static int ticks, called;
  chime_queue_t queue = 0;
  int i;
  EXPECT_OK(chime_timer_every(queues[0], CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 3)); /* threads go on while these functions run */
  EXPECT_OK(chime_queue_sync(queues[0], count_call, &called, PATIENCE));
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  for (i = 1; i < queue_count; i++) chime_queue_release(queues[i]);
  if (fault_failures() > 0) _exit(1);
}

static void at_exit(int way) {
  int i;
  atexit(call_chime_at_exit);
  for (i = 0; i < QUEUES; i++) {
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queues[queue_count]));
    EXPECT_OK(chime_timer_every(queues[queue_count++], 100 * CHIME_MICROSECOND, keep_busy, &busy, NULL, NULL));
  }
  EXPECT(await(&busy, 50));
  fault_seen("%s", way_names[way]);
  if (fault_failures() > 0) _exit(1);
  end_by(way);
  returned_status = STATUS;
}

/* A signal that ends the process, amid ticks: nothing of Chime's catches it. */
static void by_signal(int argument) {
  (void)argument;
  load_queues();
  EXPECT(await(&busy, 100));
  fault_seen("SIGTERM");
  raise(SIGTERM);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"while-handlers-run", while_handlers_run, BY_RETURN, WAYS - 1, STATUS, 0},
      {"in-a-serial-handler", handler_serial, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-concurrent-handler", handler_concurrent, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-global-handler", handler_global, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-host-driven-handler", handler_host, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-precise-handler", handler_precise, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-run-loop-handler", handler_run_loop, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-main-handler", handler_main, BY_EXIT, WAYS - 1, STATUS, 0},
      {"in-a-virtual-handler", handler_virtual, BY_EXIT, WAYS - 1, STATUS, 0},
      {"functions-of-atexit", at_exit, BY_RETURN, BY_EXIT, STATUS, 0},
      {"by-a-signal", by_signal, 0, 0, 0, SIGTERM},
      {NULL, NULL, 0, 0, 0, 0},
  };
  int status = fault_main(argc, argv, cases);
  return status == 0 ? returned_status : status;
}
