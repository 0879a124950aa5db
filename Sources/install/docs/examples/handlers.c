/*
 * Pages: chime_timer_add_handler chime_timer_remove_handler
 * Output:
 *   timer
 *   display
 *   timer
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *name) {
  (void)tick;
  printf("%s\n", (const char *)name);
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_SECOND, on_tick, "timer",
                          NULL, &timer));
  CHECK(chime_timer_add_handler(timer, "display", on_tick, "display",
                                NULL));
  chime_queue_advance(queue, CHIME_SECOND);
  chime_timer_remove_handler(timer, "display");
  chime_queue_advance(queue, CHIME_SECOND);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
