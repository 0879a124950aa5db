/*
 * Pages: chime_timer_after_every
 * Output:
 *   tick 1 at 3 ms
 *   tick 2 at 13 ms
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence, (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  if (CHIME_FAILED(
          chime_timer_after_every(queue, 3 * CHIME_MILLISECOND, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, &timer)))
    return 1;
  chime_queue_advance(queue, 20 * CHIME_MILLISECOND);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
