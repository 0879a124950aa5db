/*
 * What some calls do with a bare timerfd, libuv's timer and a POSIX timer, and the same with Chime: rows of the front page's
 * table. (`make table` runs it. Its exit status is 1 if Chime does not do what the table says.)
 */
#define _GNU_SOURCE
#include <chime.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

static atomic_int ticks, inside, at_most;
static int64_t ticked_ns;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

static void work(int64_t duration_ns) {
  for (int64_t end = now_ns() + duration_ns; now_ns() < end;) {}
}

static void chime_tick_seen(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  ticked_ns = now_ns();
  ticks++;
}

static chime_queue_t new_queue(chime_queue_kind kind) {
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(kind, NULL, &queue))) exit(1);
  return queue;
}

/* A delay of 0. */
static int no_delay(void) {
  struct itimerspec zero = {{0, 0}, {0, 0}};
  struct pollfd entry = {timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), POLLIN, 0};
  chime_queue_t queue = new_queue(CHIME_QUEUE_HOST);
  timerfd_settime(entry.fd, 0, &zero, NULL);
  const char *seen = poll(&entry, 1, 1000) == 0 ? "never ticks" : "ticks";
  if (CHIME_FAILED(chime_timer_after(queue, 0, chime_tick_seen, NULL, NULL, NULL))) return 1;
  if (CHIME_FAILED(chime_queue_run(queue, 0))) return 1;
  printf("| a timerfd: start with a delay of 0 | %s | %s |\n", seen, ticks == 1 ? "ticks at once" : "never ticks");
  return ticks != 1;
}

/* 100 ms, started after 60 ms of work in the same turn of the loop. */
static uv_timer_t other; /* a loop with other events */

static void uv_nothing(uv_timer_t *timer) { (void)timer; }

static void uv_seen(uv_timer_t *timer) {
  (void)timer;
  ticked_ns = now_ns();
  uv_timer_stop(&other);
}

static int64_t started_ns;
static uv_timer_t second;

static void uv_first(uv_timer_t *timer) {
  work(60 * CHIME_MILLISECOND);
  started_ns = now_ns();
  uv_timer_init(timer->loop, &second);
  uv_timer_start(&second, uv_seen, 100, 0);
}

static void chime_first(const chime_tick *tick, void *context) {
  (void)tick;
  work(60 * CHIME_MILLISECOND);
  started_ns = now_ns();
  if (CHIME_FAILED(
          chime_timer_after(*(chime_queue_t *)context, 100 * CHIME_MILLISECOND, chime_tick_seen, NULL, NULL, NULL)))
    exit(1);
}

static int late_turn(void) {
  uv_timer_t first;
  chime_queue_t queue = new_queue(CHIME_QUEUE_HOST);
  uv_timer_init(uv_default_loop(), &first);
  uv_timer_start(&first, uv_first, 1, 0);
  uv_timer_init(uv_default_loop(), &other);
  uv_timer_start(&other, uv_nothing, 10, 10);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  int early = (int)((started_ns + 100 * CHIME_MILLISECOND - ticked_ns) / CHIME_MILLISECOND);
  if (CHIME_FAILED(chime_timer_after(queue, CHIME_MILLISECOND, chime_first, &queue, NULL, NULL))) return 1;
  if (CHIME_FAILED(chime_queue_run(queue, 0))) return 1;
  int is_early = ticked_ns < started_ns + 100 * CHIME_MILLISECOND;
  printf(
      "| libuv, a loop with other events: start 100 ms after 60 ms of work in a callback | ticks %d ms early | %s |\n",
      early, is_early ? "early" : "not early, by no nanosecond");
  return is_early;
}

/* A handler that takes ten times its interval. */
static void slow(void) {
  int now = ++inside, most = at_most;
  while (now > most && !atomic_compare_exchange_weak(&at_most, &most, now)) {}
  usleep(50000);
  inside--;
}

static void posix_slow(union sigval value) {
  (void)value;
  slow();
}

static void chime_slow(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  slow();
}

static int slow_handler(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = posix_slow};
  struct itimerspec every = {{0, 5000000}, {0, 5000000}}, never = {{0, 0}, {0, 0}};
  timer_t timer;
  chime_queue_t queue = new_queue(CHIME_QUEUE_SERIAL);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  timer_settime(timer, 0, &every, NULL);
  usleep(300000);
  timer_settime(timer, 0, &never, NULL);
  int most = at_most;
  for (int i = 0; i < 3000 && inside > 0; i++) usleep(10000);
  at_most = 0;
  if (CHIME_FAILED(chime_timer_every(queue, 5 * CHIME_MILLISECOND, chime_slow, NULL, NULL, NULL))) return 1;
  usleep(300000);
  if (CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER))) return 1;
  printf(
      "| a POSIX timer: a handler that takes 50 ms, every 5 ms | %d calls of it at once | %d at a time; the next tick says what it missed |\n",
      most, (int)at_most);
  return at_most != 1;
}

int main(void) { return no_delay() | late_turn() | slow_handler(); }
