/*
 * hiredis, asynchronous, with a deadline for each command: a command that is answered cancels its deadline; one whose deadline
 * has come is given up, and its late answer is dropped. When the connection ends, hiredis answers what is left with NULL.
 *
 * Build:  make build/hiredis_deadlines (libhiredis-dev)
 * Run:    python3 loopback.py redis build/hiredis_deadlines
 *
 * Output:
 *   SET key 7: OK
 *   GET key: 7
 *   GET slow: given up
 *   GET slow: dropped, too late
 *   PING: PONG
 *   QUIT: the connection has ended
 */
#include "loop.h"
#include <hiredis/async.h>

static struct command {
  const char *text;
  int64_t patience_ns;
  chime_timer_t deadline;
  int is_given_up;
} commands[] = {
    {"SET key 7", CHIME_MINUTE, 0, 0}, {"GET key", CHIME_MINUTE, 0, 0}, {"GET slow", 100 * CHIME_MILLISECOND, 0, 0},
    {"PING", CHIME_MINUTE, 0, 0},      {"QUIT", CHIME_MINUTE, 0, 0},    {NULL, 0, 0, 0}};
static struct command *next = commands;
static redisAsyncContext *redis;
static int events;

static void send_next(void);

static void on_deadline(const chime_tick *tick, void *command) {
  struct command *c = command;
  c->is_given_up = 1;
  printf("%s: given up\n", c->text);
  send_next();
}

static void on_reply(redisAsyncContext *context, void *answer, void *command) {
  struct command *c = command;
  const redisReply *reply = answer;
  CHECK(chime_timer_release(c->deadline));
  printf("%s: %s\n", c->text,
         reply == NULL    ? "the connection has ended"
         : c->is_given_up ? "dropped, too late"
                          : reply->str);
  if (reply != NULL && !c->is_given_up) send_next();
}

static void send_next(void) {
  struct command *c = next++;
  if (c->text == NULL) return;
  if (redisAsyncCommand(redis, on_reply, c, c->text) != REDIS_OK) exit(1);
  CHECK(chime_timer_after(loop.queue, c->patience_ns, on_deadline, c, NULL, &c->deadline));
}

/* What hiredis asks of a loop. */
static void wait_for(int new_events) { loop_watch(redis->c.fd, events = new_events); }
static void add_read(void *none) { wait_for(events | EPOLLIN); }
static void del_read(void *none) { wait_for(events & ~EPOLLIN); }
static void add_write(void *none) { wait_for(events | EPOLLOUT); }
static void del_write(void *none) { wait_for(events & ~EPOLLOUT); }
static void cleanup(void *none) { wait_for(0), redis = NULL; }
static void on_event(int fd, int happened) {
  (happened & EPOLLOUT ? redisAsyncHandleWrite : redisAsyncHandleRead)(redis);
}

int main(int count, char **arguments) {
  loop_open();
  redis = redisAsyncConnect("127.0.0.1", atoi(arguments[count - 1]));
  if (redis == NULL || redis->err != 0) return 1;
  redis->ev.addRead = add_read, redis->ev.delRead = del_read;
  redis->ev.addWrite = add_write, redis->ev.delWrite = del_write;
  redis->ev.cleanup = cleanup;
  send_next();
  while (redis != NULL) loop_turn(on_event);
  loop_close();
  return 0;
}
