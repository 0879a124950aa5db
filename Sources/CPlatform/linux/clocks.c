#if defined(__linux__)
#include "clocks.h"

void chime_clock_sleep(int32_t clock, int64_t time) {
  struct timespec until;
  if (time < 0) time = 0;
  until.tv_sec = time / 1000000000;
  until.tv_nsec = time % 1000000000;
  clock_nanosleep(clock, TIMER_ABSTIME, &until, 0);
}
#endif
