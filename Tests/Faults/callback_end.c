/*
 * callback_end.c - a callback ends the thread it runs on, by pthread_exit or because that is cancelled: promise 20. It takes
 * nothing with it but that callback. A thread of libdispatch or of Chime lives on; a thread of the host's ends, when the
 * call that ran the callback has done its work, with its own result and its own cleanup handlers.
 */
#include "ending.h"

#include <unistd.h>

enum { PROCESS = PLACES, WHERES }; /* a host-driven queue by wait and process; HOST is one by run */
static int ticks, finalized;

/* Which callback. */
#define KINDS(K) \
  K(ONE_SHOT, handler_of_a_one_shot) \
  K(REPEATING, handler_of_a_repeating_timer) \
  K(REGISTRATION, registration_handler) \
  K(CANCEL_HANDLER, cancel_handler) \
  K(NAMED, named_handler) \
  K(FINALIZER, finalizer) \
  K(DESTRUCTOR, destructor) \
  K(ASYNC, function_of_async) \
  K(ASYNC_FINALIZER, finalizer_of_async) \
  K(SYNC, function_of_sync) \
  K(ENTER, enter) \
  K(LEAVE, leave) \
  K(TRACED_CALLBACK, trace_of_a_callback) \
  K(TRACED_CALL, trace_of_a_call) \
  K(EXPIRY, handler_of_an_expiry) \
  K(VALUE_FINALIZER, finalizer_of_a_value)
#define NUMBER(kind, name) kind,
enum { KINDS(NUMBER) };

static int kind, where;
static chime_queue_t queue;
static chime_timer_t timer;
static int finalizers; /* that must have been called in the end, beside the one that ends its thread */

static void end_when_called_back(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->kind < CHIME_TRACE_CREATED) end_thread();
}

static void end_when_suspended(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->kind == CHIME_TRACE_SUSPENDED) end_thread();
}

/* Has the callback called; on a thread of its own, as some are called in the call that asks for them. */
static void act(void) {
  chime_timer_options options = {
      .size = sizeof options,
      .handler = kind == ONE_SHOT || kind == REPEATING ? end_in_tick : ignore_tick,
      .registration_handler = kind == REGISTRATION ? end_in_tick : NULL,
      .cancel_handler = kind == CANCEL_HANDLER ? end_in_tick : NULL,
      .context = &finalized,
      .finalizer = kind == FINALIZER ? end_in_call : count_call,
  };
  chime_target_t target = 0;
  chime_expiring_t expiring = 0;
  int has_timer = kind <= DESTRUCTOR || kind == TRACED_CALLBACK || kind == TRACED_CALL;
  int64_t delay = kind <= REGISTRATION || kind == TRACED_CALLBACK ? CHIME_MILLISECOND : CHIME_HOUR;
  chime_schedule schedule = schedule_of(delay, kind == ONE_SHOT ? 0 : delay);
  finalizers += has_timer && kind != FINALIZER;
  if (kind == TRACED_CALLBACK) EXPECT_OK(chime_set_trace(end_when_called_back, NULL));
  if (kind == TRACED_CALL) EXPECT_OK(chime_set_trace(end_when_suspended, NULL));
  if (kind == DESTRUCTOR) EXPECT_OK(chime_target_create(&ending_calls, end_in_call, &target));
  options.target = target;
  if (has_timer) EXPECT_OK(chime_timer_start(queue, &options, &schedule, &timer));
  switch (kind) {
    case CANCEL_HANDLER: EXPECT(chime_timer_cancel(timer) >= 0); break;
    case NAMED:
      finalizers++;
      EXPECT_OK(chime_timer_add_handler(timer, "named", end_in_tick, &finalized, count_call));
      EXPECT_OK(chime_timer_fire(timer));
      break;
    case FINALIZER: {
      chime_timer_t id = timer;
      timer = 0;
      EXPECT(chime_timer_release(id) >= 0);
      break;
    }
    case DESTRUCTOR: EXPECT_OK(chime_target_release(target)); break;
    case ASYNC:
      finalizers++;
      EXPECT_OK(chime_queue_async(queue, end_in_call, &finalized, count_call));
      break;
    case ASYNC_FINALIZER: EXPECT_OK(chime_queue_async(queue, count_call, &ticks, end_in_call)); break;
    case SYNC: EXPECT_OK(chime_queue_sync(queue, end_in_call, NULL, PATIENCE)); break;
    case TRACED_CALL:
      EXPECT(chime_timer_suspend(timer) >= 0);
      EXPECT(load(&ended)); /* caught; suspend calls nothing back, so the thread ends in the next call that does */
      EXPECT_OK(chime_target_create(&finalized, NULL, &target));
      chime_target_release(target);
      EXPECT(!"not reached");
      break;
    case EXPIRY:
      finalizers += 2;
      EXPECT_OK(chime_expiring_create(queue, &finalized, count_call, 5 * CHIME_MILLISECOND, &expiring));
      EXPECT_OK(chime_expiring_on_expiry(expiring, end_in_tick, &finalized, count_call));
      break;
    case VALUE_FINALIZER:
      EXPECT_OK(chime_expiring_create(queue, &ending_calls, end_in_call, CHIME_HOUR, &expiring));
      EXPECT(chime_expiring_release(expiring) >= 0);
      break;
    default: break; /* called without being asked for */
  }
}

/* ---- Whoever drives the queue ----------------------------------------------------------------------------------- */

static void drive(void) {
  chime_status status = CHIME_OK;
  if (where == HOST) status = chime_queue_run(queue, CHIME_RUN_UNTIL_STOPPED);
  while (status == CHIME_OK || status == CHIME_TIMED_OUT || status == CHIME_ERROR_BUSY) {
    if (where == PROCESS) status = chime_queue_wait(queue, 10 * CHIME_MILLISECOND);
    if (where == PROCESS && status == CHIME_OK) status = chime_queue_process(queue, 0, NULL);
    if (where == VIRTUAL) status = chime_queue_advance(queue, CHIME_MILLISECOND);
    usleep(100);
  }
}

static int is_driven(void) { return where == HOST || where == PROCESS || where == VIRTUAL; }

/* The main thread drives the main queue and ends like any other; the case is then ended by the thread that checks it. */
static host_thread main_thread;
static void drive_main(void) { EXPECT_EQ(chime_main_run(), CHIME_STOPPED); }

/* ---- What must hold afterwards ---------------------------------------------------------------------------------- */

static void expect_at_rest(void) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  int64_t end = monotonic_ns() + PATIENCE;
  int before = 0, may_finish = kind == ONE_SHOT;
  if (timer == 0) return;
  if (kind <= NAMED || kind == DESTRUCTOR) {
    do {
      usleep(500);
      EXPECT_OK(chime_timer_get_info(timer, &info));
    } while ((info.busy || info.state == CHIME_STATE_RUNNING) && monotonic_ns() < end);
    EXPECT_EQ(info.busy, 0);
    if (!may_finish || info.state != CHIME_STATE_FINISHED) EXPECT_EQ(info.state, CHIME_STATE_CANCELLED);
    before = load(&ending_calls);
    let_others_tick();
    EXPECT_EQ(load(&ending_calls), before);
  }
  EXPECT(chime_timer_cancel_and_wait(timer, PATIENCE) >= 0);
  if (kind != REPEATING || host_thread_was_ended(&main_thread)) return;
  EXPECT_OK(chime_timer_restart(timer, NULL));
  EXPECT(await(&ending_calls, before + 2));
  EXPECT_OK(chime_timer_release(timer));
}

static void *check(void *context) {
  const chime_queue_options options = {
      .size = sizeof options, .enter = kind == ENTER ? end_in_call : NULL, .leave = kind == LEAVE ? end_in_call : NULL};
  host_thread driver, actor;
  int is_main_gone;
  (void)context;
  REQUIRE_OK(place_make(where == PROCESS ? HOST : where, &options, &queue));
  finalizers++;
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &finalized, count_call, NULL));
  if (is_driven()) host_thread_start(&driver, drive);
  host_thread_start(&actor, act);
  EXPECT(await(&ended, 1));
  host_thread_expect_end(&actor);
  is_main_gone = host_thread_was_ended(&main_thread);
  if (is_main_gone) host_thread_expect_end(&main_thread);
  if (is_driven() && host_thread_was_ended(&driver)) {
    host_thread_expect_end(&driver);
    host_thread_start(&driver, drive);
  }
  if (kind == TRACED_CALLBACK || kind == TRACED_CALL) EXPECT_OK(chime_set_trace(NULL, NULL));
  expect_at_rest();
  if (fault_failures() > 0) fault_leave();                    /* the rest would only take its time */
  if (!is_main_gone) EXPECT(await(&ticks, load(&ticks) + 3)); /* other timers go on */
  EXPECT_OK(chime_queue_shutdown(queue, is_main_gone ? 100 * CHIME_MILLISECOND : PATIENCE));
  if (is_driven()) host_thread_expect_end(&driver);
  EXPECT_EQ(load(&finalized), finalizers);
  if (is_main_gone) fault_leave();
  if (where == MAIN) chime_main_stop();
  return NULL;
}

/* argument: a place, by pthread_exit or by cancellation */
static void end_in_a_callback(int which, int argument) {
  pthread_t thread;
  kind = which;
  where = argument / 2;
  ending_by_cancellation = argument % 2;
  if (kind == SYNC && where != SERIAL && where != PRECISE && where != MAIN) fault_skip("no sync");
  if ((kind == ENTER || kind == LEAVE) && is_driven()) fault_skip("no hooks");
  main_thread.id = pthread_self();
  thread = spawn(check, NULL);
  if (where == MAIN) {
    main_thread.body = drive_main;
    host_thread_run(&main_thread);
  }
  pthread_join(thread, NULL);
}

#define ENDING_IN(which, name) \
  CASES(name, argument, 0, 2 * WHERES - 1) { end_in_a_callback(which, argument); }
KINDS(ENDING_IN)
