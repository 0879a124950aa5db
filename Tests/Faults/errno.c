/*
 * errno.c - every function of both headers, with arguments that are right and wrong, leaves errno as it was: a host that
 * looks at errno after its own call, with a timer started in between, reads its own error.
 *
 * (`make` has it checked that no function of the headers is left out.)
 */
#include "places.h"

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

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

/* All calls on a timer, in a running state, and then stale. */
static void timer_calls(chime_queue_t queue) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_timer_t timer = 0, other = 0;
  chime_state state = 0;
  uint64_t generation = 0;
  int64_t deadline = 0;
  char text[100];
  int round;
  options.handler = ignore_tick;
  options.label = "a label of some length, to be copied";
  schedule.first_ns = CHIME_HOUR;
  schedule.interval_ns = CHIME_HOUR;
  KEEPS(chime_timer_create(queue, &options, &timer));
  KEEPS(chime_timer_create(queue, NULL, &timer));
  KEEPS(chime_last_error_detail()[0] == 0 ? CHIME_OK : CHIME_IGNORED);
  KEEPS(chime_timer_explain(timer, text, sizeof text, NULL));
  KEEPS(chime_timer_start(queue, &options, &schedule, &other));
  KEEPS(chime_timer_release(other));
  KEEPS(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, NULL));
  KEEPS(chime_timer_after_every(queue, CHIME_HOUR, CHIME_HOUR, ignore_tick, NULL, NULL, &other));
  KEEPS(chime_timer_release_and_wait(other, CHIME_SECOND));
  KEEPS(chime_timer_every(queue, CHIME_HOUR, ignore_tick, NULL, NULL, &other));
  for (round = 0; round < 2; round++) {
    KEEPS(chime_timer_activate(timer, &schedule));
    KEEPS(chime_timer_restart(timer, &schedule));
    KEEPS(chime_timer_suspend(timer));
    KEEPS(chime_timer_resume(timer));
    KEEPS(chime_timer_reschedule(timer, &schedule));
    KEEPS(chime_timer_postpone(timer, 2 * CHIME_HOUR));
    KEEPS(chime_timer_postpone_until(timer, CHIME_FOREVER));
    KEEPS(chime_timer_fire(timer));
    KEEPS(chime_timer_generation(timer, &generation));
    KEEPS(chime_timer_check_generation(timer, generation));
    KEEPS(chime_timer_state(timer, &state));
    KEEPS(chime_timer_next_deadline(timer, &deadline));
    KEEPS(chime_timer_get_info(timer, &info));
    KEEPS(chime_timer_add_handler(timer, "key", ignore_tick, NULL, NULL));
    KEEPS(chime_timer_remove_handler(timer, "key"));
    KEEPS(chime_timer_cancel(timer));
    KEEPS(chime_timer_cancel_and_wait(timer, CHIME_SECOND));
    KEEPS(chime_timer_release(timer));
  }
  KEEPS(chime_timer_release(other));
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

static void queue_calls(place where) {
  static int called;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_queue_t queue = 0;
  chime_tick ticks[4];
  uint32_t count = 0;
  int64_t time = 0;
  int32_t number = 0;
  char text[256];
  uint64_t length = 0;
  KEEPS(place_make(where, NULL, &queue));
  REQUIRE(queue != 0);
  timer_calls(queue);
  KEEPS(chime_queue_async(queue, count_call, &called, NULL));
  if (where != MAIN) KEEPS(chime_queue_sync(queue, count_call, &called, CHIME_SECOND));
  KEEPS(chime_queue_now(queue, &time));
  KEEPS(chime_queue_advance(queue, CHIME_MILLISECOND));
  KEEPS(chime_queue_advance_to(queue, 2 * CHIME_MILLISECOND));
  KEEPS(chime_queue_jump(queue, CHIME_MILLISECOND));
  KEEPS(chime_queue_get_stats(queue, &stats));
  KEEPS(chime_queue_dump(queue, text, sizeof text, &length));
  KEEPS(chime_queue_list(NULL, 0, &length));
  KEEPS(chime_trace_to_file("/no/such/directory/trace"));
  KEEPS(chime_trace_to_file(NULL));
  KEEPS(chime_queue_fd(queue, &number));
  KEEPS(chime_queue_next_deadline(queue, &time));
  KEEPS(chime_queue_poll_timeout(queue, &number));
  KEEPS(chime_queue_wait(queue, 2 * CHIME_MILLISECOND));
  KEEPS(chime_queue_process(queue, 0, &count));
  KEEPS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 4, &count));
  KEEPS(chime_queue_stop(queue));
  KEEPS(chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED));
  if (where == SERIAL || where == PRECISE) {
    timed_out_calls(queue);
    KEEPS(place_make(where, NULL, &queue));
  }
  KEEPS(chime_queue_release(queue));
  KEEPS(chime_queue_release(queue));
  KEEPS(place_make(where, NULL, &queue));
  KEEPS(chime_queue_shutdown(queue, where == MAIN ? 0 : CHIME_SECOND));
  KEEPS(chime_queue_shutdown(queue, PATIENCE));
}

static void on_queue(int where) {
  queue_calls((place)where);
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

static void the_rest(int argument) {
  static int object, called;
  chime_queue_t queue = 0;
  chime_target_t target = 0;
  chime_expiring_t expiring = 0;
  void *value = NULL;
  int64_t now = 0;
  (void)argument;
  KEEPS(chime_version());
  KEEPS(chime_status_name(CHIME_ERROR_BUSY));
  KEEPS(chime_status_message(CHIME_ERROR_BUSY));
  KEEPS(chime_tick_kind_name(CHIME_TICK_DUE));
  KEEPS(chime_now(CHIME_CLOCK_WALL, &now));
  KEEPS(chime_now(77, &now));
  KEEPS(chime_sleep_until(CHIME_CLOCK_WALL, now + 2 * CHIME_MILLISECOND));
  KEEPS(chime_sleep_until(77, now));
  KEEPS(chime_set_thread_hooks(NULL, NULL, NULL));
  KEEPS(chime_set_trace(NULL, NULL));
  KEEPS(chime_set_allocator(NULL));
  KEEPS(chime_set_memory_limit(0));
  KEEPS(chime_memory_used());
  KEEPS(chime_reinitialize());
  KEEPS(chime_queue_create(77, NULL, &queue));
  KEEPS(chime_queue_wrap_dispatch(NULL, NULL, &queue));
  KEEPS(chime_queue_main(NULL, NULL));
  KEEPS(chime_queue_global(CHIME_QOS_UTILITY, NULL, &queue));
  KEEPS(chime_target_create(&object, count_call, &target));
  KEEPS(chime_target_retain(target, &value));
  KEEPS(chime_target_release(target));
  KEEPS(chime_target_release(target));
  KEEPS(chime_target_release(target));
  KEEPS(chime_expiring_create(queue, &object, count_call, CHIME_HOUR, &expiring));
  KEEPS(chime_expiring_on_expiry(expiring, ignore_tick, &called, NULL));
  KEEPS(chime_expiring_acquire(expiring, &value));
  KEEPS(chime_expiring_yield(expiring));
  KEEPS(chime_expiring_reset(expiring, 2 * CHIME_HOUR));
  KEEPS(chime_expiring_release(expiring));
  KEEPS(chime_expiring_release(expiring));
  KEEPS(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%d calls", calls);
}

static void main_run(int argument) {
  (void)argument;
  KEEPS(chime_main_stop());
  KEEPS(chime_main_run());
  KEEPS(chime_main_stop());
  KEEPS(chime_main_run());
  fault_seen("chime_main_run");
}

static void run_loops(int argument) {
  chime_run_loop_t loop = 0, own = 0;
  chime_weak_timer_t timer = 0, other = 0;
  int32_t valid = 0;
  int64_t value = 0;
  (void)argument;
  KEEPS(chime_run_loop_main(&loop));
  KEEPS(chime_run_loop_current(&loop));
  KEEPS(chime_run_loop_create("label", &own));
  KEEPS(chime_run_loop_add_common_mode(loop, "mode"));
  KEEPS(chime_run_loop_stop(loop));
  KEEPS(chime_run_loop_run(NULL, CHIME_SECOND, 0));
  KEEPS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0));
  KEEPS(chime_run_loop_run("unknown", 5 * CHIME_MILLISECOND, 0));
  KEEPS(chime_run_loop_queue_create(own, "", NULL, &timer));
  KEEPS(chime_weak_timer_create(CHIME_HOUR, 1, 0, ignore_tick, NULL, NULL, &timer));
  KEEPS(chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, ignore_tick, NULL, NULL, &other));
  KEEPS(chime_weak_timer_add(timer, loop, NULL));
  KEEPS(chime_weak_timer_fire(timer));
  KEEPS(chime_weak_timer_set_tolerance(timer, CHIME_SECOND));
  KEEPS(chime_weak_timer_tolerance(timer, &value));
  KEEPS(chime_weak_timer_set_fire_date(timer, CHIME_FOREVER));
  KEEPS(chime_weak_timer_fire_date(timer, &value));
  KEEPS(chime_weak_timer_interval(timer, &value));
  KEEPS(chime_weak_timer_is_valid(timer, &valid));
  KEEPS(chime_run_loop_run(NULL, 5 * CHIME_MILLISECOND, 0));
  KEEPS(chime_weak_timer_invalidate(timer));
  KEEPS(chime_weak_timer_release(timer));
  KEEPS(chime_weak_timer_release(other));
  KEEPS(chime_run_loop_release(own));
  KEEPS(chime_run_loop_release(own));
  fault_seen("%d calls", calls);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"queues", on_queue, SERIAL, RUN_LOOP - 1, 0, 0},
      {"main-queue", on_queue, MAIN, VIRTUAL, 0, 0},
      {"run-loop-queue", on_queue, RUN_LOOP, RUN_LOOP, 0, 0},
      {"records", records, 0, 0, 0, 0},
      {"main-run", main_run, 0, 0, 0, 0},
      {"the-rest", the_rest, 0, 0, 0, 0},
      {"run-loops", run_loops, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
