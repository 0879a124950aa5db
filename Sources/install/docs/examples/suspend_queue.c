/*
 * Pages: chime_queue_suspend chime_queue_resume chime_queue_list_timers
 * Output:
 *   tick 1 at 10 ms
 *   tick 2 at 40 ms
 *   missed: 2
 *   timers: 1
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence, (int)(tick->scheduled_ns / CHIME_MILLISECOND));
  if (tick->missed > 0) printf("missed: %d\n", (int)tick->missed);
}

int main(void) {
  chime_timer_t timers[10];
  chime_queue_t queue;
  size_t count;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL))) return 1;
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  if (CHIME_FAILED(chime_queue_suspend(queue))) return 1; /* the game pauses */
  chime_queue_advance(queue, 30 * CHIME_MILLISECOND);     /* no tick */
  if (CHIME_FAILED(chime_queue_resume(queue))) return 1;
  chime_queue_advance(queue, 0); /* one tick for the three due times */
  if (CHIME_FAILED(chime_queue_list_timers(queue, timers, 10, &count))) return 1;
  printf("timers: %d\n", (int)count);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
