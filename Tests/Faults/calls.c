/* calls.c - see calls.h. */
#include "calls.h"

#include <stdio.h>
#include <string.h>

#define LONG_TEXT "a text that does not fit into a small string of the language"

int accepted_contexts, finalized_contexts;
static int object;

static void finalize(void *context) {
  (void)context;
  add(&finalized_contexts, 1);
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
static const chime_queue_options on_the_wall_clock = {
    .size = sizeof on_the_wall_clock, .label = LONG_TEXT, .clock = CHIME_CLOCK_WALL};

#define FULL_OPTIONS(of) \
  &TIMER_OPTIONS(.handler = ignore_tick, .registration_handler = ignore_tick, .cancel_handler = ignore_tick, \
                 .finalizer = finalize, .label = LONG_TEXT, .target = of)

/* What they write to, one at a time. */
static union {
  int64_t time;
  int32_t small;
  uint32_t count;
  chime_state state;
  void *object;
  chime_queue_t queues[8];
  chime_tick ticks[4];
  char text[8192];
} into;
static chime_timer_info info = CHIME_TIMER_INFO_INIT;
static chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;

static chime_status whether(int holds) { return holds ? CHIME_OK : CHIME_ERROR_RESOURCE; }

static chime_status explain(world *w) {
  chime_status status = chime_timer_explain(w->tied, into.text, sizeof into.text, &w->made);
  if (status == CHIME_OK) EXPECT(strlen(into.text) == w->made && w->made > 10);
  return status;
}

static chime_status dump(world *w) {
  chime_status status = chime_queue_dump(w->queue, into.text, sizeof into.text, &w->made);
  if (status == CHIME_OK) EXPECT_EQ(strlen(into.text), w->made);
  return status;
}

static chime_status wrap_what_is_not_ours(world *w) {
  static void *not_ours[8];
  not_ours[0] = not_ours;
  return chime_queue_wrap_dispatch(not_ours, NULL, &w->made);
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

/* clang-format off */
#define CALLS(S) \
  S(version, ALONE | NEVER_FAILS, whether(chime_version() > 0)) \
  S(names, ALONE | NEVER_FAILS, whether(chime_status_name(0) && chime_status_message(0) && chime_tick_kind_name(0))) \
  S(now, ALONE, chime_now(CHIME_CLOCK_WALL, &into.time)) \
  S(sleep_until, ALONE, chime_sleep_until(CHIME_CLOCK_MONOTONIC, 1)) \
  S(main_run, ALONE | MAY_FAIL, run_main()) \
  S(main_stop, ALONE, chime_main_stop()) \
  S(set_thread_hooks, ALONE, chime_set_thread_hooks(NULL, NULL, NULL)) \
  S(set_trace, ALONE, chime_set_trace(NULL, NULL)) \
  S(reinitialize, ALONE | NEVER_FAILS, chime_reinitialize()) \
  S(set_allocator, ALONE, chime_set_allocator(NULL)) \
  S(last_error_detail, ALONE | NEVER_FAILS, fail_and_ask()) \
  S(trace_to_file, ALONE | MAY_FAIL, trace_to_nothing()) \
  S(set_memory_limit, ALONE, chime_set_memory_limit(0)) \
  S(memory_used, ALONE | NEVER_FAILS, chime_memory_used() == 1 ? CHIME_IGNORED : CHIME_OK) \
  \
  S(queue_create_serial, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_SERIAL, &labelled, &w->made)) \
  S(queue_create_concurrent, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &w->made)) \
  S(queue_create_dispatch, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &w->made)) \
  S(queue_create_host, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_HOST, NULL, &w->made)) \
  S(queue_create_precise, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &w->made)) \
  S(queue_create_virtual, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &w->made)) \
  S(queue_create_wall, ALONE | GIVES_QUEUE, chime_queue_create(CHIME_QUEUE_SERIAL, &on_the_wall_clock, &w->made)) \
  S(queue_main, ALONE | GIVES_QUEUE | NOT_RUN, chime_queue_main(NULL, &w->made)) \
  S(queue_global, ALONE | GIVES_QUEUE, chime_queue_global(CHIME_QOS_UTILITY, NULL, &w->made)) \
  S(queue_wrap_dispatch, ALONE | MAY_FAIL, wrap_what_is_not_ours(w)) \
  S(queue_list, ALONE, chime_queue_list(into.queues, 8, &w->made)) \
  S(queue_release, ENDS_QUEUE, chime_queue_release(w->queue)) \
  S(queue_shutdown, ENDS_QUEUE, chime_queue_shutdown(w->queue, patience(w))) \
  S(queue_sync, MAY_FAIL, chime_queue_sync(w->queue, ignore_call, NULL, patience(w))) \
  S(queue_async, MAY_FAIL, takes(chime_queue_async(w->queue, ignore_call, NULL, finalize))) \
  S(queue_now, 0, chime_queue_now(w->queue, &into.time)) \
  S(queue_advance, 0, chime_queue_advance(w->queue, CHIME_MILLISECOND)) \
  S(queue_advance_to, 0, chime_queue_advance_to(w->queue, CHIME_MILLISECOND)) \
  S(queue_jump, 0, chime_queue_jump(w->queue, 1)) \
  S(queue_get_stats, IS_QUERY | MAY_FAIL, chime_queue_get_stats(w->queue, &stats)) \
  S(queue_dump, IS_QUERY, dump(w)) \
  S(queue_fd, 0, chime_queue_fd(w->queue, &into.small)) \
  S(queue_next_deadline, IS_QUERY, chime_queue_next_deadline(w->queue, &into.time)) \
  S(queue_poll_timeout, 0, chime_queue_poll_timeout(w->queue, &into.small)) \
  S(queue_wait, 0, chime_queue_wait(w->queue, CHIME_MILLISECOND)) \
  S(queue_process, 0, chime_queue_process(w->queue, 0, NULL)) \
  S(queue_take_ticks, 0, chime_queue_take_ticks(w->queue, into.ticks, sizeof into.ticks[0], 4, &into.count)) \
  S(queue_run, 0, chime_queue_run(w->where == HOST ? w->empty : w->queue, 0)) \
  S(queue_stop, 0, chime_queue_stop(w->queue)) \
  \
  S(timer_create, GIVES_TIMER, takes(chime_timer_create(w->queue, FULL_OPTIONS(w->target), &w->made))) \
  S(timer_start, GIVES_TIMER, takes(chime_timer_start(w->queue, FULL_OPTIONS(0), &in_an_hour, &w->made))) \
  S(timer_after, GIVES_TIMER, chime_timer_after(w->queue, CHIME_HOUR, ignore_tick, NULL, NULL, &w->made)) \
  S(timer_every, GIVES_TIMER, takes(chime_timer_every(w->queue, CHIME_HOUR, ignore_tick, NULL, finalize, &w->made))) \
  S(timer_after_every, GIVES_TIMER, \
    takes(chime_timer_after_every(w->queue, CHIME_HOUR, CHIME_HOUR, ignore_tick, NULL, finalize, &w->made))) \
  S(timer_activate, MAY_FAIL, chime_timer_activate(w->bare[0], &in_an_hour)) \
  S(timer_restart, MAY_FAIL, chime_timer_restart(w->bare[1], &in_an_hour)) \
  S(timer_restart_after, MAY_FAIL, chime_timer_restart_after(w->bare[0], CHIME_HOUR)) \
  S(timer_restart_until, MAY_FAIL, chime_timer_restart_until(w->bare[1], CHIME_HOUR)) \
  S(timer_reschedule, MAY_FAIL, chime_timer_reschedule(w->bare[1], &in_an_hour)) \
  S(timer_suspend, 0, chime_timer_suspend(w->tied)) \
  S(timer_resume, 0, chime_timer_resume(w->tied)) \
  S(timer_postpone, 0, chime_timer_postpone(w->tied, 3 * CHIME_HOUR)) \
  S(timer_postpone_until, 0, chime_timer_postpone_until(w->tied, CHIME_FOREVER - 1)) \
  S(timer_fire, MAY_FAIL, chime_timer_fire(w->bare[1])) \
  S(timer_cancel, 0, chime_timer_cancel(w->tied)) \
  S(timer_cancel_and_wait, 0, chime_timer_cancel_and_wait(w->tied, CHIME_SECOND)) \
  S(timer_release, 0, chime_timer_release(w->tied)) \
  S(timer_release_and_wait, 0, chime_timer_release_and_wait(w->tied, CHIME_SECOND)) \
  S(timer_generation, IS_QUERY, chime_timer_generation(w->timer, &w->made)) \
  S(timer_check_generation, IS_QUERY, chime_timer_check_generation(w->timer, 0)) \
  S(timer_state, IS_QUERY, chime_timer_state(w->timer, &into.state)) \
  S(timer_next_deadline, IS_QUERY, chime_timer_next_deadline(w->timer, &into.time)) \
  S(timer_get_info, IS_QUERY, chime_timer_get_info(w->timer, &info)) \
  S(timer_explain, IS_QUERY, explain(w)) \
  S(timer_add_handler, MAY_FAIL, takes(chime_timer_add_handler(w->timer, LONG_TEXT "!", ignore_tick, NULL, finalize))) \
  S(timer_remove_handler, MAY_FAIL, chime_timer_remove_handler(w->timer, LONG_TEXT)) \
  \
  S(target_create, ALONE | GIVES_TARGET, takes(chime_target_create(&object, finalize, &w->made))) \
  S(target_retain, 0, chime_target_retain(w->target, &into.object)) \
  S(target_release, 0, chime_target_release(w->target)) \
  S(expiring_create, GIVES_EXPIRING, takes(chime_expiring_create(w->queue, &object, finalize, CHIME_HOUR, &w->made))) \
  S(expiring_on_expiry, MAY_FAIL, takes(chime_expiring_on_expiry(w->expiring, ignore_tick, NULL, finalize))) \
  S(expiring_acquire, 0, chime_expiring_acquire(w->expiring, &into.object)) \
  S(expiring_yield, 0, chime_expiring_yield(w->expiring)) \
  S(expiring_reset, MAY_FAIL, chime_expiring_reset(w->expiring, 2 * CHIME_HOUR)) \
  S(expiring_release, 0, chime_expiring_release(w->expiring)) \
  \
  S(run_loop_current, ALONE | MAY_FAIL, chime_run_loop_current(&w->made)) \
  S(run_loop_main, ALONE | MAY_FAIL, chime_run_loop_main(&w->made)) \
  S(run_loop_create, ALONE | GIVES_LOOP, chime_run_loop_create(LONG_TEXT, &w->made)) \
  S(run_loop_run, ALONE | MAY_FAIL, chime_run_loop_run(NULL, 0, 0)) \
  S(run_loop_stop, OF_THE_LOOP, chime_run_loop_stop(w->loop)) \
  S(run_loop_release, OF_THE_LOOP, chime_run_loop_release(w->loop)) \
  S(run_loop_add_common_mode, OF_THE_LOOP | MAY_FAIL, chime_run_loop_add_common_mode(w->loop, LONG_TEXT)) \
  S(run_loop_queue_create, OF_THE_LOOP | GIVES_QUEUE | NOT_RUN, \
    chime_run_loop_queue_create(w->loop, LONG_TEXT, NULL, &w->made)) \
  S(weak_timer_create, ALONE | GIVES_WEAK, \
    takes(chime_weak_timer_create(CHIME_HOUR, 1, w->target, ignore_tick, NULL, finalize, &w->made))) \
  S(weak_timer_schedule, ALONE | GIVES_WEAK, \
    takes(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, ignore_tick, NULL, finalize, &w->made))) \
  S(weak_timer_add, OF_THE_LOOP | MAY_FAIL, chime_weak_timer_add(w->weak, w->loop, LONG_TEXT)) \
  S(weak_timer_fire, OF_THE_LOOP, chime_weak_timer_fire(w->weak)) \
  S(weak_timer_invalidate, OF_THE_LOOP, chime_weak_timer_invalidate(w->weak)) \
  S(weak_timer_is_valid, OF_THE_LOOP, chime_weak_timer_is_valid(w->weak, &into.small)) \
  S(weak_timer_set_tolerance, OF_THE_LOOP, chime_weak_timer_set_tolerance(w->weak, 5)) \
  S(weak_timer_tolerance, OF_THE_LOOP, chime_weak_timer_tolerance(w->weak, &into.time)) \
  S(weak_timer_set_fire_date, OF_THE_LOOP, chime_weak_timer_set_fire_date(w->weak, CHIME_FOREVER)) \
  S(weak_timer_fire_date, OF_THE_LOOP, chime_weak_timer_fire_date(w->weak, &into.time)) \
  S(weak_timer_interval, OF_THE_LOOP, chime_weak_timer_interval(w->weak, &into.time)) \
  S(weak_timer_release, OF_THE_LOOP, chime_weak_timer_release(w->weak))
/* clang-format on */

#define FUNCTION(name, flags, call) \
  static chime_status do_##name(world *w) { \
    (void)w; \
    return call; \
  }
#define SUBJECT(name, flags, call) {"chime_" #name, do_##name, (flags)&GIVES ? (flags) | MAY_FAIL : (flags)},
CALLS(FUNCTION)
const subject subjects[] = {CALLS(SUBJECT)};
const int subject_count = sizeof subjects / sizeof subjects[0];

/* ---- Their world ------------------------------------------------------------------------------------------------- */

void world_make(world *w) {
  chime_timer_options options = TIMER_OPTIONS(.handler = ignore_tick, .label = "tied");
  int i;
  w->queue = place_queue(w->where, NULL);
  if (w->where == HOST) REQUIRE_OK(place_make(HOST, NULL, &w->empty));
  EXPECT_OK(takes(chime_target_create(&object, finalize, &w->target)));
  EXPECT_OK(chime_timer_create(w->queue, &options, &w->timer));
  EXPECT_OK(takes(chime_timer_add_handler(w->timer, LONG_TEXT, ignore_tick, NULL, finalize)));
  for (i = 0; i < HANDLERS; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    EXPECT_OK(chime_timer_add_handler(w->timer, key, ignore_tick, NULL, NULL));
  }
  options.label = NULL;
  EXPECT_OK(chime_timer_create(w->queue, &options, &w->bare[0]));
  EXPECT_OK(chime_timer_after(w->queue, CHIME_HOUR, ignore_tick, NULL, NULL, &w->bare[1]));
  options.label = "tied";
  options.target = w->target;
  EXPECT_OK(chime_timer_start(w->queue, &options, &in_an_hour, &w->tied));
  EXPECT_OK(takes(chime_expiring_create(w->queue, &object, finalize, CHIME_HOUR, &w->expiring)));
  EXPECT_OK(chime_run_loop_create(NULL, &w->loop));
  EXPECT_OK(takes(chime_weak_timer_create(CHIME_HOUR, 1, 0, ignore_tick, NULL, finalize, &w->weak)));
  for (i = 0; i < OTHERS; i++) EXPECT_OK(chime_timer_after(w->queue, 0, ignore_tick, NULL, NULL, &w->others[i]));
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
