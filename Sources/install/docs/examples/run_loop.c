/*
 * Pages: chime_run_loop_current chime_run_loop_run
 *        chime_run_loop_stop chime_run_loop_add_common_mode
 *        chime_queue_create_on_run_loop chime_run_loop_t
 *        CHIME_RUN_LOOP_DEFAULT_MODE
 * Output:
 *   tick 1
 *   tick 2
 *   stopped: yes
 */
#include <chime_run_loop.h>
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  printf("tick %d\n", (int)tick->sequence);
  if (tick->sequence == 2)
    chime_run_loop_stop(*(chime_run_loop_t *)context);
}

int main(void) {
  chime_run_loop_t loop;
  chime_queue_t queue;
  CHECK(chime_run_loop_current(&loop));
  CHECK(chime_run_loop_add_common_mode(loop, "tracking"));
  CHECK(chime_queue_create_on_run_loop(
      loop, CHIME_RUN_LOOP_COMMON_MODES, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick,
                          &loop, NULL, NULL));
  printf("stopped: %s\n",
         chime_run_loop_run("tracking", CHIME_FOREVER, 0) ==
                 CHIME_STOPPED
             ? "yes"
             : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
