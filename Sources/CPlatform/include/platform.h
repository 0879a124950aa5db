/*
 * platform.h - what Chime needs of the system: C's own headers, and functions for all else. No other header of CPlatform
 * that Swift reads includes one of the system's, but those of locks and clocks, a file a system.
 */
#ifndef CHIME_PLATFORM_H
#define CHIME_PLATFORM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

/* Has the processor read a cache line that is about to be written, and go on meanwhile. Any address. */
static inline void chime_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/* Copies what another thread may write meanwhile. What is done with the copy is done with the copy: a compiler cannot read
   the original again in its place. */
static inline void chime_copy_once(void *to, const void *from, size_t bytes) {
  __builtin_memcpy(to, from, bytes);
  __asm__ volatile("" : : "r"(to) : "memory");
}

/* A moment of a loop that waits for another processor. */
static inline void chime_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#elif defined(__riscv)
  __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010"); /* pause, of Zihintpause; elsewhere a fence that orders nothing */
#endif
}

static inline int chime_errno(void) { return errno; }
static inline void chime_set_errno(int error) { errno = error; }

/* Whether an error number says that something is not permitted; that there is no memory. */
bool chime_is_error_of_permission(int error);
bool chime_is_error_of_memory(int error);
/* Whether somebody else has it. */
bool chime_is_error_of_being_busy(int error);

/* The base of the loaded file that contains an address; NULL: there is none. */
void *chime_file_of(const void *address);

/* Has the loaded file stay where it is after dlclose, where the linker cannot say so (-z nodelete). */
void chime_stay_loaded(const void *address);

/* An environment variable's value; NULL also in a program that runs with more rights than its user has. */
const char *chime_getenv(const char *name);

/* Fills memory with what nobody can foresee; false: the system has nothing of that kind. */
bool chime_fill_at_random(void *bytes, size_t count);

/* The process's number. */
int64_t chime_process_number(void);

/* Words to stderr, without stdio. */
void chime_write_error(const char *text, size_t length);

#pragma GCC visibility pop

#endif
