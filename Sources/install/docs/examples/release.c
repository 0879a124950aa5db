/*
 * Pages: chime_queue_release
 * Output:
 *   released: CHIME_OK
 *   the timer's id is stale: CHIME_ERROR_INVALID_HANDLE
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_SECOND, on_tick, NULL, NULL,
                          &timer));
  printf("released: %s\n",
         chime_status_name(chime_queue_release(queue)));
  printf("the timer's id is stale: %s\n",
         chime_status_name(chime_timer_suspend(timer)));
  return 0;
}
