/*
 * A rate limit: three requests at once, then one for each 100 ms, as a bucket of tokens that a timer fills. The timer
 * starts at once and then every 100 ms (chime_timer_start); missed ticks are tokens, too (tick->missed).
 *
 * Build:  make (or cc rate_limit.c -o build/rate_limit -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/rate_limit
 *
 * Output:
 *   0 ms  request 1: served, 2 tokens left
 *   0 ms  request 2: served, 1 tokens left
 *   0 ms  request 3: served, 0 tokens left
 *   0 ms  request 4: refused
 *   150 ms  request 5: served, 0 tokens left
 *   160 ms  request 6: refused
 *   960 ms  request 7: served, 2 tokens left
 */
#include "check.h"

enum { CAPACITY = 3 };

struct bucket {
  chime_queue_t queue;
  uint64_t tokens;
  int requests;
};

static void refill(const chime_tick *tick, void *context) {
  struct bucket *bucket = context;
  if (tick->sequence == 1) return; /* the first one, at once: the bucket begins full */
  bucket->tokens += 1 + tick->missed;
  if (bucket->tokens > CAPACITY) bucket->tokens = CAPACITY;
}

static void on_request(struct bucket *bucket) {
  int64_t now;
  CHECK(chime_queue_now(bucket->queue, &now));
  printf("%" PRId64 " ms  request %d: ", now / CHIME_MILLISECOND, ++bucket->requests);
  if (bucket->tokens == 0) {
    puts("refused");
    return;
  }
  printf("served, %" PRIu64 " tokens left\n", --bucket->tokens);
}

int main(void) {
  static struct bucket bucket = {0, CAPACITY, 0};
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  int i;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &bucket.queue));
  options.handler = refill;
  options.context = &bucket;
  schedule.interval_ns = 100 * CHIME_MILLISECOND; /* first_ns is 0 */
  CHECK(chime_timer_start(bucket.queue, &options, &schedule, &timer));
  CHECK(chime_queue_advance(bucket.queue, 0));
  for (i = 0; i < 4; i++) on_request(&bucket);
  CHECK(chime_queue_advance(bucket.queue, 150 * CHIME_MILLISECOND));
  on_request(&bucket);
  CHECK(chime_queue_advance(bucket.queue, 10 * CHIME_MILLISECOND));
  on_request(&bucket);
  CHECK(chime_queue_jump(bucket.queue, 800 * CHIME_MILLISECOND)); /* the process was stopped: one tick that missed 7 */
  CHECK(chime_queue_advance(bucket.queue, 0));
  on_request(&bucket);
  CHECK(chime_timer_release_and_wait(timer, CHIME_FOREVER)); /* no handler uses the bucket any more */
  CHECK(chime_queue_shutdown(bucket.queue, CHIME_FOREVER));
  return 0;
}
