/*
 * Pages: chime_set_memory_limit chime_memory_used
 * Output:
 *   too little: CHIME_ERROR_LIMIT
 *   without a limit: CHIME_OK
 *   something is held: yes
 */
#include <chime.h>
#include <stdio.h>

int main(void) {
  chime_queue_t queue;
  chime_set_memory_limit(1000); /* bytes */
  printf("too little: %s\n",
         chime_status_name(
             chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue)));
  chime_set_memory_limit(0);
  printf("without a limit: %s\n",
         chime_status_name(
             chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue)));
  printf("something is held: %s\n",
         chime_memory_used() > 0 ? "yes" : "no");
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
