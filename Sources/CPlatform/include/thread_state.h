/* thread_state.h - a pointer and a few numbers for each thread, of those in thread_locals.h. */
#ifndef CHIME_THREAD_STATE_H
#define CHIME_THREAD_STATE_H

#include <stdint.h>
#if !defined(__APPLE__) && !defined(_WIN32)
#include "thread_locals.h"
#endif

#pragma GCC visibility push(hidden)

/* What the system calls the calling thread, and tools show: for people. */
int64_t chime_system_thread(void);

#if defined(__APPLE__) || defined(_WIN32)
/* Thread-local variables are reached by a call on Apple's systems anyway, and by none that Swift, told of no operating system,
   gets right. So these are functions, of darwin/thread_state.c and windows/thread_state.c. */
void *chime_thread_state(void);
void chime_set_thread_state(void *state);
int chime_is_own_thread(void);
void chime_set_own_thread(int is_own);
int chime_thread_is_over(void);
void chime_set_thread_over(void);
uint64_t chime_own_thread_number(void);
#else
static inline void *chime_thread_state(void) { return thread_of_chime.state; }
static inline void chime_set_thread_state(void *state) { thread_of_chime.state = state; }

/* Whether the calling thread is one of Chime's own, which can be cancelled inside the host's functions (callback_guard.h). */
static inline int chime_is_own_thread(void) { return thread_of_chime.is_own; }
static inline void chime_set_own_thread(int is_own) { thread_of_chime.is_own = is_own != 0; }

/* Whether the thread is ending, and what Chime has kept for it is gone. */
static inline int chime_thread_is_over(void) { return thread_of_chime.is_over; }
static inline void chime_set_thread_over(void) { thread_of_chime.is_over = 1; }

uint64_t chime_number_thread(void);

/*
 * The calling thread's number, above 0, which no other thread of the process has or will have. (The number of a thread that
 * has ended, as pthread_self gives it, is soon another thread's.)
 */
static inline uint64_t chime_own_thread_number(void) {
  return thread_of_chime.number != 0 ? thread_of_chime.number : chime_number_thread();
}
#endif

#pragma GCC visibility pop

#endif
