/*
 * GCDTimer's calls, each in a line or two: seconds, stop, restart and invalidate in any order, from any thread. Its `restart` goes
 * on after `stop`: that is chime_timer_resume. (chime_timer_restart begins anew: it counts from now, in whatever state.) A timer
 * that does not repeat stays one whatever its interval, and `invalidate` lets go of what the block holds.
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
 *   freed
 *   64.5 s
 *   freed
 */
#include "check.h"

typedef struct gcd_timer {
  chime_timer_t id; /* 0 once it is invalid */
  int repeats;
} gcd_timer;

static chime_schedule schedule_of(double seconds, int repeats) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = (int64_t)(seconds * 1e9);
  if (repeats) schedule.interval_ns = schedule.first_ns;
  return schedule;
}

static gcd_timer scheduled_timer(double seconds, int repeats, chime_queue_t queue, chime_handler block, void *context,
                                 chime_finalizer finalizer) {
  gcd_timer timer = {0, repeats};
  chime_schedule schedule = schedule_of(seconds, repeats);
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = block;
  options.context = context;
  options.finalizer = finalizer;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer.id));
  return timer;
}

static void set_time_interval(gcd_timer *timer, double seconds) {
  chime_schedule schedule = schedule_of(seconds, timer->repeats);
  if (timer->id != 0) CHECK(chime_timer_reschedule(timer->id, &schedule));
}

static void stop(gcd_timer *timer) {
  if (timer->id != 0) CHECK(chime_timer_suspend(timer->id));
}
static void restart(gcd_timer *timer) {
  if (timer->id != 0) CHECK(chime_timer_resume(timer->id));
}
static void invalidate(gcd_timer *timer) { /* and `dealloc`: the block is freed, after a call of it that runs */
  CHECK(chime_timer_release(timer->id));
  timer->id = 0;
}

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("%.1f s", (double)tick->actual_ns / 1e9);
  if (tick->missed > 0) printf(", %" PRIu64 " missed", tick->missed);
  puts("");
}

static void on_end(void *context) {
  free(context);
  puts("freed");
}

int main(void) {
  chime_queue_t queue;
  gcd_timer timer;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  timer = scheduled_timer(1, 1, queue, on_tick, malloc(1), on_end);
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  set_time_interval(&timer, 0.5);
  CHECK(chime_queue_advance(queue, CHIME_SECOND));
  stop(&timer);
  stop(&timer); /* once more: ignored */
  CHECK(chime_queue_advance(queue, CHIME_MINUTE));
  restart(&timer); /* what was due meanwhile is one tick, and then the old times */
  CHECK(chime_queue_advance(queue, CHIME_SECOND / 2));
  invalidate(&timer);
  restart(&timer); /* ignored, as each call is from now on */
  invalidate(&timer);
  timer = scheduled_timer(2, 0, queue, on_tick, malloc(1), on_end);
  set_time_interval(&timer, 0.5);
  set_time_interval(&timer, 1);
  CHECK(chime_queue_advance(queue, CHIME_MINUTE)); /* one tick */
  set_time_interval(&timer, 0.5);
  CHECK(chime_queue_advance(queue, CHIME_MINUTE)); /* none */
  invalidate(&timer);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
