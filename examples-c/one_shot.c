/*
 * One-shots: one with an id, which stays and could be activated again until it is released; and one that is started and
 * forgotten, which releases itself once its handler has returned.
 *
 * Build:  make (or cc one_shot.c -o build/one_shot -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/one_shot
 *
 * Output:
 *   with an id: tick 1, state finished
 *   forgotten:  tick 1, state finished
 *   with an id, afterwards: CHIME_OK
 *   forgotten, afterwards:  CHIME_ERROR_INVALID_HANDLE
 */
#include "check.h"

#include <semaphore.h>

static sem_t done;
static chime_timer_t forgotten;

static void on_tick(const chime_tick *tick, void *context) {
  chime_state state;
  CHECK(chime_timer_state(tick->timer, &state)); /* a one-shot is finished before its handler starts */
  printf("%s tick %" PRIu64 ", state %s\n", (const char *)context, tick->sequence,
         state == CHIME_STATE_FINISHED ? "finished" : "not finished");
  forgotten = tick->timer; /* valid until the handler returns; the second tick leaves its id here */
}

static void on_end(void *context) {
  (void)context; /* a string constant: nothing to free */
  CHECK_ZERO(sem_post(&done));
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_state state;

  CHECK_ZERO(sem_init(&done, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_after(queue, 5 * CHIME_MILLISECOND, on_tick, "with an id:", NULL, &timer));
  CHECK(chime_timer_after(queue, 20 * CHIME_MILLISECOND, on_tick, "forgotten: ", on_end, NULL));
  CHECK_ZERO(sem_wait(&done)); /* the finalizer is the last thing that happens to a timer */
  printf("with an id, afterwards: %s\n", chime_status_name(chime_timer_state(timer, &state)));
  printf("forgotten, afterwards:  %s\n", chime_status_name(chime_timer_state(forgotten, &state)));
  CHECK(chime_timer_release(timer));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  CHECK_ZERO(sem_destroy(&done));
  return 0;
}
