/*
 * GCDTimer's calls, each in a line or two: seconds, stop, restart and invalidate in any order, from any thread. Its `restart` goes
 * on after `stop`: that is chime_timer_resume. (chime_timer_restart begins anew: it counts from now, in whatever state.)
 *
 * Build:  make (or cc gcdtimer.c -o build/gcdtimer -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/gcdtimer
 *
 * Output:
 *   1.0 s
 *   2.0 s
 *   2.5 s
 *   3.0 s
 *   63.0 s, 119 missed
 *   63.5 s
 */
#include "check.h"

typedef chime_timer_t gcd_timer;

static int64_t nanoseconds(double seconds) { return (int64_t)(seconds * 1e9); }

static gcd_timer scheduled_timer(double seconds, int repeats, chime_queue_t queue, chime_handler block, void *context) {
  gcd_timer timer;
  if (repeats) {
    CHECK(chime_timer_every(queue, nanoseconds(seconds), block, context, NULL, &timer));
  } else {
    CHECK(chime_timer_after(queue, nanoseconds(seconds), block, context, NULL, &timer));
  }
  return timer;
}

static void set_time_interval(gcd_timer timer, double seconds) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = schedule.interval_ns = nanoseconds(seconds);
  CHECK(chime_timer_reschedule(timer, &schedule));
}

static void stop(gcd_timer timer) { CHECK(chime_timer_suspend(timer)); }
static void restart(gcd_timer timer) { CHECK(chime_timer_resume(timer)); }
static void invalidate(gcd_timer timer) { CHECK(chime_timer_cancel(timer)); }

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("%.1f s", (double)tick->actual_ns / 1e9);
  if (tick->missed > 0) printf(", %" PRIu64 " missed", tick->missed);
  puts("");
}

int main(void) {
  chime_queue_t queue;
  gcd_timer timer;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  timer = scheduled_timer(1, 1, queue, on_tick, NULL);
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  set_time_interval(timer, 0.5);
  CHECK(chime_queue_advance(queue, CHIME_SECOND));
  stop(timer);
  stop(timer); /* once more: ignored */
  CHECK(chime_queue_advance(queue, CHIME_MINUTE));
  restart(timer); /* what was due meanwhile is one tick, and then the old times */
  CHECK(chime_queue_advance(queue, CHIME_SECOND / 2));
  invalidate(timer);
  restart(timer); /* ignored */
  CHECK(chime_queue_advance(queue, CHIME_MINUTE));
  CHECK(chime_timer_release(timer)); /* the last reference goes */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
