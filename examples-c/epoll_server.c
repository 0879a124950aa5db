/*
 * A server with one thread, an epoll loop and three kinds of timers: it closes a connection that is idle for a second,
 * sends each a heartbeat every 100 ms, and tries to reach another server again and again, after 20, 40, 80 and then every
 * 100 ms. The queue is bound to the thread (CHIME_QUEUE_FLAG_BOUND), so that calls on timers need no locked operations.
 *
 * The queue's descriptor is one more in epoll, so the server sleeps until something is due. The queue is processed after
 * the other events of a turn: handlers free connections, and an event of one that is gone must not be met behind them.
 * When a connection ends, its timers are released, inside their own handlers too: no tick of them starts any more. (If
 * other threads start timers: epoll_host.c.)
 *
 * Build:  make (or cc epoll_server.c -o build/epoll_server -I../include -Lbuild/lib -lchime -pthread
 *         -Wl,-rpath,build/lib)
 * Run:    build/epoll_server
 *
 * Output:
 *   connection 1 was idle
 *   the other server is there, not at the first attempt
 *   connection 2 was idle
 */
#define _GNU_SOURCE
#include "check.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_TIMEOUT CHIME_SECOND
#define HEARTBEAT_INTERVAL (100 * CHIME_MILLISECOND)
#define RETRY_AT_LEAST (20 * CHIME_MILLISECOND)
#define RETRY_AT_MOST (100 * CHIME_MILLISECOND)

struct connection {
  int fd, number;
  chime_timer_t idle, heartbeat;
};

static chime_queue_t timers;
static int loop, accepted, closed, other_listener;
static struct sockaddr_in other_server;

static void watch(int fd, void *pointer) {
  struct epoll_event event = {EPOLLIN, {0}};
  event.data.ptr = pointer;
  CHECK_ZERO(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event));
}

static void end_connection(struct connection *c) {
  CHECK(chime_timer_release(c->idle));
  CHECK(chime_timer_release(c->heartbeat));
  close(c->fd); /* which takes it out of the loop */
  free(c);
  closed++;
}

static void on_idle(const chime_tick *tick, void *context) {
  struct connection *c = context;
  (void)tick;
  printf("connection %d was idle\n", c->number);
  end_connection(c);
}

static void on_heartbeat(const chime_tick *tick, void *context) {
  const struct connection *c = context;
  (void)tick;
  if (send(c->fd, "alive\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) perror("heartbeat");
}

static void begin_connection(int fd) {
  struct connection *c = calloc(1, sizeof *c);
  if (c == NULL || fd < 0) exit(EXIT_FAILURE);
  c->fd = fd;
  c->number = ++accepted;
  CHECK(chime_timer_after(timers, IDLE_TIMEOUT, on_idle, c, NULL, &c->idle));
  CHECK(chime_timer_every(timers, HEARTBEAT_INTERVAL, on_heartbeat, c, NULL, &c->heartbeat));
  watch(fd, c);
}

static void on_readable(struct connection *c) {
  char text[512];
  ssize_t length = recv(c->fd, text, sizeof text, MSG_DONTWAIT);
  if (length > 0) CHECK(chime_timer_postpone(c->idle, IDLE_TIMEOUT));
  if (length == 0) end_connection(c);
}

/* A one-shot that nobody holds; each attempt that fails starts the next one. */
static void attempt(const chime_tick *tick, void *context) {
  static int64_t delay = RETRY_AT_LEAST;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)tick, (void)context;
  if (connect(fd, (struct sockaddr *)&other_server, sizeof other_server) == 0) {
    printf("the other server is there, %s\n", delay > RETRY_AT_LEAST ? "not at the first attempt" : "at once");
  } else {
    CHECK(chime_timer_after(timers, delay, attempt, NULL, NULL, NULL));
    delay = 2 * delay < RETRY_AT_MOST ? 2 * delay : RETRY_AT_MOST;
  }
  close(fd);
}

/* A socket with a port of this machine, on which nobody listens yet. */
static int bound_socket(struct sockaddr_in *address) {
  socklen_t size = sizeof *address;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK_ZERO(bind(fd, (struct sockaddr *)address, sizeof *address));
  CHECK_ZERO(getsockname(fd, (struct sockaddr *)address, &size));
  return fd;
}

/* Two clients, of which the second says something at each heartbeat of the first, and then the other server begins. */
static void *world(void *address) {
  char text[64];
  int silent = socket(AF_INET, SOCK_STREAM, 0), talking = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_ZERO(connect(silent, address, sizeof(struct sockaddr_in)));
  CHECK_ZERO(connect(talking, address, sizeof(struct sockaddr_in)));
  while (recv(silent, text, sizeof text, 0) > 0) {
    if (send(talking, "hello\n", 6, MSG_NOSIGNAL) != 6) perror("hello");
  }
  CHECK_ZERO(listen(other_listener, 1));
  while (recv(talking, text, sizeof text, 0) > 0) continue;
  return NULL;
}

int main(void) {
  struct sockaddr_in address = {0};
  int listener = bound_socket(&address);
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  int32_t descriptor;
  pthread_t thread;
  other_listener = bound_socket(&other_server);
  loop = epoll_create1(EPOLL_CLOEXEC);
  options.flags = CHIME_QUEUE_FLAG_BOUND;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, &options, &timers));
  CHECK(chime_queue_fd(timers, &descriptor));
  watch(descriptor, &timers);
  watch(listener, &listener);
  CHECK_ZERO(listen(listener, 64));
  CHECK_ZERO(pthread_create(&thread, NULL, world, &address));
  CHECK(chime_timer_after(timers, 0, attempt, NULL, NULL, NULL));

  while (closed < 2) {
    struct epoll_event events[16];
    int i, is_due = 0, count = epoll_wait(loop, events, 16, -1);
    for (i = 0; i < count; i++) {
      if (events[i].data.ptr == &timers) is_due = 1;
      else if (events[i].data.ptr == &listener) begin_connection(accept(listener, NULL, NULL));
      else on_readable(events[i].data.ptr);
    }
    if (is_due) CHECK(chime_queue_process(timers, 0, NULL));
  }
  CHECK_ZERO(pthread_join(thread, NULL));
  CHECK(chime_queue_shutdown(timers, CHIME_FOREVER));
  return 0;
}
