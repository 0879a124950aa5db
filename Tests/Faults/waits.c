/* waits.c - see waits.h. */
#include "waits.h"

static chime_queue_t queue;
static chime_timer_t held;
static chime_run_loop_t loop;
static int is_held, let_go, calls;

static chime_status sleep_until(chime_clock clock, int64_t timeout_ns) {
  int64_t now = 0;
  EXPECT_OK(chime_now(clock, &now));
  return chime_sleep_until(clock, now + (timeout_ns < CHIME_SECOND ? timeout_ns : 500 * CHIME_MICROSECOND));
}
static chime_status sleep_monotonic(int64_t timeout_ns) { return sleep_until(CHIME_CLOCK_MONOTONIC, timeout_ns); }
static chime_status sleep_boottime(int64_t timeout_ns) { return sleep_until(CHIME_CLOCK_BOOTTIME, timeout_ns); }
static chime_status sleep_wall(int64_t timeout_ns) { return sleep_until(CHIME_CLOCK_WALL, timeout_ns); }
static chime_status create(int64_t timeout_ns) {
  (void)timeout_ns;
  return chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue);
}
static chime_status queue_wait(int64_t timeout_ns) { return chime_queue_wait(queue, timeout_ns); }
static chime_status queue_run(int64_t timeout_ns) {
  (void)timeout_ns;
  return chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED);
}
static chime_status sync(int64_t timeout_ns) {
  int before = load(&calls);
  chime_status status = chime_queue_sync(queue, count_call, &calls, timeout_ns);
  EXPECT_EQ(load(&calls), before + (status == CHIME_OK));
  return status;
}
static chime_status cancel_and_wait(int64_t timeout_ns) { return chime_timer_cancel_and_wait(held, timeout_ns); }
static chime_status release_and_wait(int64_t timeout_ns) { return chime_timer_release_and_wait(held, timeout_ns); }
static chime_status shut_down(int64_t timeout_ns) { return chime_queue_shutdown(queue, timeout_ns); }
static chime_status run_loop_run(int64_t timeout_ns) { return chime_run_loop_run(NULL, timeout_ns, 0); }
static chime_status main_run(int64_t timeout_ns) {
  (void)timeout_ns;
  return chime_main_run();
}

const wait waits[] = {
    {"sleep_until, monotonic", sleep_monotonic, PLACES, SLEEPS},
    {"sleep_until, boottime", sleep_boottime, PLACES, SLEEPS},
    {"sleep_until, wall", sleep_wall, PLACES, SLEEPS},
    {"queue_create, precise", create, PLACES, SHORT},
    {"queue_wait", queue_wait, HOST, STOPS},
    {"queue_run", queue_run, HOST, STOPS | ENDLESS},
    {"sync, serial", sync, SERIAL, FOR_A_HANDLER},
    {"sync, precise", sync, PRECISE, FOR_A_HANDLER},
    {"cancel_and_wait, serial", cancel_and_wait, SERIAL, FOR_A_HANDLER},
    {"cancel_and_wait, concurrent", cancel_and_wait, CONCURRENT, FOR_A_HANDLER},
    {"cancel_and_wait, precise", cancel_and_wait, PRECISE, FOR_A_HANDLER},
    {"release_and_wait, serial", release_and_wait, SERIAL, FOR_A_HANDLER},
    {"shutdown, serial", shut_down, SERIAL, FOR_A_HANDLER | SHUTS_DOWN},
    {"shutdown, concurrent", shut_down, CONCURRENT, FOR_A_HANDLER | SHUTS_DOWN},
    {"shutdown, precise", shut_down, PRECISE, FOR_A_HANDLER | SHUTS_DOWN},
    {"run_loop_run", run_loop_run, PLACES, STOPS | OF_A_LOOP},
    {"main_run", main_run, PLACES, STOPS | ENDLESS | ON_MAIN},
};
const int wait_count = sizeof waits / sizeof waits[0];

static void hold(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  store(&is_held, 1);
  await(&let_go, 1);
}

int wait_prepare(const wait *w) {
  queue = held = 0;
  store(&is_held, 0);
  store(&let_go, 0);
  if (w->where != PLACES && !EXPECT_OK(place_make(w->where, NULL, &queue))) return 0;
  if (w->flags & OF_A_LOOP) {
    /* A loop with nothing in it returns at once. */
    return EXPECT_OK(chime_run_loop_current(&loop)) &&
           EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, ignore_tick, NULL, NULL, NULL));
  }
  if ((w->flags & FOR_A_HANDLER) == 0) return 1;
  return EXPECT_OK(chime_timer_every(queue, CHIME_MICROSECOND, hold, NULL, NULL, &held)) && EXPECT(await(&is_held, 1));
}

chime_status wait_expected(const wait *w) { return w->flags & STOPS ? CHIME_STOPPED : CHIME_OK; }

void wait_let_go(const wait *w, const int *returned) {
  store(&let_go, 1);
  if (w->where == HOST) EXPECT_OK(chime_queue_stop(queue));
  if (w->flags & ON_MAIN) EXPECT_OK(chime_main_stop());
  /* A stop that comes before its wait holds for a queue, but not for a run loop. */
  while ((w->flags & OF_A_LOOP) && load(returned) == 0) {
    chime_run_loop_stop(loop);
    sleep_ms(1);
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
