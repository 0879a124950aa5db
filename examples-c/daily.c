/*
 * Every day at half past two, local time, through both changes of summer time: on the night without a 02:30 the job runs at
 * 03:00, on the night with two of them once. An interval of 24 hours would be an hour off from then on: the calendar says when
 * the next time is, and the handler starts its timer again until then. On a queue whose clock is the wall clock
 * (options.clock = CHIME_CLOCK_WALL) the deadline also follows steps of that clock; here time is virtual and begins on a Friday
 * in March, then on one in October, so that the days take no time.
 *
 * Build:  make (or cc daily.c -o build/daily -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/daily
 *
 * Output:
 *   Sat 28 Mar 02:30 CET
 *   Sun 29 Mar 03:00 CEST
 *   Mon 30 Mar 02:30 CEST
 *   Sat 24 Oct 02:30 CEST
 *   Sun 25 Oct 02:30 CEST
 *   Mon 26 Oct 02:30 CET
 */
#define _XOPEN_SOURCE 700
#include <chime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

static int64_t minutes(const struct tm *time) {
  return (time->tm_year * INT64_C(366) + time->tm_yday) * 1440 + time->tm_hour * 60 + time->tm_min;
}

/*
 * The first moment of a day at which its clock shows 02:30 or more. mktime is asked for noon only: of two 02:30s it may give
 * either, and of one that does not exist 01:30 or 03:30.
 */
static time_t half_past_two(struct tm noon) {
  struct tm shown;
  time_t moment;
  noon.tm_hour = 12;
  noon.tm_min = noon.tm_sec = 0;
  noon.tm_isdst = -1; /* mktime finds out */
  moment = mktime(&noon) - 13 * 3600;
  while (minutes(localtime_r(&moment, &shown)) < minutes(&noon) - 12 * 60 + 2 * 60 + 30) moment += 60;
  return moment;
}

/* The first half past two after that point in time, in nanoseconds since 1970. */
static int64_t half_past_two_after(int64_t now_ns) {
  time_t now = (time_t)(now_ns / CHIME_SECOND), next;
  struct tm day;
  localtime_r(&now, &day);
  while ((next = half_past_two(day)) <= now) day.tm_mday++;
  return next * CHIME_SECOND;
}

static void on_half_past_two(const chime_tick *tick, void *context) {
  time_t now = (time_t)(tick->scheduled_ns / CHIME_SECOND);
  struct tm day;
  char text[40];
  (void)context;
  strftime(text, sizeof text, "%a %d %b %H:%M %Z", localtime_r(&now, &day));
  printf("%s\n", text);
  CHECK(chime_timer_restart_until(tick->timer, half_past_two_after(tick->scheduled_ns)));
}

static void three_days_from(int64_t start_ns) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_options named = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue;
  chime_timer_t daily;

  options.start_ns = start_ns;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  named.handler = on_half_past_two;
  named.label = "every day at half past two";
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = half_past_two_after(start_ns);
  CHECK(chime_timer_start(queue, &named, &schedule, &daily));
  CHECK(chime_queue_advance(queue, 3 * 24 * CHIME_HOUR));
  CHECK(chime_timer_release(daily));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
}

int main(void) {
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  three_days_from(INT64_C(1774609200) * CHIME_SECOND); /* Friday, 27 March 2026, noon in Central Europe */
  three_days_from(INT64_C(1792749600) * CHIME_SECOND); /* Friday, 23 October 2026, noon there */
  return 0;
}
