/*
 * Pages: chime_queue_take_ticks
 * Output:
 *   CHIME_TICK_DUE of 7
 *   CHIME_TICK_FINALIZE of 7
 */
#include <chime.h>
#include <poll.h>
#include <stdio.h>

static void take(chime_queue_t queue) {
  struct pollfd entry = {-1, POLLIN, 0};
  chime_tick ticks[16];
  uint32_t count = 0;
  if (CHIME_FAILED(chime_queue_fd(queue, &entry.fd))) return;
  while (count == 0) {
    poll(&entry, 1, -1);
    if (CHIME_FAILED(chime_queue_take_ticks(queue, ticks, sizeof *ticks, 16, &count))) return;
  }
  for (uint32_t i = 0; i < count; i++)
    printf("%s of %d\n", chime_tick_kind_name(ticks[i].kind), (int)(intptr_t)ticks[i].context);
}

int main(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options named = CHIME_TIMER_OPTIONS_INIT; /* no functions: there are no callbacks */
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_t queue;
  chime_timer_t timer;
  options.flags = CHIME_QUEUE_RECORDS;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue))) return 1;
  named.flags = CHIME_TIMER_RECORD_FINALIZE;
  named.context = (void *)(intptr_t)7;
  schedule.first_ns = 10 * CHIME_MILLISECOND;
  if (CHIME_FAILED(chime_timer_start(queue, &named, &schedule, &timer))) return 1;
  take(queue);
  chime_timer_release(timer);
  take(queue);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
