/* An interval of 500, in milliseconds as its author believes: two million ticks a second, if somebody drove the queue. */
#include "misuse.h"

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue);
  options.handler = beat;
  options.label = "heartbeat";
  schedule.first_ns = schedule.interval_ns = 500; /* 500 * CHIME_MILLISECOND */
  told(chime_timer_start(queue, &options, &schedule, &timer));
  await_deadline(timer);
  look(queue, timer);
}
