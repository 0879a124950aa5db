/*
 * What one call of Chime costs from C, beside the same calls from other languages (call_*): chime_timer_state, and
 * chime_timer_postpone_until to a deadline a microsecond later each time, of one timer on a host-driven queue.
 *
 *     call OPERATIONS     prints one line: nanoseconds for each call, the smallest of five parts
 */
#include "../harness.h"

#include <chime.h>

enum { PARTS = 5 };

static void on_tick(const chime_tick *tick, void *context) {}

int main(int argc, char **argv) {
  const int64_t operations = argc > 1 ? atoll(argv[1]) : 100000;
  double state_ns = 1e9, postpone_ns = 1e9;
  chime_queue_t queue;
  chime_timer_t timer;
  chime_state state;
  int64_t begun_ns, deadline_ns = bench_now_ns() + CHIME_HOUR;
  REQUIRE(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue) == CHIME_OK);
  REQUIRE(chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, &timer) == CHIME_OK);
  for (int part = 0; part < PARTS; part++) {
    double ns;
    begun_ns = bench_now_ns();
    for (int64_t i = 0; i < operations; i++) REQUIRE(chime_timer_state(timer, &state) == CHIME_OK);
    ns = (double)(bench_now_ns() - begun_ns) / (double)operations;
    if (ns < state_ns) state_ns = ns;
    begun_ns = bench_now_ns();
    for (int64_t i = 0; i < operations; i++) {
      deadline_ns += 1000;
      REQUIRE(chime_timer_postpone_until(timer, deadline_ns) == CHIME_OK);
    }
    ns = (double)(bench_now_ns() - begun_ns) / (double)operations;
    if (ns < postpone_ns) postpone_ns = ns;
  }
  printf("{\"state\": %.1f, \"postpone_until\": %.1f}\n", state_ns, postpone_ns);
  return EXIT_SUCCESS;
}
