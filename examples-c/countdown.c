/*
 * A countdown: a tick limit ends the timer. At the last tick it is finished before the handler starts, and can be
 * started again. The limit counts due times, so a countdown that missed some still ends on time.
 *
 * Build:  make (or cc countdown.c -o build/countdown -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/countdown
 *
 * Output:
 *    1.0 s: 2 left
 *    2.0 s: 1 left
 *    3.0 s: 0 left, finished
 *   again at 10 s
 *   11.0 s: 2 left
 *   12.0 s: 1 left
 *   13.0 s: 0 left, finished
 *   again at 20 s, asleep until 22.5 s
 *   22.5 s: 1 left
 *   23.0 s: 0 left, finished
 */
#include "check.h"

enum { COUNT = 3 };

static void on_tick(const chime_tick *tick, void *context) {
  uint64_t *left = context;
  chime_state state;
  *left -= 1 + tick->missed;
  CHECK(chime_timer_state(tick->timer, &state));
  printf("%4.1f s: %" PRIu64 " left%s\n", (double)tick->actual_ns / (double)CHIME_SECOND, *left,
         state == CHIME_STATE_FINISHED ? ", finished" : "");
}

int main(void) {
  uint64_t left = COUNT;
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;

  options.handler = on_tick;
  options.context = &left;
  schedule.first_ns = schedule.interval_ns = CHIME_SECOND;
  schedule.tick_limit = COUNT;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  CHECK(chime_queue_advance(queue, 10 * CHIME_SECOND));

  puts("again at 10 s");
  left = COUNT;
  CHECK(chime_timer_restart(timer, NULL)); /* NULL: the schedule that it has */
  CHECK(chime_queue_advance(queue, 10 * CHIME_SECOND));

  puts("again at 20 s, asleep until 22.5 s");
  left = COUNT;
  CHECK(chime_timer_restart(timer, NULL));
  CHECK(chime_queue_jump(queue, 2500 * CHIME_MILLISECOND)); /* 21 s and 22 s pass: one tick for both */
  CHECK(chime_queue_advance(queue, 7500 * CHIME_MILLISECOND));

  CHECK(chime_timer_release(timer));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
