/*
 * Pages: chime_trace_to_file
 * Output:
 *   tick 1 at 10 ms
 *   complete: CHIME_OK
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  /* for ui.perfetto.dev */
  CHECK(chime_trace_to_file("trace-%p.json"));
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, NULL));
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  printf("complete: %s\n",
         chime_status_name(chime_trace_to_file(NULL)));
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
