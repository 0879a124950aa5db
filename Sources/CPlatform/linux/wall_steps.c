#if defined(__linux__)
#include "wall_steps.h"

#include <sys/timerfd.h>
#include <time.h>

#include "own_files.h"
#include "timer_file.h"

/* A timer for a time that never comes, which a step cancels: that makes it readable. */
int chime_step_file_make(void) { return chime_timer_file_make(CLOCK_REALTIME); }

void chime_step_file_arm(int file) {
  struct itimerspec never = {{0, 0}, {INT64_MAX / 1000000000, 0}};
  timerfd_settime(file, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, 0);
}

void chime_step_file_close(int file) { chime_own_file_close(file); }
#endif
