/*
 * Named handlers: more work at a timer's ticks. A game counts its seconds, and a display follows it from beginning to
 * end. Under another key a tracking sender is added, another one replaces it, and that one removes itself.
 *
 * Build:  make (or cc named_handlers.c -o build/named_handlers -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/named_handlers
 *
 * Output:
 *   display: 1 s
 *   display: 2 s
 *   the first sender: 2 s
 *   display: 3 s
 *   the first sender: 3 s
 *   gone: the first sender
 *   display: 4 s
 *   the second sender: 4 s, the last
 *   gone: the second sender
 *   display: 5 s
 *   remove once more: CHIME_IGNORED
 *   gone: display
 */
#include "check.h"

#include <string.h>

static int seconds;

static void count(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
  seconds++; /* the timer's own handler: all others come after it */
}

static void show(const chime_tick *tick, void *context) {
  int leaves = strcmp(context, "the second sender") == 0;
  printf("%s: %d s%s\n", (const char *)context, seconds, leaves ? ", the last" : "");
  if (leaves) EXPECT(CHIME_RUNNING, chime_timer_remove_handler(tick->timer, "tracking")); /* this call still runs */
}

static void finalize(void *context) { printf("gone: %s\n", (const char *)context); }

int main(void) {
  static char display[] = "display", first[] = "the first sender", second[] = "the second sender";
  chime_queue_t queue;
  chime_timer_t timer;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_SECOND, count, NULL, NULL, &timer));
  CHECK(chime_timer_add_handler(timer, "display", show, display, finalize));
  CHECK(chime_queue_advance(queue, CHIME_SECOND));
  CHECK(chime_timer_add_handler(timer, "tracking", show, first, finalize));
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  CHECK(chime_timer_add_handler(timer, "tracking", show, second, finalize));
  CHECK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  printf("remove once more: %s\n", chime_status_name(chime_timer_remove_handler(timer, "tracking")));
  CHECK(chime_timer_release(timer));
  CHECK(chime_queue_release(queue));
  return 0;
}
