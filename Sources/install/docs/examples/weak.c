/*
 * Pages: chime_weak_timer_create chime_weak_timer_schedule
 *        chime_weak_timer_add chime_weak_timer_invalidate
 *        chime_weak_timer_is_valid chime_weak_timer_set_tolerance
 *        chime_weak_timer_tolerance chime_weak_timer_release
 *        chime_weak_timer_t chime_weak_timer_options
 * Output:
 *   tolerance 2 ms, then 3 ms
 *   ann
 *   valid: 1
 *   valid: 0
 */
#include <chime_run_loop.h>
#include "check.h"

static void on_tick(const chime_tick *tick, void *user_info) {
  (void)tick;
  printf("%s\n", (const char *)user_info);
}

static void say(chime_weak_timer_t timer) {
  int32_t valid;
  if (chime_weak_timer_is_valid(timer, &valid) == CHIME_OK)
    printf("valid: %d\n", (int)valid);
}

int main(void) {
  chime_run_loop_t loop;
  chime_weak_timer_t timer, once;
  int64_t tolerance;
  chime_weak_timer_options options = CHIME_WEAK_TIMER_OPTIONS_INIT;
  options.tolerance_ns = 2 * CHIME_MILLISECOND;
  options.label = "ann's";
  CHECK(chime_run_loop_current(&loop));
  CHECK(chime_weak_timer_create(10 * CHIME_MILLISECOND, 1, 0,
                                on_tick, "ann", NULL, &options,
                                &timer));
  chime_weak_timer_tolerance(timer, &tolerance);
  printf("tolerance %d ms", (int)(tolerance / CHIME_MILLISECOND));
  chime_weak_timer_set_tolerance(timer, 3 * CHIME_MILLISECOND);
  chime_weak_timer_tolerance(timer, &tolerance);
  printf(", then %d ms\n", (int)(tolerance / CHIME_MILLISECOND));
  CHECK(chime_weak_timer_add(timer, loop, NULL));
  /* create and add in one step: */
  CHECK(chime_weak_timer_schedule(CHIME_HOUR, 0, 0, on_tick, "bob",
                                  NULL, NULL, &once));
  chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK);
  say(timer);
  chime_weak_timer_invalidate(timer);
  say(timer);
  chime_weak_timer_release(once);
  return CHIME_FAILED(chime_weak_timer_release(timer));
}
