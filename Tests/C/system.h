/*
 * system.h - what the tests ask of the system beyond C, pthreads and the clocks of basics.h: system_posix.c with system_linux.c or
 * system_darwin.c, or system_windows.c.
 */
#ifndef CSUITE_SYSTEM_H
#define CSUITE_SYSTEM_H

#include <pthread.h>
#include <stdint.h>

/** Nanoseconds on CHIME_CLOCK_MONOTONIC, _WALL and _BOOTTIME, as a program has them without Chime; -1: it has not. */
int64_t system_monotonic_ns(void);
int64_t system_wall_ns(void);
int64_t system_boottime_ns(void);

/** Memory of the process that is in use, in KiB; that it has mapped. -1 where the system does not say. */
int64_t system_resident_kib(void);
int64_t system_mapped_kib(void);
/** Of the C library's allocator, in bytes; 0 where it does not say. */
int64_t system_allocated_bytes(void);
/** How many descriptors, or handles, are open; -1 where the system does not say. */
int system_open_files(void);

/** Whether what chime_queue_fd gave is readable within so many milliseconds; negative: waits. */
int system_is_readable(int fd, int milliseconds);
/** Opens two other files, looks at one, and closes both. 0: it is readable, or has that number and is none. */
int system_others_may_have(int fd);

/** Whether a thread can be sent a signal; calls a handler for SIGUSR1 from now on, NULL: the one before; sends it. */
int system_has_signals(void);
int system_handle_signal(void (*handler)(int));
void system_signal_thread(pthread_t thread);
/** Whether the calling thread has the signals blocked that are for the program's own threads. */
int system_blocks_signals(void);

/** The calling thread's name as tools show it; empty where that is not known. */
void system_name_of_thread(char *name, int capacity);

/** Calls a function when so many seconds are over; 0: no more. One at a time. */
void system_watch(unsigned seconds, void (*function)(int));
/** Words to the standard output, without stdio; and the end. */
void system_give_up(const char *first, const char *second, const char *third);

#endif /* CSUITE_SYSTEM_H */
