/*
 * Modes: a timer in the default mode rests while its loop runs in another one, as when the user tracks a slider; one in
 * the common modes goes on. Back in its mode the first gets one tick for all that it missed; then its grid continues.
 *
 * Build:  make (or cc run_loop_modes.c -o build/run_loop_modes -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/run_loop_modes
 *
 * Output:
 *   tracking: common 1
 *   tracking: common 2
 *   tracking: common 3
 *   default:  resting 1, missed 10 or more, a whole number of intervals late
 *   default:  resting 2, on its grid
 */
#include "check.h"
#include <chime_run_loop.h>

static const int64_t interval_ns = 5 * CHIME_MILLISECOND;
static int64_t first_due;

static void on_common(const chime_tick *tick, void *context) {
  (void)context;
  printf("tracking: common %" PRIu64 "\n", tick->sequence);
}

static void on_resting(const chime_tick *tick, void *context) {
  (void)context;
  printf("default:  resting %" PRIu64, tick->sequence);
  if (tick->sequence == 1) printf(", missed %s", tick->missed >= 10 ? "10 or more" : "fewer than 10");
  if ((tick->scheduled_ns - first_due) % interval_ns != 0) printf(", off its grid\n");
  else printf(tick->sequence == 1 ? ", a whole number of intervals late\n" : ", on its grid\n");
}

int main(void) {
  chime_run_loop_t loop;
  chime_queue_t common, queue;
  chime_timer_t ticking, resting;
  int i;

  CHECK(chime_run_loop_current(&loop));
  CHECK(chime_run_loop_add_common_mode(loop, "tracking"));
  CHECK(chime_queue_create_on_run_loop(loop, CHIME_RUN_LOOP_COMMON_MODES, NULL, &common));
  CHECK(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue));
  CHECK(chime_timer_every(queue, interval_ns, on_resting, NULL, NULL, &resting));
  CHECK(chime_timer_every(common, 4 * interval_ns, on_common, NULL, NULL, &ticking));
  CHECK(chime_timer_next_deadline(resting, &first_due));

  for (i = 0; i < 3; i++) CHECK(chime_run_loop_run("tracking", CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  CHECK(chime_queue_shutdown(common, CHIME_FOREVER));
  for (i = 0; i < 2; i++) CHECK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
