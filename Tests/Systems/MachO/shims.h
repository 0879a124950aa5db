/* shims.h - what stands in for libSystem where glibc has something else, or nothing. */
#ifndef CHIME_SHIMS_H
#define CHIME_SHIMS_H

#include <stddef.h>
#include <stdint.h>

/* Where the dylib lies, and its path. */
extern char *image_base;
extern size_t image_bytes;
extern char image_path[500];

/* The timebase of Apple silicon: a tick is 125/3 ns. */
uint64_t ticks_of(uint64_t nanoseconds);
uint64_t nanoseconds_of(uint64_t ticks);

#endif
