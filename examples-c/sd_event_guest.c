/*
 * Chime as a guest of systemd's sd-event: an I/O source with the queue's descriptor. Handlers run inside sd_event_loop, on its
 * thread. A forked child makes an sd_event of its own: the inherited one only returns -ECHILD.
 *
 * Build:  make build/sd_event_guest (libsystemd-dev)
 * Run:    build/sd_event_guest
 *
 * Output:
 *   sd-event's timer; Chime's tick
 *   in the child: sd-event's timer; Chime's tick
 *   and then: sd-event's timer; Chime's tick
 */
#include "check.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

static sd_event *loop;
static sd_event_source *guest;
static chime_queue_t queue;

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *context) {
  chime_status status = chime_queue_process(queue, 0, NULL);
  if (!CHIME_FAILED(status) || status == CHIME_ERROR_BUSY) return 0;
  fprintf(stderr, "the queue: %s\n", chime_status_message(status)); /* a handler has ended it, say */
  return -EPIPE;                                                    /* sd-event turns the source off */
}

static void attach(void) {
  int32_t fd;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &fd));
  CHECK_ZERO(sd_event_new(&loop) < 0);
  CHECK_ZERO(sd_event_add_io(loop, &guest, fd, EPOLLIN, on_readable, NULL) < 0);
}

static void on_tick(const chime_tick *tick, void *is_done) {
  puts("Chime's tick");
  *(int *)is_done = 1;
}

static int on_timer(sd_event_source *source, uint64_t time, void *is_done) {
  printf("sd-event's timer; ");
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, is_done, NULL, NULL));
  return 0;
}

static void run(const char *text) {
  int is_done = 0;
  printf("%s", text);
  CHECK_ZERO(sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 1000, 0, on_timer, &is_done) < 0);
  while (!is_done && sd_event_run(loop, UINT64_MAX) >= 0) {}
  fflush(stdout);
}

int main(void) {
  int status = 0;
  pid_t child;
  attach();
  run("");
  if ((child = fork()) == 0) {
    sd_event_source_unref(guest);
    sd_event_unref(loop);
    CHECK(chime_reinitialize());
    attach();
  }
  if (child != 0 && waitpid(child, &status, 0) != child) return 1;
  run(child == 0 ? "in the child: " : "and then: ");
  sd_event_source_unref(guest); /* out of the loop, before the queue closes the descriptor */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  sd_event_unref(loop);
  return status != 0;
}
