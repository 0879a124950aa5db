/*
 * poll_host.c - the same as epoll_host.c with poll(2) and a timeout in milliseconds (chime_queue_poll_timeout), where a
 * loop cannot take one more descriptor; and chime_queue_run, Chime's own loop, which does not wait for timers in the
 * background, and ends when it is told to (chime_queue_stop).
 *
 * Build:  make (or cc poll_host.c -o build/poll_host -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/poll_host
 *
 * Output:
 *   nothing to wait for: -1
 *   tick 1
 *   tick 2
 *   tick 3
 *   the next deadline is CHIME_FOREVER: yes
 *   run returned; the heartbeat still runs: yes
 *   tick 1
 *   tick 2
 *   tick 3
 *   run was stopped: CHIME_STOPPED
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <poll.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %" PRIu64 "\n", tick->sequence);
  if (tick->sequence == 3) CHECK(chime_timer_cancel(tick->timer)); /* CHIME_RUNNING: this handler has not returned */
}

static void on_heartbeat(const chime_tick *tick, void *context) { (void)tick, (void)context; }
static void on_done(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static void on_tick_until_stop(const chime_tick *tick, void *context) {
  printf("tick %" PRIu64 "\n", tick->sequence);
  if (tick->sequence == 3) CHECK(chime_queue_stop(*(chime_queue_t *)context)); /* any thread may, and signal handlers */
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer, heartbeat, once;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_state state;
  int32_t milliseconds;
  int64_t deadline;

  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_poll_timeout(queue, &milliseconds));
  printf("nothing to wait for: %d\n", (int)milliseconds); /* as poll has it: without end */
  CHECK(chime_timer_every(queue, 5 * CHIME_MILLISECOND, on_tick, NULL, NULL, &timer));
  for (;;) {
    CHECK(chime_queue_poll_timeout(queue, &milliseconds));
    if (milliseconds < 0) break;
    poll(NULL, 0, milliseconds); /* and the descriptors of the program */
    CHECK(chime_queue_process(queue, 0, NULL));
  }
  CHECK(chime_queue_next_deadline(queue, &deadline));
  printf("the next deadline is CHIME_FOREVER: %s\n", deadline == CHIME_FOREVER ? "yes" : "no");

  options.handler = on_heartbeat;
  options.flags = CHIME_TIMER_BACKGROUND;
  schedule.interval_ns = CHIME_MILLISECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &heartbeat));
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_done, NULL, NULL, &once));
  CHECK(chime_queue_run(queue, 0)); /* until `once` is finished: nobody waits for a heartbeat */
  CHECK(chime_timer_state(heartbeat, &state));
  printf("run returned; the heartbeat still runs: %s\n", state == CHIME_STATE_RUNNING ? "yes" : "no");

  CHECK(chime_timer_every(queue, CHIME_MILLISECOND, on_tick_until_stop, &queue, NULL, &timer));
  printf("run was stopped: %s\n", chime_status_name(chime_queue_run(queue, 0)));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
