/*
 * Pages: chime_timer_start chime_schedule chime_timer_options
 *        chime_missed_policy chime_resume_policy
 * Output:
 *   CHIME_TICK_ARMED
 *   CHIME_TICK_DUE at 5 ms
 *   CHIME_TICK_DUE at 25 ms
 *   CHIME_TICK_CANCELLED
 *   the context is freed
 */
#include "check.h"

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("%s at %d ms\n", chime_tick_kind_name(tick->kind),
         (int)(tick->scheduled_ns / CHIME_MILLISECOND));
}

static void on_change(const chime_tick *tick, void *context) {
  (void)context;
  printf("%s\n", chime_tick_kind_name(tick->kind));
}

static void on_free(void *context) {
  printf("the %s is freed\n", (const char *)context);
}

int main(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  options.handler = on_tick;
  options.registration_handler = on_change;
  options.cancel_handler = on_change;
  options.context = "context";
  options.finalizer = on_free;
  options.label = "poll the sensor";
  schedule.first_ns = 5 * CHIME_MILLISECOND;
  schedule.interval_ns = 20 * CHIME_MILLISECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  chime_queue_advance(queue, 30 * CHIME_MILLISECOND);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
