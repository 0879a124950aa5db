#if defined(__APPLE__)
#include "../posix/pages.h"

#include <sys/mman.h>

#include "memory.h"

/* Its tools look into mapped pages by themselves. */
void chime_memory_pages_begin(const void *first, size_t bytes) { (void)first, (void)bytes; }
void chime_memory_pages_end(const void *first, size_t bytes) { (void)first, (void)bytes; }

/* It has none for a process. */
void *chime_memory_map_huge_uncounted(size_t bytes) { return chime_memory_map_uncounted(bytes); }

/* Until the system takes them they keep their contents: whoever gives pages back has no use for what is in them, and does
   not count on zeroes. (MADV_DONTNEED is a hint there, and keeps them.) */
void chime_memory_give_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_FREE); }
#endif
