/*
 * Pages: chime-clock-steps
 * Output:
 *   at a time of day: follows the clock
 *   after a delay: does not
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  printf("%s\n", (const char *)context);
}

int main(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_t dated, delayed;
  chime_queue_t queue;
  int64_t now;
  options.clock = CHIME_CLOCK_WALL;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  CHECK(chime_timer_after(queue, 20 * CHIME_MILLISECOND, on_tick,
                          "after a delay: does not", NULL,
                          &delayed));
  CHECK(chime_timer_after(queue, CHIME_FOREVER, on_tick,
                          "at a time of day: follows the clock",
                          NULL, &dated));
  CHECK(chime_queue_now(queue, &now));
  CHECK(chime_timer_restart_until(dated,
                                  now + 10 * CHIME_MILLISECOND));
  CHECK(chime_queue_run(queue, 0));
  chime_timer_release(dated);
  chime_timer_release(delayed);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
