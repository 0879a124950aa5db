/*
 * A concurrent queue, for slow handlers that have nothing to do with each other: those of different timers overlap. Here each
 * of two waits until the other one is inside, too, which on a serial queue would be for ever. Handlers of one timer never
 * overlap, on any queue.
 *
 * Build:  make (or cc concurrent.c -o build/concurrent -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/concurrent
 *
 * Output:
 *   both are inside at once
 *   both have returned
 */
#define _POSIX_C_SOURCE 200809L
#include <chime.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "check.h"

static pthread_barrier_t inside;
static sem_t returned;

static void on_slow(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  if (pthread_barrier_wait(&inside) == PTHREAD_BARRIER_SERIAL_THREAD) printf("both are inside at once\n");
  sem_post(&returned);
}

int main(void) {
  chime_queue_t queue;
  pthread_barrier_init(&inside, NULL, 2);
  sem_init(&returned, 0, 0);
  CHECK(chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, on_slow, NULL, NULL, NULL)); /* nobody holds it */
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, on_slow, NULL, NULL, NULL));
  sem_wait(&returned);
  sem_wait(&returned);
  printf("both have returned\n");
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
