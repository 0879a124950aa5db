/* What unloaded.c loads. */
#include "misuse.h"

static void count(const chime_tick *tick, void *context) {
  (void)tick;
  __atomic_store_n((int *)context, 1, __ATOMIC_RELEASE);
}

void begin(int *ticks, chime_queue_t *queue, chime_timer_t *timer);
void begin(int *ticks, chime_queue_t *queue, chime_timer_t *timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_create(CHIME_QUEUE_PRECISE, NULL, queue);
  options.handler = count;
  options.context = ticks;
  options.label = "plugin's";
  schedule.first_ns = schedule.interval_ns = 200 * CHIME_MILLISECOND;
  told(chime_timer_start(*queue, &options, &schedule, timer));
}
