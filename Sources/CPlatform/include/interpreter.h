/*
 * interpreter.h - whether an interpreter of CPython in this process is coming to its end.
 *
 * CPython ends a foreign thread (pthread_exit) that wants its lock after its end has begun, and frees the functions that
 * such threads call soon after. Who has caught such an end asks here whether that is the reason.
 */
#ifndef CHIME_INTERPRETER_H
#define CHIME_INTERPRETER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>

/* May be called on any thread, without the interpreter's lock: it reads one atomic. 0 where there is no CPython. */
static inline int chime_interpreter_is_ending(void) {
  int (*is_ending)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");              /* from 3.13 on */
  if (is_ending == 0) is_ending = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"); /* 3.7 to 3.12 */
  return is_ending != 0 && is_ending() != 0;
}

#endif
