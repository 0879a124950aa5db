/*
 * Finalizers: a context that Chime accepted is freed exactly once, after the last callback that could use it, whoever
 * ends the timer. A context that it did not accept stays the caller's.
 *
 * Build:  make (or cc finalizers.c -o build/finalizers -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/finalizers
 *
 * Output:
 *   freed: released by the program
 *   tick:  released in its own handler
 *   freed: released in its own handler
 *   tick:  a forgotten one-shot
 *   freed: a forgotten one-shot
 *   not accepted: CHIME_ERROR_INVALID_ARGUMENT
 *   freed: not accepted, freed by the program
 *   cancelled: not freed yet
 *   freed: released with its queue
 *   contexts made: 5, freed: 5
 */
#include "check.h"

#include <string.h>

static int made, freed;

static char *make(const char *text) {
  char *context = malloc(strlen(text) + 1);
  if (context == NULL) abort();
  made++;
  return strcpy(context, text);
}

static void finalize(void *context) {
  printf("freed: %s\n", (const char *)context);
  freed++;
  free(context);
}

static void on_tick(const chime_tick *tick, void *context) {
  if (strstr(context, "own handler") != NULL) EXPECT(CHIME_RUNNING, chime_timer_release(tick->timer));
  printf("tick:  %s\n", (const char *)context); /* released or not: the context lives until the handler returns */
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_status status;
  char *refused;

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));

  CHECK(chime_timer_every(queue, CHIME_SECOND, on_tick, make("released by the program"), finalize, &timer));
  CHECK(chime_timer_release(timer));
  CHECK(chime_timer_every(queue, CHIME_SECOND, on_tick, make("released in its own handler"), finalize, &timer));
  CHECK(chime_queue_advance(queue, 10 * CHIME_SECOND));
  CHECK(chime_timer_after(queue, CHIME_SECOND, on_tick, make("a forgotten one-shot"), finalize, NULL));
  CHECK(chime_queue_advance(queue, 10 * CHIME_SECOND));

  refused = make("not accepted, freed by the program");
  status = chime_timer_every(queue, 0, on_tick, refused, finalize, &timer); /* an interval of 0 */
  printf("not accepted: %s\n", chime_status_name(status));
  if (CHIME_FAILED(status)) finalize(refused);

  CHECK(chime_timer_every(queue, CHIME_SECOND, on_tick, make("released with its queue"), finalize, &timer));
  CHECK(chime_timer_cancel(timer)); /* it could be activated again, so the context stays */
  puts("cancelled: not freed yet");
  CHECK(chime_queue_release(queue));
  printf("contexts made: %d, freed: %d\n", made, freed);
  return 0;
}
