/*
 * Every day at three, local time, through a change to summer time. An interval of 24 hours would come at four from then on:
 * the calendar says when the next three o'clock is, and the handler starts its timer again until then. On a queue whose clock
 * is the wall clock (options.clock = CHIME_CLOCK_WALL) the deadline also follows steps of that clock; here virtual time begins
 * on a Friday in March, so that the days take no time.
 *
 * Build:  make (or cc daily.c -o build/daily -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/daily
 *
 * Output:
 *   Sat 28 Mar 03:00 CET
 *   Sun 29 Mar 03:00 CEST, 23 hours later
 *   Mon 30 Mar 03:00 CEST, 24 hours later
 */
#define _XOPEN_SOURCE 700
#include <chime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

/* The first three o'clock after that point in time, in nanoseconds since 1970. */
static int64_t three_after(int64_t now_ns) {
  time_t now = (time_t)(now_ns / CHIME_SECOND), three;
  struct tm day;
  localtime_r(&now, &day);
  do {
    day.tm_hour = 3;
    day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1; /* mktime finds out */
    three = mktime(&day);
    day.tm_mday++;
  } while (three <= now);
  return three * CHIME_SECOND;
}

static void on_three(const chime_tick *tick, void *context) {
  int64_t *last = context;
  time_t now = (time_t)(tick->scheduled_ns / CHIME_SECOND);
  struct tm day;
  char text[40];
  strftime(text, sizeof text, "%a %d %b %H:%M %Z", localtime_r(&now, &day));
  printf("%s", text);
  if (*last > 0) printf(", %d hours later", (int)((tick->scheduled_ns - *last) / CHIME_HOUR));
  printf("\n");
  *last = tick->scheduled_ns;
  CHECK(chime_timer_restart_until(tick->timer, three_after(tick->scheduled_ns)));
}

int main(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_options named = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue;
  chime_timer_t daily;
  int64_t last = 0;

  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  options.start_ns = INT64_C(1774609200) * CHIME_SECOND; /* Friday, 27 March 2026, noon in Central Europe */
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));

  named.handler = on_three;
  named.context = &last;
  named.label = "every day at three";
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = three_after(options.start_ns);
  CHECK(chime_timer_start(queue, &named, &schedule, &daily));
  CHECK(chime_queue_advance(queue, 3 * 24 * CHIME_HOUR));
  CHECK(chime_timer_release(daily));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
