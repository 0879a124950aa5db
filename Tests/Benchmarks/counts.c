/*
 * counts.c - work whose instructions callgrind counts: see counts.py.
 *
 *     counts          of each kind of work the name, how many timers it is for, and whether all threads do it
 *     counts NAME N   does the work of that name N times inside the function `counted`; where all threads do it, all is counted
 */
#include "harness.h"

#include <chime.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Rounds before those that are counted. */
#define WARM_UP 1000

static chime_queue_t queue;
static chime_timer_t timer;
static int64_t start;
static int is_virtual;

/* The library's monotonic clock goes on by a tick of the wheel, and a little, each time it is read: so what is due now is due at
 * the next look, and no slice is over early, whatever the machine does. Behind the system's, so that nothing is waited for. */
static _Atomic int64_t monotonic = CHIME_SECOND;
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_MONOTONIC) return (int)syscall(SYS_clock_gettime, clock, time);
  int64_t now = atomic_fetch_add_explicit(&monotonic, 1100, memory_order_relaxed);
  time->tv_sec = now / CHIME_SECOND;
  time->tv_nsec = now % CHIME_SECOND;
  return 0;
}

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

/* Queues four apart share a place in what each thread keeps for queues. */
static void on_eight_queues_in_turn(int i) {
  static chime_queue_t queues[32];
  for (int j = 0; i == 0 && j < 32; j++) REQUIRE(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queues[j]) == CHIME_OK);
  queue = queues[i % 8 * 4];
  create_start_cancel_release(i);
}

static void postpone_until(int i) { chime_timer_postpone_until(timer, start + CHIME_HOUR + i); }
static void postpone_nothing(int i) { chime_timer_postpone_until(timer, start + i); }
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

static void start_without_id(int i) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = on_tick;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  for (int j = 0; j < 100; j++) chime_timer_start(queue, &options, &schedule, NULL);
}

static void pass(int64_t time) {
  if (is_virtual) {
    chime_queue_advance(queue, time);
  } else {
    monotonic += time;
    chime_queue_process(queue, 0, NULL);
  }
}

static void one_shot_with_its_pass(int i) {
  chime_timer_after(queue, is_virtual ? 1000 : 0, on_tick, NULL, NULL, NULL);
  pass(is_virtual ? 1000 : 0);
}

static void hundred_one_shots_in_a_pass(int i) {
  for (int j = 0; j < 100; j++) chime_timer_after(queue, is_virtual ? 1000 : 0, on_tick, NULL, NULL, NULL);
  pass(is_virtual ? 1000 : 0);
}

static void a_pass(int i) { pass(1000); }

static void pass_of_a_millisecond(int i) { pass(CHIME_MILLISECOND); }

static void one_shot_in_run(int i) {
  chime_timer_after(queue, 0, on_tick, NULL, NULL, NULL);
  chime_queue_run(queue, 0);
}

/* Rounds on a queue with threads: the last tick of each starts the next one. */
static _Atomic int ticks;
static int rounds;
static sem_t all_have_come;
static void on_tick_of_round(const chime_tick *tick, void *context);
static void start_round(void) {
  for (int j = 0; j < 100; j++) chime_timer_after(queue, 0, on_tick_of_round, NULL, NULL, NULL);
}
static void on_tick_of_round(const chime_tick *tick, void *context) {
  if (atomic_fetch_add(&ticks, 1) % 100 != 99) return;
  if (--rounds > 0) {
    start_round();
  } else {
    sem_post(&all_have_come);
  }
}
static void run_rounds(int n) {
  rounds = n;
  start_round();
  while (sem_wait(&all_have_come) != 0) continue;
}

/* ------------------------------------------------------------------------------------------------------------------ */

#define VIRTUAL CHIME_QUEUE_VIRTUAL
#define HOST CHIME_QUEUE_HOST

static const struct work {
  const char *name;
  chime_queue_kind kind;
  void (*once)(int); /* NULL: rounds */
  int per;           /* timers in one time */
  int there;         /* timers that are there, */
  int64_t interval;  /* with that interval; 0: once, in an hour */
  void (*then)(int); /* not counted */
} works[] = {
    {"create, start, cancel, release", VIRTUAL, create_start_cancel_release, 1, 0, 0, NULL},
    {"the same, on eight queues in turn", VIRTUAL, on_eight_queues_in_turn, 1, 0, 0, NULL},
    {"start, without an id", VIRTUAL, start_without_id, 100, 0, 0, a_pass},
    {"postpone_until", VIRTUAL, postpone_until, 1, 1, 0, NULL},
    {"postpone_until, to no later time", VIRTUAL, postpone_nothing, 1, 1, 0, NULL},
    {"restart", VIRTUAL, restart, 1, 1, 0, NULL},
    {"restart_after", VIRTUAL, restart_after, 1, 1, 0, NULL},
    {"restart_until", VIRTUAL, restart_until, 1, 1, 0, NULL},
    {"suspend, resume", VIRTUAL, suspend_resume, 1, 1, 0, NULL},
    {"get_info", VIRTUAL, get_info, 1, 1, 0, NULL},
    {"next_deadline", VIRTUAL, next_deadline, 1, 1, 0, NULL},
    {"one-shot, with its pass", VIRTUAL, one_shot_with_its_pass, 1, 0, 0, NULL},
    {"one-shot, with its pass, host", HOST, one_shot_with_its_pass, 1, 0, 0, NULL},
    {"one-shot, in chime_queue_run", HOST, one_shot_in_run, 1, 0, 0, NULL},
    {"one-shot, a hundred in a pass", VIRTUAL, hundred_one_shots_in_a_pass, 100, 0, 0, NULL},
    {"one-shot, a hundred in a pass, host", HOST, hundred_one_shots_in_a_pass, 100, 0, 0, NULL},
    {"one-shot, a hundred in a pass, serial", CHIME_QUEUE_SERIAL, NULL, 100, 0, 0, NULL},
    {"one-shot, a hundred in a pass, concurrent", CHIME_QUEUE_CONCURRENT, NULL, 100, 0, 0, NULL},
    {"repeating, with its pass", VIRTUAL, pass_of_a_millisecond, 1, 1, CHIME_MILLISECOND, NULL},
    {"repeating, with its pass, host", HOST, pass_of_a_millisecond, 1, 1, CHIME_MILLISECOND, NULL},
    {"repeating, a hundred in a pass", VIRTUAL, pass_of_a_millisecond, 100, 100, CHIME_MILLISECOND, NULL},
    {"repeating, a hundred in a pass, host", HOST, pass_of_a_millisecond, 100, 100, CHIME_MILLISECOND, NULL},
};

__attribute__((noinline)) void counted(void (*once)(int), int i) { once(i); }

static void work(const struct work *work, int n) {
  REQUIRE(chime_queue_create(work->kind, NULL, &queue) == CHIME_OK);
  REQUIRE(chime_queue_now(queue, &start) == CHIME_OK);
  is_virtual = work->kind == VIRTUAL;
  for (int i = 0; i < work->there; i++) timer = make(work->interval > 0 ? work->interval : CHIME_HOUR, work->interval);
  if (work->once == NULL) return run_rounds(n);
  for (int i = 0; i < WARM_UP + n; i++) {
    if (i < WARM_UP) work->once(i);
    else counted(work->once, i);
    if (work->then != NULL) work->then(i);
  }
}

int main(int argc, char **argv) {
  REQUIRE(sem_init(&all_have_come, 0, 0) == 0);
  for (const struct work *w = works; w < works + sizeof works / sizeof *works; w++) {
    if (argc == 1) printf("%s\t%d\t%d\n", w->name, w->per, w->once == NULL);
    if (argc > 1 && strcmp(argv[1], w->name) == 0) return work(w, argc > 2 ? atoi(argv[2]) : 1000), 0;
  }
  return argc > 1;
}
