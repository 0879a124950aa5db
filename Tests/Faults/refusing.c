/* refusing.c - see refusing.h. */
#define _GNU_SOURCE
#include "refusing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static int way = -1; /* -1: nothing is refused */
static long number;  /* of refuse() */
static long seen;    /* allocations since then */
static long refused;
static __thread long refused_to_thread __attribute__((tls_model("initial-exec")));
static long all;

/* What libc takes for a new thread is never refused here: libdispatch asks for the thread again, each second, until it
   gets it (the program `threads` is about that). */
static __thread int is_creating __attribute__((tls_model("initial-exec")));
static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((constructor)) static void find_create(void) {
  *(void **)(void *)&create = dlsym(RTLD_NEXT, "pthread_create");
}

/* Where the code is whose allocations are counted and refused; everywhere without. */
static uintptr_t only_from, only_to;

static int must_fail(const void *caller, int is_thread) {
  long n;
  int current = __atomic_load_n(&way, __ATOMIC_ACQUIRE), fails;
  if (is_creating || is_thread != (current == REFUSE_THREADS)) return 0;
  if (only_to != 0 && ((uintptr_t)caller < only_from || (uintptr_t)caller >= only_to)) return 0;
  __atomic_add_fetch(&all, 1, __ATOMIC_RELAXED);
  if (current < 0) return 0;
  n = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
  switch (current) {
    case REFUSE_ONE: fails = n == number; break;
    case REFUSE_FROM: fails = n >= number; break;
    default: /* splitmix64 of the count: the same choice for the same order of calls */ {
      uint64_t z = (uint64_t)n * UINT64_C(0x9e3779b97f4a7c15);
      z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
      z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
      fails = (z ^ z >> 31) % (uint64_t)number == 0;
    }
  }
  if (!fails) return 0;
  __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
  refused_to_thread++;
  errno = ENOMEM;
  return 1;
}

#define CALLER __builtin_return_address(0)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  int status;
  if (must_fail(CALLER, 1)) return EAGAIN;
  is_creating++;
  status = create(thread, attributes, body, argument);
  is_creating--;
  return status;
}

void *malloc(size_t size) { return must_fail(CALLER, 0) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return must_fail(CALLER, 0) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return must_fail(CALLER, 0) ? NULL : __libc_realloc(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) {
  return must_fail(CALLER, 0) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *made = must_fail(CALLER, 0) ? NULL : __libc_memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *memory = made;
  return 0;
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  if (must_fail(CALLER, 0)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void refuse(int new_way, long n) {
  __atomic_store_n(&seen, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&refused, 0, __ATOMIC_RELAXED);
  refused_to_thread = 0;
  number = n;
  __atomic_store_n(&way, new_way, __ATOMIC_RELEASE);
}

long refuse_none(void) {
  __atomic_store_n(&way, -1, __ATOMIC_RELEASE);
  return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

long refused_here(void) { return refused_to_thread; }

long allocations(void) { return __atomic_load_n(&all, __ATOMIC_RELAXED); }

void refuse_only_around(void *function) {
  struct dl_find_object found;
  if (_dl_find_object(function, &found) != 0) abort();
  only_from = (uintptr_t)found.dlfo_map_start;
  only_to = (uintptr_t)found.dlfo_map_end;
}
