/*
 * A serial queue is also a mutex: a timer's handler and two threads of the host change one plain counter. The threads
 * do it through chime_queue_sync and chime_queue_async, and no lock is needed.
 *
 * Build:  make (or cc queue_as_mutex.c -o build/queue_as_mutex -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/queue_as_mutex
 *
 * Output:
 *   counter: 20050
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

enum { TICKS = 50, CALLS = 10000 };

static chime_queue_t queue;
static sem_t done;
static long counter, asynchronous; /* plain: only touched on the queue */

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  counter++;
  if (tick->sequence < TICKS) return;
  EXPECT(CHIME_RUNNING, chime_timer_cancel(tick->timer));
  CHECK_ZERO(sem_post(&done));
}

static void add(void *context) { *(long *)context += 1; }

static void add_later(void *context) {
  add(context);
  if (++asynchronous == CALLS) CHECK_ZERO(sem_post(&done));
}

static void print(void *context) { printf("counter: %ld\n", *(const long *)context); }

static void *synchronous_thread(void *context) {
  int call;
  for (call = 0; call < CALLS; call++) CHECK(chime_queue_sync(queue, add, context, CHIME_FOREVER));
  return NULL;
}

static void *asynchronous_thread(void *context) {
  int call;
  for (call = 0; call < CALLS; call++) CHECK(chime_queue_async(queue, add_later, context, NULL));
  return NULL;
}

int main(void) {
  chime_timer_t timer;
  pthread_t first, second;

  CHECK_ZERO(sem_init(&done, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_MILLISECOND, on_tick, NULL, NULL, &timer));
  CHECK_ZERO(pthread_create(&first, NULL, synchronous_thread, &counter));
  CHECK_ZERO(pthread_create(&second, NULL, asynchronous_thread, &counter));
  CHECK_ZERO(pthread_join(first, NULL));
  CHECK_ZERO(pthread_join(second, NULL));
  CHECK_ZERO(sem_wait(&done)); /* the last tick and the last asynchronous call, in either order */
  CHECK_ZERO(sem_wait(&done));
  CHECK(chime_queue_sync(queue, print, &counter, CHIME_FOREVER));
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  CHECK_ZERO(sem_destroy(&done));
  return 0;
}
