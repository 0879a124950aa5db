/* posix/pages.h - what posix/pages.c asks of linux/pages.c and darwin/pages.c. */
#ifndef CHIME_PAGES_H
#define CHIME_PAGES_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Lets the system have whole pages, whose contents go. */
void chime_memory_give_pages(void *first, size_t bytes);

/* Mapped pages begin, and end, to be Chime's: for tools that look for pointers. */
void chime_memory_pages_begin(const void *first, size_t bytes);
void chime_memory_pages_end(const void *first, size_t bytes);

#pragma GCC visibility pop

#endif
