/*
 * Pages: chime_queue_fd chime_queue_process chime_waitable
 * Output:
 *   tick 1
 *   tick 2
 */
#include "check.h"
#include <poll.h>

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  *(int *)context += 1;
}

int main(void) {
  struct pollfd entry = {-1, POLLIN, 0};
  int ticks = 0;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  /* one more descriptor of your loop */
  CHECK(chime_queue_fd(queue, &entry.fd));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          &ticks, NULL, &timer));
  while (ticks < 2) {
    poll(&entry, 1, -1);
    chime_queue_process(queue, 0, NULL); /* handlers run here */
  }
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
