/*
 * Chime as a guest of libev: an ev_io with the queue's descriptor. Handlers run inside ev_run, on its thread. A forked child
 * first has libev make its descriptor anew (ev_loop_fork), then takes the guest out, and then makes Chime usable again.
 *
 * Build:  make build/libev_guest (libev-dev)
 * Run:    build/libev_guest
 *
 * Output:
 *   libev's timer; Chime's tick
 *   in the child: libev's timer; Chime's tick
 *   and then: libev's timer; Chime's tick
 */
#include "check.h"

#include <ev.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ev_loop *loop;
static ev_io guest;
static chime_queue_t queue;

static void on_readable(struct ev_loop *l, ev_io *io, int events) {
  chime_status status = chime_queue_process(queue, 0, NULL);
  if (!CHIME_FAILED(status) || status == CHIME_ERROR_BUSY) return;
  fprintf(stderr, "the queue: %s\n", chime_status_message(status)); /* a handler has ended it, say */
  ev_io_stop(l, io);
}

static void attach(void) {
  int32_t fd;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &fd));
  ev_io_init(&guest, on_readable, fd, EV_READ);
  ev_io_start(loop, &guest);
}

static void on_tick(const chime_tick *tick, void *context) {
  puts("Chime's tick");
  ev_break(loop, EVBREAK_ALL);
}

static void on_timer(struct ev_loop *l, ev_timer *timer, int events) {
  printf("libev's timer; ");
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
}

static void run(const char *text) {
  ev_timer timer;
  printf("%s", text);
  ev_timer_init(&timer, on_timer, 0.001, 0);
  ev_timer_start(loop, &timer);
  ev_run(loop, 0); /* until ev_break, since the guest keeps the loop alive */
  fflush(stdout);
}

int main(void) {
  int status = 0;
  pid_t child;
  if ((loop = ev_loop_new(EVFLAG_AUTO)) == NULL) return 1;
  attach();
  run("");
  if ((child = fork()) == 0) {
    ev_loop_fork(loop);
    ev_run(loop, EVRUN_NOWAIT); /* here it does */
    ev_io_stop(loop, &guest);
    CHECK(chime_reinitialize());
    attach();
  }
  if (child != 0 && waitpid(child, &status, 0) != child) return 1;
  run(child == 0 ? "in the child: " : "and then: ");
  ev_io_stop(loop, &guest); /* before the queue closes the descriptor */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  ev_loop_destroy(loop);
  return status != 0;
}
