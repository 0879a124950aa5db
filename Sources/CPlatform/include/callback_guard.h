/*
 * callback_guard.h - calls a function of the host's and catches the end of the thread: pthread_exit or a cancellation
 * inside it unwinds the function's frames (cleanup handlers, destructors of C++) down to here, and no further. libdispatch
 * ends the process when one of its threads ends, and a pass of Chime that is unwound would leave its queue locked.
 *
 * glibc: this is what <pthread.h>'s own pthread_cleanup_push expands to in C, with glibc's public functions of it, except
 * that the handler returns instead of going on with the unwinding. A host that compiles with -fexceptions has these
 * functions hidden by <pthread.h>; so they are declared here. Afterwards glibc takes the thread for one that is ending:
 * further cancellations have no effect on it, pthread_exit ends it again (and is caught again), and setuid and its like
 * pass it over.
 *
 * musl: a cleanup function that jumps back; see below. Windows: the end of a thread cannot be caught, and ends the process.
 */
#ifndef CHIME_CALLBACK_GUARD_H
#define CHIME_CALLBACK_GUARD_H
#include <errno.h>
#if defined(_WIN32)
#include "windows/callback_guard.h"
#else
#include <pthread.h>
#include <setjmp.h>

#if defined(__SANITIZE_ADDRESS__)
#define CHIME_GUARD_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define CHIME_GUARD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHIME_GUARD_ASAN 1
#elif __has_feature(thread_sanitizer)
#define CHIME_GUARD_TSAN 1
#endif
#endif

#include "thread_state.h"
#include "threads.h"

/*
 * On a thread of Chime's own, cancellation is on inside the host's functions only, and one that is pending when such a
 * function ends acts there: it is that function's, and the next one need not end for it. What such a function sets is
 * gone when it has ended. Not inlined: other threads' calls would save registers for them.
 */
static __attribute__((noinline, unused)) int chime_host_begins(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
  return before;
}
static __attribute__((noinline, unused)) void chime_host_ends(int before) {
  if (!chime_is_own_thread()) return;
  pthread_testcancel();
  pthread_setcancelstate(before, 0);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, 0);
}
#define CHIME_HOST_CALL(call) \
  if (chime_is_own_thread()) { \
    const volatile int chime_before = chime_host_begins(); \
    call; \
    chime_ended = 2; \
    chime_host_ends(chime_before); \
  } else { \
    call; \
    chime_ended = 2; \
  }

/*
 * Has the calling thread, one of libdispatch's, count as one of Chime's own until chime_return_thread. Gives what that takes.
 */
static inline int chime_borrow_thread(void) {
  int before = chime_defer_cancellation();
  chime_set_own_thread(1);
  return before;
}
static inline void chime_return_thread(int before) {
  if (!chime_is_own_thread()) return; /* a function has ended it */
  chime_set_own_thread(0);
  chime_restore_cancellation(before);
}

/* The function has ended the thread: no cancellation acts on it any more. */
static inline void chime_host_has_ended(void) {
  if (!chime_is_own_thread()) return;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
  chime_set_own_thread(0);
}

#if defined(__GLIBC__)

#ifndef __cleanup_fct_attribute
#define __cleanup_fct_attribute
#endif
extern void __pthread_register_cancel(__pthread_unwind_buf_t *) __cleanup_fct_attribute;
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *) __cleanup_fct_attribute;
extern void __pthread_unwind_next(__pthread_unwind_buf_t *) __cleanup_fct_attribute __attribute__((__noreturn__));

#if CHIME_GUARD_ASAN
extern void __asan_unpoison_memory_region(void const volatile *, size_t);
/* The frames that were unwound lie below this one; what they have poisoned would be reported in the next ones. */
static inline void chime_guard_caught(char *frame) {
  size_t depth = 64 * 1024; /* less than the smallest stack that libdispatch or a host has under this sanitizer */
  __asan_unpoison_memory_region(frame - depth, depth);
}
#else
#define chime_guard_caught(frame) ((void)0)
#endif

/*
 * __sigsetjmp is declared for the longer jmp_buf; with 0 (no signal mask, so no system call) it uses only the part that
 * both share.
 *
 * The thread sanitizer does not see glibc's own jump. One more pair of its own, setjmp and longjmp, resets its record of
 * frames, which would overflow after some thousands.
 */
typedef union chime_guard_buffer {
  __pthread_unwind_buf_t end;
  struct __jmp_buf_tag jump[1];
} chime_guard_buffer;

#if CHIME_GUARD_TSAN
#define CHIME_GUARDED_CALL(call) \
  volatile int chime_ended = 1; \
  chime_guard_buffer chime_buffer; \
  jmp_buf chime_frame; \
  if (setjmp(chime_frame) != 0) return chime_host_has_ended(), chime_ended; \
  if (__builtin_expect(__sigsetjmp(chime_buffer.jump, 0) != 0, 0)) { \
    __pthread_unregister_cancel(&chime_buffer.end); \
    longjmp(chime_frame, 1); \
  } \
  __pthread_register_cancel(&chime_buffer.end); \
  CHIME_HOST_CALL(call) \
  __pthread_unregister_cancel(&chime_buffer.end); \
  return 0
#else
#define CHIME_GUARDED_CALL(call) \
  volatile int chime_ended = 1; \
  chime_guard_buffer chime_buffer; \
  if (__builtin_expect(__sigsetjmp(chime_buffer.jump, 0) != 0, 0)) { \
    __pthread_unregister_cancel(&chime_buffer.end); \
    chime_guard_caught((char *)&chime_buffer); \
    return chime_host_has_ended(), chime_ended; \
  } \
  __pthread_register_cancel(&chime_buffer.end); \
  CHIME_HOST_CALL(call) \
  __pthread_unregister_cancel(&chime_buffer.end); \
  return 0
#endif

/* Goes on with the end that was caught, from here: the thread keeps its result, handlers further out are called. */
static inline __attribute__((__noreturn__)) void chime_continue_thread_end(void) {
  __pthread_unwind_buf_t here;
  __pthread_register_cancel(&here);   /* notes the innermost buffer in `here`, */
  __pthread_unregister_cancel(&here); /* which is where __pthread_unwind_next goes on */
  __pthread_unwind_next(&here);
}

#elif defined(__linux__)

/*
 * musl unwinds no frames. pthread_exit, and a cancellation, which ends in it, call the thread's cleanup functions, innermost
 * first, before they do anything that cannot be undone. So when this one is called, those of the host's function have been,
 * and it jumps back to the guard. (POSIX leaves such a jump undefined; musl's pthread_exit is what makes it right.)
 * Afterwards the thread's cancellation is off, and pthread_exit ends it again and is caught again.
 */
static inline void chime_guard_caught(void *frame) { longjmp(*(jmp_buf *)frame, 1); }

#define CHIME_GUARDED_CALL(call) \
  volatile int chime_ended = 1; \
  jmp_buf chime_frame; \
  if (__builtin_expect(_setjmp(chime_frame) != 0, 0)) return chime_host_has_ended(), chime_ended; \
  pthread_cleanup_push(chime_guard_caught, &chime_frame); \
  CHIME_HOST_CALL(call) \
  pthread_cleanup_pop(0); \
  return 0

/* The result that the host gave is lost: musl has no way to read it before the thread is joined. */
static inline __attribute__((__noreturn__)) void chime_continue_thread_end(void) { pthread_exit(0); }

#elif defined(__APPLE__)

/*
 * pthread_exit, and a cancellation, which ends in it, call the thread's cleanup functions, innermost first, before they do
 * anything that cannot be undone, and unwind no frames. So when this one is called, those of the host's function have been,
 * and it jumps back to the guard. (POSIX leaves such a jump undefined; that Apple's libpthread allows it was never seen on
 * one of its systems.) Afterwards the thread's cancellation is off, and pthread_exit ends it again and is caught again. A
 * thread of libdispatch is none that pthread_exit may end: that ends the process.
 *
 * This is what <pthread.h>'s own pthread_cleanup_push expands to, and keeps what was there before, which the jump passes over.
 */
static inline void chime_guard_caught(void *frame) { _longjmp(*(jmp_buf *)frame, 1); }

#define CHIME_GUARDED_CALL(call) \
  volatile int chime_ended = 1; \
  jmp_buf chime_frame; \
  struct __darwin_pthread_handler_rec *const chime_outer = pthread_self()->__cleanup_stack; \
  struct __darwin_pthread_handler_rec chime_handler = {chime_guard_caught, &chime_frame, chime_outer}; \
  if (__builtin_expect(_setjmp(chime_frame) != 0, 0)) { \
    pthread_self()->__cleanup_stack = chime_outer; \
    return chime_host_has_ended(), chime_ended; \
  } \
  pthread_self()->__cleanup_stack = &chime_handler; \
  CHIME_HOST_CALL(call) \
  pthread_self()->__cleanup_stack = chime_outer; \
  return 0

/* The result that the host gave is lost, as there is no way to read it before the thread is joined. */
static inline __attribute__((__noreturn__)) void chime_continue_thread_end(void) { pthread_exit(0); }

#else /* no known C library: an end cannot be caught */

#define CHIME_GUARDED_CALL(call) \
  call; \
  return 0

static inline __attribute__((__noreturn__)) void chime_continue_thread_end(void) { pthread_exit(0); }

#endif
#endif

static inline int chime_guarded_tick(void (*function)(const void *, void *), const void *tick, void *context) {
  CHIME_GUARDED_CALL(function(tick, context));
}

static inline int chime_guarded_function(void (*function)(void *), void *context) {
  CHIME_GUARDED_CALL(function(context));
}

/*
 * 0: the function has returned; 1: it has ended the thread, which nevertheless goes on here; 2: it has returned, and a
 * cancellation that it left pending has ended the thread. Whatever the function did to errno, the call of Chime's around it
 * leaves errno as it was.
 */
static inline int chime_call_tick(void (*function)(const void *, void *), const void *tick, void *context) {
  const int error = errno;
  const int ended = chime_guarded_tick(function, tick, context);
  errno = error;
  return ended;
}

static inline int chime_call_function(void (*function)(void *), void *context) {
  const int error = errno;
  const int ended = chime_guarded_function(function, context);
  errno = error;
  return ended;
}

#endif
