/*
 * Leeway: 100 one-shots, a millisecond apart from 1,000 to 1,099 ms. Without leeway each needs a wake-up of its own;
 * with 50 ms they share three: Chime places a timer at the first multiple of g at or after its deadline, g the largest of
 * 1, 2, 5, 10, 20, 50, ... ns that is not above the leeway, here 50 ms.
 *   1000 ms    for the deadline 1000 ms
 *   1050 ms    for 1001 to 1050
 *   1100 ms    for 1051 to 1099
 *
 * A late tick does not move the next one: a repeating timer with leeway keeps its grid.
 *
 * Build:  make (or cc leeway.c -o build/leeway -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/leeway
 *
 * Output:
 *   leeway  0 ms: 100 ticks, 100 wake-ups, 0 early, 0 too late
 *   leeway 50 ms: 100 ticks, 3 wake-ups, 0 early, 0 too late
 *   every 90 ms, leeway 50 ms: due at 90, 180, 270 ms; came at 100, 200, 300 ms
 */
#include "check.h"

static int64_t leeway_ns;
static int early, too_late;

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->actual_ns < tick->scheduled_ns) early++;
  if (tick->actual_ns > tick->scheduled_ns + leeway_ns) too_late++;
}

static void run(void) {
  chime_queue_t queue;
  chime_timer_t timer; /* the ids are not kept: the queue releases its timers */
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_stats before = CHIME_QUEUE_STATS_INIT, after = CHIME_QUEUE_STATS_INIT;
  int index;

  queue_options.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY; /* other queues always do; a virtual one is exact otherwise */
  options.handler = on_tick;
  schedule.leeway_ns = leeway_ns;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue));
  for (index = 0; index < 100; index++) {
    schedule.first_ns = (1000 + index) * CHIME_MILLISECOND;
    CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  }
  CHECK(chime_queue_advance(queue, 0)); /* the pass that puts the new timers in their places is not counted */
  CHECK(chime_queue_get_stats(queue, &before));
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  CHECK(chime_queue_get_stats(queue, &after));
  printf("leeway %2" PRId64 " ms: %" PRIu64 " ticks, %" PRIu64 " wake-ups, %d early, %d too late\n",
         leeway_ns / CHIME_MILLISECOND, after.ticks - before.ticks,
         (after.passes - after.empty_passes) - (before.passes - before.empty_passes), early, too_late);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
}

static void note(const chime_tick *tick, void *context) {
  int *times = context;
  times[tick->sequence - 1] = (int)(tick->scheduled_ns / CHIME_MILLISECOND);
  times[tick->sequence + 2] = (int)(tick->actual_ns / CHIME_MILLISECOND);
}

static void repeat(void) {
  chime_queue_t queue;
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  int times[6]; /* of each tick, when it was due; then when each came */

  queue_options.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY;
  options.handler = note;
  options.context = times;
  schedule.first_ns = schedule.interval_ns = 90 * CHIME_MILLISECOND;
  schedule.leeway_ns = leeway_ns;
  schedule.tick_limit = 3;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue));
  CHECK(chime_timer_start(queue, &options, &schedule, NULL));
  CHECK(chime_queue_advance(queue, CHIME_SECOND));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("every 90 ms, leeway 50 ms: due at %d, %d, %d ms; came at %d, %d, %d ms\n", times[0], times[1], times[2],
         times[3], times[4], times[5]);
}

int main(void) {
  run();
  leeway_ns = 50 * CHIME_MILLISECOND;
  run();
  repeat();
  return 0;
}
