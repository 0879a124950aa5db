/*
 * Idle timeouts of a server: each connection has a timer, which every message postpones (one compare-and-swap, however
 * many connections there are). When it ticks, the connection was idle for 30 s. IGNORED says that the timeout has won:
 * the message came too late. The connection is the timer's context, and freed by its finalizer.
 *
 * Build:  make (or cc idle_timeouts.c -o build/idle_timeouts -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/idle_timeouts
 *
 * Output:
 *   30 s  ann: idle for 30 s, closed after 1 messages
 *   30 s  ann: too late
 *   50 s  bob: said goodbye after 3 messages
 *   55 s  eve: idle for 30 s, closed after 2 messages
 *   connections freed: 3
 */
#include "check.h"

struct connection {
  const char *name;
  int messages;
  chime_timer_t timer;
};

static chime_queue_t queue;
static int freed;

static int64_t now_s(void) {
  int64_t now;
  CHECK(chime_queue_now(queue, &now));
  return now / CHIME_SECOND;
}

static void on_idle(const chime_tick *tick, void *context) {
  const struct connection *c = context;
  (void)tick;
  printf("%" PRId64 " s  %s: idle for 30 s, closed after %d messages\n", now_s(), c->name, c->messages);
}

static void free_connection(void *context) {
  free(context);
  freed++;
}

static struct connection *open_connection(const char *name) {
  struct connection *c = calloc(1, sizeof *c);
  if (c == NULL) exit(EXIT_FAILURE);
  c->name = name;
  CHECK(chime_timer_after(queue, 30 * CHIME_SECOND, on_idle, c, free_connection, &c->timer));
  return c;
}

static void on_message(struct connection *c) {
  chime_status status = chime_timer_postpone(c->timer, 30 * CHIME_SECOND);
  CHECK(status);
  if (status == CHIME_IGNORED) printf("%" PRId64 " s  %s: too late\n", now_s(), c->name);
  c->messages += status == CHIME_OK;
}

static void advance(int64_t seconds) { CHECK(chime_queue_advance(queue, seconds * CHIME_SECOND)); }

int main(void) {
  struct connection *ann, *bob, *eve;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  ann = open_connection("ann"), bob = open_connection("bob"), eve = open_connection("eve");
  on_message(ann), on_message(bob), on_message(eve);
  advance(25), on_message(bob), on_message(eve);
  advance(5), on_message(ann);
  advance(20), on_message(bob);
  printf("%" PRId64 " s  bob: said goodbye after %d messages\n", now_s(), bob->messages);
  CHECK(chime_timer_release(bob->timer)); /* and with it its connection */
  advance(60);
  CHECK(chime_timer_release(ann->timer));
  CHECK(chime_timer_release(eve->timer));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("connections freed: %d\n", freed);
  return 0;
}
