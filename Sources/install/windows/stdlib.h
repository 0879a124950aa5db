/* What Chime's Swift code sees of Windows' C library (windows.mk). */
#ifndef CHIME_WINDOWS_STDLIB_H
#define CHIME_WINDOWS_STDLIB_H

#include <stddef.h>

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void free(void *memory);
int posix_memalign(void **memory, size_t alignment, size_t bytes); /* memory.c's: that library has none */
void abort(void) __attribute__((__noreturn__));

#endif
