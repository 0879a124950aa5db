/*
 * Pages: chime_queue_wait
 * Output:
 *   nothing is due: CHIME_TIMED_OUT
 *   due: CHIME_OK
 *   tick 1
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  *(int *)context += 1;
}

int main(void) {
  int ticks = 0;
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue))) return 1;
  printf("nothing is due: %s\n", chime_status_name(chime_queue_wait(queue, CHIME_MILLISECOND)));
  if (CHIME_FAILED(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, &ticks, NULL, NULL))) return 1;
  printf("due: %s\n", chime_status_name(chime_queue_wait(queue, CHIME_FOREVER)));
  chime_queue_process(queue, 0, NULL);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
