/*
 * Pages: chime_timer_generation chime_timer_check_generation
 * Output:
 *   of this schedule: CHIME_OK
 *   of an earlier one: CHIME_IGNORED
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  uint64_t generation;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_SECOND, on_tick, NULL, NULL,
                          &timer));
  /* a message to another thread carries it */
  chime_timer_generation(timer, &generation);
  printf("of this schedule: %s\n",
         chime_status_name(
             chime_timer_check_generation(timer, generation)));
  chime_timer_restart_after(timer, 2 * CHIME_SECOND);
  printf("of an earlier one: %s\n",
         chime_status_name(
             chime_timer_check_generation(timer, generation)));
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
