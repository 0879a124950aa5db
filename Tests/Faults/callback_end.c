/*
 * callback_end.c - a callback ends the thread it runs on, by pthread_exit or because that is cancelled: promise 20. It takes
 * nothing with it but that callback. A thread of libdispatch or of Chime lives on; a thread of the host's ends, when the
 * call that ran the callback has done its work, with its own cleanup handlers and, where glibc is the C library, its own
 * result.
 */
#include "places.h"

#include <unistd.h>

static int ticks, finalized;
static chime_queue_t queue;
static chime_timer_t timer;

/* ---- Ends, and threads of the host that see it happen to them ---------------------------------------------------- */

static int by_cancellation; /* at a cancellation point; else by pthread_exit */
static int ending_calls;    /* how often the callbacks below were called */
static int ended;           /* 1 once the first of them is about to end its thread */
static void *const exit_value = (void *)7;
static void *const returned_value = (void *)5;

/* A thread of the host's with a cleanup handler. */
typedef struct host_thread {
  pthread_t id;
  void (*body)(void);
  int cleaned_up;
  int was_ended; /* by a callback; it says so before `ended` does */
} host_thread;

static __thread host_thread *current; /* NULL on a thread of libdispatch or of Chime */

/* The first call in the process does, all others only count. */
static void end_thread(void) {
  if (add(&ending_calls, 1) > 1) return;
  if (current != NULL) current->was_ended = 1;
  store(&ended, 1);
  if (by_cancellation) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_exit(exit_value);
}

static void end_in_tick(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  end_thread();
}

static void end_in_call(void *context) {
  (void)context;
  end_thread();
}

/* What it does; the main thread, too, which is already there. */
static void *host_thread_run(void *context) {
  host_thread *thread = current = context;
  pthread_cleanup_push(count_call, &thread->cleaned_up);
  thread->body();
  pthread_cleanup_pop(0);
  return returned_value;
}

static void host_thread_start(host_thread *thread, void (*body)(void)) {
  *thread = (host_thread){.body = body};
  thread->id = spawn(host_thread_run, thread);
}

/*
 * Waits for its end. If a callback ended it, its cleanup handler was called and its result is that of pthread_exit or
 * PTHREAD_CANCELED; else its body has returned.
 */
static void host_thread_expect_end(const host_thread *thread) {
  void *result = join(thread->id), *expected = returned_value;
  if (thread->was_ended) expected = by_cancellation ? PTHREAD_CANCELED : exit_value;
#if !defined(__GLIBC__) || defined(MACHO_LOADER) /* musl and Apple's libpthread have no way to keep it */
  if (thread->was_ended) expected = NULL;
#endif
  EXPECT_EQ(thread->cleaned_up, thread->was_ended);
  EXPECT_EQ((intptr_t)result, (intptr_t)expected);
}

/* Runs it on a thread that a callback ends. */
static void run_until_ended(void (*body)(void)) {
  host_thread thread;
  host_thread_start(&thread, body);
  host_thread_expect_end(&thread);
  EXPECT(thread.was_ended);
}

/* ---- Each kind of callback, on each kind of queue ---------------------------------------------------------------- */

enum { PROCESS = PLACES, WHERES }; /* a host-driven queue by poll and process; HOST is one by run */

/* Which callback, and how many finalizers must have been called in the end, beside the one that ends its thread. */
#define KINDS(K) \
  K(ONE_SHOT, handler_of_a_one_shot, 1) \
  K(REPEATING, handler_of_a_repeating_timer, 1) \
  K(REGISTRATION, registration_handler, 1) \
  K(CANCEL_HANDLER, cancel_handler, 1) \
  K(NAMED, named_handler, 2) \
  K(FINALIZER, finalizer, 0) \
  K(DESTRUCTOR, destructor, 1) \
  K(TRACED_CALLBACK, trace_of_a_callback, 1) \
  K(TRACED_CALL, trace_of_a_call, 1) \
  K(ASYNC, function_of_async, 1) \
  K(ASYNC_FINALIZER, finalizer_of_async, 0) \
  K(SYNC, function_of_sync, 0) \
  K(ENTER, enter, 0) \
  K(LEAVE, leave, 0) \
  K(EXPIRY, handler_of_an_expiry, 2) \
  K(VALUE_FINALIZER, finalizer_of_a_value, 0)
#define NUMBER(kind, name, number) kind,
enum { KINDS(NUMBER) };

static int kind, place, finalizers;

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
  chime_timer_options options =
      TIMER_OPTIONS(.handler = kind == ONE_SHOT || kind == REPEATING ? end_in_tick : ignore_tick,
                    .registration_handler = kind == REGISTRATION ? end_in_tick : NULL,
                    .cancel_handler = kind == CANCEL_HANDLER ? end_in_tick : NULL, .context = &finalized,
                    .finalizer = kind == FINALIZER ? end_in_call : count_call);
  chime_target_t target = 0;
  chime_expiring_t expiring = 0;
  int64_t delay = kind <= REGISTRATION || kind == TRACED_CALLBACK ? CHIME_MILLISECOND : CHIME_HOUR;
  if (kind == TRACED_CALLBACK) EXPECT_OK(chime_set_trace(end_when_called_back, NULL, NULL));
  if (kind == TRACED_CALL) EXPECT_OK(chime_set_trace(end_when_suspended, NULL, NULL));
  if (kind == DESTRUCTOR) EXPECT_OK(chime_target_create(&ending_calls, end_in_call, &target));
  options.target = target;
  if (kind <= TRACED_CALL)
    EXPECT_OK(chime_timer_start(queue, &options, EVERY(delay, kind == ONE_SHOT ? 0 : delay), &timer));
  switch (kind) {
    case CANCEL_HANDLER: EXPECT(chime_timer_cancel(timer) >= 0); break;
    case NAMED:
      EXPECT_OK(chime_timer_add_handler(timer, "named", end_in_tick, &finalized, count_call));
      EXPECT_OK(chime_timer_fire(timer));
      break;
    case FINALIZER: EXPECT(chime_timer_release(timer) >= 0); break;
    case DESTRUCTOR: EXPECT_OK(chime_target_release(target)); break;
    case TRACED_CALL:
      EXPECT(chime_timer_suspend(timer) >= 0);
      EXPECT(load(&ended)); /* caught; suspend calls nothing back, so the thread ends in the next call that does */
      EXPECT_OK(chime_target_create(&finalized, NULL, &target));
      chime_target_release(target);
      EXPECT(!"not reached");
      break;
    case ASYNC: EXPECT_OK(chime_queue_async(queue, end_in_call, &finalized, count_call)); break;
    case ASYNC_FINALIZER: EXPECT_OK(chime_queue_async(queue, count_call, &ticks, end_in_call)); break;
    case SYNC: EXPECT_OK(chime_queue_sync(queue, end_in_call, NULL, PATIENCE)); break;
    case EXPIRY:
      EXPECT_OK(chime_expiring_create(queue, 5 * CHIME_MILLISECOND, &finalized, count_call, NULL, &expiring));
      EXPECT_OK(chime_expiring_on_expiry(expiring, end_in_tick, &finalized, count_call));
      break;
    case VALUE_FINALIZER:
      EXPECT_OK(chime_expiring_create(queue, CHIME_HOUR, &ending_calls, end_in_call, NULL, &expiring));
      EXPECT(chime_expiring_release(expiring) >= 0);
      break;
    default: break; /* called without being asked for */
  }
}

/* Whoever drives the queue. */
static void drive(void) {
  chime_status status = CHIME_OK;
  if (place == HOST) status = chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED);
  while (status == CHIME_OK || status == CHIME_ERROR_BUSY) {
    if (place == PROCESS) place_is_readable(queue, 10);
    if (place == PROCESS) status = chime_queue_process(queue, 0, NULL);
    if (place == VIRTUAL) status = chime_queue_advance(queue, CHIME_MILLISECOND);
    usleep(100);
  }
}

static int is_driven(void) { return place == HOST || place == PROCESS || place == VIRTUAL; }

/* The main thread drives the main queue and ends like any other; the case is then ended by the thread that checks it. */
static host_thread main_thread;
static void drive_main(void) { EXPECT_EQ(chime_main_run(), CHIME_STOPPED); }

/* What must hold afterwards. */
static void expect_at_rest(void) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  int64_t end = monotonic_ns() + PATIENCE;
  int before = 0;
  if (timer == 0 || kind == FINALIZER) return;
  if (kind <= NAMED || kind == DESTRUCTOR) {
    do {
      usleep(500);
      EXPECT_OK(chime_timer_get_info(timer, &info));
    } while ((info.busy || info.state == CHIME_STATE_RUNNING) && monotonic_ns() < end);
    EXPECT_EQ(info.busy, 0);
    if (kind != ONE_SHOT || info.state != CHIME_STATE_FINISHED) EXPECT_EQ(info.state, CHIME_STATE_CANCELLED);
    before = load(&ending_calls);
    let_others_tick();
    EXPECT_EQ(load(&ending_calls), before);
  }
  EXPECT(chime_timer_cancel_and_wait(timer, PATIENCE) >= 0);
  if (kind != REPEATING || main_thread.was_ended) return;
  EXPECT_OK(chime_timer_restart(timer, NULL));
  EXPECT(await(&ending_calls, before + 2));
  EXPECT_OK(chime_timer_release(timer));
}

static void *check(void *context) {
  const chime_queue_options options =
      QUEUE_OPTIONS(.enter = kind == ENTER ? end_in_call : NULL, .leave = kind == LEAVE ? end_in_call : NULL);
  host_thread driver, actor;
  (void)context;
  if (!place_is_there(place)) fault_skip("the library has no libdispatch");
  REQUIRE_OK(place_make(place == PROCESS ? HOST : place, &options, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &finalized, count_call, NULL));
  if (is_driven()) host_thread_start(&driver, drive);
  host_thread_start(&actor, act);
  EXPECT(await(&ended, 1));
  host_thread_expect_end(&actor);
  if (main_thread.was_ended) host_thread_expect_end(&main_thread);
  if (is_driven() && driver.was_ended) {
    host_thread_expect_end(&driver);
    host_thread_start(&driver, drive);
  }
  if (kind == TRACED_CALLBACK || kind == TRACED_CALL) EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  expect_at_rest();
  if (fault_failures() > 0) fault_leave();                             /* the rest would only take its time */
  if (!main_thread.was_ended) EXPECT(await(&ticks, load(&ticks) + 3)); /* other timers go on */
  EXPECT_OK(chime_queue_shutdown(queue, main_thread.was_ended ? 100 * CHIME_MILLISECOND : PATIENCE));
  if (is_driven()) host_thread_expect_end(&driver);
  EXPECT_EQ(load(&finalized), 1 + finalizers); /* and the timer of an hour's */
  if (main_thread.was_ended) fault_leave();
  if (place == MAIN) chime_main_stop();
  return NULL;
}

/* argument: a place, by pthread_exit or by cancellation */
static void end_in_a_callback(int which, int number, int argument) {
  pthread_t checker;
  kind = which;
  finalizers = number;
  place = argument / 2;
  by_cancellation = argument % 2;
  if (kind == SYNC && place != SERIAL && place != PRECISE && place != MAIN) fault_skip("no sync");
  if ((kind == ENTER || kind == LEAVE) && is_driven()) fault_skip("no hooks");
  main_thread = (host_thread){.id = pthread_self(), .body = drive_main};
  checker = spawn(check, NULL);
  if (place == MAIN) host_thread_run(&main_thread);
  pthread_join(checker, NULL);
}

#define ENDING_IN(which, name, number) \
  CASES(name, argument, 0, 2 * WHERES - 1) { end_in_a_callback(which, number, argument); }
KINDS(ENDING_IN)

/* ---- Callbacks that do not belong to any kind of queue ------------------------------------------------------------ */

/* chime_queue_take_ticks calls nothing but the destructor of a target that a tick of the call before held last. */
static chime_target_t held_target;

static void take_one(void) {
  chime_tick tick;
  size_t count = 0;
  while (count == 0 && EXPECT(place_is_readable(queue, (int)(PATIENCE / CHIME_MILLISECOND)))) {
    EXPECT_OK(chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count));
  }
}

static void take_twice(void) {
  chime_tick tick;
  size_t count;
  take_one();
  EXPECT_EQ(chime_target_release(held_target), CHIME_RUNNING);
  EXPECT_EQ(load(&ended), 0);
  chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &count);
}

CASES(destructor_in_take_ticks, argument, 0, 1) {
  chime_timer_options silent = CHIME_TIMER_OPTIONS_INIT;
  by_cancellation = argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_FLAG_RECORDS), &queue));
  REQUIRE_OK(chime_target_create(&ending_calls, end_in_call, &held_target));
  silent.target = held_target;
  EXPECT_OK(chime_timer_start(queue, &silent, EVERY(CHIME_MILLISECOND, CHIME_MILLISECOND), &timer));
  run_until_ended(take_twice);
  silent.target = 0;
  EXPECT_OK(chime_timer_start(queue, &silent, AFTER(0), NULL));
  take_one();
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* A callback of one queue drives another one, whose callback ends the thread: both are over, and both queues go on. */
static chime_queue_t inner_queue;
static chime_timer_t inner_timer;
static int went_on;

static void advance_inner_queue(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  chime_queue_advance(inner_queue, CHIME_MILLISECOND);
  add(&went_on, 1);
}

CASES(inside_another_queues_callback, argument, 0, 1) {
  static int inner_ticks;
  chime_state state;
  by_cancellation = argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &inner_queue));
  EXPECT_OK(chime_timer_every(inner_queue, CHIME_MILLISECOND, end_in_tick, NULL, NULL, &inner_timer));
  EXPECT_OK(chime_timer_every(inner_queue, CHIME_MILLISECOND, count_tick, &inner_ticks, NULL, NULL));
  queue = place_tick(SERIAL, &ticks, NULL);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, advance_inner_queue, NULL, NULL, &timer));
  EXPECT(await(&ended, 1));
  EXPECT(await(&ticks, load(&ticks) + 3));
  EXPECT(chime_timer_cancel_and_wait(timer, PATIENCE) == CHIME_IGNORED);
  EXPECT_EQ(went_on, 0);
  EXPECT_OK(chime_timer_state(inner_timer, &state));
  EXPECT_EQ(state, CHIME_STATE_CANCELLED);
  EXPECT_OK(chime_queue_advance(inner_queue, 3 * CHIME_MILLISECOND));
  EXPECT(inner_ticks >= 3);
  EXPECT_OK(chime_queue_shutdown(inner_queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* The call finishes its work after one callback has ended its thread; what the others do there does not keep it alive. */
static void drive_once(void) {
  if (place == HOST) chime_queue_process(queue, 0, NULL);
  else chime_queue_advance(queue, CHIME_MILLISECOND);
}

CASES(beside_other_callbacks, argument, 0, 3) {
  const chime_handler handlers[] = {advance_inner_queue, end_in_tick, advance_inner_queue, end_in_tick};
  int i;
  place = argument / 2 ? VIRTUAL : HOST;
  by_cancellation = argument % 2;
  REQUIRE_OK(place_make(place, NULL, &queue));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &inner_queue));
  for (i = 0; i < 4; i++) EXPECT_OK(chime_timer_after(queue, 0, handlers[i], NULL, NULL, NULL));
  if (place == HOST) sleep_ns(CHIME_MILLISECOND); /* all are due */
  run_until_ended(drive_once);
  EXPECT_EQ(went_on, 2);
  EXPECT_EQ(ending_calls, 2); /* the second only counts */
  EXPECT_OK(chime_queue_shutdown(inner_queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* Many callbacks end the same few threads, again and again. Threads of Chime's do end then, when others have taken their
   place. */
static pthread_key_t key;
static int threads_ended;

static void exit_at_once(const chime_tick *tick, void *context) {
  (void)tick;
  EXPECT_OK(pthread_setspecific(key, &threads_ended));
  add(context, 1);
  pthread_exit(NULL);
}

CASES(again_and_again, place, SERIAL, RUN_LOOP) {
  enum { ENDS = 500 };
  int i, ends = 0;
  REQUIRE_OK(pthread_key_create(&key, count_call));
  queue = place_tick(place, &ticks, NULL);
  for (i = 0; i < ENDS; i++) {
    EXPECT_OK(chime_timer_after(queue, i * 10 * CHIME_MICROSECOND, exit_at_once, &ends, count_call, NULL));
  }
  EXPECT(await(&ends, 2 * ENDS)); /* each finalizer once, though nobody holds these timers */
  EXPECT(await(&ticks, load(&ticks) + 3));
  if (place == SERIAL || place == CONCURRENT || place == PRECISE) EXPECT(await(&threads_ended, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(ends, 2 * ENDS);
}

/* The first of many last callbacks in one call ends the thread: the call still makes the others, and ends what it ends. */
static chime_target_t common_target;
static int how;

static void end_all(void) {
  if (how == 0) chime_queue_shutdown(queue, PATIENCE);
  else if (how == 1) chime_queue_release(queue);
  else chime_target_release(common_target);
}

CASES(before_other_last_callbacks, argument, 0, 11) {
  enum { TIMERS = 10 };
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  int i, files = system_open_files();
  how = argument / 4;
  place = argument / 2 % 2 ? VIRTUAL : HOST;
  REQUIRE_OK(place_make(place, NULL, &queue));
  REQUIRE_OK(chime_target_create(&files, NULL, &common_target));
  options.handler = count_tick;
  options.cancel_handler = argument % 2 ? end_in_tick : NULL;
  options.context = &finalized;
  options.finalizer = argument % 2 ? count_call : end_in_call;
  options.target = common_target;
  for (i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR), NULL));
  run_until_ended(end_all);
  EXPECT_EQ(ending_calls, TIMERS);
  EXPECT_EQ(finalized, argument % 2 ? TIMERS : 0);
  EXPECT_EQ(chime_queue_shutdown(queue, PATIENCE), how == 2 ? CHIME_OK : CHIME_IGNORED);
  EXPECT_EQ(system_open_files(), files);
}

static chime_weak_timer_t weak_timer;

static void fire(void) {
  EXPECT_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, end_in_tick, &finalized, count_call, NULL, &weak_timer));
  chime_weak_timer_fire(weak_timer);
}

static void fire_scheduled(void) {
  EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, end_in_tick, &finalized, count_call, NULL, &weak_timer));
  chime_weak_timer_fire(weak_timer);
}

static void run_loop(void) {
  EXPECT_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, end_in_tick, &finalized, count_call, NULL, &weak_timer));
  chime_run_loop_run(NULL, PATIENCE, 0);
}

/* The action of one: on the thread of the loop, or in chime_weak_timer_fire. */
CASES(action_of_a_weak_timer, argument, 0, 5) {
  void (*const bodies[])(void) = {run_loop, fire, fire_scheduled};
  int32_t valid = 1;
  by_cancellation = argument % 2;
  run_until_ended(bodies[argument / 2]);
  EXPECT(await(&finalized, 1));
  EXPECT_OK(chime_weak_timer_is_valid(weak_timer, &valid));
  EXPECT_EQ(valid, 0);
  place_expect_works(RUN_LOOP);
}

static int ending;

static void end_weak_timer(void) {
  const int is_scheduled = ending & 1;
  EXPECT_OK((is_scheduled ? chime_weak_timer_schedule : chime_weak_timer_create)(
      CHIME_HOUR, 1, 0, count_tick, &finalized, end_in_call, NULL, &weak_timer));
  (ending & 2 ? chime_weak_timer_invalidate : chime_weak_timer_release)(weak_timer);
}

/* Its user_info ends with it: the thread with the call that ends it. */
CASES(user_info_of_a_weak_timer, argument, 0, 7) {
  by_cancellation = argument % 2;
  ending = argument / 2;
  run_until_ended(end_weak_timer);
  place_expect_works(RUN_LOOP);
}
