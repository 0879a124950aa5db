/*
 * c-ares with Chime as its only timers: one for what c-ares itself has to do, such as asking again, and a deadline for each
 * query, at which it is cancelled.
 *
 * Build:  make build/cares_queries (libc-ares-dev)
 * Run:    python3 loopback.py dns build/cares_queries
 *
 * Output:
 *   answers.test: 192.0.2.7
 *   lost.test: 192.0.2.7
 *   silent.test: DNS query cancelled
 */
#include "loop.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>

static ares_channel channel;
static chime_timer_t own_time;
static int is_answered;

static void set_own_time(void) {
  struct timeval left;
  int64_t delay = CHIME_FOREVER;
  if (ares_timeout(channel, NULL, &left) != NULL) delay = left.tv_sec * CHIME_SECOND + left.tv_usec * CHIME_MICROSECOND;
  CHECK(chime_timer_restart_after(own_time, delay));
}

static void on_own_time(const chime_tick *tick, void *context) {
  ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  set_own_time();
}

static void on_event(int fd, int events) {
  ares_process_fd(channel, events & EPOLLOUT ? ARES_SOCKET_BAD : fd, events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
  set_own_time();
}

static void on_socket(void *context, ares_socket_t fd, int reads, int writes) {
  loop_watch(fd, (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0));
}

static void on_deadline(const chime_tick *tick, void *context) { ares_cancel(channel); }

static void on_answer(void *name, int status, int timeouts, struct hostent *host) {
  char text[INET_ADDRSTRLEN];
  if (status == ARES_SUCCESS) inet_ntop(AF_INET, host->h_addr_list[0], text, sizeof text);
  printf("%s: %s\n", (char *)name, status == ARES_SUCCESS ? text : ares_strerror(status));
  is_answered = 1;
}

static void ask(char *name, int64_t patience_ns) {
  chime_timer_t deadline;
  is_answered = 0;
  CHECK(chime_timer_after(loop.queue, patience_ns, on_deadline, NULL, NULL, &deadline));
  ares_gethostbyname(channel, name, AF_INET, on_answer, name);
  set_own_time();
  while (!is_answered) loop_turn(on_event);
  CHECK(chime_timer_release(deadline));
}

int main(int count, char **arguments) {
  struct ares_options options = {.flags = ARES_FLAG_NOSEARCH, .timeout = 50, .tries = 10, .sock_state_cb = on_socket};
  char server[32];
  snprintf(server, sizeof server, "127.0.0.1:%s", arguments[count - 1]);
  CHECK_ZERO(ares_library_init(ARES_LIB_INIT_ALL));
  CHECK_ZERO(ares_init_options(&channel, &options,
                               ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB));
  CHECK_ZERO(ares_set_servers_ports_csv(channel, server));
  loop_open();
  CHECK(chime_timer_after(loop.queue, CHIME_FOREVER, on_own_time, NULL, NULL, &own_time));
  ask("answers.test", CHIME_MINUTE);
  ask("lost.test", CHIME_MINUTE);
  ask("silent.test", 300 * CHIME_MILLISECOND);
  ares_destroy(channel);
  loop_close();
  return 0;
}
