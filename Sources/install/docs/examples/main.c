/*
 * Pages: chime_queue_create_main chime_main_run chime_main_stop
 * Output:
 *   tick 1, on the main thread
 *   tick 2, on the main thread
 *   stopped: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d, on the main thread\n", (int)tick->sequence);
  if (tick->sequence == 2) chime_main_stop();
}

int main(void) {
  chime_queue_t queue;
  CHECK(chime_queue_create_main(NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, NULL));
  printf("stopped: %s\n",
         chime_main_run() == CHIME_STOPPED ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
