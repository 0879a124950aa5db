/*
 * Pages: chime_timer_get_info chime_timer_info
 * Output:
 *   ticks 3, interval 10 ms, running
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
}

int main(void) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  chime_queue_advance(queue, 35 * CHIME_MILLISECOND);
  CHECK(chime_timer_get_info(timer, &info));
  printf("ticks %d, interval %d ms, %s\n", (int)info.sequence,
         (int)(info.interval_ns / CHIME_MILLISECOND),
         info.state == CHIME_STATE_RUNNING ? "running"
                                           : "not running");
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
