/*
 * Pages: chime_reinitialize chime-fork
 * Output:
 *   in a child: CHIME_ERROR_FORKED
 *   then: CHIME_ERROR_INVALID_HANDLE
 *   tick
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  printf("tick\n");
  fflush(stdout);
}

static chime_timer_t start(chime_queue_t *queue) {
  chime_timer_t timer;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, queue));
  CHECK(chime_timer_after(*queue, CHIME_MILLISECOND, on_tick, NULL,
                          NULL, &timer));
  return timer;
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer = start(&queue);
  int status;
  if (fork() == 0) {
    printf("in a child: %s\n",
           chime_status_name(chime_timer_cancel(timer)));
    CHECK(chime_reinitialize());
    printf("then: %s\n",
           chime_status_name(chime_timer_cancel(timer)));
    start(&queue);
    CHECK(chime_queue_run(queue, 0)); /* the child's own timer */
    _exit(0);
  }
  if (wait(&status) < 0 || status != 0) return 1;
  chime_timer_cancel(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
