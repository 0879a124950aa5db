/*
 * platform.h - what Chime needs of the system: the headers of libc, and functions for what Swift cannot import
 * from them (macros that cast, variadic functions, what needs _GNU_SOURCE, which would change other modules' types).
 */
#ifndef CHIME_PLATFORM_H
#define CHIME_PLATFORM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* Has the processor read a cache line that is about to be written, and go on meanwhile. Any address. */
static inline void chime_prefetch(const void *address) { __builtin_prefetch(address, 1); }

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

/* Keeps the compiler from moving reads and writes over it. */
static inline void chime_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

static inline int chime_errno(void) { return errno; }
static inline void chime_set_errno(int error) { errno = error; }

static inline int chime_open(const char *path, int flags) { return open(path, flags); }
static inline int chime_fcntl(int file, int command, int argument) { return fcntl(file, command, argument); }

/* The base of the loaded file that contains an address; NULL: there is none. */
void *chime_file_of(const void *address);

/* Has the loaded file stay where it is after dlclose, where the linker cannot say so (-z nodelete). */
void chime_stay_loaded(const void *address);

/* An environment variable's value; NULL also in a program that runs with more rights than its user has. */
const char *chime_getenv(const char *name);

/* Words to stderr, without stdio. */
void chime_write_error(const char *text, size_t length);

#pragma GCC visibility pop

#endif
