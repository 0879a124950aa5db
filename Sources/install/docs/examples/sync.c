/*
 * Pages: chime_queue_sync chime_queue_async chime_function
 *        chime_finalizer
 * Output:
 *   1 put on the queue before
 *   2 by the caller, who waits
 */
#include "check.h"

static void say(void *text) { printf("%s\n", (const char *)text); }

int main(void) {
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  /* Neither runs at the same time as a handler of the queue. */
  CHECK(chime_queue_async(queue, say, "1 put on the queue before",
                          NULL));
  CHECK(chime_queue_sync(queue, say, "2 by the caller, who waits",
                         CHIME_FOREVER));
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
