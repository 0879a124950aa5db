#if defined(_WIN32)
#include "memory.h"

#include "handles.h"

size_t chime_page_size(void) { return 4096; }

/* Pages count against the system's limit of commitment from now on, and are made when they are written. */
void *chime_memory_map_uncounted(size_t bytes) {
  return VirtualAlloc(0, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/* Large pages want a privilege. */
void *chime_memory_map_huge_uncounted(size_t bytes) { return chime_memory_map_uncounted(bytes); }

void chime_memory_unmap_uncounted(void *memory, size_t bytes) {
  (void)bytes;
  VirtualFree(memory, 0, MEM_RELEASE);
}

/* Until the system takes them they keep their contents, and their commitment always. MEM_RESET takes pages that are whole. */
void chime_memory_discard(void *memory, size_t bytes) {
  uintptr_t page = chime_page_size();
  uintptr_t first = ((uintptr_t)memory + page - 1) & ~(page - 1), end = ((uintptr_t)memory + bytes) & ~(page - 1);
  if (first < end) VirtualAlloc((void *)first, end - first, MEM_RESET, PAGE_READWRITE);
}

size_t chime_memory_discarded(const void *memory, size_t bytes) { return (void)memory, (void)bytes, 0; }
#endif
