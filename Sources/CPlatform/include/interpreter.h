/*
 * interpreter.h - whether an interpreter of CPython in this process is coming to its end.
 *
 * CPython ends a foreign thread (pthread_exit) that wants its lock after its end has begun, and frees the functions that
 * such threads call soon after. So a callback asks first; see ThreadEnd.
 */
#ifndef CHIME_INTERPRETER_H
#define CHIME_INTERPRETER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>

/* CPython's own answer: not 0 from the moment on in which its end has begun. May be called on any thread, without the
   interpreter's lock: it reads one atomic. */
typedef int (*chime_interpreter_question)(void);

/* The question, or NULL where there is no CPython yet. The interpreter stays mapped from then on. Takes the dynamic
   linker's lock, so the caller holds none. */
static inline chime_interpreter_question chime_find_interpreter(void) {
  void *found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");               /* from 3.13 on */
  Dl_info info;
  if (found == 0) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"); /* 3.7 to 3.12 */
  if (found != 0 && dladdr(found, &info) != 0) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return (chime_interpreter_question)found;
}

#endif
