/*
 * Fork: in the child every call returns CHIME_ERROR_FORKED, and none of the parent's timers tick there, until the child
 * begins anew. The parent notices nothing. Dispatch queues do not survive a fork: use any other kind in such a child.
 *
 * Build:  make (or cc fork.c -o build/fork -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/fork
 *
 * Output:
 *   child: the parent's timer: CHIME_ERROR_FORKED
 *   child: begins anew: CHIME_OK
 *   child: the parent's timer: CHIME_ERROR_INVALID_HANDLE
 *   child: tick
 *   child: a dispatch queue: this process was forked, and libdispatch does not survive a fork
 *   parent: tick
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  printf("%s: tick\n", (const char *)context);
}

static chime_timer_t start(chime_queue_t *queue, char *who) {
  chime_timer_t timer;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, queue));
  CHECK(chime_timer_after(*queue, CHIME_MILLISECOND, on_tick, who, NULL, &timer));
  return timer;
}

int main(void) {
  chime_queue_t queue, dispatch;
  chime_timer_t timer = start(&queue, "parent");
  int status;

  if (fork() == 0) {
    printf("child: the parent's timer: %s\n", chime_status_name(chime_timer_cancel(timer)));
    printf("child: begins anew: %s\n", chime_status_name(chime_reinitialize()));
    printf("child: the parent's timer: %s\n", chime_status_name(chime_timer_cancel(timer)));
    start(&queue, "child");
    CHECK(chime_queue_run(queue, 0));
    EXPECT(CHIME_ERROR_UNSUPPORTED, chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &dispatch));
    printf("child: a dispatch queue: %s\n", chime_last_error_detail());
    fflush(stdout);
    _exit(0);
  }
  if (wait(&status) < 0 || status != 0) return 1;
  CHECK(chime_queue_run(queue, 0));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
