/*
 * Pages: chime_weak_timer_fire chime_weak_timer_set_fire_date
 *        chime_weak_timer_fire_date
 * Output:
 *   never: yes
 *   fired
 */
#include <chime_run_loop.h>
#include "check.h"

static void on_tick(const chime_tick *tick, void *user_info) {
  (void)tick;
  printf("%s\n", (const char *)user_info);
}

int main(void) {
  chime_weak_timer_t timer;
  int64_t date;
  CHECK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, on_tick, "fired",
                                  NULL, NULL, &timer));
  chime_weak_timer_set_fire_date(timer, CHIME_FOREVER);
  chime_weak_timer_fire_date(timer, &date);
  printf("never: %s\n", date == CHIME_FOREVER ? "yes" : "no");
  /* here and now, outside the schedule */
  chime_weak_timer_fire(timer);
  return CHIME_FAILED(chime_weak_timer_release(timer));
}
