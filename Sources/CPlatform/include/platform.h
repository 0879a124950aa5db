/*
 * platform.h - what Chime needs of the system: the headers of libc and Linux, and functions for what Swift cannot import
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
#include <sys/timerfd.h>
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
#endif
}

/* Keeps the compiler from moving reads and writes over it. */
static inline void chime_compiler_barrier(void) { __asm__ volatile("" ::: "memory"); }

/*
 * Makes every thread of the process that runs pass a memory barrier before it returns. chime_prepare_barrier says first
 * whether the system has that; all the same the other can be refused, where a sandbox was entered meanwhile.
 */
bool chime_prepare_barrier(void);
bool chime_barrier_in_all_threads(void);

static inline int chime_errno(void) { return errno; }
static inline void chime_set_errno(int error) { errno = error; }

static inline int chime_open(const char *path, int flags) { return open(path, flags); }
static inline int chime_fcntl(int file, int command, int argument) { return fcntl(file, command, argument); }

/* How much longer than asked for the kernel may let the calling thread wait. */
void chime_set_timer_slack(unsigned long nanoseconds);

/* Binds a thread to processors, a bit for each; 0 or an error number. */
int chime_set_affinity(pthread_t thread, uint64_t processors);

/* For debuggers; at most 15 bytes. */
void chime_set_thread_name(pthread_t thread, const char *name);

/* The kernel's number of the calling thread; that of the main thread is the process's. */
pid_t chime_thread_number(void);

/* The base of the loaded file that contains an address; NULL: there is none. */
void *chime_file_of(const void *address);

/*
 * Marks an open file as Chime's, by the signal that it would send, and the process that it would send it to, if it were
 * asked to send one. The mark stays with it over a fork. chime_file_mark gives the signal, 0 for none, and the process.
 */
void chime_mark_file(int file, int signal, pid_t owner);
int chime_file_mark(int file, pid_t *owner);

/* Words to stderr, without stdio. */
void chime_write_error(const char *text, size_t length);

#pragma GCC visibility pop

#endif
