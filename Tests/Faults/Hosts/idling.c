/*
 * idling.c - many threads were needed once: they go when there is nothing more to do.
 */
#include "guest.h"

enum { QUEUES = 250, BEST_MS = 6000, ROUNDS = 3 };

static int staying, may_go;

static void stay(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  add(&staying, 1);
  await(&may_go, 1);
}

/* None is left 6 s after the last queue has ended; in the best of three rounds, because the machine may be busy. */
CASES(threads_that_were_needed_once, where, SERIAL, CONCURRENT) {
  static chime_queue_t queues[QUEUES];
  int64_t best = INT64_MAX;
  int round, i;
  for (round = 0; round < ROUNDS && best > BEST_MS * CHIME_MILLISECOND; round++) {
    int64_t begun;
    store(&staying, 0);
    store(&may_go, 0);
    for (i = 0; i < QUEUES; i++) {
      REQUIRE_OK(place_make(where, NULL, &queues[i]));
      EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
    }
    EXPECT(await(&staying, QUEUES));
    store(&may_go, 1);
    for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
    begun = monotonic_ns();
    REQUIRE(guest_await_threads(1));
    if (monotonic_ns() - begun < best) best = monotonic_ns() - begun;
  }
  EXPECT_BETWEEN(best / CHIME_MILLISECOND, 0, BEST_MS);
  fault_seen("%lld ms", (long long)best / 1000000);
}
