/*
 * Pages: chime_queue_poll_timeout chime_queue_next_deadline
 * Output:
 *   nothing to wait for: yes, yes
 *   tick 1
 */
#include "check.h"
#include <poll.h>

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  *(int *)context += 1;
}

int main(void) {
  int ticks = 0;
  int32_t milliseconds;
  int64_t deadline;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  chime_queue_poll_timeout(queue, &milliseconds);
  chime_queue_next_deadline(queue, &deadline);
  printf("nothing to wait for: %s, %s\n",
         milliseconds == -1 ? "yes" : "no",
         deadline == CHIME_FOREVER ? "yes" : "no");
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick,
                          &ticks, NULL, NULL));
  while (ticks == 0) {
    chime_queue_poll_timeout(queue, &milliseconds);
    /* with the descriptors of your loop */
    poll(NULL, 0, milliseconds);
    chime_queue_process(queue, 0, NULL);
  }
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
