/*
 * counts.c - work whose instructions callgrind counts: see counts.py.
 *
 *     counts          the names of all kinds of work, and how many timers each is for
 *     counts NAME N   does the work of that name N times inside the function `counted`, on a virtual queue
 */
#include "harness.h"

#include <chime.h>
#include <string.h>

/* Rounds before those that are counted. */
#define WARM_UP 1000

static chime_queue_t queue;
static chime_timer_t timer;
static int64_t start;

static void on_tick(const chime_tick *tick, void *context) {}

static chime_timer_t make(int64_t first, int64_t interval) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t made;
  options.handler = on_tick;
  schedule.first_ns = first;
  schedule.interval_ns = interval;
  REQUIRE(chime_timer_start(queue, &options, &schedule, &made) == CHIME_OK);
  return made;
}

/* ---- Each kind of work, once ------------------------------------------------------------------------------------ */

static void create_start_cancel_release(int i) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t made;
  options.handler = on_tick;
  schedule.first_ns = start + CHIME_HOUR + i;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  chime_timer_start(queue, &options, &schedule, &made);
  chime_timer_cancel(made);
  chime_timer_release(made);
}

static void postpone_until(int i) { chime_timer_postpone_until(timer, start + CHIME_HOUR + i); }
static void restart(int i) { chime_timer_restart(timer, NULL); }
static void restart_after(int i) { chime_timer_restart_after(timer, CHIME_HOUR + i); }
static void restart_until(int i) { chime_timer_restart_until(timer, start + CHIME_HOUR + i); }
static void suspend_resume(int i) {
  chime_timer_suspend(timer);
  chime_timer_resume(timer);
}

static void get_info(int i) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_timer_get_info(timer, &info);
}

static void next_deadline(int i) {
  int64_t deadline;
  chime_timer_next_deadline(timer, &deadline);
}

static void one_shot_with_its_pass(int i) {
  chime_timer_after(queue, 1000, on_tick, NULL, NULL, NULL);
  chime_queue_advance(queue, 1000);
}

static void hundred_one_shots_in_a_pass(int i) {
  for (int j = 0; j < 100; j++) chime_timer_after(queue, 1000, on_tick, NULL, NULL, NULL);
  chime_queue_advance(queue, 1000);
}

static void tick_of_a_repeating_timer(int i) { chime_queue_advance(queue, 1000000); }

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct work {
  const char *name;
  void (*once)(int);
  int per;          /* timers in one time */
  int64_t interval; /* of the timer that is there; 0: one hour, once; -1: none */
} works[] = {
    {"create, start, cancel, release", create_start_cancel_release, 1, -1},
    {"postpone_until", postpone_until, 1, 0},
    {"restart", restart, 1, 0},
    {"restart_after", restart_after, 1, 0},
    {"restart_until", restart_until, 1, 0},
    {"suspend, resume", suspend_resume, 1, 0},
    {"get_info", get_info, 1, 0},
    {"next_deadline", next_deadline, 1, 0},
    {"one-shot, with its pass", one_shot_with_its_pass, 1, -1},
    {"one-shot, a hundred in a pass", hundred_one_shots_in_a_pass, 100, -1},
    {"tick of a repeating timer, with its pass", tick_of_a_repeating_timer, 1, 1000000},
};

__attribute__((noinline)) void counted(void (*once)(int), int n) {
  for (int i = 0; i < n; i++) once(WARM_UP + i);
}

int main(int argc, char **argv) {
  int n = argc > 2 ? atoi(argv[2]) : 1000;
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    const struct work *work = &works[i];
    if (argc == 1) printf("%s\t%d\n", work->name, work->per);
    if (argc == 1 || strcmp(argv[1], work->name) != 0) continue;
    REQUIRE(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue) == CHIME_OK);
    REQUIRE(chime_queue_now(queue, &start) == CHIME_OK);
    if (work->interval >= 0) timer = make(work->interval > 0 ? work->interval : CHIME_HOUR, work->interval);
    for (int j = 0; j < WARM_UP; j++) work->once(j);
    counted(work->once, n);
    return 0;
  }
  return argc > 1;
}
