/*
 * Pages: chime_timer_suspend chime_timer_resume
 * Output:
 *   tick 1 at 10 ms
 *   again: CHIME_IGNORED
 *   tick 2 at 40 ms
 *   missed: 2
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
  if (tick->missed > 0) printf("missed: %d\n", (int)tick->missed);
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  chime_timer_suspend(timer);
  printf("again: %s\n",
         chime_status_name(chime_timer_suspend(timer)));
  chime_queue_advance(queue, 30 * CHIME_MILLISECOND); /* no tick */
  chime_timer_resume(timer);
  /* one tick for the three due times */
  chime_queue_advance(queue, 0);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
