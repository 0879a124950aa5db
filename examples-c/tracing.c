/*
 * Seeing what happens. A trace function gets a report of every transition of every timer, and of every callback, before
 * it is called and after it has returned. chime_timer_explain says in one sentence why a timer does not fire, and
 * chime_timer_get_info gives all of a timer at one instant.
 *
 * Build:  make (or cc tracing.c -o build/tracing -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/tracing
 *
 * Output:
 *   0 ms  CHIME_TRACE_CREATED
 *   0 ms  CHIME_TRACE_ACTIVATED
 *   10 ms  CHIME_TICK_DUE
 *   10 ms  CHIME_TRACE_RETURNED
 *   20 ms  CHIME_TICK_DUE
 *   20 ms  CHIME_TRACE_RETURNED
 *   20 ms  CHIME_TRACE_SUSPENDED
 *   it was suspended 5 ms ago.
 *   2 ticks, 0 missed, every 10 ms
 *   25 ms  CHIME_TRACE_RESUMED
 *   5 ms are left
 *   30 ms  CHIME_TICK_DUE
 *   30 ms  CHIME_TRACE_CANCELLED
 *   30 ms  CHIME_TRACE_RETURNED
 *   50 ms  CHIME_TRACE_RELEASED
 */
#include "check.h"

/* Called by whichever thread makes the call or runs the callback. Nothing that it does is traced. */
static void on_trace(const chime_tick *tick, void *context) {
  (void)context; /* tick->timer says which timer */
  printf("%" PRId64 " ms  %s\n", tick->actual_ns / CHIME_MILLISECOND, chime_tick_kind_name(tick->kind));
}

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->sequence == 3) EXPECT(CHIME_RUNNING, chime_timer_cancel(tick->timer)); /* this handler still runs */
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  char reason[160];
  int64_t left;

  CHECK(chime_set_trace(on_trace, NULL, NULL));
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, &timer));
  CHECK(chime_queue_advance(queue, 20 * CHIME_MILLISECOND));
  CHECK(chime_timer_suspend(timer));
  CHECK(chime_queue_advance(queue, 5 * CHIME_MILLISECOND));
  CHECK(chime_timer_explain(timer, reason, sizeof reason, NULL));
  puts(reason);
  CHECK(chime_timer_get_info(timer, &info));
  printf("%d ticks, %d missed, every %d ms\n", (int)info.sequence, (int)info.missed,
         (int)(info.interval_ns / CHIME_MILLISECOND));
  CHECK(chime_timer_resume(timer));
  CHECK(chime_timer_remaining(timer, &left));
  printf("%d ms are left\n", (int)(left / CHIME_MILLISECOND));
  CHECK(chime_queue_advance(queue, 25 * CHIME_MILLISECOND));
  CHECK(chime_timer_release(timer));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  CHECK(chime_set_trace(NULL, NULL, NULL));
  return 0;
}
