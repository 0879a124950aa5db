/*
 * refusing_threads.c - with Faults/repeating.c a library for LD_PRELOAD: one pthread_create of libchime's in $REFUSE_ONE_IN is
 * refused with EAGAIN, and each call that then answers RESOURCE is made again. In place of Faults/refusing.c, whose
 * functions these are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "refusing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

static long one_in, made, refused;
static unsigned long long state = 88172645463325252ULL;
static void *library;

void refuse_only_around(void *function) {
  Dl_info info;
  if (dladdr(function, &info) != 0) library = info.dli_fbase;
}

void refuse(int way, long n) {
  (void)way;
  __atomic_store_n(&one_in, n, __ATOMIC_RELEASE);
}

long refuse_none(void) {
  __atomic_store_n(&one_in, 0, __ATOMIC_RELEASE);
  return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

long allocations(void) { return __atomic_load_n(&made, __ATOMIC_RELAXED); }

/* Threads that roll at the same time may roll the same. */
static int is_refused(void) {
  const long n = __atomic_load_n(&one_in, __ATOMIC_ACQUIRE);
  unsigned long long next = __atomic_load_n(&state, __ATOMIC_RELAXED);
  if (n == 0) return 0;
  next ^= next << 13;
  next ^= next >> 7;
  next ^= next << 17;
  __atomic_store_n(&state, next, __ATOMIC_RELAXED);
  return next % (unsigned long long)n == 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  Dl_info info;
  if (next == NULL) *(void **)(void *)&next = dlsym(RTLD_NEXT, "pthread_create");
  if (library != NULL && dladdr(__builtin_return_address(0), &info) != 0 && info.dli_fbase == library) {
    __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    if (is_refused()) {
      __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
      return EAGAIN;
    }
  }
  return next(thread, attributes, body, argument);
}
