/*
 * Pages: chime_timer_cancel chime_timer_cancel_and_wait
 *        chime_timer_release_and_wait
 * Output:
 *   cancelled, and no handler runs: CHIME_OK
 *   again: CHIME_IGNORED
 *   released: CHIME_OK
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  *(int *)context += 1; /* which must outlive the handler */
}

int main(void) {
  int count = 0;
  chime_queue_t queue;
  chime_timer_t timer;
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_MILLISECOND, on_tick, &count,
                          NULL, &timer));
  printf("cancelled, and no handler runs: %s\n",
         chime_status_name(
             chime_timer_cancel_and_wait(timer, CHIME_FOREVER)));
  printf("again: %s\n",
         chime_status_name(chime_timer_cancel(timer)));
  printf("released: %s\n",
         chime_status_name(
             chime_timer_release_and_wait(timer, CHIME_FOREVER)));
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
