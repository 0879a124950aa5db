/* windows/threads.h - what threads.h has on Windows; no header of the system's. */
#ifndef CHIME_THREADS_WINDOWS_H
#define CHIME_THREADS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

void chime_thread_join(uintptr_t thread);
void chime_yield(void);
void chime_rest(uint32_t microseconds);

/* Fibers share a thread and not its values: a host that changes fibers inside a callback is none of ours. */
int chime_key_create(uint32_t *key, void (*destructor)(void *));
int chime_key_set(uint32_t key, const void *value);

/* Nobody can cancel a thread. */
static inline int chime_defer_cancellation(void) { return 0; }
static inline void chime_restore_cancellation(int state) { (void)state; }

/* Whether the process is ending, and the system has ended all other threads, wherever they were. */
bool chime_is_last_thread(void);

/* An SRWLOCK, which has no priority inheritance. */
typedef struct chime_lock {
  void *lock;
} chime_lock;
static inline void chime_lock_init_without_inheritance(chime_lock *lock) { lock->lock = 0; }
static inline void chime_lock_destroy(chime_lock *lock) { (void)lock; }
void chime_lock_take(chime_lock *lock);
bool chime_lock_try(chime_lock *lock);
void chime_lock_give(chime_lock *lock);

/* Chime's own, since the limits of the system's end with a tick of its clock, some 15 ms: an SRWLOCK, and who waits. */
typedef struct chime_condition {
  void *lock, *waiting;
} chime_condition;
static inline void chime_condition_destroy(chime_condition *condition) { (void)condition; }
void chime_condition_wait(chime_condition *condition, chime_lock *lock);
void chime_condition_signal(chime_condition *condition);
void chime_condition_broadcast(chime_condition *condition);

/* A handle of the thread. */
typedef struct chime_life {
  void *thread;
} chime_life;

#pragma GCC visibility pop

#endif
