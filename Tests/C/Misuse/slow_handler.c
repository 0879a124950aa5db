/* A handler that is too slow holds up the other timers of its serial queue. */
#include "misuse.h"

static int begun;

static void read_a_file_over_the_network(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
  for (;;) sleep_ms(100);
}

static void beat(const chime_tick *tick, void *context) { (void)tick, (void)context; }

int main(void) {
  chime_queue_t queue;
  chime_timer_t slow, late;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
  options.handler = read_a_file_over_the_network;
  options.label = "slow";
  told(chime_timer_start(queue, &options, &schedule, &slow));
  await(&begun);
  options.handler = beat;
  options.label = "late";
  schedule.first_ns = CHIME_MILLISECOND;
  told(chime_timer_start(queue, &options, &schedule, &late));
  await_deadline(late);
  look(queue, late);
}
