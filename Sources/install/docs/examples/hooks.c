/*
 * Pages: chime_set_thread_hooks
 * Output:
 *   a thread of Chime's begins
 *   work
 */
#include <chime.h>
#include <stdio.h>

static void begin(void *context) {
  (void)context;
  printf("a thread of Chime's begins\n"); /* attach it to a language's runtime */
}

static void work(void *context) { printf("%s\n", (const char *)context); }

int main(void) {
  chime_queue_t queue;
  chime_set_thread_hooks(begin, NULL, NULL);
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_queue_sync(queue, work, "work", CHIME_FOREVER))) return 1;
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
