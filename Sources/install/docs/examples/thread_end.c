/*
 * Pages: chime-threads
 * Output:
 *   tick 1, which ends its thread
 *   its timer is cancelled
 *   the next timer ticks on another thread
 */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t done;

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("tick %d, which ends its thread\n", (int)tick->sequence);
  pthread_exit(NULL);
}

static void on_cancel(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  printf("its timer is cancelled\n");
  sem_post(&done);
}

static void on_other(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  printf("the next timer ticks on another thread\n");
  sem_post(&done);
}

int main(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  chime_queue_t queue;
  sem_init(&done, 0, 0);
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  options.handler = on_tick;
  options.cancel_handler = on_cancel;
  schedule.interval_ns = 10 * CHIME_MILLISECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  sem_wait(&done);
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, on_other, NULL,
                          NULL, NULL));
  sem_wait(&done);
  chime_timer_release(timer);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
