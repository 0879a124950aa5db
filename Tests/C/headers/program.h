/* program.h - what trace.c and dump.c share: calls that must answer so, and queues and timers that must be had. */
#include "basics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(expected, call) check((call), (expected), #call, __FILE__, __LINE__)
static inline void check(int64_t got, int64_t expected, const char *call, const char *file, int line) {
  if (got == expected) return;
  fprintf(stderr, "%s:%d: %s is %" PRId64 " (%s), not %" PRId64 "\n", file, line, call, got, chime_last_error_detail(),
          expected);
  _exit(2);
}

static inline chime_queue_t queue_of(chime_queue_kind kind, const char *label) {
  chime_queue_t queue = 0;
  CHECK(CHIME_OK, chime_queue_create(kind, &QUEUE_OPTIONS(.label = label), &queue));
  return queue;
}

static inline void count_tick(const chime_tick *tick, void *count) {
  (void)tick;
  if (count != NULL) add(count, 1);
}

static inline chime_timer_t timer_of(chime_queue_t queue, const char *label, int *count, int64_t first_ns,
                                     int64_t interval_ns, uint64_t limit) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = count_tick, .context = count, .label = label);
  chime_timer_t timer = 0;
  CHECK(CHIME_OK,
        chime_timer_start(queue, &options,
                          &SCHEDULE(.first_ns = first_ns, .interval_ns = interval_ns, .tick_limit = limit), &timer));
  return timer;
}
