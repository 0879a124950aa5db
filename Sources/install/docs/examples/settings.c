/*
 * Pages: chime_timer_set_interval chime_timer_get_schedule
 *        chime_timer_set_background
 * Output:
 *   at 10 ms
 *   at 20 ms
 *   at 25 ms
 *   at 30 ms
 *   every 5 ms, first after 10 ms
 *   in the background: 1
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("at %d ms\n",
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  /* the next tick stays at 20 ms */
  CHECK(chime_timer_set_interval(timer, 5 * CHIME_MILLISECOND));
  chime_queue_advance(queue, 15 * CHIME_MILLISECOND);
  CHECK(chime_timer_get_schedule(timer, &schedule));
  printf("every %d ms, first after %d ms\n",
         (int)(schedule.interval_ns / CHIME_MILLISECOND),
         (int)(schedule.first_ns / CHIME_MILLISECOND));
  /* of a host-driven queue chime_queue_run returns */
  CHECK(chime_timer_set_background(timer, 1));
  CHECK(chime_timer_get_info(timer, &info));
  printf("in the background: %d\n", (int)info.background);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
