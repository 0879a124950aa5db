/*
 * Pages: chime_timer_create chime_timer_activate chime_timer_state
 *        chime_state
 * Output:
 *   idle: yes
 *   tick 1 at 10 ms
 *   finished: yes
 *   tick 1 at 20 ms
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  chime_state state;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  options.handler = on_tick;
  schedule.first_ns = 10 * CHIME_MILLISECOND;
  CHECK(chime_timer_create(queue, &options, &timer));
  chime_timer_state(timer, &state);
  printf("idle: %s\n", state == CHIME_STATE_IDLE ? "yes" : "no");
  chime_timer_activate(timer, &schedule);
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  chime_timer_state(timer, &state);
  printf("finished: %s\n",
         state == CHIME_STATE_FINISHED ? "yes" : "no");
  chime_timer_activate(timer, NULL); /* the same schedule again */
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
