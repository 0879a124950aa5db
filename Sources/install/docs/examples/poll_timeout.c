/*
 * Pages: chime_queue_poll_timeout chime_queue_next_deadline
 * Output:
 *   nothing to wait for: yes, yes
 *   tick 1
 */
#include <chime.h>
#include <poll.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  *(int *)context += 1;
}

int main(void) {
  int ticks = 0;
  int32_t milliseconds;
  int64_t deadline;
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue))) return 1;
  chime_queue_poll_timeout(queue, &milliseconds);
  chime_queue_next_deadline(queue, &deadline);
  printf("nothing to wait for: %s, %s\n", milliseconds == -1 ? "yes" : "no", deadline == CHIME_FOREVER ? "yes" : "no");
  if (CHIME_FAILED(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, &ticks, NULL, NULL))) return 1;
  while (ticks == 0) {
    chime_queue_poll_timeout(queue, &milliseconds);
    poll(NULL, 0, milliseconds); /* with the descriptors of your loop */
    chime_queue_process(queue, 0, NULL);
  }
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
