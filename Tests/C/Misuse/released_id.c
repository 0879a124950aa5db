/* An id is used after it was released. */
#include "misuse.h"

static void close_it(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
  options.handler = close_it;
  options.label = "timeout";
  schedule.first_ns = CHIME_HOUR;
  told(chime_timer_start(queue, &options, &schedule, &timer));
  told(chime_timer_release(timer));
  told(chime_timer_postpone(timer, CHIME_HOUR));
  look(queue, timer);
}
