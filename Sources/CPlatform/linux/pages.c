#if defined(__linux__)
#include "../posix/pages.h"

#include <sys/mman.h>

/* LeakSanitizer's, present where the program was built with it. It searches mapped pages only if they are registered. */
void __lsan_register_root_region(const void *first, size_t bytes) __attribute__((weak));
void __lsan_unregister_root_region(const void *first, size_t bytes) __attribute__((weak));

void chime_memory_pages_begin(const void *first, size_t bytes) {
  if (__lsan_register_root_region != 0) __lsan_register_root_region(first, bytes);
}

void chime_memory_pages_end(const void *first, size_t bytes) {
  if (__lsan_unregister_root_region != 0) __lsan_unregister_root_region(first, bytes);
}

void chime_memory_give_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_DONTNEED); }
#endif
