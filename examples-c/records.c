/*
 * records.c - timers without callbacks: ticks that are due are copied into an array. For languages that cannot be
 * called back on foreign threads, and for programs that want to decide the order themselves.
 *
 * Build:  make (or cc records.c -o build/records -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/records
 *
 * Output:
 *   ARMED heartbeat
 *   DUE heartbeat, tick 1
 *   DUE heartbeat, tick 2
 *   FUNCTION from another place
 *   DUE heartbeat, tick 3
 *   FINALIZE heartbeat
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <poll.h>

int main(void) {
  static const char *const kinds[] = {"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"};
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_t queue;
  struct pollfd entry = {-1, POLLIN, 0};
  int finished = 0;
  queue_options.flags = CHIME_QUEUE_FLAG_RECORDS | CHIME_QUEUE_FLAG_BOUND;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, &queue_options, &queue));
  CHECK(chime_queue_fd(queue, &entry.fd));
  options.context = "heartbeat";
  options.flags = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_FINALIZE | CHIME_TIMER_SELF_RELEASE;
  schedule.first_ns = schedule.interval_ns = 20 * CHIME_MILLISECOND;
  schedule.tick_limit = 3;
  schedule.missed_policy = CHIME_MISSED_DELAY; /* three ticks on a busy machine, too */
  CHECK(chime_timer_start(queue, &options, &schedule, NULL));
  while (!finished) {
    chime_tick ticks[8];
    size_t i, count;
    poll(&entry, 1, -1);
    CHECK(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 8, &count));
    for (i = 0; i < count; i++) {
      /* A program that cancels or reschedules timers while it works through a batch asks before each tick. */
      if (ticks[i].kind == CHIME_TICK_DUE)
        EXPECT(CHIME_OK, chime_timer_check_generation(ticks[i].timer, ticks[i].generation));
      printf("%s %s", kinds[ticks[i].kind], (const char *)ticks[i].context);
      if (ticks[i].kind == CHIME_TICK_DUE) printf(", tick %d", (int)ticks[i].sequence);
      putchar('\n');
      if (ticks[i].kind == CHIME_TICK_DUE && ticks[i].sequence == 2) {
        CHECK(chime_queue_async(queue, NULL, "from another place", NULL));
      }
      if (ticks[i].kind == CHIME_TICK_FINALIZE) finished = 1;
    }
  }
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
