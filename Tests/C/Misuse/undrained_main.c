/* A timer on the main queue, and the main thread waits for something else. */
#include "misuse.h"

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_main(NULL, &queue);
  options.handler = beat;
  options.label = "heartbeat";
  told(chime_timer_start(queue, &options, &schedule, &timer));
  await_deadline(timer);
  look(queue, timer);
}
