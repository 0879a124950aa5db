/*
 * Stale ticks and stale ids. After restart (or cancel, suspend, reschedule) has returned, no older tick starts; but one
 * that had started may still be waiting for your own lock. It finds out by its generation, compared under that lock. A
 * released id is an error for ever, even when its slot has been given to another timer.
 *
 * Build:  make (or cc stale.c -o build/stale -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/stale
 *
 * Output:
 *   restart: CHIME_RUNNING
 *   stale tick: nothing done
 *   current tick: work done
 *   the released id: CHIME_ERROR_INVALID_HANDLE
 *   the new timer has another id: yes
 *   cancel through the old id: CHIME_ERROR_INVALID_HANDLE
 *   cancel through the new id: CHIME_OK
 */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what the program and the handler share */
static sem_t started, done;

static void on_tick(const chime_tick *tick, void *context) {
  uint64_t generation;
  (void)context;
  CHECK_ZERO(sem_post(&started));
  CHECK_ZERO(pthread_mutex_lock(&lock)); /* the first tick waits here while main restarts the timer */
  CHECK(chime_timer_generation(tick->timer, &generation));
  if (generation != tick->generation) {
    puts("stale tick: nothing done");
  } else {
    puts("current tick: work done");
    CHECK_ZERO(sem_post(&done));
  }
  CHECK_ZERO(pthread_mutex_unlock(&lock));
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t old_timer, new_timer;

  CHECK_ZERO(sem_init(&started, 0, 0));
  CHECK_ZERO(sem_init(&done, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));

  CHECK_ZERO(pthread_mutex_lock(&lock));
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, on_tick, NULL, NULL, &old_timer));
  CHECK_ZERO(sem_wait(&started)); /* from here the handler is on its way to the lock */
  printf("restart: %s\n", chime_status_name(chime_timer_restart(old_timer, NULL)));
  CHECK_ZERO(pthread_mutex_unlock(&lock));
  CHECK_ZERO(sem_wait(&done));

  CHECK(chime_timer_cancel_and_wait(old_timer, CHIME_FOREVER)); /* finished; now its handler has returned, too */
  CHECK(chime_timer_release(old_timer));
  printf("the released id: %s\n", chime_status_name(chime_timer_cancel(old_timer)));
  CHECK(chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, &new_timer));
  printf("the new timer has another id: %s\n", new_timer != old_timer ? "yes" : "no");
  printf("cancel through the old id: %s\n", chime_status_name(chime_timer_cancel(old_timer)));
  printf("cancel through the new id: %s\n", chime_status_name(chime_timer_cancel(new_timer)));

  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  CHECK_ZERO(sem_destroy(&started));
  CHECK_ZERO(sem_destroy(&done));
  return 0;
}
