/* Counts the allocations of the process: the C library's functions, by which Swift's runtime allocates, are this file's. */
#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

/* Of all threads, since the process began; on systems without glibc always 0. */
uint64_t allocation_count(void);

#endif
