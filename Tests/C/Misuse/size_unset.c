/* A structure is filled in without its size. */
#include "misuse.h"

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = {0}; /* CHIME_SCHEDULE_INIT */
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
  options.handler = beat;
  options.label = "heartbeat";
  schedule.first_ns = schedule.interval_ns = CHIME_SECOND;
  told(chime_timer_start(queue, &options, &schedule, &timer));
  look(queue, timer);
}
