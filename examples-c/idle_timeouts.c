/*
 * Idle timeouts of a server: each session has a timer, which every request postpones (one compare-and-swap, however many
 * sessions there are). When it ticks, the session was idle for half an hour. IGNORED says that the timeout has won: the
 * request came too late, and begins a new session. A session is its timer's context, and freed by the finalizer.
 *
 * The requests come out of a log, whose time a virtual queue follows: two hours of it take no time. On a serial queue the
 * same functions do it for requests as they come, with chime_timer_postpone, which counts from now.
 *
 * Build:  make (or cc idle_timeouts.c -o build/idle_timeouts -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/idle_timeouts
 *
 * Output:
 *    30 min  ann: idle, closed after 1 requests
 *    40 min  ann: too late, begins anew
 *    50 min  bob: said goodbye after 3 requests
 *    55 min  eve: idle, closed after 2 requests
 *    85 min  ann: idle, closed after 2 requests
 *   sessions freed: 4
 */
#include "check.h"

#define IDLE_TIMEOUT (30 * CHIME_MINUTE)

struct session {
  const char *client;
  int requests;
  chime_timer_t timer;
};

enum { ANN, BOB, EVE, CLIENTS };
static const char *const names[CLIENTS] = {"ann", "bob", "eve"};
static const struct {
  int minute, client, is_goodbye;
} requests[] = {{0, ANN, 0},  {0, BOB, 0},  {0, EVE, 0},  {25, BOB, 0}, {25, EVE, 0},
                {40, ANN, 0}, {45, BOB, 0}, {50, BOB, 1}, {55, ANN, 0}};

static chime_queue_t queue;
static struct session *sessions[CLIENTS];
static int freed;

static void on_idle(const chime_tick *tick, void *context) {
  const struct session *session = context;
  printf("%3d min  %s: idle, closed after %d requests\n", (int)(tick->scheduled_ns / CHIME_MINUTE), session->client,
         session->requests);
}

static void free_session(void *context) {
  free(context);
  freed++;
}

static struct session *open_session(const char *client) {
  struct session *session = calloc(1, sizeof *session);
  if (session == NULL) exit(EXIT_FAILURE);
  session->client = client;
  session->requests = 1;
  CHECK(chime_timer_after(queue, IDLE_TIMEOUT, on_idle, session, free_session, &session->timer));
  return session;
}

static void on_request(int client, int minute) {
  struct session *session = sessions[client];
  if (session != NULL) {
    chime_status status = chime_timer_postpone_until(session->timer, minute * CHIME_MINUTE + IDLE_TIMEOUT);
    CHECK(status);
    session->requests++;
    if (!(status & CHIME_IGNORED)) return;
    printf("%3d min  %s: too late, begins anew\n", minute, session->client);
    CHECK(chime_timer_release(session->timer)); /* and with it the session */
  }
  sessions[client] = open_session(names[client]);
}

static void on_goodbye(int client, int minute) {
  printf("%3d min  %s: said goodbye after %d requests\n", minute, names[client], sessions[client]->requests);
  CHECK(chime_timer_release(sessions[client]->timer));
}

int main(void) {
  size_t i;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  for (i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    int64_t now;
    CHECK(chime_queue_now(queue, &now));
    CHECK(chime_queue_advance(queue, requests[i].minute * CHIME_MINUTE - now));
    (requests[i].is_goodbye ? on_goodbye : on_request)(requests[i].client, requests[i].minute);
  }
  CHECK(chime_queue_advance(queue, IDLE_TIMEOUT));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER)); /* ends the sessions that are left, with their timers */
  printf("sessions freed: %d\n", freed);
  return 0;
}
