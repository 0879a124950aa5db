/*
 * A server with one thread: the queue is bound to it (CHIME_QUEUE_BOUND), so that calls on timers need no locked operations,
 * and its descriptor is one more in epoll. A message postpones its connection's timer; who is silent for 50 ms is closed.
 * Until something is due the server sleeps: it has no tick of its own.
 *
 * Build:  make (or cc bound_server.c -o build/bound_server -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/bound_server
 *
 * Output:
 *   server: hello
 *   server: idle, closed
 *   client: the end
 */
#define _POSIX_C_SOURCE 200809L
#include <chime.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

typedef struct connection {
  int socket;
  chime_timer_t idle;
} connection;

static void on_idle(const chime_tick *tick, void *context) {
  connection *client = context;
  (void)tick;
  printf("server: idle, closed\n");
  close(client->socket); /* which takes it out of epoll */
  client->socket = -1;
}

static void watch(int epoll, int fd, void *what) {
  struct epoll_event event = {EPOLLIN, {what}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) perror("epoll_ctl");
}

int main(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  connection client;
  int pair[2], epoll = epoll_create1(EPOLL_CLOEXEC);
  int32_t fd;
  char text[100];

  options.flags = CHIME_QUEUE_BOUND;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
  CHECK(chime_queue_fd(queue, &fd));
  watch(epoll, fd, NULL);

  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1; /* somebody connects, and says one thing */
  client.socket = pair[0];
  if (write(pair[1], "hello", 5) != 5) return 1;
  watch(epoll, client.socket, &client);
  CHECK(chime_timer_after(queue, 50 * CHIME_MILLISECOND, on_idle, &client, NULL, &client.idle));

  while (client.socket >= 0) {
    struct epoll_event events[16];
    int count = epoll_wait(epoll, events, 16, -1), due = 0;
    for (int i = 0; i < count; i++) {
      connection *from = events[i].data.ptr;
      if (from == NULL) {
        due = 1;
        continue;
      }
      ssize_t length = read(from->socket, text, sizeof text);
      if (length > 0) printf("server: %.*s\n", (int)length, text);
      CHECK(chime_timer_postpone(from->idle, 50 * CHIME_MILLISECOND));
    }
    if (due)
      CHECK(chime_queue_process(queue, 0, NULL)); /* behind the other events, since a handler closes connections */
  }
  CHECK(chime_timer_release(client.idle));
  printf("client: %s\n", read(pair[1], text, sizeof text) == 0 ? "the end" : "more");
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  close(pair[1]);
  close(epoll);
  return 0;
}
