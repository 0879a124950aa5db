/* waits.c - see waits.h. */
#include "waits.h"

#include "functions.h"

static chime_queue_t queue;
static chime_timer_t held;
static chime_run_loop_t loop;
static int is_held, let_go, calls;

static chime_status sleep_until(chime_clock clock, int64_t timeout_ns) {
  int64_t now = 0;
  EXPECT_OK(chime_now(clock, &now));
  return chime_sleep_until(clock, now + (timeout_ns < CHIME_SECOND ? timeout_ns : 500 * CHIME_MICROSECOND));
}

static chime_status sync(int64_t timeout_ns) {
  int before = load(&calls);
  chime_status status = chime_queue_sync(queue, count_call, &calls, timeout_ns);
  EXPECT_EQ(load(&calls), before + (status == CHIME_OK));
  return status;
}

/* clang-format off */
#define WAITS(W) \
  W(sleep_until_monotonic, sleep_until, PLACES, SLEEPS, sleep_until(CHIME_CLOCK_MONOTONIC, timeout_ns)) \
  W(sleep_until_boottime, sleep_until, PLACES, SLEEPS, sleep_until(CHIME_CLOCK_BOOTTIME, timeout_ns)) \
  W(sleep_until_wall, sleep_until, PLACES, SLEEPS, sleep_until(CHIME_CLOCK_WALL, timeout_ns)) \
  W(queue_create_precise, queue_create, PLACES, SHORT, chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue)) \
  W(queue_run, queue_run, HOST, STOPS | ENDLESS, chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED)) \
  W(sync_serial, queue_sync, SERIAL, FOR_A_HANDLER, sync(timeout_ns)) \
  W(sync_precise, queue_sync, PRECISE, FOR_A_HANDLER, sync(timeout_ns)) \
  W(cancel_and_wait_serial, timer_cancel_and_wait, SERIAL, FOR_A_HANDLER, chime_timer_cancel_and_wait(held, timeout_ns)) \
  W(cancel_and_wait_concurrent, timer_cancel_and_wait, CONCURRENT, FOR_A_HANDLER, chime_timer_cancel_and_wait(held, timeout_ns)) \
  W(cancel_and_wait_precise, timer_cancel_and_wait, PRECISE, FOR_A_HANDLER, chime_timer_cancel_and_wait(held, timeout_ns)) \
  W(release_and_wait_serial, timer_release_and_wait, SERIAL, FOR_A_HANDLER, chime_timer_release_and_wait(held, timeout_ns)) \
  W(shutdown_serial, queue_shutdown, SERIAL, FOR_A_HANDLER | SHUTS_DOWN, chime_queue_shutdown(queue, timeout_ns)) \
  W(shutdown_concurrent, queue_shutdown, CONCURRENT, FOR_A_HANDLER | SHUTS_DOWN, chime_queue_shutdown(queue, timeout_ns)) \
  W(shutdown_precise, queue_shutdown, PRECISE, FOR_A_HANDLER | SHUTS_DOWN, chime_queue_shutdown(queue, timeout_ns)) \
  W(run_loop_run, run_loop_run, PLACES, STOPS | OF_A_LOOP, chime_run_loop_run(NULL, timeout_ns, 0)) \
  W(main_run, main_run, PLACES, STOPS | ENDLESS | ON_MAIN, chime_main_run())
/* clang-format on */

#define FUNCTION(name, of, where, flags, call) \
  static chime_status do_##name(int64_t timeout_ns) { \
    (void)timeout_ns; \
    return call; \
  }
#define WAIT(name, of, where, flags, call) {#name, do_##name, where, flags},
WAITS(FUNCTION)
const wait waits[] = {WAITS(WAIT)};
const int wait_count = sizeof waits / sizeof waits[0];

/* C does not compile this where a function that waits is missing. */
#define HAS(name, of, where, flags, call) extern char has_##of;
WAITS(HAS)
#define IS_THERE(name) +sizeof has_##name
enum { ALL_ARE_THERE = 0 WAITING_FUNCTIONS(IS_THERE) };

static void hold(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  store(&is_held, 1);
  await(&let_go, 1);
}

void wait_prepare(const wait *w) {
  queue = held = 0;
  store(&is_held, 0);
  store(&let_go, 0);
  if (w->where != PLACES) REQUIRE_OK(place_make(w->where, NULL, &queue));
  if (w->flags & OF_A_LOOP) {
    /* A loop with nothing in it returns at once. */
    REQUIRE_OK(chime_run_loop_current(&loop));
    REQUIRE_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, ignore_tick, NULL, NULL, NULL, NULL));
  }
  if ((w->flags & FOR_A_HANDLER) == 0) return;
  REQUIRE_OK(chime_timer_every(queue, CHIME_MICROSECOND, hold, NULL, NULL, &held));
  REQUIRE(await(&is_held, 1));
}

chime_status wait_timed_out(const wait *w) { return w->flags & OF_A_LOOP ? CHIME_TIMED_OUT : CHIME_ERROR_TIMED_OUT; }

chime_status wait_expected(const wait *w) { return w->flags & STOPS ? CHIME_STOPPED : CHIME_OK; }

void wait_let_go(const wait *w, const int *returned) {
  store(&let_go, 1);
  if (w->where == HOST) EXPECT_OK(chime_queue_stop(queue));
  if (w->flags & ON_MAIN) EXPECT_OK(chime_main_stop());
  /* A stop that comes before its wait holds for a queue, but not for a run loop. */
  while ((w->flags & OF_A_LOOP) && load(returned) == 0) {
    chime_run_loop_stop(loop);
    sleep_ns(CHIME_MILLISECOND);
  }
}

void wait_end(const wait *w) {
  static int ticks;
  int before = load(&ticks);
  store(&let_go, 1);
  if (queue == 0 || (w->flags & SHUTS_DOWN)) return;
  chime_timer_release(held);
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  if (w->where == HOST) EXPECT_OK(chime_queue_process(queue, 0, NULL));
  EXPECT(await(&ticks, before + 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
