/*
 * Pages: chime_trace_to_file
 * Output:
 *   begun: CHIME_OK
 *   tick 1 at 10 ms
 *   ended: CHIME_OK
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence, (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  printf("begun: %s\n", chime_status_name(chime_trace_to_file("trace-%p.json"))); /* for ui.perfetto.dev */
  if (CHIME_FAILED(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL))) return 1;
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  printf("ended: %s\n", chime_status_name(chime_trace_to_file(NULL)));
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
