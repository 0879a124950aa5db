/*
 * Pages: chime_queue_create_main chime_main_run chime_main_stop
 * Output:
 *   tick 1, on the main thread
 *   tick 2, on the main thread
 *   stopped: yes
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d, on the main thread\n", (int)tick->sequence);
  if (tick->sequence == 2) chime_main_stop();
}

int main(void) {
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create_main(NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL))) return 1;
  printf("stopped: %s\n", chime_main_run() == CHIME_STOPPED ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
