/*
 * thread_state.h - a pointer and a few numbers for each thread. With glibc they are reached without a call: initial-exec
 * storage, which a library loaded by dlopen can have, too, as long as it is this little. (pthread_getspecific is some 25
 * instructions each time.) musl refuses to load a library that has initial-exec storage; there the variables are reached by
 * a call, except in a static program, for which the linker takes the call out.
 */
#ifndef CHIME_THREAD_STATE_H
#define CHIME_THREAD_STATE_H

#include <stdint.h>
#if defined(__linux__)
#include <features.h>
#endif

/* The storage model of the library's own thread-local variables. */
#if defined(__GLIBC__)
#define CHIME_THREAD_LOCAL_MODEL tls_model("initial-exec")
#else
#define CHIME_THREAD_LOCAL_MODEL tls_model("global-dynamic")
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
extern __attribute__((CHIME_THREAD_LOCAL_MODEL)) _Thread_local void *thread_state_of_chime;

static inline void *chime_thread_state(void) { return thread_state_of_chime; }
static inline void chime_set_thread_state(void *state) { thread_state_of_chime = state; }

extern __attribute__((CHIME_THREAD_LOCAL_MODEL)) _Thread_local int is_thread_of_chime, thread_of_chime_is_over;

/* Whether the calling thread is one of Chime's own, which can be cancelled inside the host's functions (callback_guard.h). */
static inline int chime_is_own_thread(void) { return is_thread_of_chime; }
static inline void chime_set_own_thread(int is_own) { is_thread_of_chime = is_own; }

/* Whether the thread is ending, and what Chime has kept for it is gone. */
static inline int chime_thread_is_over(void) { return thread_of_chime_is_over; }
static inline void chime_set_thread_over(void) { thread_of_chime_is_over = 1; }

uint64_t chime_number_thread(void);

extern __attribute__((CHIME_THREAD_LOCAL_MODEL)) _Thread_local uint64_t thread_number_of_chime;

/*
 * The calling thread's number, above 0, which no other thread of the process has or will have. (The number of a thread that
 * has ended, as pthread_self gives it, is soon another thread's.)
 */
static inline uint64_t chime_own_thread_number(void) {
  return thread_number_of_chime != 0 ? thread_number_of_chime : chime_number_thread();
}
#endif

#pragma GCC visibility pop

#endif
