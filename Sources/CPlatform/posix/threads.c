#if !defined(_WIN32)
#include "threads.h"

#include <errno.h>
#include <signal.h>

#include "callback_guard.h"
#include "forks.h"
#include "thread_state.h"

/* What a thread raises itself. Its handler, a garbage collector's or a crash reporter's, has to run on that thread. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

int chime_thread_create(uintptr_t *thread, int is_detached, void *(*body)(void *), void *argument) {
  pthread_t made;
  pthread_attr_t attributes;
  sigset_t blocked, before;
  bool is_usual = false;
  int error;
  pthread_attr_init(&attributes);
  if (is_detached) {
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
    is_usual = chime_set_usual_class(&attributes);
  }
  /* A new thread inherits its maker's mask. */
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  error = pthread_create(&made, &attributes, body, argument);
  if (error == EPERM && is_usual) {
    chime_inherit_class(&attributes);
    error = pthread_create(&made, &attributes, body, argument);
  }
  pthread_sigmask(SIG_SETMASK, &before, 0);
  pthread_attr_destroy(&attributes);
  if (error == 0) *thread = (uintptr_t)made;
  return error;
}

void chime_lock_init(chime_lock *lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (!chime_is_in_child()) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&lock->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void chime_begin_own_thread(void) {
  chime_set_own_thread(1);
  chime_defer_cancellation();
}

static void nothing(void *context) { (void)context; }

/* At the end of a function of the host's a pending cancellation acts, and the guard catches it. */
bool chime_take_cancellation(void) { return chime_guarded_function(nothing, 0) != 0; }
#endif
