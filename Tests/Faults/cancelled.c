/*
 * cancelled.c - a thread is cancelled (pthread_cancel) inside Chime: promise 20. No call is a cancellation point. Each does
 * what it was to do and returns; the cancellation takes effect after it, at the host's next cancellation point.
 */
#include "places.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 100, TIMEOUT_S = 30 };
static const int64_t timeout = TIMEOUT_S * CHIME_SECOND;

static int calls, ticks;

/* 0: the thread has not ended in time. */
static int join(pthread_t thread, void **result) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += TIMEOUT_S;
  return pthread_timedjoin_np(thread, result, &end) == 0;
}

/* ---- Calls with a cancellation pending -------------------------------------------------------------------------- */

/*
 * One thread makes all the calls. A cancellation point in one of them ends it; the next thread goes on with the call after
 * that one, so that a round names every call that is a cancellation point.
 */
static int reached;           /* calls that were begun in this round */
static int is_at_end;         /* all of them were made */
static const char *call_made; /* the last that was begun */
static const char *wrong_call;
static chime_status wrong_status;

#define CALL(expected, call) \
  do { \
    if (position++ < reached) break; \
    reached = position; \
    call_made = #call; \
    status = call; \
    if (status != (expected) && wrong_call == NULL) wrong_call = #call, wrong_status = status; \
  } while (0)
#define CALL_OK(call) CALL(CHIME_OK, call)

/* What the calls of a round work on. */
static place where;
static chime_queue_t queue, records;
static chime_timer_t timer, other;
static chime_target_t target;
static chime_expiring_t expiring;

static void forget_everything(void) {
  queue = records = 0;
  timer = other = 0;
  target = expiring = 0;
  reached = is_at_end = 0;
}

/* What has a place of its own: to be driven, to run functions in turn. */
static int call_for_the_place(int position) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options silent = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_status status;
  chime_tick tick;
  uint32_t count;
  int64_t time;
  int32_t small;
  if (where == SERIAL || where == PRECISE) CALL_OK(chime_queue_sync(queue, count_call, &calls, timeout));
  if (where == VIRTUAL) {
    CALL_OK(chime_queue_advance(queue, CHIME_SECOND));
    CALL_OK(chime_queue_jump(queue, CHIME_SECOND));
    CALL_OK(chime_queue_advance_to(queue, 3 * CHIME_SECOND));
  }
  if (where == HOST) {
    options.flags = CHIME_QUEUE_RECORDS;
    CALL_OK(chime_queue_fd(queue, &small));
    CALL_OK(chime_queue_next_deadline(queue, &time));
    CALL_OK(chime_queue_poll_timeout(queue, &small));
    CALL_OK(chime_queue_process(queue, 0, &count));
    CALL_OK(chime_timer_after(queue, 200 * CHIME_MICROSECOND, count_tick, &ticks, NULL, NULL));
    CALL_OK(chime_queue_wait(queue, timeout));
    CALL_OK(chime_queue_process(queue, 0, &count));
    CALL(CHIME_TIMED_OUT, chime_queue_wait(queue, CHIME_MILLISECOND));
    CALL_OK(chime_queue_stop(queue));
    CALL(CHIME_STOPPED, chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED));
    CALL_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &records));
    CALL_OK(chime_timer_start(records, &silent, &schedule, NULL));
    CALL_OK(chime_queue_wait(records, timeout));
    CALL_OK(chime_queue_take_ticks(records, &tick, sizeof tick, 1, &count));
    CALL_OK(chime_queue_shutdown(records, timeout));
  }
  if (where == RUN_LOOP) {
    chime_run_loop_t loop = 0;
    chime_weak_timer_t weak = 0;
    CALL_OK(chime_run_loop_current(&loop));
    CALL_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, count_tick, &ticks, NULL, &weak));
    CALL(CHIME_TIMED_OUT, chime_run_loop_run(NULL, CHIME_MILLISECOND, 0));
    CALL(CHIME_OK, weak == 0 ? CHIME_OK : chime_weak_timer_invalidate(weak));
    CALL(CHIME_OK, weak == 0 ? CHIME_OK : chime_weak_timer_release(weak));
  }
  return position;
}

static void *call_everything(void *context) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_status status;
  chime_state state;
  int64_t time = 0, now = 0;
  uint64_t number = 0;
  void *object = NULL;
  char text[256];
  int position = 0, clock, enabled = -1;
  (void)context;
  options.handler = count_tick;
  options.context = &ticks;
  schedule.first_ns = schedule.interval_ns = CHIME_HOUR;
  pthread_cancel(pthread_self());
  CALL_OK(place_make(where, NULL, &queue));
  CALL_OK(chime_target_create(&calls, NULL, &target));
  CALL_OK(chime_target_retain(target, &object));
  CALL_OK(chime_target_release(target));
  options.target = target;
  CALL_OK(chime_timer_create(queue, &options, &timer));
  CALL_OK(chime_timer_activate(timer, &schedule));
  CALL_OK(chime_timer_restart(timer, &schedule));
  CALL_OK(chime_timer_suspend(timer));
  CALL_OK(chime_timer_resume(timer));
  CALL_OK(chime_timer_reschedule(timer, &schedule));
  CALL_OK(chime_timer_postpone(timer, 2 * CHIME_HOUR));
  CALL_OK(chime_queue_now(queue, &now));
  CALL_OK(chime_timer_postpone_until(timer, now + 3 * CHIME_HOUR));
  CALL_OK(chime_timer_add_handler(timer, "more", count_tick, &ticks, NULL));
  CALL_OK(chime_timer_generation(timer, &number));
  CALL_OK(chime_timer_check_generation(timer, number));
  CALL_OK(chime_timer_state(timer, &state));
  CALL_OK(chime_timer_next_deadline(timer, &time));
  CALL_OK(chime_timer_get_info(timer, &info));
  CALL_OK(chime_timer_explain(timer, text, sizeof text, NULL));
  CALL_OK(chime_queue_get_stats(queue, &stats));
  CALL_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  CALL_OK(chime_timer_remove_handler(timer, "more"));
  CALL_OK(chime_timer_start(queue, &options, &schedule, NULL));
  CALL_OK(chime_timer_every(queue, CHIME_HOUR, count_tick, &ticks, count_call, NULL));
  CALL_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &ticks, count_call, &other));
  CALL_OK(chime_timer_fire(timer));
  CALL_OK(chime_queue_async(queue, count_call, &calls, NULL));
  position = call_for_the_place(position);
  CALL_OK(chime_expiring_create(queue, &calls, NULL, CHIME_HOUR, &expiring));
  CALL_OK(chime_expiring_on_expiry(expiring, count_tick, &ticks, NULL));
  CALL_OK(chime_expiring_acquire(expiring, &object));
  CALL_OK(chime_expiring_yield(expiring));
  CALL_OK(chime_expiring_reset(expiring, CHIME_HOUR));
  CALL_OK(chime_expiring_release(expiring));
  CALL_OK(chime_timer_cancel(other));
  CALL(CHIME_IGNORED, chime_timer_cancel_and_wait(other, timeout));
  CALL_OK(chime_timer_release_and_wait(0, timeout));
  CALL_OK(chime_timer_release(other));
  CALL_OK(chime_timer_cancel_and_wait(timer, timeout));
  CALL_OK(chime_target_release(target));
  CALL_OK(chime_set_trace(NULL, NULL));
  CALL_OK(chime_set_memory_limit(0));
  CALL_OK(chime_set_thread_hooks(NULL, NULL, NULL));
  CALL(CHIME_ERROR_WRONG_THREAD, chime_main_run());
  for (clock = CHIME_CLOCK_MONOTONIC; clock <= CHIME_CLOCK_WALL; clock++) {
    CALL_OK(chime_now(clock, &time));
    CALL_OK(chime_sleep_until(clock, time + 50 * CHIME_MICROSECOND));
  }
  CALL_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : timeout));
  is_at_end = 1;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &enabled);
  if (enabled != PTHREAD_CANCEL_ENABLE) wrong_call = "the thread's cancel state", wrong_status = enabled;
  pthread_testcancel();
  wrong_call = "pthread_testcancel, which returned", wrong_status = 0;
  return NULL;
}

static void pending(int argument) {
  char ended_in[2048] = "";
  int i, ended = 0;
  where = (place)argument;
  for (i = 0; i < ROUNDS && fault_failures() < 5; i++) {
    forget_everything();
    while (!is_at_end) {
      pthread_t thread;
      void *result = NULL;
      REQUIRE(pthread_create(&thread, NULL, call_everything, NULL) == 0);
      if (!EXPECT(join(thread, &result))) {
        fault_seen("%s: a thread is still in %s after %d s", place_name(where), call_made, TIMEOUT_S);
        return;
      }
      EXPECT(result == PTHREAD_CANCELED);
      if (is_at_end) break;
      ended++;
      if (strstr(ended_in, call_made) == NULL && strlen(ended_in) + strlen(call_made) < sizeof ended_in - 3) {
        strcat(strcat(ended_in, ended_in[0] == 0 ? "" : ", "), call_made);
      }
    }
    if (ended > 0) queue = 0; /* what came after is not as it should be, and no wonder */
    if (ended > 0) continue;
    if (wrong_call != NULL) fprintf(stderr, "%s gave %d\n", wrong_call, wrong_status);
    EXPECT(wrong_call == NULL);
    wrong_call = NULL;
  }
  fault_seen("%s: %d rounds of %d calls", place_name(where), i, reached);
  if (ended > 0) fault_seen(", %d threads ended inside %s", ended, ended_in);
  EXPECT_EQ(ended, 0);
  place_expect_works(where);
}

/* ---- Waits that are under way ----------------------------------------------------------------------------------- */

enum {
  CREATE_PRECISE,
  SLEEP_MONOTONIC,
  SLEEP_BOOTTIME,
  SLEEP_WALL,
  QUEUE_WAIT,
  QUEUE_RUN,
  SYNC_SERIAL,
  SYNC_PRECISE,
  CANCEL_SERIAL,
  CANCEL_CONCURRENT,
  CANCEL_PRECISE,
  SHUT_DOWN_SERIAL,
  SHUT_DOWN_CONCURRENT,
  SHUT_DOWN_PRECISE,
  RUN_LOOP_RUN,
  WAITS
};

/* clang-format off */
static const char *const wait_names[] = {
    "creating a precise queue", "sleeping (monotonic)", "sleeping (boottime)", "sleeping (wall)", "queue_wait", "queue_run",
    "sync with a serial queue", "sync with a precise one", "cancel_and_wait, serial", "cancel_and_wait, concurrent",
    "cancel_and_wait, precise", "shutdown, serial", "shutdown, concurrent", "shutdown, precise", "run_loop_run"};
/* clang-format on */

static const place wait_places[] = {PRECISE, HOST,       HOST,    HOST,   HOST,       HOST,    SERIAL,  PRECISE,
                                    SERIAL,  CONCURRENT, PRECISE, SERIAL, CONCURRENT, PRECISE, RUN_LOOP};

static int is_held, let_go;        /* a handler holds its thread up; it may end */
static int begun, asked, returned; /* asked: the cancellation */
static chime_status answer;
static chime_run_loop_t own_loop;

static void hold(const chime_tick *tick, void *context) {
  int64_t end = monotonic_ns() + TIMEOUT_S * CHIME_SECOND;
  (void)tick, (void)context;
  store(&is_held, 1);
  while (!load(&let_go) && monotonic_ns() < end) usleep(50);
}

static chime_status do_wait(int kind) {
  int64_t now = 0;
  if (kind >= SLEEP_MONOTONIC && kind <= SLEEP_WALL) {
    chime_clock clock = kind - SLEEP_MONOTONIC + CHIME_CLOCK_MONOTONIC;
    chime_now(clock, &now);
    return chime_sleep_until(clock, now + 500 * CHIME_MICROSECOND);
  }
  switch (kind) {
    case CREATE_PRECISE: return chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue);
    case QUEUE_WAIT: return chime_queue_wait(queue, timeout);
    case QUEUE_RUN: return chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED);
    case SYNC_SERIAL:
    case SYNC_PRECISE: return chime_queue_sync(queue, count_call, &calls, timeout);
    case CANCEL_SERIAL:
    case CANCEL_CONCURRENT:
    case CANCEL_PRECISE: return chime_timer_cancel_and_wait(timer, timeout);
    case RUN_LOOP_RUN: return chime_run_loop_run(NULL, timeout, 0);
    default: return chime_queue_shutdown(queue, timeout);
  }
}

static void *wait_in_chime(void *context) {
  int kind = *(int *)context;
  if (kind == RUN_LOOP_RUN) EXPECT_OK(chime_run_loop_current(&own_loop));
  /* A loop with nothing in it returns at once. */
  if (kind == RUN_LOOP_RUN) EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, count_tick, &ticks, NULL, NULL));
  store(&begun, 1);
  answer = do_wait(kind);
  store(&returned, 1);
  while (!load(&asked)) sched_yield();
  pthread_testcancel();
  return NULL;
}

static void end_wait(int kind) {
  store(&let_go, 1);
  if (kind == QUEUE_WAIT || kind == QUEUE_RUN) chime_queue_stop(queue);
}

/* 0: the thread has ended in the call; -1: nothing more is to be had from this process. */
static int cancel_one(int kind, int delay_us) {
  chime_status expected = kind == QUEUE_WAIT || kind == QUEUE_RUN || kind == RUN_LOOP_RUN ? CHIME_STOPPED : CHIME_OK;
  int holds = kind >= SYNC_SERIAL && kind < RUN_LOOP_RUN, before = load(&calls), is_joined = 0;
  int64_t end = monotonic_ns() + timeout;
  pthread_t thread;
  void *result = NULL;
  is_held = let_go = begun = asked = returned = 0;
  queue = timer = 0;
  if (kind != CREATE_PRECISE && kind != RUN_LOOP_RUN) EXPECT_OK(place_make(wait_places[kind], NULL, &queue));
  if (holds) EXPECT_OK(chime_timer_every(queue, CHIME_MICROSECOND, hold, NULL, NULL, &timer));
  if (holds && !EXPECT(await(&is_held, 1))) return -1;
  if (!EXPECT(pthread_create(&thread, NULL, wait_in_chime, &kind) == 0)) return -1;
  while (!load(&begun)) usleep(10);
  if (delay_us > 0) usleep((useconds_t)delay_us);
  EXPECT_OK(pthread_cancel(thread));
  store(&asked, 1);
  if (delay_us % 2 == 0) usleep(200);
  end_wait(kind);
  /* A stop that comes before its wait holds for a queue, but not for a run loop. */
  while (kind == RUN_LOOP_RUN && !is_joined && monotonic_ns() < end) {
    chime_run_loop_stop(own_loop);
    usleep(100);
    is_joined = pthread_tryjoin_np(thread, &result) == 0;
  }
  if (!is_joined && !EXPECT(join(thread, &result))) return -1;
  EXPECT(result == PTHREAD_CANCELED);
  if (!returned) return 0;
  EXPECT_EQ(answer, expected);
  if (kind == SYNC_SERIAL || kind == SYNC_PRECISE) EXPECT_EQ(load(&calls), before + 1);
  if (queue == 0 || (kind >= SHUT_DOWN_SERIAL && kind <= SHUT_DOWN_PRECISE)) return 1;
  /* The queue works on. */
  if (timer != 0) chime_timer_release(timer);
  before = load(&ticks);
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  if (wait_places[kind] == HOST) EXPECT_OK(chime_queue_process(queue, 0, NULL));
  EXPECT(await(&ticks, before + 1));
  EXPECT_OK(chime_queue_shutdown(queue, timeout));
  return 1;
}

static void waiting(int kind) {
  int i, ended = 0, delay_us = 0;
  for (i = 0; i < ROUNDS && fault_failures() == 0; i++) {
    int outcome = cancel_one(kind, delay_us);
    delay_us = (delay_us + 37) % 300;
    if (outcome < 0) break;
    ended += outcome == 0;
  }
  fault_seen("%s: %d", wait_names[kind], i);
  if (ended > 0) fault_seen(", of which %d never returned", ended);
  EXPECT_EQ(ended, 0);
}

/* ---- chime_main_run --------------------------------------------------------------------------------------------- */

static int runs;

static void stop_main(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  add(&ticks, 1);
  chime_main_stop();
}

static void end_main_thread(void *context) {
  (void)context;
  EXPECT_EQ(runs, ROUNDS);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  fault_seen("chime_main_run: %d runs, %d ticks, then the cancellation", runs, load(&ticks));
  _exit(fault_failures() == 0 ? 0 : 1);
}

/* The case's process runs it on its main thread, which can be cancelled only once: the cancellation stays pending. */
static void main_run(int argument) {
  (void)argument;
  REQUIRE_OK(chime_queue_main(NULL, &queue));
  pthread_cleanup_push(end_main_thread, NULL);
  pthread_cancel(pthread_self());
  while (runs < ROUNDS) {
    chime_status status = chime_timer_after(queue, 100 * CHIME_MICROSECOND, stop_main, NULL, NULL, NULL);
    if (status == CHIME_OK) status = chime_main_run();
    if (status != CHIME_STOPPED) break;
    runs++;
  }
  pthread_testcancel();
  EXPECT(!"the cancellation took effect");
  pthread_cleanup_pop(0);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"cancellation-pending", pending, SERIAL, PRECISE, 0, 0},
      {"cancellation-pending-on-main-and-virtual", pending, MAIN, VIRTUAL, 0, 0},
      {"cancellation-pending-on-a-run-loop", pending, RUN_LOOP, RUN_LOOP, 0, 0},
      {"who-waits-is-cancelled", waiting, CREATE_PRECISE, SHUT_DOWN_PRECISE, 0, 0},
      {"who-runs-a-run-loop-is-cancelled", waiting, RUN_LOOP_RUN, RUN_LOOP_RUN, 0, 0},
      {"who-runs-the-main-queue-is-cancelled", main_run, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
