/*
 * windows/callback_guard.h - ExitThread unwinds no frames and calls nothing that could go back (winpthreads' pthread_exit ends
 * in it, or jumps over the guard to where its thread began). So a callback cannot end its thread. The guard counts how many
 * host's functions the thread is inside, and where a thread ends inside one, Chime says so and ends the process: the pass
 * that the function was called in would keep its queue for ever. (windows/threads.c)
 */
#ifndef CHIME_CALLBACK_GUARD_WINDOWS_H
#define CHIME_CALLBACK_GUARD_WINDOWS_H

#include "thread_state.h"

#pragma GCC visibility push(hidden)

/* Where the calling thread's count stands. */
int *chime_host_functions(void);
/* The library itself is in one. */
__attribute__((__noreturn__)) void chime_continue_thread_end(void);

#pragma GCC visibility pop

#define CHIME_GUARDED_CALL(call) \
  int *const chime_depth = chime_host_functions(); \
  ++*chime_depth; \
  call; \
  --*chime_depth; \
  return 0

static inline int chime_borrow_thread(void) {
  chime_set_own_thread(1);
  return 0;
}
static inline void chime_return_thread(int before) {
  (void)before;
  chime_set_own_thread(0);
}

#endif
