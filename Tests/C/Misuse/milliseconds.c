/* A delay of 500, in milliseconds as its author believes. */
#include "misuse.h"

static int ticks;

static void give_up(const chime_tick *tick, void *context) { (void)tick, (void)context; }
static void count(void *context) {
  (void)context;
  __atomic_store_n(&ticks, 1, __ATOMIC_RELEASE);
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_state state = CHIME_STATE_RUNNING;
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
  options.handler = give_up;
  options.label = "timeout";
  schedule.first_ns = 500; /* 500 * CHIME_MILLISECOND */
  told(chime_timer_start(queue, &options, &schedule, &timer));
  while (state != CHIME_STATE_FINISHED) chime_timer_state(timer, &state);
  chime_queue_async(queue, count, NULL, NULL); /* behind the tick */
  await(&ticks);
  look(queue, timer);
}
