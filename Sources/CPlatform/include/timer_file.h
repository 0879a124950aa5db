/*
 * timer_file.h - timers of the system behind a descriptor that a host can poll: readable once the time has come, until it
 * is set again. A timerfd on Linux, a kqueue on macOS and iOS.
 */
#ifndef CHIME_TIMER_FILE_H
#define CHIME_TIMER_FILE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Non-blocking, close-on-exec, set for never; -1 and errno: no descriptor. chime_own_file_close closes it. */
int chime_timer_file_make(int32_t clock);

/* Sets it for a time on its clock, INT64_MAX for never; a time in the past makes it readable at once. One system call and
   nothing else: async-signal-safe. clock: the one that it was made for. */
void chime_timer_file_set(int file, int32_t clock, int64_t time);

/* For the checked build: whether it is set for that time or earlier, or is readable. On Linux only: true elsewhere. */
bool chime_timer_file_is_set(int file, int32_t clock, int64_t time);

/* One that a step of the wall clock makes readable, too; closed by chime_own_file_close. It is set for a time on the
   monotonic clock, with how far the wall clock is ahead of that: INT64_MAX for never by chime_timer_file_set. */
int chime_wall_timer_file_make(void);
void chime_wall_timer_file_set(int file, int64_t time, int64_t offset);

#pragma GCC visibility pop

#endif
