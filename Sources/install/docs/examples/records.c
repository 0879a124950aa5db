/*
 * Pages: chime_queue_take_ticks
 * Output:
 *   CHIME_TICK_DUE heartbeat 1
 *   CHIME_TICK_DUE heartbeat 2
 *   CHIME_TICK_FINALIZE heartbeat 0
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include <poll.h>

int main(void) {
  chime_queue_options records = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  struct pollfd entry = {-1, POLLIN, 0};
  int is_finished = 0;
  chime_queue_t queue;
  records.flags = CHIME_QUEUE_FLAG_RECORDS;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, &records, &queue));
  CHECK(chime_queue_fd(queue, &entry.fd));
  options.context = "heartbeat";
  options.flags =
      CHIME_TIMER_RECORD_FINALIZE | CHIME_TIMER_SELF_RELEASE;
  schedule.interval_ns = 10 * CHIME_MILLISECOND;
  schedule.tick_limit = 2;
  schedule.missed_policy = CHIME_MISSED_DELAY;
  CHECK(chime_timer_start(queue, &options, &schedule, NULL));
  while (!is_finished) {
    chime_tick ticks[8];
    size_t i, count;
    poll(&entry, 1, -1);
    CHECK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 8,
                                 &count));
    for (i = 0; i < count; i++) {
      printf("%s %s %d\n", chime_tick_kind_name(ticks[i].kind),
             (const char *)ticks[i].context, (int)ticks[i].sequence);
      is_finished |= ticks[i].kind == CHIME_TICK_FINALIZE;
    }
  }
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
