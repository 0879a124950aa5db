/*
 * Pages: chime_timer_after chime_timer_postpone
 *        chime_timer_postpone_until chime_timer_release
 *        chime_timer_t
 * Output:
 *   idle since 90 s
 *   too late: CHIME_IGNORED
 */
#include "check.h"

static void on_idle(const chime_tick *tick, void *name) {
  printf("%s since %d s\n", (const char *)name,
         (int)(tick->scheduled_ns / CHIME_SECOND));
}

int main(void) {
  chime_timer_t idle;
  chime_queue_t queue;
  chime_status status;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, 30 * CHIME_SECOND, on_idle, "idle",
                          NULL, &idle));
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  /* a sign of life: not before 50 s */
  chime_timer_postpone(idle, 30 * CHIME_SECOND);
  chime_queue_advance(queue, 20 * CHIME_SECOND);
  /* the same, to a point on the queue's clock */
  chime_timer_postpone_until(idle, 90 * CHIME_SECOND);
  chime_queue_advance(queue, 60 * CHIME_SECOND);
  status = chime_timer_postpone(idle, 30 * CHIME_SECOND);
  printf("too late: %s\n", chime_status_name(status));
  chime_timer_release(idle);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
