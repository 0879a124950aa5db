/*
 * RNTimer's calls: a repeating timer in seconds, `fire` for a tick at once, and `invalidate`, which frees what the block holds.
 *
 * Build:  make (or cc rntimer.c -o build/rntimer -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/rntimer
 *
 * Output:
 *   fired at 0.3 s
 *   due at 1.0 s
 *   due at 2.0 s
 *   freed
 *   one hour later
 */
#include "check.h"

#include <string.h>

typedef chime_timer_t rn_timer;

static rn_timer repeating_timer(double seconds, chime_queue_t queue, chime_handler block, void *context,
                                chime_finalizer finalizer) {
  rn_timer timer;
  CHECK(chime_timer_every(queue, (int64_t)(seconds * 1e9), block, context, finalizer, &timer));
  return timer;
}

static void fire(rn_timer timer) { /* on the queue; the schedule stays */
  if (timer != 0) CHECK(chime_timer_fire(timer));
}
static void invalidate(rn_timer *timer) { /* and `dealloc`, which does the same */
  CHECK(chime_timer_release(*timer));
  *timer = 0; /* so that once more does nothing */
}

static void on_tick(const chime_tick *tick, void *word) {
  printf("%s %s %.1f s\n", tick->kind == CHIME_TICK_FIRED ? "fired" : "due", (const char *)word,
         (double)tick->actual_ns / 1e9);
}

static void on_end(void *word) {
  free(word);
  puts("freed");
}

int main(void) {
  chime_queue_t queue;
  rn_timer timer;
  char *word = malloc(3);
  if (word == NULL) return EXIT_FAILURE;
  memcpy(word, "at", 3);
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  timer = repeating_timer(1, queue, on_tick, word, on_end);
  CHECK(chime_queue_advance(queue, 300 * CHIME_MILLISECOND));
  fire(timer);
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  invalidate(&timer);
  puts("one hour later");
  CHECK(chime_queue_advance(queue, CHIME_HOUR));
  invalidate(&timer);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
