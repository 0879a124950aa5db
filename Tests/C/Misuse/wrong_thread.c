/* A bound queue is driven by another thread than its own. */
#include "misuse.h"

#include <pthread.h>

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static void *drive(void *queue) {
  told(chime_queue_process(*(chime_queue_t *)queue, 0, NULL));
  return NULL;
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  pthread_t thread;
  chime_queue_options of_queue = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  of_queue.flags = CHIME_QUEUE_BOUND;
  chime_queue_create(CHIME_QUEUE_HOST, &of_queue, &queue);
  options.handler = beat;
  options.label = "heartbeat";
  chime_timer_start(queue, &options, &schedule, &timer);
  await_deadline(timer);
  pthread_create(&thread, NULL, drive, &queue);
  pthread_join(thread, NULL);
  look(queue, timer);
}
