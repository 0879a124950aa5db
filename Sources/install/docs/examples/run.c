/*
 * Pages: chime_queue_run chime_queue_stop
 * Output:
 *   tick 1
 *   tick 2
 *   stopped: yes
 *   nothing runs any more: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  if (tick->sequence == 2)
    chime_queue_stop(*(chime_queue_t *)context);
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          &queue, NULL, &timer));
  printf("stopped: %s\n",
         chime_queue_run(queue, 0) == CHIME_STOPPED ? "yes" : "no");
  chime_timer_release(timer);
  printf("nothing runs any more: %s\n",
         chime_queue_run(queue, 0) == CHIME_OK ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
