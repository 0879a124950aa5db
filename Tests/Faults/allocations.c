/*
 * allocations.c - each call of both headers with each of its allocations refused: the first, the second and so on, until
 * the call makes no further one; that one alone, and that one with all after it; and all of them when the library's reserve
 * has been used up as well. On each kind of queue, as the first such call of the process (cold) and as a later one (warm).
 * A process for each, so that one that dies or hangs is one row.
 *
 * The call must answer as it does with memory or, if chime.h admits it, NO_MEMORY or RESOURCE, and then have changed
 * nothing: out-parameters untouched, the context still the caller's, and the same call takes effect when there is memory again. Then a timer
 * ticks on the queue, everything ends, and every context that was taken has been finalized once.
 *
 * A line for each function (`make allocation-table` makes a table of them): on each kind of queue, in the order of
 * `place`, that it needs no allocation, that it answers, or at how many of them it does not.
 */
#include "places.h"
#include "refusing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNTOUCHED = 0x5a5a5a5a, MOST = 60, HANDLERS = 130, PART_TIMEOUT_MS = 30000 };

/* Beside the ways of refusing.h: all of them, and the reserve has been used up. */
enum { REFUSE_WITHOUT_RESERVE = REFUSE_RANDOM };

typedef struct world {
  place where;
  chime_queue_t queue;
  chime_queue_t empty;   /* where it is host-driven: another one, which nobody drives */
  chime_timer_t timer;   /* idle, with a label, and named handlers in an array that the reserve has no block for */
  chime_timer_t bare[2]; /* without anything that needs memory: idle, running */
  chime_target_t target; /* of the timer `tied` */
  chime_timer_t tied;
  chime_expiring_t expiring;
  chime_weak_timer_t weak;
  chime_run_loop_t loop;
  chime_timer_t others[24]; /* due, or about to be */
  uint64_t made;            /* what the call gives */
} world;

static int ticks;
static int accepted; /* contexts with a finalizer that Chime has taken */
static int finalized;

static void finalize(void *context) {
  (void)context;
  add(&finalized, 1);
}

static void nothing(void *context) { (void)context; }
static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

/* A call that takes a context when its status says so. */
static chime_status takes(chime_status status) {
  if (status >= 0) add(&accepted, 1);
  return status;
}

/* ---- The calls -------------------------------------------------------------------------------------------------- */

#define LONG_TEXT "a text that does not fit into a small string of the language"

static chime_schedule in_an_hour(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = CHIME_HOUR;
  schedule.interval_ns = 2 * CHIME_HOUR;
  schedule.tick_limit = 5;
  return schedule;
}

static chime_timer_options full_options(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = ignore_tick;
  options.registration_handler = ignore_tick;
  options.cancel_handler = ignore_tick;
  options.finalizer = finalize;
  options.label = LONG_TEXT;
  return options;
}

#define CALL(name) static chime_status do_##name(world *w)

CALL(timer_create) {
  chime_timer_options options = full_options();
  options.target = w->target;
  return takes(chime_timer_create(w->queue, &options, &w->made));
}
CALL(timer_start) {
  chime_timer_options options = full_options();
  chime_schedule schedule = in_an_hour();
  return takes(chime_timer_start(w->queue, &options, &schedule, &w->made));
}
CALL(timer_after) { return chime_timer_after(w->queue, CHIME_HOUR, ignore_tick, NULL, NULL, &w->made); }
CALL(timer_every) { return takes(chime_timer_every(w->queue, CHIME_HOUR, ignore_tick, NULL, finalize, &w->made)); }
CALL(timer_activate) {
  chime_schedule schedule = in_an_hour();
  return chime_timer_activate(w->bare[0], &schedule);
}
CALL(timer_restart) {
  chime_schedule schedule = in_an_hour();
  return chime_timer_restart(w->bare[1], &schedule);
}
CALL(timer_reschedule) {
  chime_schedule schedule = in_an_hour();
  return chime_timer_reschedule(w->bare[1], &schedule);
}
CALL(timer_suspend) { return chime_timer_suspend(w->tied); }
CALL(timer_resume) { return chime_timer_resume(w->tied); }
CALL(timer_postpone) { return chime_timer_postpone(w->tied, 3 * CHIME_HOUR); }
CALL(timer_postpone_until) { return chime_timer_postpone_until(w->tied, CHIME_FOREVER - 1); }
CALL(timer_fire) { return chime_timer_fire(w->bare[1]); }
CALL(timer_cancel) { return chime_timer_cancel(w->tied); }
CALL(timer_cancel_and_wait) { return chime_timer_cancel_and_wait(w->tied, CHIME_SECOND); }
CALL(timer_release) { return chime_timer_release(w->tied); }
CALL(timer_generation) { return chime_timer_generation(w->timer, &w->made); }
CALL(timer_check_generation) { return chime_timer_check_generation(w->timer, 0); }
CALL(timer_state) {
  chime_state state;
  return chime_timer_state(w->timer, &state);
}
CALL(timer_next_deadline) {
  int64_t deadline;
  return chime_timer_next_deadline(w->timer, &deadline);
}
CALL(timer_get_info) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  return chime_timer_get_info(w->timer, &info);
}
CALL(timer_explain) {
  char text[200];
  chime_status status = chime_timer_explain(w->tied, text, sizeof text, &w->made);
  if (status == CHIME_OK) EXPECT(strlen(text) == w->made && strlen(text) > 10);
  return status;
}
CALL(timer_add_handler) { return takes(chime_timer_add_handler(w->timer, LONG_TEXT "!", ignore_tick, NULL, finalize)); }
CALL(timer_remove_handler) { return chime_timer_remove_handler(w->timer, LONG_TEXT); }

CALL(queue_create_serial) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.label = LONG_TEXT;
  return chime_queue_create(CHIME_QUEUE_SERIAL, &options, &w->made);
}
CALL(queue_create_concurrent) { return chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &w->made); }
CALL(queue_create_host) { return chime_queue_create(CHIME_QUEUE_HOST, NULL, &w->made); }
CALL(queue_create_precise) { return chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &w->made); }
CALL(queue_create_virtual) { return chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &w->made); }
CALL(queue_create_wall) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.clock = CHIME_CLOCK_WALL;
  return chime_queue_create(CHIME_QUEUE_SERIAL, &options, &w->made);
}
CALL(queue_main) { return chime_queue_main(NULL, &w->made); }
CALL(queue_global) { return chime_queue_global(CHIME_QOS_UTILITY, NULL, &w->made); }
CALL(queue_wrap_dispatch) {
  static void *not_ours[8];
  not_ours[0] = not_ours;
  return chime_queue_wrap_dispatch(not_ours, NULL, &w->made);
}
CALL(queue_release) { return chime_queue_release(w->queue); }
CALL(queue_shutdown) { return chime_queue_shutdown(w->queue, w->where == MAIN ? 0 : CHIME_SECOND); }
CALL(queue_sync) { return chime_queue_sync(w->queue, nothing, NULL, w->where == MAIN ? 0 : CHIME_SECOND); }
CALL(queue_async) { return takes(chime_queue_async(w->queue, nothing, NULL, finalize)); }
CALL(queue_now) {
  int64_t now;
  return chime_queue_now(w->queue, &now);
}
CALL(queue_advance) { return chime_queue_advance(w->queue, CHIME_MILLISECOND); }
CALL(queue_advance_to) { return chime_queue_advance_to(w->queue, CHIME_MILLISECOND); }
CALL(queue_jump) { return chime_queue_jump(w->queue, 1); }
CALL(queue_get_stats) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  return chime_queue_get_stats(w->queue, &stats);
}
CALL(queue_dump) {
  static char text[8192];
  chime_status status = chime_queue_dump(w->queue, text, sizeof text, &w->made);
  if (status == CHIME_OK) EXPECT_EQ(strlen(text), w->made);
  return status;
}
CALL(queue_fd) {
  int fd;
  return chime_queue_fd(w->queue, &fd);
}
CALL(queue_next_deadline) {
  int64_t deadline;
  return chime_queue_next_deadline(w->queue, &deadline);
}
CALL(queue_poll_timeout) {
  int32_t timeout;
  return chime_queue_poll_timeout(w->queue, &timeout);
}
CALL(queue_wait) { return chime_queue_wait(w->queue, CHIME_MILLISECOND); }
CALL(queue_process) { return chime_queue_process(w->queue, 0, NULL); }
CALL(queue_take_ticks) {
  chime_tick records[4];
  uint32_t count;
  return chime_queue_take_ticks(w->queue, records, sizeof records[0], 4, &count);
}
CALL(queue_run) { return chime_queue_run(w->where == HOST ? w->empty : w->queue, 0); }
CALL(queue_stop) { return chime_queue_stop(w->queue); }

CALL(target_create) { return takes(chime_target_create(&ticks, finalize, &w->made)); }
CALL(target_retain) { return chime_target_retain(w->target, NULL); }
CALL(target_release) { return chime_target_release(w->target); }
CALL(expiring_create) { return takes(chime_expiring_create(w->queue, &ticks, finalize, CHIME_HOUR, &w->made)); }
CALL(expiring_on_expiry) { return takes(chime_expiring_on_expiry(w->expiring, ignore_tick, NULL, finalize)); }
CALL(expiring_acquire) {
  void *value;
  return chime_expiring_acquire(w->expiring, &value);
}
CALL(expiring_yield) { return chime_expiring_yield(w->expiring); }
CALL(expiring_reset) { return chime_expiring_reset(w->expiring, 2 * CHIME_HOUR); }
CALL(expiring_release) { return chime_expiring_release(w->expiring); }

CALL(version) {
  (void)w;
  return chime_version() > 0 ? CHIME_OK : CHIME_ERROR_RESOURCE;
}
CALL(names) {
  (void)w;
  return chime_status_name(0) && chime_status_message(0) && chime_tick_kind_name(0) ? CHIME_OK : CHIME_ERROR_RESOURCE;
}
CALL(now) {
  int64_t now;
  (void)w;
  return chime_now(CHIME_CLOCK_WALL, &now);
}
CALL(sleep_until) {
  (void)w;
  return chime_sleep_until(CHIME_CLOCK_MONOTONIC, 1);
}
CALL(main_run) {
  (void)w;
  chime_main_stop();
  return chime_main_run();
}
CALL(main_stop) {
  (void)w;
  return chime_main_stop();
}
CALL(set_thread_hooks) {
  (void)w;
  return chime_set_thread_hooks(NULL, NULL, NULL);
}
CALL(set_trace) {
  (void)w;
  return chime_set_trace(NULL, NULL);
}
CALL(timer_after_every) {
  return takes(chime_timer_after_every(w->queue, CHIME_HOUR, CHIME_HOUR, ignore_tick, NULL, finalize, &w->made));
}
CALL(timer_release_and_wait) { return chime_timer_release_and_wait(w->tied, CHIME_SECOND); }
CALL(queue_list) {
  chime_queue_t queues[8];
  (void)w;
  return chime_queue_list(queues, 8, &w->made);
}
CALL(last_error_detail) {
  (void)w;
  chime_queue_now(0, NULL);
  return chime_last_error_detail() != NULL ? CHIME_OK : CHIME_ERROR_RESOURCE;
}
CALL(trace_to_file) {
  chime_status status = chime_trace_to_file("/dev/null");
  (void)w;
  if (status == CHIME_OK) EXPECT_OK(chime_trace_to_file(NULL));
  return status;
}
CALL(set_allocator) {
  (void)w;
  return chime_set_allocator(NULL);
}
CALL(set_memory_limit) {
  (void)w;
  return chime_set_memory_limit(0);
}
CALL(memory_used) {
  (void)w;
  return chime_memory_used() == 1 ? CHIME_IGNORED : CHIME_OK;
}
CALL(reinitialize) {
  (void)w;
  return chime_reinitialize();
}

CALL(run_loop_current) { return chime_run_loop_current(&w->made); }
CALL(run_loop_main) { return chime_run_loop_main(&w->made); }
CALL(run_loop_create) { return chime_run_loop_create(LONG_TEXT, &w->made); }
CALL(run_loop_run) {
  (void)w;
  return chime_run_loop_run(NULL, 0, 0);
}
CALL(run_loop_stop) { return chime_run_loop_stop(w->loop); }
CALL(run_loop_release) { return chime_run_loop_release(w->loop); }
CALL(run_loop_add_common_mode) { return chime_run_loop_add_common_mode(w->loop, LONG_TEXT); }
CALL(run_loop_queue_create) { return chime_run_loop_queue_create(w->loop, LONG_TEXT, NULL, &w->made); }
CALL(weak_timer_create) {
  return takes(chime_weak_timer_create(CHIME_HOUR, 1, w->target, ignore_tick, NULL, finalize, &w->made));
}
CALL(weak_timer_schedule) {
  return takes(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, ignore_tick, NULL, finalize, &w->made));
}
CALL(weak_timer_add) { return chime_weak_timer_add(w->weak, w->loop, LONG_TEXT); }
CALL(weak_timer_fire) { return chime_weak_timer_fire(w->weak); }
CALL(weak_timer_invalidate) { return chime_weak_timer_invalidate(w->weak); }
CALL(weak_timer_is_valid) {
  int32_t valid;
  return chime_weak_timer_is_valid(w->weak, &valid);
}
CALL(weak_timer_set_tolerance) { return chime_weak_timer_set_tolerance(w->weak, 5); }
CALL(weak_timer_tolerance) {
  int64_t tolerance;
  return chime_weak_timer_tolerance(w->weak, &tolerance);
}
CALL(weak_timer_set_fire_date) { return chime_weak_timer_set_fire_date(w->weak, CHIME_FOREVER); }
CALL(weak_timer_fire_date) {
  int64_t date;
  return chime_weak_timer_fire_date(w->weak, &date);
}
CALL(weak_timer_interval) {
  int64_t interval;
  return chime_weak_timer_interval(w->weak, &interval);
}
CALL(weak_timer_release) { return chime_weak_timer_release(w->weak); }

/* What a call needs, and what it gives. */
enum {
  ALONE = 1,       /* it needs nothing that was made before: cold, it is the process's first call */
  GIVES_QUEUE = 2, /* `made` is to be shut down, */
  GIVES_TIMER = 4, /* released, */
  GIVES_TARGET = 8,
  GIVES_EXPIRING = 16,
  GIVES_WEAK = 32,
  GIVES_LOOP = 64,
  ENDS_QUEUE = 128,  /* afterwards the queue is none any more */
  OF_THE_LOOP = 256, /* not another on each kind of queue */
  MAY_FAIL = 512     /* it may answer NO_MEMORY or RESOURCE */
};

static const struct subject {
  const char *name;
  chime_status (*call)(world *w);
  int flags;
} subjects[] = {
/* clang-format off */
#define S(name, flags) {"chime_" #name, do_##name, flags}
    S(version, ALONE), S(names, ALONE), S(now, ALONE), S(sleep_until, ALONE), S(main_run, ALONE | MAY_FAIL), S(main_stop, ALONE),
    S(set_thread_hooks, ALONE), S(set_trace, ALONE), S(reinitialize, ALONE),
    S(set_allocator, ALONE), S(last_error_detail, ALONE), S(trace_to_file, ALONE | MAY_FAIL), S(queue_list, 0),
    S(timer_after_every, GIVES_TIMER | MAY_FAIL), S(timer_release_and_wait, 0), S(set_memory_limit, ALONE), S(memory_used, ALONE),
    S(queue_create_serial, ALONE | GIVES_QUEUE | MAY_FAIL), S(queue_create_concurrent, ALONE | GIVES_QUEUE | MAY_FAIL),
    S(queue_create_host, ALONE | GIVES_QUEUE | MAY_FAIL), S(queue_create_precise, ALONE | GIVES_QUEUE | MAY_FAIL),
    S(queue_create_virtual, ALONE | GIVES_QUEUE | MAY_FAIL), S(queue_create_wall, ALONE | GIVES_QUEUE | MAY_FAIL),
    S(queue_main, ALONE | GIVES_QUEUE | MAY_FAIL), S(queue_global, ALONE | GIVES_QUEUE | MAY_FAIL), S(queue_wrap_dispatch, ALONE | MAY_FAIL),
    S(queue_release, ENDS_QUEUE), S(queue_shutdown, ENDS_QUEUE), S(queue_sync, MAY_FAIL), S(queue_async, MAY_FAIL), S(queue_now, 0),
    S(queue_advance, 0), S(queue_advance_to, 0), S(queue_jump, 0), S(queue_get_stats, MAY_FAIL), S(queue_dump, 0),
    S(queue_fd, 0), S(queue_next_deadline, 0), S(queue_poll_timeout, 0), S(queue_wait, 0), S(queue_process, 0),
    S(queue_take_ticks, 0), S(queue_run, 0), S(queue_stop, 0),
    S(timer_create, GIVES_TIMER | MAY_FAIL), S(timer_start, GIVES_TIMER | MAY_FAIL), S(timer_after, GIVES_TIMER | MAY_FAIL), S(timer_every, GIVES_TIMER | MAY_FAIL),
    S(timer_activate, MAY_FAIL), S(timer_restart, MAY_FAIL), S(timer_reschedule, MAY_FAIL), S(timer_suspend, 0), S(timer_resume, 0),
    S(timer_postpone, 0), S(timer_postpone_until, 0), S(timer_fire, MAY_FAIL), S(timer_cancel, 0), S(timer_cancel_and_wait, 0),
    S(timer_release, 0), S(timer_generation, 0), S(timer_check_generation, 0), S(timer_state, 0),
    S(timer_next_deadline, 0), S(timer_get_info, 0), S(timer_explain, 0), S(timer_add_handler, MAY_FAIL),
    S(timer_remove_handler, MAY_FAIL),
    S(target_create, ALONE | GIVES_TARGET | MAY_FAIL), S(target_retain, 0), S(target_release, 0),
    S(expiring_create, GIVES_EXPIRING | MAY_FAIL), S(expiring_on_expiry, MAY_FAIL), S(expiring_acquire, 0), S(expiring_yield, 0),
    S(expiring_reset, MAY_FAIL), S(expiring_release, 0),
    S(run_loop_current, ALONE | MAY_FAIL), S(run_loop_main, ALONE | MAY_FAIL), S(run_loop_create, ALONE | GIVES_LOOP | MAY_FAIL),
    S(run_loop_run, ALONE | MAY_FAIL), S(run_loop_stop, OF_THE_LOOP), S(run_loop_release, OF_THE_LOOP),
    S(run_loop_add_common_mode, OF_THE_LOOP | MAY_FAIL), S(run_loop_queue_create, OF_THE_LOOP | GIVES_QUEUE | MAY_FAIL),
    S(weak_timer_create, ALONE | GIVES_WEAK | MAY_FAIL), S(weak_timer_schedule, ALONE | GIVES_WEAK | MAY_FAIL), S(weak_timer_add, OF_THE_LOOP | MAY_FAIL),
    S(weak_timer_fire, OF_THE_LOOP), S(weak_timer_invalidate, OF_THE_LOOP), S(weak_timer_is_valid, OF_THE_LOOP),
    S(weak_timer_set_tolerance, OF_THE_LOOP), S(weak_timer_tolerance, OF_THE_LOOP),
    S(weak_timer_set_fire_date, OF_THE_LOOP), S(weak_timer_fire_date, OF_THE_LOOP), S(weak_timer_interval, OF_THE_LOOP),
    S(weak_timer_release, OF_THE_LOOP),
#undef S
    /* clang-format on */
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* ---- One call --------------------------------------------------------------------------------------------------- */

static void prepare(world *w) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = in_an_hour();
  int i;
  options.handler = ignore_tick;
  options.label = "tied";
  REQUIRE_OK(place_make(w->where, NULL, &w->queue));
  place_drive(w->where, w->queue);
  if (w->where == HOST) REQUIRE_OK(place_make(HOST, NULL, &w->empty));
  EXPECT_OK(takes(chime_target_create(&ticks, finalize, &w->target)));
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
  EXPECT_OK(chime_timer_start(w->queue, &options, &schedule, &w->tied));
  EXPECT_OK(takes(chime_expiring_create(w->queue, &ticks, finalize, CHIME_HOUR, &w->expiring)));
  EXPECT_OK(chime_run_loop_create(NULL, &w->loop));
  EXPECT_OK(takes(chime_weak_timer_create(CHIME_HOUR, 1, 0, ignore_tick, NULL, finalize, &w->weak)));
  for (i = 0; i < 24; i++) EXPECT_OK(chime_timer_after(w->queue, 0, ignore_tick, NULL, NULL, &w->others[i]));
}

/* Ends what a call has made. */
static void end_made(const struct subject *subject, uint64_t made) {
  if (subject->flags & GIVES_QUEUE) {
    /* Nobody runs these. */
    int is_idle = subject->call == do_queue_main || subject->call == do_run_loop_queue_create;
    EXPECT_OK(chime_queue_shutdown(made, is_idle ? 0 : CHIME_SECOND));
  }
  if (subject->flags & GIVES_TIMER) EXPECT_EQ(chime_timer_release(made) < 0, 0);
  if (subject->flags & GIVES_TARGET) EXPECT_OK(chime_target_release(made));
  if (subject->flags & GIVES_EXPIRING) EXPECT_EQ(chime_expiring_release(made) < 0, 0);
  if (subject->flags & GIVES_WEAK) EXPECT_EQ(chime_weak_timer_release(made) < 0, 0);
  if (subject->flags & GIVES_LOOP) EXPECT_OK(chime_run_loop_release(made));
}

/* Has what is left on the main queue run. */
static void drain_main(void) {
  static int later;
  chime_queue_t queue = 0;
  store(&later, 0);
  REQUIRE_OK(place_make(MAIN, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &later, NULL, NULL));
  EXPECT(place_await(MAIN, queue, &later, 1));
  EXPECT_OK(chime_queue_shutdown(queue, 0));
}

static void finish(world *w, int queue_is_there) {
  static int later; /* the worlds of a process come one after the other */
  int i;
  if (w->queue == 0) return;
  if (queue_is_there) {
    store(&later, 0);
    EXPECT_OK(chime_timer_after(w->queue, 0, count_tick, &later, NULL, NULL));
    place_drive(w->where, w->queue); /* a stop has ended that of before; two drive it in turn */
    EXPECT(place_await(w->where, w->queue, &later, 1));
  }
  chime_queue_release(w->empty);
  chime_weak_timer_release(w->weak);
  chime_expiring_yield(w->expiring);
  chime_expiring_release(w->expiring);
  while (chime_target_release(w->target) == CHIME_OK) {}
  for (i = 0; i < 24; i++) chime_timer_release(w->others[i]);
  if (queue_is_there) EXPECT_OK(chime_queue_shutdown(w->queue, w->where == MAIN ? 0 : 5 * CHIME_SECOND));
  else if (w->where == MAIN) drain_main();
  chime_run_loop_release(w->loop);
}

static int encode(int subject, int where, int is_warm, int way, int n) {
  return (((subject * PLACES + where) * 2 + is_warm) * REFUSE_WAYS + way) * (MOST + 1) + n;
}

/* What a refused call must leave as it was. */
typedef struct look {
  chime_state states[4];
  uint64_t generations[4];
} look;

static void look_at(const world *w, look *found) {
  const chime_timer_t all[4] = {w->timer, w->bare[0], w->bare[1], w->tied};
  int i;
  memset(found, 0, sizeof *found);
  for (i = 0; i < 4; i++) {
    chime_timer_state(all[i], &found->states[i]);
    chime_timer_generation(all[i], &found->generations[i]);
  }
}

static void one_call(int argument) {
  int n = argument % (MOST + 1), way = argument / (MOST + 1) % REFUSE_WAYS;
  int rest = argument / (MOST + 1) / REFUSE_WAYS;
  int is_warm = rest % 2;
  const struct subject *subject = &subjects[rest / 2 / PLACES];
  int is_alone = !is_warm && (subject->flags & ALONE) != 0, queue_is_there;
  world w, before;
  look found, left;
  chime_status status, again;
  chime_queue_t filled = 0;
  long refused;
  int taken;
  memset(&w, 0, sizeof w);
  w.where = before.where = (place)(rest / 2 % PLACES);
  if (is_warm) {
    memset(&before, 0, sizeof before);
    before.where = w.where;
    prepare(&before);
    before.made = UNTOUCHED;
    if (subject->call(&before) >= 0) end_made(subject, before.made);
    finish(&before, (subject->flags & ENDS_QUEUE) == 0);
  }
  if (!is_alone) prepare(&w);
  w.made = UNTOUCHED;
  taken = load(&accepted);
  if (!is_alone) look_at(&w, &found);
  if (way == REFUSE_WITHOUT_RESERVE) {
    EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &filled));
    refuse(REFUSE_FROM, 1);
    place_use_up_reserve(filled);
  }
  refuse(way == REFUSE_WITHOUT_RESERVE ? REFUSE_FROM : way, n);
  status = subject->call(&w);
  refused = refuse_none();
  fault_seen("%d %ld %ld\n", status, refused, refused_here());
  again = status;
  if (status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE) {
    EXPECT(subject->flags & MAY_FAIL);
    EXPECT_EQ(w.made, UNTOUCHED);
    EXPECT_EQ(load(&accepted), taken);
    if (!is_alone) look_at(&w, &left);
    EXPECT(is_alone || memcmp(&left, &found, sizeof found) == 0);
    again = subject->call(&w);
    EXPECT(again != CHIME_ERROR_NO_MEMORY && again != CHIME_ERROR_RESOURCE);
  }
  if (again >= 0) end_made(subject, w.made);
  if (filled != 0) EXPECT_OK(chime_queue_shutdown(filled, 0));
  queue_is_there = (subject->flags & ENDS_QUEUE) == 0;
  finish(&w, queue_is_there);
  {
    /* The last reference of all may be a thread's that is about to end. */
    int rounds;
    for (rounds = 0; rounds < 1000 && load(&finalized) < load(&accepted); rounds++) sleep_ms(1);
  }
  EXPECT_EQ(load(&finalized), load(&accepted));
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

typedef struct verdict {
  int calls, statuses;
  int died, hung, wrong;
} verdict;

static void try_all(int subject, int where, int is_warm, int way, verdict *v) {
  int n;
  int most = way == REFUSE_WITHOUT_RESERVE ? 1 : MOST;
  for (n = 1; n <= most; n++) {
    int status = 0;
    long refused = -1, refused_to_call = 0;
    fault_end end = fault_run_case("one-call", encode(subject, where, is_warm, way, n), PART_TIMEOUT_MS);
    int is_told = sscanf(end.output, "%d %ld %ld", &status, &refused, &refused_to_call) == 3;
    if (is_told && refused == 0 && end.exit_status == 0) break; /* it makes no n-th allocation */
    if (refused_to_call > 0) v->calls++;                        /* other threads may have asked meanwhile */
    if (end.signal != 0) {
      v->died++;
    } else if (end.hung) {
      v->hung++;
    } else if (end.exit_status != 0) {
      v->wrong++;
    } else if (status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE) {
      v->statuses++;
    }
    if (end.signal != 0 || end.hung || end.exit_status != 0) {
      fprintf(stderr, "%s on %s, %s, allocation %d%s: %s\n", subjects[subject].name, place_name((place)where),
              is_warm ? "warm" : "cold", n,
              way == REFUSE_ONE    ? ""
              : way == REFUSE_FROM ? " and all after it"
                                   : " and all after it, without the reserve",
              end.hung          ? "hangs"
              : end.signal != 0 ? strsignal(end.signal)
                                : "wrong");
    }
    if (is_told && refused == 0) break;
  }
}

/* What is said of a function on one kind of queue. */
static void each_allocation(int argument) {
  int subject = argument / PLACES, where = argument % PLACES, is_warm, way;
  verdict v;
  memset(&v, 0, sizeof v);
  if (where > 0 && subjects[subject].flags & (ALONE | OF_THE_LOOP))
    fault_skip("no other queue would make a difference");
  for (is_warm = 0; is_warm < 2; is_warm++) {
    for (way = REFUSE_ONE; way <= REFUSE_WITHOUT_RESERVE; way++) try_all(subject, where, is_warm, way, &v);
  }
  if (v.died + v.hung + v.wrong == 0) fault_seen(v.calls == 0 ? "needs none" : "answers");
  else if (v.died > 0) fault_seen("dies at %d of %d", v.died, v.calls);
  else fault_seen("%s at %d of %d", v.hung > 0 ? "hangs" : "wrong", v.hung + v.wrong, v.calls);
  EXPECT_EQ(v.died + v.hung + v.wrong, 0);
}

int main(int argc, char **argv) {
  static const fault_case parts[] = {{"one-call", one_call, 0, 0, 0, 0}, {NULL, NULL, 0, 0, 0, 0}};
  fault_case cases[SUBJECTS + 1];
  int i;
  if (argc == 3 && strncmp(argv[2], parts[0].name, strlen(parts[0].name)) == 0) return fault_main(argc, argv, parts);
  memset(cases, 0, sizeof cases);
  for (i = 0; i < SUBJECTS; i++) {
    cases[i].name = subjects[i].name;
    cases[i].run = each_allocation;
    cases[i].first = i * PLACES;
    cases[i].last = i * PLACES + PLACES - 1;
  }
  return fault_main(argc, argv, cases);
}
