/* scaling_chime.c - Chime's serial queues: see scaling.h. */
#include "basics.h"
#include "scaling.h"

const char peer_name[] = "Chime";

static chime_queue_t *queues;
static int queue_count;

void peer_open(int count) {
  queues = calloc((size_t)count, sizeof *queues);
  MUST(queues != NULL);
  queue_count = count;
  for (int i = 0; i < count; i++) MUST(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queues[i]) == CHIME_OK);
}

void peer_close(void) {
  for (int i = 0; i < queue_count; i++) MUST(chime_queue_shutdown(queues[i], PATIENCE) == CHIME_OK);
  free(queues);
}

void peer_create(int queue, int count) {
  for (int i = 0; i < count; i++) {
    chime_timer_t timer = 0;
    int64_t delay_ns = CHIME_SECOND + i * CHIME_SECOND;
    MUST(chime_timer_after(queues[queue], delay_ns, ignore_tick, NULL, NULL, &timer) == CHIME_OK);
    MUST(chime_timer_cancel(timer) == CHIME_OK);
    MUST(chime_timer_release(timer) == CHIME_OK);
  }
}

typedef struct filled {
  int count;
  chime_timer_t timers[];
} filled;

void *peer_fill(int queue, int count) {
  filled *made = calloc(1, sizeof *made + (size_t)count * sizeof(chime_timer_t));
  MUST(made != NULL);
  made->count = count;
  for (int i = 0; i < count; i++)
    MUST(chime_timer_after(queues[queue], 30 * CHIME_SECOND, ignore_tick, NULL, NULL, &made->timers[i]) == CHIME_OK);
  return made;
}

void peer_postpone(void *timers, uint64_t *random, int count) {
  filled *made = timers;
  for (int i = 0; i < count; i++)
    MUST(chime_timer_postpone(made->timers[next_random(random) % (uint32_t)made->count], 30 * CHIME_SECOND) >= 0);
}

void peer_drop(void *timers) {
  filled *made = timers;
  for (int i = 0; i < made->count; i++) MUST(chime_timer_release(made->timers[i]) == CHIME_OK);
  free(made);
}

static void count_tick(const chime_tick *tick, void *context) {
  (void)tick;
  add(context, 1);
}

/* Released at once: a timer calls all the same. */
void peer_expire(int queue, int count) {
  int called = 0;
  for (int i = 0; i < count; i++)
    MUST(chime_timer_after(queues[queue], 0, count_tick, &called, NULL, NULL) == CHIME_OK);
  while (load(&called) < count) sleep_ns(20000);
}
