/*
 * clocks.h - the system's clocks, by the numbers that its clock_gettime has for them, and sleeping until a time on one.
 *
 *              Linux             macOS, iOS
 *   monotonic  CLOCK_MONOTONIC   CLOCK_UPTIME_RAW      mach_absolute_time: stands still while the system sleeps
 *   boottime   CLOCK_BOOTTIME    CLOCK_MONOTONIC_RAW   mach_continuous_time: goes on
 *   wall       CLOCK_REALTIME    CLOCK_REALTIME        on macOS in whole microseconds
 *
 *              Windows
 *   monotonic  QueryUnbiasedInterruptTimePrecise   stands still while the system sleeps
 *   boottime   QueryInterruptTimePrecise           goes on
 *   wall       GetSystemTimePreciseAsFileTime      since 1970
 *
 * (macOS's CLOCK_MONOTONIC goes on while the system sleeps, is slewed with the time of day, and has microseconds only.)
 */
#ifndef CHIME_CLOCKS_H
#define CHIME_CLOCKS_H

#include <stdint.h>
#if !defined(_WIN32)
#include <time.h>
#endif

#pragma GCC visibility push(hidden)

#if defined(__APPLE__)
static inline int32_t chime_monotonic_clock(void) { return CLOCK_UPTIME_RAW; }
static inline int32_t chime_boottime_clock(void) { return CLOCK_MONOTONIC_RAW; }
static inline int32_t chime_wall_clock(void) { return CLOCK_REALTIME; }

static inline int64_t chime_clock_now(int32_t clock) { return (int64_t)clock_gettime_nsec_np((clockid_t)clock); }

/* The first tick of mach_absolute_time (or mach_continuous_time) at which the clock shows so many nanoseconds or more. */
uint64_t chime_mach_ticks(int64_t nanoseconds);
#elif defined(_WIN32)
/* Numbers as Linux has them. */
static inline int32_t chime_monotonic_clock(void) { return 1; }
static inline int32_t chime_boottime_clock(void) { return 7; }
static inline int32_t chime_wall_clock(void) { return 0; }

int64_t chime_clock_now(int32_t clock);
#else
static inline int32_t chime_monotonic_clock(void) { return CLOCK_MONOTONIC; }
static inline int32_t chime_boottime_clock(void) { return CLOCK_BOOTTIME; }
static inline int32_t chime_wall_clock(void) { return CLOCK_REALTIME; }

static inline int64_t chime_clock_now(int32_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}
#endif

/* Until a time on the clock, even if it is stepped meanwhile. May return earlier. */
void chime_clock_sleep(int32_t clock, int64_t time);

#pragma GCC visibility pop

#endif
