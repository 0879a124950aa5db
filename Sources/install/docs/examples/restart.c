/*
 * Pages: chime_timer_restart chime_timer_restart_after
 *        chime_timer_restart_until chime_timer_reschedule
 *        chime_timer_next_deadline
 *        chime_timer_remaining
 * Output:
 *   due at 300 ms
 *   due at 250 ms
 *   due at 400 ms
 *   due at 40 ms
 *   10 ms are left
 *   tick 1 at 40 ms
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

static void say(chime_timer_t timer) {
  int64_t deadline;
  CHECK(chime_timer_next_deadline(timer, &deadline));
  printf("due at %d ms\n", (int)(deadline / CHIME_MILLISECOND));
}

int main(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  chime_queue_t queue;
  int64_t left;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, 100 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  /* in any state, earlier or later */
  chime_timer_restart_after(timer, 300 * CHIME_MILLISECOND);
  say(timer);
  chime_timer_restart_until(timer, 250 * CHIME_MILLISECOND);
  say(timer);
  schedule.first_ns = 400 * CHIME_MILLISECOND;
  /* keeps state and sequence */
  chime_timer_reschedule(timer, &schedule);
  say(timer);
  schedule.first_ns = 40 * CHIME_MILLISECOND;
  /* makes it run, whatever its state */
  chime_timer_restart(timer, &schedule);
  say(timer);
  chime_queue_advance(queue, 30 * CHIME_MILLISECOND);
  CHECK(chime_timer_remaining(timer, &left));
  printf("%d ms are left\n", (int)(left / CHIME_MILLISECOND));
  chime_queue_advance(queue, CHIME_SECOND);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
