/*
 * clock.c - a monotonic clock that disagrees with the kernel's, as hypervisors and processors with bad counters have it: by
 * a reading when a thread wakes up, by a skew between processors, now backwards, now forwards. Every driver's ticks go on,
 * and none is early by the reading that its handler gets.
 */
#include "places.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INTERVAL = CHIME_MILLISECOND, TICKS = 60, SOON = 30 * CHIME_MICROSECOND };

/* What a reading becomes. */
typedef int64_t (*disagree)(int64_t real);
static disagree reading;

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  syscall(SYS_clock_gettime, clock, &now);
  return (int64_t)now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

/* In front of libc's for the whole process, libchime and its libdispatch included. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now) {
  disagree how = __atomic_load_n(&reading, __ATOMIC_RELAXED);
  if (clock != CLOCK_MONOTONIC || !how) return (int)syscall(SYS_clock_gettime, clock, now);
  int64_t time = how(read_clock(clock));
  *now = (struct timespec){time / CHIME_SECOND, time % CHIME_SECOND};
  return 0;
}

/* Each kind, ticking by that clock until it has ticked often. */
static void tick_by(disagree how, int where, int64_t deadline) {
  static int ticks; /* outlives a queue that does not end */
  int before = load(&ticks);
  chime_queue_t queue = place_queue(where, NULL);
  chime_timer_t timer;
  chime_schedule schedule = schedule_at(deadline, INTERVAL);
  REQUIRE_OK(chime_timer_create(queue, &TIMER_OPTIONS(.handler = count_tick, .context = &ticks), &timer));
  __atomic_store_n(&reading, how, __ATOMIC_RELAXED);
  EXPECT_OK(chime_timer_activate(timer, &schedule));
  EXPECT(place_await(where, queue, &ticks, before + TICKS));
  __atomic_store_n(&reading, NULL, __ATOMIC_RELAXED);
  place_end(where, queue);
}

/* ---- By a reading ------------------------------------------------------------------------------------------------ */

/* The first so many readings after each time of this grid are from before it. */
static int64_t grid;
static int64_t latest; /* the number of the time that has come last */
static int wrong_readings, left;

static int64_t shortly_before(int64_t real) {
  int64_t number = (real - grid) / INTERVAL, known = __atomic_load_n(&latest, __ATOMIC_RELAXED);
  if (real < grid) return real;
  if (number > known && __atomic_compare_exchange_n(&latest, &known, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    store(&left, wrong_readings);
  return load(&left) > 0 && add(&left, -1) >= 0 ? grid + number * INTERVAL - SOON : real;
}

CASES(readings_before_the_deadline_that_has_come, where, SERIAL, MAIN) {
  for (wrong_readings = 1; wrong_readings <= 4; wrong_readings++) {
    grid = read_clock(CLOCK_MONOTONIC) + 20 * CHIME_MILLISECOND;
    latest = -1;
    tick_by(shortly_before, where, grid);
  }
}

/* ---- All the time ------------------------------------------------------------------------------------------------ */

static int64_t by_processor(int64_t real) { return real + (sched_getcpu() % 2 ? SOON : -SOON); }

/* Backwards by a millisecond after every seven; forwards by as much for a moment in each. */
static int64_t backwards(int64_t real) { return real - real / (7 * CHIME_MILLISECOND) % 2 * CHIME_MILLISECOND; }
static int64_t forwards(int64_t real) { return real % CHIME_MILLISECOND < SOON ? real + CHIME_MILLISECOND : real; }
/* Each thread's next reading may be before its last. */
static int64_t at_random(int64_t real) { return real + (real * 2654435761 >> 8) % (2 * SOON) - SOON; }

CASES(a_skew_between_processors, where, SERIAL, MAIN) {
  tick_by(by_processor, where, monotonic_ns() + INTERVAL);
  tick_by(at_random, where, monotonic_ns() + INTERVAL);
}
CASES(now_backwards_now_forwards, where, SERIAL, MAIN) {
  tick_by(backwards, where, monotonic_ns() + INTERVAL);
  tick_by(forwards, where, monotonic_ns() + INTERVAL);
}
