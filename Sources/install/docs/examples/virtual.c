/*
 * Pages: chime_queue_advance chime_queue_jump chime_queue_now
 * Output:
 *   tick 1 at 10 ms
 *   tick 2 at 20 ms, missed 0
 *   tick 3 at 50 ms, missed 2
 *   now 55 ms
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
  if (tick->sequence > 1) printf(", missed %d", (int)tick->missed);
  printf("\n");
}

int main(void) {
  int64_t now;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  /* stops at each deadline */
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  /* as a machine that slept */
  chime_queue_jump(queue, 30 * CHIME_MILLISECOND);
  chime_queue_advance(queue, 0);
  chime_queue_now(queue, &now);
  printf("now %d ms\n", (int)(now / CHIME_MILLISECOND));
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
