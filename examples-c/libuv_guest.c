/*
 * Chime as a guest of libuv: a uv_poll_t with the queue's descriptor. Handlers run inside uv_run, on its thread. A forked child
 * first has libuv make its descriptor anew (uv_loop_fork), then closes the guest, and then makes Chime usable again.
 *
 * Build:  make build/libuv_guest (libuv1-dev)
 * Run:    build/libuv_guest
 *
 * Output:
 *   libuv's timer; Chime's tick
 *   in the child: libuv's timer; Chime's tick
 *   and then: libuv's timer; Chime's tick
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static uv_poll_t guest;
static uv_timer_t timer;
static chime_queue_t queue;

static void on_closed(uv_handle_t *handle) { CHECK(chime_queue_shutdown(queue, CHIME_FOREVER)); }
static void on_forgotten(uv_handle_t *handle) {}

static void on_readable(uv_poll_t *poll, int error, int events) {
  chime_status status = error != 0 ? CHIME_OK : chime_queue_process(queue, 0, NULL);
  if (error == 0 && (!CHIME_FAILED(status) || status == CHIME_ERROR_BUSY)) return;
  fprintf(stderr, "the queue: %s\n", error != 0 ? uv_strerror(error) : chime_status_message(status));
  uv_close((uv_handle_t *)poll, on_closed);
}

static void attach(void) {
  int32_t fd;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &fd));
  CHECK_ZERO(uv_poll_init(&loop, &guest, fd));
  CHECK_ZERO(uv_poll_start(&guest, UV_READABLE, on_readable));
}

static void on_tick(const chime_tick *tick, void *context) {
  puts("Chime's tick");
  uv_stop(&loop);
}

static void on_timer(uv_timer_t *handle) {
  printf("libuv's timer; ");
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
}

static void run(const char *text) {
  printf("%s", text);
  CHECK_ZERO(uv_timer_start(&timer, on_timer, 1, 0));
  uv_run(&loop, UV_RUN_DEFAULT); /* until uv_stop, since the guest keeps the loop alive */
  fflush(stdout);
}

int main(void) {
  int status = 0;
  pid_t child;
  CHECK_ZERO(uv_loop_init(&loop));
  CHECK_ZERO(uv_timer_init(&loop, &timer));
  attach();
  run("");
  if ((child = fork()) == 0) {
    CHECK_ZERO(uv_loop_fork(&loop));
    uv_close((uv_handle_t *)&guest, on_forgotten);
    uv_run(&loop, UV_RUN_NOWAIT);
    CHECK(chime_reinitialize());
    attach();
  }
  if (child != 0 && waitpid(child, &status, 0) != child) return 1;
  run(child == 0 ? "in the child: " : "and then: ");
  uv_close((uv_handle_t *)&timer, NULL);
  uv_close((uv_handle_t *)&guest, on_closed);
  uv_run(&loop, UV_RUN_DEFAULT);
  CHECK_ZERO(uv_loop_close(&loop));
  return status != 0;
}
