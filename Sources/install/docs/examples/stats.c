/*
 * Pages: chime_queue_get_stats chime_queue_dump chime_queue_list
 *        chime_queue_stats
 * Output:
 *   queues: 1
 *   ticks: 4
 *   text: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
}

int main(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_queue_t queues[10];
  size_t count, length;
  char text[1000];
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_SECOND, on_tick, NULL, NULL,
                          NULL));
  chime_queue_advance(queue, 4 * CHIME_SECOND);
  chime_queue_list(queues, 10, &count);
  printf("queues: %d\n", (int)count);
  CHECK(chime_queue_get_stats(queues[0], &stats));
  printf("ticks: %d\n", (int)stats.ticks);
  CHECK(chime_queue_dump(queues[0], text, sizeof text, &length));
  /* puts(text) */
  printf("text: %s\n", length > 0 ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
