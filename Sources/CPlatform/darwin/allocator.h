/*
 * darwin/allocator.h - how memory.c gets between libchime and libSystem's allocator, where linkers have no --wrap.
 *
 * What libchime defines itself it calls itself: a reference is bound to a definition in the same library before one in
 * another, so hidden functions with the C library's names get the library's own calls, and nobody else's. Behind them are
 * the functions of the zone that was the default one at first. libdispatch, which is the system's, never comes here.
 */
#include <errno.h>
#include <malloc/malloc.h>
#include <stddef.h>

#define __wrap_malloc malloc
#define __wrap_calloc calloc
#define __wrap_posix_memalign posix_memalign
#define __wrap_free free
#define __wrap_strdup strdup
#define __wrap_asprintf asprintf

static malloc_zone_t *system_zone(void) {
  static malloc_zone_t *zone;
  malloc_zone_t *found = __atomic_load_n(&zone, __ATOMIC_RELAXED), *none = 0;
  if (found != 0) return found;
  found = malloc_default_zone();
  return __atomic_compare_exchange_n(&zone, &none, found, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? found : none;
}
static void *__real_malloc(size_t bytes) { return malloc_zone_malloc(system_zone(), bytes); }
static int __real_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = malloc_zone_memalign(system_zone(), alignment, bytes);
  return *memory == 0 ? ENOMEM : 0;
}
static void __real_free(void *memory) { malloc_zone_free(system_zone(), memory); }
