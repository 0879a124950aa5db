/* Stackful coroutines on one thread, and the few system calls of the core that Swift cannot put a seam before. */
#ifndef CHIME_COROUTINES_H
#define CHIME_COROUTINES_H

#include <stddef.h>
#include <stdint.h>

/* Saves the running coroutine's registers on its stack and its stack pointer in *from, and goes on with `to`. */
void chime_coroutine_switch(void **from, void *to);

/* Prepares a stack on which the first switch calls body(argument), which must not return. */
void *chime_coroutine_prepare(void *stack, size_t size, void (*body)(void *), void *argument);

/* What stands in for the kernel's timers: descriptors from CHIME_FIRST_FILE on are the scheduler's. */
#define CHIME_FIRST_FILE 1000000
struct chime_files {
  int (*make)(void);
  void (*set)(int file, int64_t time); /* nanoseconds; 0: for never */
  void (*close)(int file);
};
extern struct chime_files chime_files;

/* Return addresses, innermost first, by the frame pointers. */
int chime_callers(void **addresses, int most);

#endif
