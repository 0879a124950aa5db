/*
 * threads.h - threads, locks, conditions and thread-specific keys: POSIX where systems agree (folder posix), and one file a
 * system (linux/threads.c, darwin/threads.c) where they differ in what POSIX leaves open, or have no such function.
 * Windows has its own.
 *
 * The types, and what is called often, stand in include/posix/threads.h, where they are inline, and in include/windows/threads.h:
 *
 *     void chime_thread_join(uintptr_t thread)
 *     void chime_yield(void)                      others that are ready go first
 *     void chime_rest(uint32_t microseconds)      a cancellation point
 *     int chime_key_create(uint32_t *key, void (*destructor)(void *))
 *                                                 a key whose destructor is called with each thread's value when that thread
 *                                                 ends; 0 or an error number
 *     int chime_key_set(uint32_t key, const void *value)
 *     int chime_defer_cancellation(void)          a cancellation of the calling thread waits; gives the state before
 *     void chime_restore_cancellation(int state)
 *     bool chime_is_last_thread(void)             the process ends, and the system has ended all other threads already
 *     chime_lock                                  void chime_lock_init_without_inheritance(chime_lock *), _destroy, _take,
 *                                                 _give; bool _try
 *     chime_condition                             void chime_condition_destroy(chime_condition *), _signal, _broadcast,
 *                                                 _wait(chime_condition *, chime_lock *)
 *     chime_life                                  what a thread holds as long as it lives
 */
#ifndef CHIME_THREADS_H
#define CHIME_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#if defined(_WIN32)
#include "windows/threads.h"
#else
#include "posix/threads.h"
#endif

typedef struct chime_sleeper {
#if defined(__linux__)
  uint32_t is_woken, sleepers; /* atomic (P5c) */
#else
  chime_lock lock;
  chime_condition condition;
  bool is_woken;
#endif
} chime_sleeper;

#pragma GCC visibility push(hidden)

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

/*
 * Begins a thread with all signals blocked but those that a fault of its own raises: 0 or an error number. A detached one,
 * which calls a host's functions, has 8 MiB of address space for its stack, whatever the C library gives.
 */
int chime_thread_create(uintptr_t *thread, int is_detached, void *(*body)(void *), void *argument);

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

/*
 * With priority inheritance, where the system has it (chime_lock_init_without_inheritance: nowhere); but not in a forked
 * child, where libc, after a fork that was not its own, takes the thread for its parent's. There it may stand over a lock
 * whose holder is gone.
 */
void chime_lock_init(chime_lock *lock);
/* chime_lock_take for a lock that others take again and again, each for a moment: with some patience before the thread
   sleeps. */
void chime_lock_take_busy(chime_lock *lock);
/* chime_lock_take that gives up after so many nanoseconds, by whatever clock; 0: locked. */
int chime_lock_take_within(chime_lock *lock, int64_t nanoseconds);

/* On the monotonic clock. */
void chime_condition_init(chime_condition *condition);
/* Until a time on the monotonic clock. May return earlier. */
void chime_condition_wait_until(chime_condition *condition, chime_lock *lock, int64_t time);

/*
 * What a thread sleeps by, or several, of which one is woken at a time. Who wakes waits for nobody on Linux: a thread that stands
 * still in chime_sleeper_wake holds up neither the sleeper nor who else wakes it. On other systems it has a lock.
 */
void chime_sleeper_init(chime_sleeper *sleeper);
void chime_sleeper_destroy(chime_sleeper *sleeper);
void chime_sleeper_wake(chime_sleeper *sleeper);
/* Sleeps until it is woken, which may have been before, or until a time on the monotonic clock. Whether it was woken; false may
   come earlier. */
bool chime_sleeper_sleep(chime_sleeper *sleeper, int64_t time);

/* A thread's chime_life tells others that it has ended, where the system can say so. By the thread: */
void chime_life_begin(chime_life *life);
void chime_life_end(chime_life *life);
/* By another: whether the thread has ended without chime_life_end. */
bool chime_life_is_over(chime_life *life);

/* ---- What a thread is ------------------------------------------------------------------------------------------- */

bool chime_is_main_thread(void);

/* Of the calling thread. The timer slack: how much later than asked for the system may let it run. */
void chime_set_timer_slack(uint64_t nanoseconds);
/* Has it run before threads of the usual classes, as soon as it is ready: 0 or an error number. priority: 1 to 99, where
   the system knows several. */
int chime_set_realtime(int priority);
/* For debuggers; at most 15 bytes. */
void chime_set_thread_name(const char *name);

#pragma GCC visibility pop

#endif
