/* A program of somebody's own, that any libchime can run: three ticks of virtual time. */
#include <chime.h>
#include <stdio.h>

static void count(const chime_tick *tick, void *context) { *(int *)context = (int)tick->sequence; }

int main(void) {
  chime_queue_t queue;
  int ticks = 0;
  if (!CHIME_VERSION_MATCHES()) return 2;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_timer_every(queue, CHIME_SECOND, count, &ticks, NULL, NULL))) return 1;
  if (CHIME_FAILED(chime_queue_advance(queue, 3 * CHIME_SECOND))) return 1;
  printf("%d ticks\n", ticks);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
