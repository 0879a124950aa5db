/*
 * Pages: chime_set_trace
 * Output:
 *   CHIME_TRACE_CREATED
 *   CHIME_TRACE_ACTIVATED
 *   CHIME_TRACE_FINISHED
 *   CHIME_TICK_DUE
 *   tick 1 at 10 ms
 *   CHIME_TRACE_RETURNED
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

static void trace(const chime_tick *tick, void *context) {
  (void)context;
  printf("%s\n", chime_tick_kind_name(tick->kind));
}

int main(void) {
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  chime_set_trace(trace, NULL, NULL);
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick,
                          NULL, NULL, &timer));
  chime_queue_advance(queue, 10 * CHIME_MILLISECOND);
  chime_set_trace(NULL, NULL, NULL);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
