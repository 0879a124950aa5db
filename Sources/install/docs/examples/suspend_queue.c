/*
 * Pages: chime_queue_suspend chime_queue_resume
 *        chime_queue_list_timers
 * Output:
 *   tick 1 at 10 ms
 *   tick 2 at 40 ms
 *   missed: 2
 *   timers: 1
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
  if (tick->missed > 0) printf("missed: %d\n", (int)tick->missed);
}

int main(void) {
  chime_timer_t timers[10];
  chime_queue_t queue;
  size_t count;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, NULL));
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  CHECK(chime_queue_suspend(queue)); /* the game pauses */
  chime_queue_advance(queue, 30 * CHIME_MILLISECOND); /* no tick */
  CHECK(chime_queue_resume(queue));
  /* one tick for the three due times */
  chime_queue_advance(queue, 0);
  CHECK(chime_queue_list_timers(queue, timers, 10, &count));
  printf("timers: %d\n", (int)count);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
