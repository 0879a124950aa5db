/*
 * Pages: chime_queue_global
 * Output:
 *   ran
 */
#include <chime.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t done;

static void work(void *context) {
  printf("%s\n", (const char *)context);
  sem_post(&done);
}

int main(void) {
  chime_queue_t queue;
  sem_init(&done, 0, 0);
  if (CHIME_FAILED(chime_queue_global(CHIME_QOS_UTILITY, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_queue_async(queue, work, "ran", NULL))) return 1;
  sem_wait(&done);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
