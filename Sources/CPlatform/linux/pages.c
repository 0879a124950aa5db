#if defined(__linux__)
#include "../posix/pages.h"

#include <sys/mman.h>

#include "memory.h"

/* LeakSanitizer's, present where the program was built with it. It searches mapped pages only if they are registered. */
void __lsan_register_root_region(const void *first, size_t bytes) __attribute__((weak));
void __lsan_unregister_root_region(const void *first, size_t bytes) __attribute__((weak));

void chime_memory_pages_begin(const void *first, size_t bytes) {
  if (__lsan_register_root_region != 0) __lsan_register_root_region(first, bytes);
}

void chime_memory_pages_end(const void *first, size_t bytes) {
  if (__lsan_unregister_root_region != 0) __lsan_unregister_root_region(first, bytes);
}

/* The system takes them where a mapping has a whole one at its boundary, and the machine's owner has not forbidden it. */
void *chime_memory_map_huge_uncounted(size_t bytes) {
  char *whole =
      mmap(0, bytes + CHIME_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return 0;
  size_t before = -(uintptr_t)whole % CHIME_HUGE_PAGE;
  char *memory = whole + before;
  if (before != 0) munmap(whole, before);
  munmap(memory + bytes, CHIME_HUGE_PAGE - before);
  madvise(memory, bytes, MADV_HUGEPAGE);
  chime_memory_pages_begin(memory, bytes);
  return memory;
}

void chime_memory_give_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_DONTNEED); }
#endif
