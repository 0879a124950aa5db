/*
 * Pages: chime_target_create chime_target_retain
 *        chime_target_release chime_target_t
 * Output:
 *   ann
 *   ann
 *   ann is gone
 *   the timer: CHIME_ERROR_TARGET_GONE
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("%s\n", (const char *)tick->target);
}

static void on_destroy(void *object) {
  printf("%s is gone\n", (const char *)object);
}

int main(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_target_t target;
  chime_timer_t timer;
  void *object;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_target_create("ann", on_destroy, &target));
  options.handler = on_tick;
  options.target = target; /* held weakly */
  schedule.first_ns = CHIME_SECOND;
  schedule.interval_ns = CHIME_SECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  chime_queue_advance(queue, CHIME_SECOND);
  /* a second reference */
  if (chime_target_retain(target, &object) == CHIME_OK) {
    printf("%s\n", (const char *)object);
    chime_target_release(target);
  }
  /* the last one: the timer is cancelled */
  chime_target_release(target);
  printf("the timer: %s\n",
         chime_status_name(chime_timer_activate(timer, NULL)));
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
