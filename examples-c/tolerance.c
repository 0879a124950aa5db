/*
 * Tolerance: how late a tick may come in order to share a wake-up. A late tick does not move the next one: each is due
 * a whole number of intervals after the first. And 100 timers that are due within 10 ms of each other share a few
 * passes if each may be 200 ms late.
 *
 * Build:  make (or cc tolerance.c -o build/tolerance -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/tolerance
 *
 * Output:
 *   tick 1: on the grid, not early
 *   tick 2: on the grid, not early
 *   tick 3: on the grid, not early
 *   tick 4: on the grid, not early
 *   100 ticks, fewer than 20 visits
 */
#define _POSIX_C_SOURCE 199309L /* nanosleep */
#include "check.h"
#include <chime_run_loop.h>
#include <time.h>

static const int64_t interval_ns = 20 * CHIME_MILLISECOND;
static int64_t first_due;
static int ticks;

static void on_tick(const chime_tick *tick, void *user_info) {
  struct timespec pause = {0, 30 * 1000 * 1000};
  (void)user_info;
  if (tick->sequence == 1) first_due = tick->scheduled_ns;
  printf("tick %" PRIu64 ": %s the grid, %s\n", tick->sequence,
         (tick->scheduled_ns - first_due) % interval_ns == 0 ? "on" : "off",
         tick->actual_ns >= tick->scheduled_ns ? "not early" : "early");
  if (tick->sequence == 2) nanosleep(&pause, NULL); /* makes the next one late, by half an interval or more */
}

static void count(const chime_tick *tick, void *user_info) {
  (void)tick;
  (void)user_info;
  ticks++;
}

int main(void) {
  chime_weak_timer_t timer, many[100];
  chime_run_loop_t loop;
  int i, visits;

  CHECK(chime_weak_timer_schedule(interval_ns, 1, 0, on_tick, NULL, NULL, &timer));
  CHECK(chime_weak_timer_set_tolerance(timer, interval_ns / 4));
  for (i = 0; i < 4; i++) CHECK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  CHECK(chime_weak_timer_release(timer));

  CHECK(chime_run_loop_current(&loop));
  for (i = 0; i < 100; i++) { /* their tolerance is set before they are on the loop */
    int64_t delay_ns = 100 * CHIME_MILLISECOND + i * 100 * CHIME_MICROSECOND;
    CHECK(chime_weak_timer_create(delay_ns, 0, 0, count, NULL, NULL, &many[i]));
    CHECK(chime_weak_timer_set_tolerance(many[i], 200 * CHIME_MILLISECOND));
    CHECK(chime_weak_timer_add(many[i], loop, NULL));
  }
  for (visits = 0; ticks < 100; visits++) CHECK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  printf("%d ticks, %s visits\n", ticks, visits < 20 ? "fewer than 20" : "20 or more");
  for (i = 0; i < 100; i++) CHECK(chime_weak_timer_release(many[i]));
  return 0;
}
