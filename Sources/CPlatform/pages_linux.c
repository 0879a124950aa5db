#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "memory.h"

void chime_memory_give_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_DONTNEED); }
#endif
