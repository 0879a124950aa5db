/*
 * Virtual time: advance stops at every deadline, jump at none (a slow handler, a machine that slept). Missed
 * periods come as one tick that says how many, or shift the rest, depending on the schedule's policy. A year takes no
 * time.
 *
 * Build:  make (or cc virtual_time.c -o build/virtual_time -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/virtual_time
 *
 * Output:
 *   every 10 s, advance to 30 s, jump to 65 s, advance to 80 s
 *   coalesce: at 10 s, missed 0
 *   coalesce: at 20 s, missed 0
 *   coalesce: at 30 s, missed 0
 *   coalesce: at 65 s, missed 2
 *   coalesce: at 70 s, missed 0
 *   coalesce: at 80 s, missed 0
 *   delay: at 10 s, missed 0
 *   delay: at 20 s, missed 0
 *   delay: at 30 s, missed 0
 *   delay: at 65 s, missed 0
 *   delay: at 75 s, missed 0
 *   a year of days: 365 ticks, in less than a second: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  printf("%s: at %" PRId64 " s, missed %" PRIu64 "\n", (const char *)context, tick->actual_ns / CHIME_SECOND,
         tick->missed);
}

static void count(const chime_tick *tick, void *context) { *(uint64_t *)context = tick->sequence; }

static void sleep_through(chime_missed_policy policy, char *name) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;

  options.handler = on_tick;
  options.context = name;
  schedule.first_ns = schedule.interval_ns = 10 * CHIME_SECOND;
  schedule.missed_policy = policy;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  CHECK(chime_queue_advance(queue, 30 * CHIME_SECOND));
  CHECK(chime_queue_jump(queue, 35 * CHIME_SECOND)); /* over 40, 50 and 60 s; runs nothing */
  CHECK(chime_queue_advance(queue, 15 * CHIME_SECOND));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
}

int main(void) {
  uint64_t days = 0;
  int64_t start_ns, end_ns;
  chime_queue_t queue;
  chime_timer_t timer;

  puts("every 10 s, advance to 30 s, jump to 65 s, advance to 80 s");
  sleep_through(CHIME_MISSED_COALESCE, "coalesce");
  sleep_through(CHIME_MISSED_DELAY, "delay");

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 24 * CHIME_HOUR, count, &days, NULL, &timer));
  CHECK(chime_now(CHIME_CLOCK_MONOTONIC, &start_ns));
  CHECK(chime_queue_advance(queue, 365 * 24 * CHIME_HOUR));
  CHECK(chime_now(CHIME_CLOCK_MONOTONIC, &end_ns));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("a year of days: %" PRIu64 " ticks, in less than a second: %s\n", days,
         end_ns - start_ns < CHIME_SECOND ? "yes" : "no");
  return 0;
}
