/* A timer is suspended twice and resumed nowhere. */
#include "misuse.h"

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
  options.handler = beat;
  options.label = "heartbeat";
  schedule.first_ns = schedule.interval_ns = CHIME_HOUR;
  told(chime_timer_start(queue, &options, &schedule, &timer));
  told(chime_timer_suspend(timer));
  told(chime_timer_suspend(timer));
  look(queue, timer);
}
