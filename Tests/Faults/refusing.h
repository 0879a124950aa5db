/*
 * refusing.h - allocations that fail when a test says so: the program's malloc, calloc, realloc, posix_memalign,
 * aligned_alloc and mmap stand before libc's, for the library, too. libc's own allocations (a new thread's
 * storage) go through them as well; the mappings of its stacks do not.
 */
#ifndef FAULTS_REFUSING_H
#define FAULTS_REFUSING_H

/* Which allocations of the process are refused from now on, counted from 1. */
enum {
  REFUSE_ONE,     /* the n-th */
  REFUSE_FROM,    /* the n-th and all after it */
  REFUSE_RANDOM,  /* one in n */
  REFUSE_THREADS, /* the same of pthread_create, in place of allocations */
  REFUSE_WAYS
};
void refuse(int way, long n);

/** Nothing is refused any more. Returns how many were since `refuse`. */
long refuse_none(void);

/** How many of those were the calling thread's, which has called `refuse`. */
long refused_here(void);

/** From now on only allocations are counted and refused that the code of this function's library asks for. */
void refuse_only_around(void *function);

/** All allocations of the process so far, refused ones included. */
long allocations(void);

#endif
