/*
 * dispatch_matrix.c - the orders of calls that end or hang a program with a bare dispatch timer, and the same with Chime.
 *
 *     dispatch_matrix         a line for each case; fails when Chime does not answer as expected
 *     dispatch_matrix table   the same as a Markdown table
 *
 * libdispatch's column comes from dispatch_bare.swift, built with the toolchain's libdispatch.
 */
#include "places.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int ticks;
static int cancelled;
static chime_queue_t queue, other;
static chime_timer_t timer;

static void count_cancel(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  add(&cancelled, 1);
}

static chime_schedule every(int64_t interval_ns) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = 5 * CHIME_MILLISECOND;
  schedule.interval_ns = interval_ns;
  return schedule;
}

static void create(chime_handler handler) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = every(5 * CHIME_MILLISECOND);
  options.handler = handler;
  options.cancel_handler = count_cancel;
  options.context = &ticks;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_create(queue, &options, &timer));
  EXPECT_OK(chime_timer_reschedule(timer, &schedule));
}

static void start(void) {
  create(count_tick);
  EXPECT_OK(chime_timer_activate(timer, NULL));
}

static void expect(chime_status actual, chime_status expected) {
  EXPECT_EQ(actual, expected);
  fault_seen("`%s`", chime_status_name(actual));
}

static void expect_ticks(void) {
  EXPECT(await(&ticks, 2));
  fault_seen("ticks");
}

static void resume_running(int argument) {
  (void)argument;
  start();
  expect(chime_timer_resume(timer), CHIME_IGNORED);
}

static void resume_cancelled(int argument) {
  (void)argument;
  start();
  EXPECT_OK(chime_timer_cancel(timer));
  expect(chime_timer_resume(timer), CHIME_IGNORED);
}

static void release_suspended(int argument) {
  (void)argument;
  start();
  EXPECT_OK(chime_timer_suspend(timer));
  expect(chime_timer_release(timer), CHIME_OK);
}

static void release_idle(int argument) {
  (void)argument;
  create(count_tick);
  expect(chime_timer_release(timer), CHIME_OK);
}

static void release_cancelled(int argument) {
  (void)argument;
  create(count_tick);
  EXPECT_EQ(chime_timer_cancel(timer), CHIME_IGNORED);
  expect(chime_timer_release(timer), CHIME_OK);
}

static void suspend_twice(int argument) {
  (void)argument;
  start();
  EXPECT_OK(chime_timer_suspend(timer));
  EXPECT_EQ(chime_timer_suspend(timer), CHIME_IGNORED);
  store(&ticks, 0);
  EXPECT_OK(chime_timer_resume(timer));
  expect_ticks();
}

static void suspend_idle(int argument) {
  (void)argument;
  create(count_tick);
  EXPECT_EQ(chime_timer_suspend(timer), CHIME_IGNORED);
  EXPECT_OK(chime_timer_activate(timer, NULL));
  expect_ticks();
}

static void activate_cancelled(int argument) {
  (void)argument;
  start();
  EXPECT_OK(chime_timer_cancel(timer));
  EXPECT_OK(chime_timer_activate(timer, NULL));
  expect_ticks();
}

static void schedule_cancelled(int argument) {
  chime_schedule schedule = every(CHIME_MILLISECOND);
  (void)argument;
  start();
  EXPECT_OK(chime_timer_cancel(timer));
  EXPECT_OK(chime_timer_reschedule(timer, &schedule));
  EXPECT_OK(chime_timer_activate(timer, NULL));
  expect_ticks();
}

static void release_running(int argument) {
  (void)argument;
  start();
  EXPECT(chime_timer_release(timer) >= CHIME_OK);
  EXPECT(await(&cancelled, 1));
  fault_seen("the cancel handler runs");
}

static void cancel_own(const chime_tick *tick, void *context) {
  (void)context;
  expect(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  add(&ticks, 1);
}

static void wait_in_handler(int argument) {
  (void)argument;
  create(cancel_own);
  EXPECT_OK(chime_timer_activate(timer, NULL));
  EXPECT(await(&ticks, 1));
}

static void wait_suspended(int argument) {
  (void)argument;
  start();
  EXPECT_OK(chime_timer_suspend(timer));
  expect(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_OK);
}

static void wait_with_cancel_handler(int argument) {
  (void)argument;
  start();
  expect(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_OK);
  EXPECT(await(&cancelled, 1));
}

static void sync_here(void *context) { expect(chime_queue_sync(queue, count_call, context, CHIME_FOREVER), CHIME_OK); }

static void sync_own(int argument) {
  (void)argument;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_queue_async(queue, sync_here, &ticks, NULL));
  EXPECT(await(&ticks, 1));
}

static void sync_other(void *context) { EXPECT_OK(chime_queue_sync(other, sync_here, context, CHIME_FOREVER)); }

static void sync_nested(int argument) {
  (void)argument;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &other));
  EXPECT_OK(chime_queue_sync(queue, sync_other, &ticks, CHIME_FOREVER));
  EXPECT_EQ(load(&ticks), 1);
}

static void negative_interval(int argument) {
  chime_schedule schedule = every(-5 * CHIME_MILLISECOND);
  (void)argument;
  create(count_tick);
  expect(chime_timer_activate(timer, &schedule), CHIME_ERROR_INVALID_ARGUMENT);
}

static void negative_leeway(int argument) {
  chime_schedule schedule = every(5 * CHIME_MILLISECOND);
  (void)argument;
  schedule.leeway_ns = -5 * CHIME_MILLISECOND;
  create(count_tick);
  expect(chime_timer_activate(timer, &schedule), CHIME_ERROR_INVALID_ARGUMENT);
}

static void longest_interval(int argument) {
  chime_schedule schedule = every(INT64_MAX);
  (void)argument;
  create(count_tick);
  EXPECT_OK(chime_timer_activate(timer, &schedule));
  EXPECT(await(&ticks, 1));
  fault_seen("2^63 - 1 ns is the longest: `CHIME_OK`");
}

static void interval_0(int argument) {
  static int later;
  chime_schedule schedule = every(0);
  (void)argument;
  create(count_tick);
  EXPECT_OK(chime_timer_activate(timer, &schedule));
  EXPECT(await(&ticks, 1));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &later, NULL, NULL));
  EXPECT(await(&later, 1));
  EXPECT_EQ(load(&ticks), 1);
  fault_seen("one-shot");
}

static void no_descriptors(int argument) {
  const struct rlimit limit = {32, 32};
  (void)argument;
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  while (open("/dev/null", O_RDONLY) >= 0) {}
  expect(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue), CHIME_ERROR_RESOURCE);
}

static const fault_case cases[] = {
    {"resume of a running timer", resume_running, 0, 0, 0, 0},
    {"resume of a cancelled timer", resume_cancelled, 0, 0, 0, 0},
    {"last release while suspended", release_suspended, 0, 0, 0, 0},
    {"last release, never activated", release_idle, 0, 0, 0, 0},
    {"last release, cancelled but never activated", release_cancelled, 0, 0, 0, 0},
    {"release of a running timer with a cancel handler", release_running, 0, 0, 0, 0},
    {"suspend twice, resume once", suspend_twice, 0, 0, 0, 0},
    {"suspend, then activate, never activated before", suspend_idle, 0, 0, 0, 0},
    {"activate after cancel", activate_cancelled, 0, 0, 0, 0},
    {"new schedule after cancel, then activate", schedule_cancelled, 0, 0, 0, 0},
    {"cancel and wait in its own handler", wait_in_handler, 0, 0, 0, 0},
    {"cancel and wait while suspended", wait_suspended, 0, 0, 0, 0},
    {"cancel and wait with a cancel handler", wait_with_cancel_handler, 0, 0, 0, 0},
    {"sync on the queue one is on", sync_own, 0, 0, 0, 0},
    {"sync on A, in it on B, in it on A", sync_nested, 0, 0, 0, 0},
    {"negative interval", negative_interval, 0, 0, 0, 0},
    {"negative leeway", negative_leeway, 0, 0, 0, 0},
    {"interval of 10^12 s", longest_interval, 0, 0, 0, 0},
    {"interval 0", interval_0, 0, 0, 0, 0},
    {"first timer without file descriptors", no_descriptors, 0, 0, 0, 0},
    {NULL, NULL, 0, 0, 0, 0},
};

static void describe(const fault_end *end, char *text, size_t capacity) {
  if (end->hung) {
    snprintf(text, capacity, "hangs");
  } else if (end->signal != 0) {
    snprintf(text, capacity, "killed by SIG%s", sigabbrev_np(end->signal));
  } else {
    snprintf(text, capacity, "%.200s", end->output);
    text[strcspn(text, "\n")] = 0;
  }
}

int main(int argc, char **argv) {
  char program[1024] = "", bare[1100];
  int is_table = argc == 2 && strcmp(argv[1], "table") == 0, failed = 0, i;
  if (argc == 3) return fault_main(argc, argv, cases);
  setenv("SWIFT_BACKTRACE", "enable=no", 1); /* else each of them takes its time and prints a page */
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 1;
  snprintf(bare, sizeof bare, "%s/dispatch_bare", dirname(program));
  if (is_table) printf("| | libdispatch | Chime |\n| --- | --- | --- |\n");
  for (i = 0; cases[i].name != NULL; i++) {
    fault_end theirs = fault_run_program(bare, cases[i].name, NULL, 2000);
    fault_end ours = fault_run_case(cases[i].name, 0, 10000);
    char left[300], right[300];
    int holds = !ours.hung && ours.signal == 0 && ours.exit_status == 0;
    int is_told = theirs.hung || theirs.signal != 0 || (theirs.exit_status == 0 && theirs.output[0] != 0);
    holds = holds && EXPECT(is_told);
    describe(&theirs, left, sizeof left);
    describe(&ours, right, sizeof right);
    failed |= !holds;
    if (is_table) {
      printf("| %s | %s | %s |\n", cases[i].name, left, right);
    } else {
      printf("%s dispatch_matrix %s: libdispatch: %s; Chime: %s\n", holds ? "ok" : "FAILED", cases[i].name, left,
             right);
    }
    fflush(stdout);
  }
  return failed;
}
