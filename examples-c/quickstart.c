/*
 * Quick start: a repeating timer on a queue of its own, stopped inside its own handler at the third tick.
 *
 * Build:  make (or cc quickstart.c -o build/quickstart -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/quickstart
 *
 * Output:
 *   tick 1
 *   tick 2
 *   tick 3
 *   done
 */
#include "check.h"

#include <semaphore.h>

static void on_tick(const chime_tick *tick, void *context) {
  sem_t *done = context;
  printf("tick %" PRIu64 "\n", tick->sequence);
  if (tick->sequence == 3) {
    EXPECT(CHIME_RUNNING, chime_timer_cancel(tick->timer)); /* it took effect; the running handler is this one */
    CHECK_ZERO(sem_post(done));
  }
}

int main(void) {
  sem_t done;
  chime_queue_t queue;
  chime_timer_t timer;

  CHECK_ZERO(sem_init(&done, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 10 * CHIME_MILLISECOND, on_tick, &done, NULL, &timer));
  CHECK_ZERO(sem_wait(&done));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER)); /* releases the timer too; from here on no handler runs */
  CHECK_ZERO(sem_destroy(&done));
  puts("done");
  return 0;
}
