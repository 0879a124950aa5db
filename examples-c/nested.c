/*
 * Nested timers: a repeating timer whose handler starts a one-shot for each element of an array, staggered by its
 * index. Nobody keeps the one-shots: each holds itself until it has ended, so this can go on for ever without growing.
 * The queue is virtual, so that the output is exact; on a serial queue the same code runs in real time.
 *
 * Build:  make (or cc nested.c -o build/nested -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/nested
 *
 * Output:
 *   1000 ms: round 1
 *   1000 ms:   red
 *   1100 ms:   green
 *   1200 ms:   blue
 *   2000 ms: round 2
 *   2000 ms:   red
 *   2100 ms:   green
 *   2200 ms:   blue
 *   3000 ms: round 3
 *   3000 ms:   red
 *   3100 ms:   green
 *   timers that exist at 3150 ms: 2
 */
#include "check.h"

static chime_queue_t queue;
static char *const lamps[] = {"red", "green", "blue"};

static void on_lamp(const chime_tick *tick, void *context) {
  printf("%4" PRId64 " ms:   %s\n", tick->actual_ns / CHIME_MILLISECOND, (const char *)context);
}

static void on_round(const chime_tick *tick, void *context) {
  size_t index;
  (void)context;
  printf("%4" PRId64 " ms: round %" PRIu64 "\n", tick->actual_ns / CHIME_MILLISECOND, tick->sequence);
  for (index = 0; index < sizeof lamps / sizeof *lamps; index++)
    CHECK(chime_timer_after(queue, (int64_t)index * 100 * CHIME_MILLISECOND, on_lamp, lamps[index], NULL, NULL));
}

int main(void) {
  chime_timer_t rounds;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_SECOND, on_round, NULL, NULL, &rounds));
  CHECK(chime_queue_advance(queue, 3150 * CHIME_MILLISECOND));

  CHECK(chime_queue_get_stats(queue, &stats)); /* the rounds, and the last "blue"; shutdown releases both */
  printf("timers that exist at 3150 ms: %" PRIu64 "\n", stats.timers);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
