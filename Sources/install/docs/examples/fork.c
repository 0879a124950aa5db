/*
 * Pages: chime_reinitialize
 * Output:
 *   in the child: CHIME_ERROR_FORKED, then CHIME_OK
 */
#include <chime.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue))) return 1;
  if (fork() == 0) {
    printf("in the child: %s", chime_status_name(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue)));
    chime_reinitialize(); /* all ids from before are stale */
    printf(", then %s\n", chime_status_name(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue)));
    return 0;
  }
  wait(NULL);
  return CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
