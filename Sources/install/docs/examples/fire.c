/*
 * Pages: chime_timer_fire chime_tick_kind_name chime_tick_kind
 *        chime_tick chime_handler
 * Output:
 *   CHIME_TICK_FIRED, tick 1
 *   CHIME_TICK_DUE, tick 2
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("%s, tick %d\n", chime_tick_kind_name(tick->kind),
         (int)tick->sequence);
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_MINUTE, on_tick, NULL, NULL,
                          &timer));
  chime_timer_fire(timer); /* refresh now, and keep the schedule */
  chime_queue_advance(queue, CHIME_MINUTE);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
