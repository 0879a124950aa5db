/*
 * fork_amid.c - a callback, or the trace function, forks: promise 15. The child returns from what it is in, and nothing runs
 * there any more that was named before the fork, reinitialised or not.
 */
#include "places.h"

#include <sys/wait.h>
#include <unistd.h>

enum { WRONG = 3, ALL_FORKED = 4, MOST = 1000 };

static int nth, seen, begins_anew, runs_in_child;
static pid_t forked = -1;

/* Each callback begins here: the nth forks. */
static void meet(void) {
  if (forked == 0) runs_in_child++;
  if (forked >= 0 || seen++ != nth) return;
  forked = fork();
  if (forked == 0 && begins_anew && chime_reinitialize() != CHIME_OK) _exit(WRONG);
}

/* Without a context it was named in the child, which may well begin something. */
static void on_context(void *context) {
  if (context != NULL) meet();
}
static void on_tick(const chime_tick *tick, void *context) { (void)tick, on_context(context); }

static int object;
static void *context(void) { return forked == 0 ? NULL : &object; }

/* A timer of each sort, with all that it can call, and two added handlers, one of which goes; functions; values that expire. */
static void run_everything(int where) {
  chime_queue_t queue;
  chime_target_t target;
  chime_timer_t timer, other;
  chime_expiring_t expiring, released;
  chime_weak_timer_t weak;
  chime_schedule schedule = {.size = sizeof schedule, .interval_ns = 1, .tick_limit = 2};
  chime_timer_options options = TIMER_OPTIONS(.handler = on_tick, .registration_handler = on_tick,
                                              .cancel_handler = on_tick, .finalizer = on_context, .context = &object);
  chime_target_create(&object, on_context, &target);
  if (place_make(where, NULL, &queue) != CHIME_OK) _exit(WRONG);
  options.target = target;
  chime_timer_start(queue, &options, &schedule, &timer);
  chime_timer_start(queue, &options, &schedule, NULL);
  options.target = 0;
  chime_timer_start(queue, &options, &schedule, &other);
  chime_timer_add_handler(timer, "first", on_tick, context(), on_context);
  chime_timer_add_handler(timer, "second", on_tick, context(), on_context);
  chime_timer_after(queue, 0, on_tick, context(), NULL, NULL);
  chime_queue_async(queue, on_context, context(), on_context);
  chime_queue_async(queue, on_context, context(), on_context);
  chime_expiring_create(queue, 1, &object, on_context, NULL, &expiring);
  chime_expiring_on_expiry(expiring, on_tick, context(), on_context);
  chime_expiring_create(queue, CHIME_HOUR, &object, on_context, NULL, &released);
  chime_expiring_on_expiry(released, on_tick, context(), on_context);
  chime_weak_timer_schedule(CHIME_HOUR, 1, 0, on_tick, context(), on_context, NULL, &weak);
  chime_weak_timer_fire(weak);
  for (int turn = 0; turn < 3; turn++) {
    if (where == VIRTUAL) chime_queue_advance(queue, 10);
    else chime_queue_process(queue, 0, NULL);
    if (turn == 0) chime_timer_remove_handler(timer, "first");
    if (turn == 0) chime_timer_restart(timer, NULL);
    if (turn == 1) chime_target_release(target);
  }
  chime_timer_cancel(other);
  chime_timer_release(timer);
  chime_timer_release_and_wait(other, PATIENCE);
  chime_expiring_release(released);
  chime_expiring_release(expiring);
  chime_weak_timer_release(weak);
  chime_queue_shutdown(queue, PATIENCE);
}

static int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAULT_BY_SIGNAL + WTERMSIG(status);
}

/* A process in which nothing has been called yet. */
static int fork_at(int number, int where, int traces) {
  pid_t process = fork();
  if (process != 0) return end_of(process);
  nth = number;
  alarm(30);
  if (traces) chime_set_trace(on_tick, &object, NULL);
  run_everything(where);
  if (forked < 0) _exit(ALL_FORKED);
  if (forked > 0) _exit(end_of(forked));
  _exit(runs_in_child == 0 ? 0 : WRONG);
}

/* argument: host-driven or virtual; begins anew; forks in the trace's reports, too */
CASES(at_each_callback, argument, 0, 7) {
  int status = 0, number = 0;
  begins_anew = argument / 2 % 2;
  for (; number < MOST && status == 0; number++) {
    status = fork_at(number, argument % 2 == 0 ? HOST : VIRTUAL, argument / 4);
    if (status != ALL_FORKED && !EXPECT_EQ(status, 0)) fault_seen("at callback %d", number);
  }
  EXPECT_EQ(status, ALL_FORKED);
  EXPECT(number > 20);
}

/* ---- A sync ------------------------------------------------------------------------------------------------------------- */

static chime_queue_t queue;
static int done;

static void fork_here(void *unused) {
  (void)unused;
  forked = fork();
}

/* In the child the call says that it is one. */
static void sync_and_fork(void) {
  chime_status status = chime_queue_sync(queue, fork_here, NULL, CHIME_FOREVER);
  if (forked == 0) _exit(status == CHIME_ERROR_FORKED ? 0 : WRONG);
  EXPECT_OK(status);
  add(&done, 1);
}

static void sync_in_handler(const chime_tick *tick, void *unused) {
  (void)tick, (void)unused;
  sync_and_fork();
}

/* argument: a kind of queue; outside its callbacks, or inside */
CASES(a_sync_whose_function_forks, argument, 0, 2 * PLACES - 1) {
  const int where = argument / 2, is_inside = argument % 2;
  chime_status status;
  queue = place_queue(where, NULL);
  status = chime_queue_sync(queue, on_context, NULL, 0);
  if (where == CONCURRENT || (status == CHIME_ERROR_UNSUPPORTED && !is_inside)) {
    EXPECT_EQ(status, CHIME_ERROR_UNSUPPORTED);
    fault_skip("it takes no sync");
  }
  if (is_inside) {
    EXPECT_OK(chime_timer_after(queue, 0, sync_in_handler, NULL, NULL, NULL));
    EXPECT(place_await(where, queue, &done, 1));
  } else {
    sync_and_fork();
  }
  EXPECT_EQ(end_of(forked), 0);
  place_end(where, queue);
}

/* ---- A child that begins anew inside ------------------------------------------------------------------------------------ */

static int ran_in_child;

static void begin_anew_and_work(void *unused) {
  chime_queue_t own;
  fork_here(unused);
  if (forked != 0) return;
  alarm(30);
  /* The child's threads get the stacks of the parent's. */
  for (int i = 0; i < 4; i++) {
    if (i == 0 && chime_reinitialize() != CHIME_OK) _exit(WRONG);
    if (place_make(i % 2 == 0 ? PRECISE : SERIAL, NULL, &own) != CHIME_OK) _exit(WRONG);
    if (chime_timer_after(own, CHIME_MILLISECOND, count_tick, &ran_in_child, NULL, NULL) != CHIME_OK) _exit(WRONG);
    if (!await(&ran_in_child, i + 1)) _exit(WRONG);
    if (chime_queue_shutdown(own, PATIENCE) != CHIME_OK) _exit(WRONG);
  }
  _exit(0);
}

static void sync_elsewhere(const chime_tick *tick, void *unused) {
  (void)tick, (void)unused;
  EXPECT_OK(chime_queue_sync(queue, begin_anew_and_work, NULL, CHIME_FOREVER));
  add(&done, 1);
}

/* In a function that another queue's handler waits for, whose frames are on a stack that the child's threads may have. */
CASES(a_child_that_begins_anew_in_a_sync_of_a_handler, argument, 0, 11) {
  static const int outer[] = {SERIAL, CONCURRENT, PRECISE}, inner[] = {SERIAL, PRECISE, DISPATCH, MAIN};
  const int where = inner[argument / 3];
  chime_queue_t waiting = place_queue(outer[argument % 3], NULL);
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_after(waiting, 0, sync_elsewhere, NULL, NULL, NULL));
  EXPECT(place_await(where, queue, &done, 1));
  EXPECT_EQ(end_of(forked), 0);
  EXPECT_OK(chime_queue_shutdown(waiting, PATIENCE));
  place_end(where, queue);
}

static void main_queue_of_child(const chime_tick *tick, void *unused) {
  chime_queue_t own;
  (void)tick;
  fork_here(unused);
  if (forked != 0) {
    add(&done, 1);
    EXPECT_OK(chime_main_stop());
    return;
  }
  alarm(30);
  if (chime_reinitialize() != CHIME_OK || place_make(MAIN, NULL, &own) != CHIME_OK) _exit(WRONG);
  if (chime_timer_after(own, CHIME_MILLISECOND, stop_main, &ran_in_child, NULL, NULL) != CHIME_OK) _exit(WRONG);
  if (chime_main_run() != CHIME_STOPPED || ran_in_child != 1) _exit(WRONG);
  _exit(chime_queue_shutdown(own, PATIENCE) == CHIME_OK ? 0 : WRONG);
}

/* The child of a main queue's handler has a main queue of its own. argument: run by chime_main_run, or by the run loop */
CASES(a_child_that_begins_anew_on_the_main_queue, argument, 0, 1) {
  queue = place_queue(MAIN, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, main_queue_of_child, NULL, NULL, NULL));
  if (argument == 0) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  else
    while (load(&done) == 0) EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(end_of(forked), 0);
  place_end(MAIN, queue);
}

/* ---- A call ------------------------------------------------------------------------------------------------------------- */

static chime_timer_t timer;
static const chime_schedule in_an_hour = {.size = sizeof in_an_hour, .first_ns = CHIME_HOUR};

static chime_status start_one(void) { return chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, &timer); }
static chime_status start_with_options(void) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = on_tick, .cancel_handler = on_tick);
  return chime_timer_start(queue, &options, &in_an_hour, &timer);
}
static chime_status cancel(void) { return chime_timer_cancel(timer); }
static chime_status cancel_and_wait(void) { return chime_timer_cancel_and_wait(timer, PATIENCE); }
static chime_status release(void) { return chime_timer_release(timer); }
static chime_status release_and_wait(void) { return chime_timer_release_and_wait(timer, PATIENCE); }
static chime_status restart(void) { return chime_timer_restart(timer, NULL); }
static chime_status activate(void) { return chime_timer_activate(timer, NULL); }
static chime_status reschedule(void) { return chime_timer_reschedule(timer, &in_an_hour); }
static chime_status suspend(void) { return chime_timer_suspend(timer); }
static chime_status resume(void) { return chime_timer_resume(timer); }
static chime_status postpone(void) { return chime_timer_postpone(timer, 2 * CHIME_HOUR); }
static chime_status fire(void) { return chime_timer_fire(timer); }

/* What a call needs first, and the call. */
static const struct {
  chime_status (*before[2])(void), (*call)(void);
} calls[] = {
    {{NULL}, start_one},
    {{NULL}, start_with_options},
    {{start_one}, cancel},
    {{start_with_options}, cancel},
    {{start_one}, cancel_and_wait},
    {{start_one}, release},
    {{start_with_options}, release},
    {{start_one}, release_and_wait},
    {{start_one}, restart},
    {{start_one, cancel}, activate},
    {{start_one}, reschedule},
    {{start_one}, suspend},
    {{start_one, suspend}, resume},
    {{start_one}, postpone},
    {{start_one, suspend}, postpone},
    {{start_one}, fire},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void fork_in_trace(const chime_tick *tick, void *unused) {
  (void)tick;
  if (forked < 0) fork_here(unused);
}

/* In the child the call says that it is one. */
CASES(a_call_whose_trace_forks, argument, 0, CALLS - 1) {
  chime_status status;
  queue = place_queue(VIRTUAL, NULL);
  for (int i = 0; i < 2 && calls[argument].before[i] != NULL; i++) EXPECT_OK(calls[argument].before[i]());
  EXPECT_OK(chime_set_trace(fork_in_trace, NULL, NULL));
  status = calls[argument].call();
  if (forked == 0) _exit(status == CHIME_ERROR_FORKED ? 0 : WRONG);
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  EXPECT_OK(status);
  EXPECT_EQ(end_of(forked), 0);
  place_end(VIRTUAL, queue);
}
