/*
 * Values that expire: an answer is cached for 30 s and fetched again once it has vanished. A reset restarts its time.
 * An acquired answer stays valid, even beyond its time, until the yield.
 *
 * Build:  make (or cc expiring.c -o build/expiring -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/expiring
 *
 * Output:
 *    0 s: fetched: answer 1
 *   20 s: cached: answer 1
 *         good for 30 s more
 *   49 s: cached: answer 1
 *   50 s: expired: answer 1
 *         freed: answer 1
 *   60 s: fetched: answer 2
 *   90 s: expired: answer 2
 *   95 s: still at work with answer 2
 *         freed: answer 2
 */
#include "check.h"

static chime_queue_t queue;
static chime_expiring_t cached; /* 0: nothing yet */
static int answers;

static int now_s(void) {
  int64_t now;
  CHECK(chime_queue_now(queue, &now));
  return (int)(now / CHIME_SECOND);
}

static void finalize(void *value) {
  printf("      freed: answer %d\n", *(int *)value);
  free(value);
}

static void on_expiry(const chime_tick *tick, void *context) {
  (void)context;
  printf("%2d s: expired: answer %d\n", (int)(tick->actual_ns / CHIME_SECOND), *(int *)tick->target);
}

/* The answer, which the caller has until it yields. */
static int *look_up(void) {
  void *value;
  if (cached != 0 && chime_expiring_acquire(cached, &value) == CHIME_OK) {
    printf("%2d s: cached: answer %d\n", now_s(), *(int *)value);
    return value;
  }
  CHECK(chime_expiring_release(cached)); /* it has vanished; 0 does nothing */
  if ((value = malloc(sizeof(int))) == NULL) abort();
  *(int *)value = ++answers;
  chime_expiring_options options = CHIME_EXPIRING_OPTIONS_INIT;
  options.label = "answer";         /* for a dump of the queue */
  options.leeway_ns = CHIME_SECOND; /* how late it may be freed: it vanishes on time */
  CHECK(chime_expiring_create(queue, 30 * CHIME_SECOND, value, finalize, &options, &cached));
  CHECK(chime_expiring_on_expiry(cached, on_expiry, NULL, NULL));
  CHECK(chime_expiring_acquire(cached, &value));
  printf("%2d s: fetched: answer %d\n", now_s(), *(int *)value);
  return value;
}

static void use(void) {
  look_up();
  CHECK(chime_expiring_yield(cached));
}

int main(void) {
  int *answer;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  use();
  CHECK(chime_queue_advance(queue, 20 * CHIME_SECOND));
  use();
  CHECK(chime_expiring_reset(cached, 30 * CHIME_SECOND));
  puts("      good for 30 s more");
  CHECK(chime_queue_advance(queue, 29 * CHIME_SECOND));
  use();
  CHECK(chime_queue_advance(queue, 11 * CHIME_SECOND)); /* it vanishes at 50 s */
  answer = look_up();
  CHECK(chime_queue_advance(queue, 35 * CHIME_SECOND)); /* this one at 90 s, and is not freed: we have it */
  printf("%2d s: still at work with answer %d\n", now_s(), *answer);
  CHECK(chime_expiring_yield(cached));
  CHECK(chime_expiring_release(cached));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
