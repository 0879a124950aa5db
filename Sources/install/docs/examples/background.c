/*
 * Pages: chime_run_loop_create chime_run_loop_options
 *        chime_run_loop_release chime_run_loop_main
 * Output:
 *   work, on the loop's thread
 *   the main thread has a loop: CHIME_OK
 */
#include <chime_run_loop.h>
#include "check.h"
#include <semaphore.h>

static sem_t done;

static void work(void *context) {
  printf("%s\n", (const char *)context);
  sem_post(&done);
}

int main(void) {
  chime_run_loop_t loop, main_loop;
  chime_queue_t queue;
  chime_run_loop_options options = CHIME_RUN_LOOP_OPTIONS_INIT;
  sem_init(&done, 0, 0);
  options.label = "background";
  CHECK(chime_run_loop_create(&options, &loop));
  CHECK(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue));
  CHECK(chime_queue_async(queue, work, "work, on the loop's thread",
                          NULL));
  sem_wait(&done);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  chime_run_loop_release(loop); /* ends the thread */
  printf("the main thread has a loop: %s\n",
         chime_status_name(chime_run_loop_main(&main_loop)));
  return 0;
}
