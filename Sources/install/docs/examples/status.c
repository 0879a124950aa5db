/*
 * Pages: chime_status chime_status_name chime_status_message
 *        chime_last_error_detail
 * Output:
 *   CHIME_ERROR_INVALID_ARGUMENT
 *   why: yes
 *   a meaning: yes
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d at %d ms\n", (int)tick->sequence,
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

int main(void) {
  chime_status status;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  status = chime_timer_every(queue, 0, on_tick, NULL, NULL, NULL);
  if (CHIME_FAILED(status)) { /* not: status != CHIME_OK */
    printf("%s\n", chime_status_name(status));
    /* "interval_ns is not above 0" */
    printf("why: %s\n", chime_last_error_detail()[0] ? "yes" : "no");
    printf("a meaning: %s\n",
           chime_status_message(status)[0] ? "yes" : "no");
  }
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
