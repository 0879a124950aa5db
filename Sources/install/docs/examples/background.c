/*
 * Pages: chime_run_loop_create chime_run_loop_options chime_run_loop_release chime_run_loop_main
 * Output:
 *   work, on the loop's thread
 *   the main thread has a loop: CHIME_OK
 */
#include <chime_run_loop.h>
#include <semaphore.h>
#include <stdio.h>

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
  if (CHIME_FAILED(chime_run_loop_create(&options, &loop))) return 1;
  if (CHIME_FAILED(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_queue_async(queue, work, "work, on the loop's thread", NULL))) return 1;
  sem_wait(&done);
  if (CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER))) return 1;
  chime_run_loop_release(loop); /* ends the thread */
  printf("the main thread has a loop: %s\n", chime_status_name(chime_run_loop_main(&main_loop)));
  return 0;
}
