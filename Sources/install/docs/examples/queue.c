/*
 * Pages: chime_queue_create chime_queue_shutdown chime_timer_every
 *        chime_queue_options chime_queue_kind chime_qos
 *        chime_queue_t
 * Output:
 *   tick 1
 *   tick 2
 *   tick 3
 */
#include "check.h"
#include <unistd.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d\n", (int)tick->sequence);
  if (tick->sequence == 3) chime_timer_cancel(tick->timer);
}

int main(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  chime_status status;
  options.label = "heartbeats";
  status = chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue);
  if (CHIME_FAILED(status)) {
    fprintf(stderr, "%s\n", chime_last_error_detail());
    return 1;
  }
  CHECK(chime_timer_every(queue, 50 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, NULL));
  sleep(1);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
