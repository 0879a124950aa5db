#if !defined(_WIN32)
#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

size_t chime_page_size(void) { return (size_t)getpagesize(); }

void *chime_memory_map_uncounted(size_t bytes) {
  void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  chime_memory_pages_begin(memory, bytes);
  return memory;
}

void chime_memory_unmap_uncounted(void *memory, size_t bytes) {
  chime_memory_pages_end(memory, bytes);
  munmap(memory, bytes);
}

size_t chime_memory_discarded(const void *memory, size_t bytes) {
  uintptr_t page = chime_page_size();
  uintptr_t first = ((uintptr_t)memory + page - 1) & ~(page - 1), end = ((uintptr_t)memory + bytes) & ~(page - 1);
  return first < end ? end - first : 0;
}

void chime_memory_discard(void *memory, size_t bytes) {
  uintptr_t page = chime_page_size();
  size_t whole = chime_memory_discarded(memory, bytes);
  if (whole != 0) chime_memory_give_pages((void *)(((uintptr_t)memory + page - 1) & ~(page - 1)), whole);
}
#endif
