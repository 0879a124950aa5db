/* calls.c - see calls.h. */
#include "calls.h"
#include "functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LONG_TEXT "a text that does not fit into a small string of the language"

int accepted_contexts, finalized_contexts;
__thread int callbacks_here;
static int object;

/* Whatever a callback leaves in errno, the call that it runs inside leaves it as it was. */
void leave_another_errno(void) {
  callbacks_here++;
  errno = ANOTHER_ERRNO;
}

static void finalize(void *context) {
  (void)context;
  add(&finalized_contexts, 1);
  leave_another_errno();
}

static void handle(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  leave_another_errno();
}

static void call_back(void *context) {
  (void)context;
  leave_another_errno();
}

/* A call that takes a context when its status says so. */
static chime_status takes(chime_status status) {
  if (status >= 0) add(&accepted_contexts, 1);
  return status;
}

/* ---- What the calls are given ------------------------------------------------------------------------------------ */

static const chime_schedule in_an_hour = {
    .size = sizeof in_an_hour, .first_ns = CHIME_HOUR, .interval_ns = 2 * CHIME_HOUR, .tick_limit = 5};
static const chime_queue_options labelled = {.size = sizeof labelled, .label = LONG_TEXT};
static const chime_run_loop_options a_loops = {.size = sizeof a_loops, .label = LONG_TEXT};
static const chime_expiring_options a_values = {.size = sizeof a_values, .label = LONG_TEXT};
static const chime_weak_timer_options a_weak_timers = {.size = sizeof a_weak_timers, .label = LONG_TEXT};
static const chime_queue_options on_the_wall_clock = {
    .size = sizeof on_the_wall_clock, .label = LONG_TEXT, .clock = CHIME_CLOCK_WALL};

#define FULL_OPTIONS(of) \
  &TIMER_OPTIONS(.handler = handle, .registration_handler = handle, .cancel_handler = handle, .finalizer = finalize, \
                 .label = LONG_TEXT, .target = of)

/* What they write to, one at a time. */
static union {
  int64_t time;
  int32_t small;
  uint32_t count;
  size_t length;
  chime_state state;
  void *object;
  chime_queue_t queues[8];
  chime_timer_t timers[8];
  chime_tick ticks[4];
  char text[8192];
} into;
static chime_schedule schedule = CHIME_SCHEDULE_INIT;
static chime_timer_info info = CHIME_TIMER_INFO_INIT;
static chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;

static chime_status whether(int holds) { return holds ? CHIME_OK : CHIME_ERROR_RESOURCE; }

static chime_status explain(world *w) {
  size_t length = 0;
  chime_status status = chime_timer_explain(w->tied, into.text, sizeof into.text, &length);
  if (status == CHIME_OK) EXPECT(strlen(into.text) == length && length > 10);
  return status;
}

static chime_status dump(world *w) {
  size_t length = 0;
  chime_status status = chime_queue_dump(w->queue, into.text, sizeof into.text, &length);
  if (status == CHIME_OK) EXPECT_EQ(strlen(into.text), length);
  return status;
}

static chime_status wrap_what_is_not_ours(world *w) {
  static void *not_ours[8];
  not_ours[0] = not_ours;
  return chime_queue_create_on_dispatch(not_ours, NULL, &w->made);
}

static chime_status run_main(void) {
  chime_main_stop();
  return chime_main_run();
}

static chime_status fail_and_ask(void) {
  chime_queue_now(0, NULL);
  return whether(chime_last_error_detail() != NULL);
}

static chime_status trace_to_nothing(void) {
  chime_status status = chime_trace_to_file("/dev/null");
  if (status == CHIME_OK) EXPECT_OK(chime_trace_to_file(NULL));
  return status;
}

/* The main queue is not drained meanwhile. */
static int64_t patience(const world *w) { return w->where == MAIN ? 0 : CHIME_SECOND; }

/* ---- The calls -------------------------------------------------------------------------------------------------- */

/* What the calls marked F are given. */
static arguments of(const world *w, int flags) {
  arguments a = {.queue = w->queue,
                 .timer = flags & IS_QUERY ? w->timer : w->tied,
                 .target = w->target,
                 .expiring = w->expiring,
                 .weak_timer = w->weak,
                 .run_loop = w->loop,
                 .out = &into,
                 .ticks = into.ticks,
                 .tick_size = sizeof into.ticks[0],
                 .capacity = 4,
                 .function = call_back,
                 .timeout_ns = patience(w),
                 .duration_ns = CHIME_MILLISECOND,
                 .delay_ns = 3 * CHIME_HOUR,
                 .tolerance_ns = 5};
  a.deadline_ns = a.wall_deadline_ns = CHIME_FOREVER - 1;
  return a;
}

/*
 * F: the function of that name, with these arguments. S: the same with arguments of its own; V: one of several such calls.
 * C does not compile it where one of the headers' functions is missing.
 */
/* clang-format off */
#define CALLS(F, S, V) \
  S(version, ALONE | NEVER_FAILS, whether(chime_version() > 0)) \
  S(status_name, ALONE | NEVER_FAILS, whether(chime_status_name(0) != NULL)) \
  S(status_message, ALONE | NEVER_FAILS, whether(chime_status_message(0) != NULL)) \
  S(tick_kind_name, ALONE | NEVER_FAILS, whether(chime_tick_kind_name(0) != NULL)) \
  S(now, ALONE, chime_now(CHIME_CLOCK_WALL, &into.time)) \
  S(sleep_until, ALONE, chime_sleep_until(CHIME_CLOCK_MONOTONIC, 1)) \
  S(main_run, ALONE | MAY_FAIL, run_main()) \
  F(main_stop, ALONE) \
  S(set_trace, ALONE | MAY_FAIL, chime_set_trace(NULL, NULL, NULL)) \
  F(reinitialize, ALONE | NEVER_FAILS) \
  S(set_allocator, ALONE, chime_set_allocator(NULL)) \
  S(last_error_detail, ALONE | NEVER_FAILS, fail_and_ask()) \
  S(trace_to_file, ALONE | MAY_FAIL, trace_to_nothing()) \
  S(set_memory_limit, ALONE, chime_set_memory_limit(0)) \
  S(memory_used, ALONE | NEVER_FAILS, chime_memory_used() == 1 ? CHIME_IGNORED : CHIME_OK) \
  \
  V(queue_create, serial, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_SERIAL, &labelled, &w->made)) \
  V(queue_create, concurrent, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &w->made)) \
  V(queue_create, dispatch, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &w->made)) \
  V(queue_create, host, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_HOST, NULL, &w->made)) \
  V(queue_create, precise, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &w->made)) \
  V(queue_create, virtual, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &w->made)) \
  V(queue_create, wall, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_SERIAL, &on_the_wall_clock, &w->made)) \
  S(queue_create_main, ALONE | GIVES_QUEUE | NOT_RUN, chime_queue_create_main(NULL, &w->made)) \
  S(queue_create_on_dispatch, ALONE | MAY_FAIL, wrap_what_is_not_ours(w)) \
  S(queue_list, ALONE | IS_QUERY, chime_queue_list(into.queues, 8, &into.length)) \
  S(queue_list_timers, IS_QUERY, chime_queue_list_timers(w->queue, into.timers, 8, &into.length)) \
  F(queue_suspend, 0) \
  F(queue_resume, 0) \
  F(queue_release, ENDS_QUEUE) \
  F(queue_shutdown, ENDS_QUEUE) \
  F(queue_sync, MAY_FAIL) \
  S(queue_async, MAY_FAIL, takes(chime_queue_async(w->queue, call_back, NULL, finalize))) \
  F(queue_now, IS_QUERY) \
  F(queue_advance, 0) \
  F(queue_jump, 0) \
  S(queue_get_stats, IS_QUERY | MAY_FAIL, chime_queue_get_stats(w->queue, &stats)) \
  S(queue_dump, IS_QUERY, dump(w)) \
  F(queue_fd, 0) \
  F(queue_next_deadline, IS_QUERY) \
  F(queue_poll_timeout, IS_QUERY) \
  F(queue_process, 0) \
  F(queue_take_ticks, 0) \
  S(queue_run, 0, chime_queue_run(w->where == HOST ? w->empty : w->queue, 0)) \
  F(queue_stop, 0) \
  \
  S(timer_create, GIVES_TIMER, takes(chime_timer_create(w->queue, FULL_OPTIONS(w->target), &w->made))) \
  S(timer_start, GIVES_TIMER, takes(chime_timer_start(w->queue, FULL_OPTIONS(0), &in_an_hour, &w->made))) \
  S(timer_after, GIVES_TIMER, chime_timer_after(w->queue, CHIME_HOUR, handle, NULL, NULL, &w->made)) \
  S(timer_every, GIVES_TIMER, takes(chime_timer_every(w->queue, CHIME_HOUR, handle, NULL, finalize, &w->made))) \
  S(timer_activate, MAY_FAIL, chime_timer_activate(w->bare[0], &in_an_hour)) \
  S(timer_restart, MAY_FAIL, chime_timer_restart(w->bare[1], &in_an_hour)) \
  S(timer_restart_after, MAY_FAIL, chime_timer_restart_after(w->bare[0], CHIME_HOUR)) \
  S(timer_restart_until, MAY_FAIL, chime_timer_restart_until(w->bare[1], CHIME_HOUR)) \
  S(timer_reschedule, MAY_FAIL, chime_timer_reschedule(w->bare[1], &in_an_hour)) \
  S(timer_set_interval, 0, chime_timer_set_interval(w->bare[1], CHIME_HOUR)) \
  S(timer_set_background, MAY_FAIL, chime_timer_set_background(w->bare[1], 1)) \
  F(timer_suspend, 0) \
  F(timer_resume, 0) \
  F(timer_postpone, 0) \
  F(timer_postpone_until, 0) \
  S(timer_fire, MAY_FAIL, chime_timer_fire(w->bare[1])) \
  F(timer_cancel, 0) \
  F(timer_cancel_and_wait, 0) \
  F(timer_release, 0) \
  F(timer_release_and_wait, 0) \
  F(timer_generation, IS_QUERY) \
  F(timer_check_generation, IS_QUERY) \
  F(timer_state, IS_QUERY) \
  F(timer_next_deadline, IS_QUERY) \
  F(timer_remaining, IS_QUERY) \
  S(timer_get_schedule, 0, chime_timer_get_schedule(w->timer, &schedule)) \
  S(timer_get_info, IS_QUERY, chime_timer_get_info(w->timer, &info)) \
  S(timer_explain, IS_QUERY, explain(w)) \
  S(timer_add_handler, MAY_FAIL, takes(chime_timer_add_handler(w->timer, LONG_TEXT "!", handle, NULL, finalize))) \
  S(timer_remove_handler, MAY_FAIL, chime_timer_remove_handler(w->timer, LONG_TEXT)) \
  \
  S(target_create, ALONE | GIVES_TARGET, takes(chime_target_create(&object, finalize, &w->made))) \
  F(target_retain, 0) \
  F(target_release, 0) \
  S(expiring_create, GIVES_EXPIRING, takes(chime_expiring_create(w->queue, CHIME_HOUR, &object, finalize, &a_values, &w->made))) \
  S(expiring_on_expiry, MAY_FAIL, takes(chime_expiring_on_expiry(w->expiring, handle, NULL, finalize))) \
  F(expiring_acquire, 0) \
  F(expiring_yield, 0) \
  S(expiring_reset, MAY_FAIL, chime_expiring_reset(w->expiring, 2 * CHIME_HOUR)) \
  F(expiring_release, 0) \
  \
  S(run_loop_current, ALONE | MAY_FAIL, chime_run_loop_current(&w->made)) \
  S(run_loop_main, ALONE | MAY_FAIL, chime_run_loop_main(&w->made)) \
  S(run_loop_create, ALONE | GIVES_LOOP, chime_run_loop_create(&a_loops, &w->made)) \
  S(run_loop_run, ALONE | MAY_FAIL, chime_run_loop_run(NULL, 0, 0)) \
  F(run_loop_stop, OF_THE_LOOP) \
  F(run_loop_release, OF_THE_LOOP) \
  S(run_loop_add_common_mode, OF_THE_LOOP | MAY_FAIL, chime_run_loop_add_common_mode(w->loop, LONG_TEXT)) \
  S(queue_create_on_run_loop, OF_THE_LOOP | GIVES_QUEUE | NOT_RUN, \
    chime_queue_create_on_run_loop(w->loop, LONG_TEXT, NULL, &w->made)) \
  S(weak_timer_create, ALONE | GIVES_WEAK, \
    takes(chime_weak_timer_create(CHIME_HOUR, 1, w->target, handle, NULL, finalize, &a_weak_timers, &w->made))) \
  S(weak_timer_schedule, ALONE | GIVES_WEAK, \
    takes(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, handle, NULL, finalize, &a_weak_timers, &w->made))) \
  S(weak_timer_add, OF_THE_LOOP | MAY_FAIL, chime_weak_timer_add(w->weak, w->loop, LONG_TEXT)) \
  F(weak_timer_fire, OF_THE_LOOP) \
  F(weak_timer_invalidate, OF_THE_LOOP) \
  F(weak_timer_is_valid, OF_THE_LOOP) \
  F(weak_timer_set_tolerance, OF_THE_LOOP) \
  F(weak_timer_tolerance, OF_THE_LOOP) \
  F(weak_timer_set_fire_date, OF_THE_LOOP) \
  F(weak_timer_fire_date, OF_THE_LOOP) \
  F(weak_timer_release, OF_THE_LOOP)
/* clang-format on */

#define DEFINE(row, flags, call) \
  static chime_status do_##row(world *w) { \
    (void)w; \
    return call; \
  }
#define DEFINE_F(name, flags) \
  static chime_status do_##name(world *w) { \
    const arguments a = of(w, flags); \
    return call_##name(&a); \
  }
#define DEFINE_V(name, which, flags, call) DEFINE(name##_##which, flags, call)
CALLS(DEFINE_F, DEFINE, DEFINE_V)

#define ROW(row, flags) {"chime_" #row, do_##row, (flags)&GIVES ? (flags) | MAY_FAIL : (flags)},
#define ROW_S(name, flags, call) ROW(name, flags)
#define ROW_V(name, which, flags, call) ROW(name##_##which, flags)
const subject subjects[] = {CALLS(ROW, ROW_S, ROW_V)};
const int subject_count = sizeof subjects / sizeof subjects[0];

#define HAS(name, flags) extern char has_##name;
#define HAS_S(name, flags, call) HAS(name, flags)
#define HAS_V(name, which, flags, call) HAS(name, flags)
CALLS(HAS, HAS_S, HAS_V)
#define IS_THERE(name) +sizeof has_##name
enum { ALL_ARE_THERE = 0 ALL_FUNCTIONS(IS_THERE) };

/* ---- Their world ------------------------------------------------------------------------------------------------- */

void world_make(world *w) {
  chime_timer_options options = TIMER_OPTIONS(.handler = handle, .label = "tied");
  int i;
  w->queue = place_queue(w->where, NULL);
  if (w->where == HOST) REQUIRE_OK(place_make(HOST, NULL, &w->empty));
  EXPECT_OK(takes(chime_target_create(&object, finalize, &w->target)));
  EXPECT_OK(chime_timer_create(w->queue, &options, &w->timer));
  EXPECT_OK(takes(chime_timer_add_handler(w->timer, LONG_TEXT, handle, NULL, finalize)));
  for (i = 0; i < HANDLERS; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    EXPECT_OK(chime_timer_add_handler(w->timer, key, handle, NULL, NULL));
  }
  options.label = NULL;
  EXPECT_OK(chime_timer_create(w->queue, &options, &w->bare[0]));
  EXPECT_OK(chime_timer_after(w->queue, CHIME_HOUR, handle, NULL, NULL, &w->bare[1]));
  options.label = "tied";
  options.target = w->target;
  EXPECT_OK(chime_timer_start(w->queue, &options, &in_an_hour, &w->tied));
  EXPECT_OK(takes(chime_expiring_create(w->queue, CHIME_HOUR, &object, finalize, NULL, &w->expiring)));
  EXPECT_OK(chime_run_loop_create(NULL, &w->loop));
  EXPECT_OK(takes(chime_weak_timer_create(CHIME_HOUR, 1, 0, handle, NULL, finalize, NULL, &w->weak)));
  for (i = 0; i < OTHERS; i++) EXPECT_OK(chime_timer_after(w->queue, 0, handle, NULL, NULL, &w->others[i]));
}

void world_end_made(const subject *call, uint64_t made) {
  if (call->flags & GIVES_QUEUE) {
    EXPECT_OK(chime_queue_shutdown(made, call->flags & NOT_RUN ? 0 : CHIME_SECOND));
  }
  if (call->flags & GIVES_TIMER) EXPECT_EQ(chime_timer_release(made) < 0, 0);
  if (call->flags & GIVES_TARGET) EXPECT_OK(chime_target_release(made));
  if (call->flags & GIVES_EXPIRING) EXPECT_EQ(chime_expiring_release(made) < 0, 0);
  if (call->flags & GIVES_WEAK) EXPECT_EQ(chime_weak_timer_release(made) < 0, 0);
  if (call->flags & GIVES_LOOP) EXPECT_OK(chime_run_loop_release(made));
}

void world_end(world *w, int queue_is_there) {
  static int later; /* the worlds of a process come one after the other */
  int i;
  if (w->queue == 0) return;
  if (queue_is_there) {
    store(&later, 0);
    while (chime_queue_resume(w->queue) == CHIME_OK) {} /* of one that the call has suspended */
    EXPECT_OK(chime_timer_after(w->queue, 0, count_tick, &later, NULL, NULL));
    EXPECT(place_await(w->where, w->queue, &later, 1));
  }
  chime_queue_release(w->empty);
  chime_weak_timer_release(w->weak);
  while (chime_expiring_yield(w->expiring) == CHIME_OK) {}
  chime_expiring_release(w->expiring);
  while (chime_target_release(w->target) == CHIME_OK) {}
  for (i = 0; i < OTHERS; i++) chime_timer_release(w->others[i]);
  if (queue_is_there) place_end(w->where, w->queue);
  else if (w->where == MAIN) place_expect_works(MAIN); /* and what was left on it runs */
  chime_run_loop_release(w->loop);
}

void expect_all_finalized(void) {
  /* The last reference of all may be a thread's that is about to end. */
  await(&finalized_contexts, load(&accepted_contexts));
  EXPECT_EQ(load(&finalized_contexts), load(&accepted_contexts));
}
