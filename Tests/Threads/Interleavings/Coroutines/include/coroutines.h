/* Stackful coroutines on one thread, and the system call of the core that Swift cannot put a seam before. */
#ifndef CHIME_COROUTINES_H
#define CHIME_COROUTINES_H

#include <stddef.h>

/* Prepares memory, whose first part keeps what a switch saves and the rest of which is a stack: the first switch to it
   calls body(), which must not return. */
void chime_coroutine_prepare(void *memory, size_t size, void (*body)(void));

/* Saves the running coroutine in `from`, and goes on with `to`. */
void chime_coroutine_switch(void *from, void *to);

/* What stands in for the kernel's timers: descriptors from this on are the scheduler's. */
#define CHIME_FIRST_FILE 1000000

#endif
