/*
 * Pages: chime_timer_explain
 * Output:
 *   a sentence: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  char text[200];
  size_t length;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_SECOND, on_tick, NULL, NULL,
                          &timer));
  chime_timer_suspend(timer);
  CHECK(chime_timer_explain(timer, text, sizeof text, &length));
  /* puts(text); its wording may change */
  printf("a sentence: %s\n", length > 0 ? "yes" : "no");
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
