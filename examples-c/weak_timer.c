/*
 * A weak timer, with what those who know Foundation's Timer look for: its interval, its tolerance, its fire date as a
 * time of day, a call of the action in between (fire), and an end for good (invalidate).
 *
 * Build:  make (or cc weak_timer.c -o build/weak_timer -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/weak_timer
 *
 * Output:
 *   every hour, up to 60 s later
 *   the next tick is in an hour: yes
 *   tick of one's own
 *   it was not moved: yes
 *   tick of the run loop
 *   valid: 1, then 0
 *   fire afterwards: CHIME_IGNORED
 */
#include "check.h"
#include <chime_run_loop.h>

static void on_tick(const chime_tick *tick, void *user_info) {
  (void)user_info;
  printf("tick of %s\n", tick->kind == CHIME_TICK_FIRED ? "one's own" : "the run loop");
}

static int64_t wall_now(void) {
  int64_t now;
  CHECK(chime_now(CHIME_CLOCK_WALL, &now));
  return now;
}

int main(void) {
  chime_weak_timer_t timer;
  int64_t tolerance, date, later;
  int32_t valid, still_valid;

  CHECK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, on_tick, NULL, NULL, NULL, &timer));
  CHECK(chime_weak_timer_set_tolerance(timer, CHIME_MINUTE));
  CHECK(chime_weak_timer_tolerance(timer, &tolerance));
  printf("every hour, up to %d s later\n", (int)(tolerance / CHIME_SECOND));
  CHECK(chime_weak_timer_fire_date(timer, &date));
  printf("the next tick is in an hour: %s\n", llabs(date - wall_now() - CHIME_HOUR) < CHIME_MINUTE ? "yes" : "no");

  CHECK(chime_weak_timer_fire(timer)); /* here and now */
  CHECK(chime_weak_timer_fire_date(timer, &later));
  printf("it was not moved: %s\n", llabs(later - date) < CHIME_SECOND ? "yes" : "no"); /* two clocks are compared */

  CHECK(chime_weak_timer_set_tolerance(timer, 0));
  CHECK(chime_weak_timer_set_fire_date(timer, wall_now() + 5 * CHIME_MILLISECOND));
  CHECK(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));

  CHECK(chime_weak_timer_is_valid(timer, &valid));
  CHECK(chime_weak_timer_invalidate(timer));
  CHECK(chime_weak_timer_is_valid(timer, &still_valid));
  printf("valid: %d, then %d\n", (int)valid, (int)still_valid);
  printf("fire afterwards: %s\n", chime_status_name(chime_weak_timer_fire(timer)));
  CHECK(chime_weak_timer_release(timer));
  return 0;
}
