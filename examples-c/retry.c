/*
 * Retry with backoff and jitter: after each failure the next attempt waits for a random time, of at most 100 ms, then 200,
 * 400 and so on up to 1 s, so that many clients do not come back together. The handler restarts its own timer: that
 * returns CHIME_RUNNING, which is no failure, because the handler has not returned yet.
 *
 * Build:  make (or cc retry.c -o build/retry -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/retry
 *
 * Output:
 *   0 ms  attempt 1 failed, again in at most 100 ms
 *   restart in the own handler: CHIME_RUNNING
 *   2 ms  attempt 2 failed, again in at most 200 ms
 *   11 ms  attempt 3 failed, again in at most 400 ms
 *   26 ms  attempt 4 failed, again in at most 800 ms
 *   556 ms  attempt 5 failed, again in at most 1000 ms
 *   1201 ms  attempt 6 succeeded
 */
#include "check.h"

struct request {
  int attempts;
  uint32_t random; /* of a client of its own; seeded, so that the output is the same each time */
};

static int64_t random_below(struct request *request, int64_t bound) {
  request->random = request->random * 1664525 + 1013904223;
  return (int64_t)((uint64_t)request->random * (uint64_t)bound >> 32);
}

static void attempt(const chime_tick *tick, void *context) {
  struct request *request = context;
  int64_t now_ms = tick->actual_ns / CHIME_MILLISECOND, most = 100 * CHIME_MILLISECOND;
  chime_status status;
  int i;

  if (++request->attempts == 6) {
    printf("%" PRId64 " ms  attempt 6 succeeded\n", now_ms);
    return; /* a one-shot that is not started again is finished */
  }
  for (i = 1; i < request->attempts && most < CHIME_SECOND; i++) most *= 2;
  if (most > CHIME_SECOND) most = CHIME_SECOND;
  printf("%" PRId64 " ms  attempt %d failed, again in at most %" PRId64 " ms\n", now_ms, request->attempts,
         most / CHIME_MILLISECOND);
  status = chime_timer_restart_after(tick->timer, random_below(request, most));
  if (CHIME_FAILED(status)) exit(EXIT_FAILURE);
  if (request->attempts == 1) printf("restart in the own handler: %s\n", chime_status_name(status));
}

int main(void) {
  static struct request request = {0, 2026};
  chime_queue_t queue;
  chime_timer_t timer;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_after(queue, 0, attempt, &request, NULL, &timer));
  CHECK(chime_queue_advance(queue, CHIME_MINUTE));
  CHECK(chime_timer_release(timer));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
