/*
 * threads.h - threads, locks, conditions and thread-specific keys: POSIX where systems agree (threads.c), and one file a
 * system (threads_linux.c, threads_darwin.c) where they differ in what POSIX leaves open, or have no such function.
 */
#ifndef CHIME_THREADS_H
#define CHIME_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

/*
 * Begins a thread with all signals blocked but those that a fault of its own raises: 0 or an error number. A detached one,
 * which calls a host's functions, has 8 MiB of address space for its stack, whatever the C library gives.
 */
int chime_thread_create(uintptr_t *thread, int is_detached, void *(*body)(void *), void *argument);
static inline void chime_thread_join(uintptr_t thread) { pthread_join((pthread_t)thread, 0); }

/* Others that are ready go first. */
static inline void chime_yield(void) { sched_yield(); }
/* A cancellation point. */
static inline void chime_rest(uint32_t microseconds) { usleep(microseconds); }

/* A key whose destructor is called with each thread's value when that thread ends. 0 or an error number. */
static inline int chime_key_create(uint32_t *key, void (*destructor)(void *)) {
  pthread_key_t made;
  int error = pthread_key_create(&made, destructor);
  if (error == 0) *key = (uint32_t)made;
  return error;
}
static inline int chime_key_set(uint32_t key, const void *value) {
  return pthread_setspecific((pthread_key_t)key, value);
}

/*
 * What a thread of Chime's own calls first: it can be cancelled inside the host's functions only (callback_guard.h).
 */
void chime_begin_own_thread(void);

/*
 * Whether a cancellation of the calling thread, one of Chime's own, was pending. It has been taken: the thread goes on here,
 * and should end. Called where the thread holds nothing.
 */
bool chime_take_cancellation(void);

/* ---- Locks and conditions --------------------------------------------------------------------------------------- */

typedef struct chime_lock {
  pthread_mutex_t mutex;
} chime_lock;

/* With priority inheritance, where the system has it; but not in a forked child, where libc, after a fork that was not its
   own, takes the thread for its parent's. There it may stand over a lock whose holder is gone. */
void chime_lock_init(chime_lock *lock);
/* Without, wherever it is. */
static inline void chime_lock_init_plain(chime_lock *lock) { pthread_mutex_init(&lock->mutex, 0); }
static inline void chime_lock_destroy(chime_lock *lock) { pthread_mutex_destroy(&lock->mutex); }
static inline void chime_lock_take(chime_lock *lock) { pthread_mutex_lock(&lock->mutex); }
static inline bool chime_lock_try(chime_lock *lock) { return pthread_mutex_trylock(&lock->mutex) == 0; }
/* The same for a lock that others take again and again, each for a moment: with some patience before the thread sleeps. */
void chime_lock_take_busy(chime_lock *lock);
static inline void chime_lock_give(chime_lock *lock) { pthread_mutex_unlock(&lock->mutex); }

typedef struct chime_condition {
  pthread_cond_t condition;
} chime_condition;

/* On the monotonic clock. */
void chime_condition_init(chime_condition *condition);
static inline void chime_condition_destroy(chime_condition *condition) { pthread_cond_destroy(&condition->condition); }
static inline void chime_condition_wait(chime_condition *condition, chime_lock *lock) {
  pthread_cond_wait(&condition->condition, &lock->mutex);
}
/* Until a time on the monotonic clock. May return earlier. */
void chime_condition_wait_until(chime_condition *condition, chime_lock *lock, int64_t time);
static inline void chime_condition_signal(chime_condition *condition) { pthread_cond_signal(&condition->condition); }
static inline void chime_condition_broadcast(chime_condition *condition) {
  pthread_cond_broadcast(&condition->condition);
}

/* pthread_mutex_lock that gives up after so many nanoseconds, by whatever clock; 0: locked. */
int chime_mutex_lock_within(pthread_mutex_t *mutex, int64_t nanoseconds);

/* A lock that a thread holds as long as it lives, which tells others that it has ended, where the system can say so. */
typedef struct chime_life {
  pthread_mutex_t mutex;
} chime_life;
/* By the thread. */
void chime_life_begin(chime_life *life);
void chime_life_end(chime_life *life);
/* By another: the thread has ended without chime_life_end. */
bool chime_life_is_over(chime_life *life);

/* ---- What a thread is ------------------------------------------------------------------------------------------- */

bool chime_is_main_thread(void);

/* Of the calling thread. The timer slack: how much later than asked for the system may let it run. */
void chime_set_timer_slack(unsigned long nanoseconds);
/* Binds it to processors, a bit for each; 0 or an error number. chime_can_set_affinity: whether the system does that. */
bool chime_can_set_affinity(void);
int chime_set_affinity(uint64_t processors);
/* Has it run before threads of the usual classes, as soon as it is ready: 0 or an error number. priority: 1 to 99, where
   the system knows several. */
int chime_set_realtime(int priority);
/* For debuggers; at most 15 bytes. */
void chime_set_thread_name(const char *name);

#pragma GCC visibility pop

#endif
