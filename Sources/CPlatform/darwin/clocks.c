#if defined(__APPLE__)
#include "clocks.h"

#include <errno.h>
#include <mach/mach_time.h>
#include <poll.h>
#include <unistd.h>

#include "timer_file.h"
#include "wall_steps.h"

/* 125/3 on Apple silicon, 1/1 on Intel and under Rosetta. What a tick is does not change while a system runs. */
uint64_t chime_mach_ticks(int64_t nanoseconds) {
  static mach_timebase_info_data_t base; /* two threads at once write the same */
  uint32_t numer, denom;
  unsigned __int128 scaled;
  if (nanoseconds <= 0) return 0;
  if (__atomic_load_n(&base.denom, __ATOMIC_ACQUIRE) == 0) {
    mach_timebase_info_data_t found;
    mach_timebase_info(&found);
    __atomic_store_n(&base.numer, found.numer, __ATOMIC_RELAXED);
    __atomic_store_n(&base.denom, found.denom, __ATOMIC_RELEASE);
  }
  numer = __atomic_load_n(&base.numer, __ATOMIC_RELAXED);
  denom = __atomic_load_n(&base.denom, __ATOMIC_RELAXED);
  scaled = (unsigned __int128)(uint64_t)nanoseconds * denom + (numer - 1);
  return (uint64_t)(scaled / numer);
}

/* The monotonic clock has a call of its own; for the others a timer descriptor is waited for, with the wall clock a
   descriptor that its steps make readable, too. Without descriptors: in pieces of a second. */
void chime_clock_sleep(int32_t clock, int64_t time) {
  int timer, steps;
  if (clock == chime_monotonic_clock()) {
    mach_wait_until(chime_mach_ticks(time));
    return;
  }
  timer = chime_timer_file_make(clock);
  steps = clock == chime_wall_clock() ? chime_step_file_make() : -1;
  if (timer < 0 || (steps < 0 && clock == chime_wall_clock())) {
    int64_t left = time - chime_clock_now(clock);
    struct timespec pause = {left > 1000000000 ? 1 : 0, left > 1000000000 ? 0 : left};
    if (left > 0) nanosleep(&pause, 0);
  } else {
    struct pollfd entries[2] = {{timer, POLLIN, 0}, {steps, POLLIN, 0}};
    chime_timer_file_set(timer, clock, time);
    poll(entries, 2, -1);
  }
  if (timer >= 0) close(timer);
  if (steps >= 0) chime_step_file_close(steps);
}
#endif
