/* posix/threads.h - what threads.h has of pthreads. */
#ifndef CHIME_THREADS_POSIX_H
#define CHIME_THREADS_POSIX_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

static inline void chime_thread_join(uintptr_t thread) { pthread_join((pthread_t)thread, 0); }
static inline void chime_yield(void) { sched_yield(); }
static inline void chime_rest(uint32_t microseconds) { usleep(microseconds); }

static inline int chime_key_create(uint32_t *key, void (*destructor)(void *)) {
  pthread_key_t made;
  int error = pthread_key_create(&made, destructor);
  if (error == 0) *key = (uint32_t)made;
  return error;
}
static inline int chime_key_set(uint32_t key, const void *value) {
  return pthread_setspecific((pthread_key_t)key, value);
}

static inline int chime_defer_cancellation(void) {
  int before = PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}
static inline void chime_restore_cancellation(int state) { pthread_setcancelstate(state, 0); }

static inline bool chime_is_last_thread(void) { return false; }

/* For a thread of Chime's own whose maker gets a processor only when nobody else wants it: its class is the usual one from the
   beginning. False if it is its maker's. The other takes that back. */
bool chime_set_usual_class(pthread_attr_t *attributes);
void chime_inherit_class(pthread_attr_t *attributes);

typedef struct chime_lock {
  pthread_mutex_t mutex;
} chime_lock;
static inline void chime_lock_init_without_inheritance(chime_lock *lock) { pthread_mutex_init(&lock->mutex, 0); }
static inline void chime_lock_destroy(chime_lock *lock) { pthread_mutex_destroy(&lock->mutex); }
static inline void chime_lock_take(chime_lock *lock) { pthread_mutex_lock(&lock->mutex); }
static inline bool chime_lock_try(chime_lock *lock) { return pthread_mutex_trylock(&lock->mutex) == 0; }
static inline void chime_lock_give(chime_lock *lock) { pthread_mutex_unlock(&lock->mutex); }

typedef struct chime_condition {
  pthread_cond_t condition;
} chime_condition;
static inline void chime_condition_destroy(chime_condition *condition) { pthread_cond_destroy(&condition->condition); }
static inline void chime_condition_wait(chime_condition *condition, chime_lock *lock) {
  pthread_cond_wait(&condition->condition, &lock->mutex);
}
static inline void chime_condition_signal(chime_condition *condition) { pthread_cond_signal(&condition->condition); }
static inline void chime_condition_broadcast(chime_condition *condition) {
  pthread_cond_broadcast(&condition->condition);
}

typedef struct chime_life {
  pthread_mutex_t mutex;
} chime_life;

#pragma GCC visibility pop

#endif
