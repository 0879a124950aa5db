/*
 * Chime as a guest of libevent: an event with the queue's descriptor. Handlers run inside event_base_dispatch, on its thread. A
 * forked child first has libevent make its descriptors anew (event_reinit), then takes the guest out, and then makes Chime
 * usable again.
 *
 * Build:  make build/libevent_guest (libevent-dev)
 * Run:    build/libevent_guest
 *
 * Output:
 *   libevent's timer; Chime's tick
 *   in the child: libevent's timer; Chime's tick
 *   and then: libevent's timer; Chime's tick
 */
#include "check.h"

#include <event2/event.h>
#include <sys/wait.h>
#include <unistd.h>

static struct event_base *base;
static struct event *guest;
static chime_queue_t queue;

static void on_readable(evutil_socket_t fd, short events, void *context) {
  chime_status status = chime_queue_process(queue, 0, NULL);
  if (!CHIME_FAILED(status) || status == CHIME_ERROR_BUSY) return;
  fprintf(stderr, "the queue: %s\n", chime_status_message(status)); /* a handler has ended it, say */
  event_del(guest);
}

static void attach(void) {
  int32_t fd;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &fd));
  guest = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, NULL);
  CHECK_ZERO(guest == NULL || event_add(guest, NULL));
}

static void on_tick(const chime_tick *tick, void *context) {
  puts("Chime's tick");
  event_base_loopbreak(base);
}

static void on_timer(evutil_socket_t fd, short events, void *context) {
  printf("libevent's timer; ");
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
}

static void run(const char *text) {
  const struct timeval soon = {0, 1000};
  printf("%s", text);
  CHECK_ZERO(event_base_once(base, -1, EV_TIMEOUT, on_timer, NULL, &soon));
  event_base_dispatch(base); /* until event_base_loopbreak, since the guest keeps the loop alive */
  fflush(stdout);
}

int main(void) {
  int status = 0;
  pid_t child;
  if ((base = event_base_new()) == NULL) return 1;
  attach();
  run("");
  if ((child = fork()) == 0) {
    CHECK_ZERO(event_reinit(base));
    event_free(guest);
    CHECK(chime_reinitialize());
    attach();
  }
  if (child != 0 && waitpid(child, &status, 0) != child) return 1;
  run(child == 0 ? "in the child: " : "and then: ");
  event_free(guest); /* out of the loop, before the queue closes the descriptor */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  event_base_free(base);
  return status != 0;
}
