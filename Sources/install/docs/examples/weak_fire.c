/*
 * Pages: chime_weak_timer_fire chime_weak_timer_set_fire_date chime_weak_timer_fire_date
 * Output:
 *   never: yes
 *   fired
 */
#include <chime_run_loop.h>
#include <stdio.h>

static void on_tick(const chime_tick *tick, void *user_info) {
  (void)tick;
  printf("%s\n", (const char *)user_info);
}

int main(void) {
  chime_weak_timer_t timer;
  int64_t date;
  if (CHIME_FAILED(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, on_tick, "fired", NULL, NULL, &timer))) return 1;
  chime_weak_timer_set_fire_date(timer, CHIME_FOREVER);
  chime_weak_timer_fire_date(timer, &date);
  printf("never: %s\n", date == CHIME_FOREVER ? "yes" : "no");
  chime_weak_timer_fire(timer); /* here and now, outside the schedule */
  return CHIME_FAILED(chime_weak_timer_release(timer));
}
