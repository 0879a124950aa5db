/*
 * errno.c - every function of both headers, with arguments that are right and wrong, leaves errno as it was: a host that
 * looks at errno after its own call, with a timer started in between, reads its own error.
 */
#include "calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTINEL = 4242 };
static int calls;

static void after_call(const char *call, int line) {
  int error = errno;
  add(&calls, 1);
  if (error == SENTINEL) return;
  fprintf(stderr, "%s:%d: %s: errno is %d (%s) after it\n", __FILE__, line, call, error, strerror(error));
  fault_expect(0, __FILE__, line, "errno is as it was");
}

#define KEEPS(call) \
  do { \
    errno = SENTINEL; \
    (void)(call); \
    after_call(#call, __LINE__); \
  } while (0)

/* Each call twice, the second time in the state that the first has left; and with ids of what is gone. */
static void every_call(int where) {
  int i, round;
  for (i = 0; i < subject_count; i++) {
    const subject *called = &subjects[i];
    world w;
    if (where > 0 && called->flags & (ALONE | OF_THE_LOOP)) continue; /* it would be the same */
    memset(&w, 0, sizeof w);
    w.where = (place)where;
    world_make(&w);
    for (round = 0; round < 2; round++) {
      chime_status status;
      w.made = UNTOUCHED;
      errno = SENTINEL;
      status = called->call(&w);
      after_call(called->name, __LINE__);
      if (status >= 0) world_end_made(called, w.made);
    }
    world_end(&w, (called->flags & ENDS_QUEUE) == 0);
    if (called->flags & ALONE) continue;
    errno = SENTINEL;
    called->call(&w);
    after_call(called->name, __LINE__);
  }
  expect_all_finalized();
  fault_seen("%s, %d calls", place_name((place)where), calls);
}

static void stay(void *context) {
  store(context, 1);
  sleep_ms(60);
}

static void stay_in_handler(const chime_tick *tick, void *context) {
  (void)tick;
  stay(context);
}

/* Waits that end by their timeout. */
static void timed_out_calls(chime_queue_t queue) {
  static int begun;
  chime_timer_t timer = 0;
  store(&begun, 0);
  EXPECT_OK(chime_timer_after(queue, 0, stay_in_handler, &begun, NULL, &timer));
  EXPECT(await(&begun, 1));
  KEEPS(chime_queue_sync(queue, count_call, &begun, 5 * CHIME_MILLISECOND));
  KEEPS(chime_timer_cancel_and_wait(timer, 5 * CHIME_MILLISECOND));
  KEEPS(chime_timer_cancel_and_wait(timer, CHIME_FOREVER));
  KEEPS(chime_timer_release(timer));
  KEEPS(chime_queue_async(queue, stay, &begun, NULL));
  KEEPS(chime_queue_shutdown(queue, CHIME_MILLISECOND));
}

static void waits(int where) {
  chime_queue_t queue = 0;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  timed_out_calls(queue);
  fault_seen("%s, %d calls", place_name((place)where), calls);
}

static void records(int argument) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options timer = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_t queue = 0;
  chime_tick ticks[4];
  uint32_t count = 0;
  (void)argument;
  options.flags = CHIME_QUEUE_RECORDS;
  KEEPS(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  KEEPS(chime_timer_start(queue, &timer, &schedule, NULL));
  KEEPS(chime_queue_wait(queue, CHIME_SECOND));
  KEEPS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4, &count));
  EXPECT_EQ(count, 1);
  KEEPS(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%d calls", calls);
}

static void wrong_arguments(int argument) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_run_loop_t own = 0;
  int64_t now = 0;
  (void)argument;
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  KEEPS(chime_timer_create(queue, NULL, &timer));
  KEEPS(chime_trace_to_file("/no/such/directory/trace"));
  KEEPS(chime_now(77, &now));
  KEEPS(chime_sleep_until(CHIME_CLOCK_WALL, now + 2 * CHIME_MILLISECOND));
  KEEPS(chime_sleep_until(77, now));
  KEEPS(chime_queue_create(77, NULL, &queue));
  KEEPS(chime_queue_wrap_dispatch(NULL, NULL, &queue));
  KEEPS(chime_queue_main(NULL, NULL));
  KEEPS(chime_run_loop_run("unknown", 5 * CHIME_MILLISECOND, 0));
  KEEPS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0));
  REQUIRE_OK(chime_run_loop_create(NULL, &own));
  KEEPS(chime_run_loop_queue_create(own, "", NULL, &queue));
  KEEPS(chime_run_loop_release(own));
  KEEPS(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%d calls", calls);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"every-call", every_call, SERIAL, VIRTUAL, 0, 0},
      {"waits-of-a-serial-queue", waits, SERIAL, SERIAL, 0, 0},
      {"waits-of-a-precise-queue", waits, PRECISE, PRECISE, 0, 0},
      {"wrong-arguments", wrong_arguments, 0, 0, 0, 0},
      {"records", records, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
