/*
 * Pages: chime_timer_explain
 * Output:
 *   a sentence: yes
 */
#include <chime.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence, (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  char text[200];
  size_t length;
  chime_timer_t timer;
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_timer_after(queue, CHIME_SECOND, on_tick, NULL, NULL, &timer))) return 1;
  chime_timer_suspend(timer);
  if (CHIME_FAILED(chime_timer_explain(timer, text, sizeof text, &length))) return 1;
  /* puts(text); its wording may change */
  printf("a sentence: %s\n", length > 0 ? "yes" : "no");
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
