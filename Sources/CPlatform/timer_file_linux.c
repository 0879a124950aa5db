#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timer_file.h"

#include <sys/timerfd.h>
#include <time.h>

#include "own_files.h"

int chime_timer_file_make(int32_t clock) {
  int file = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
  if (file >= 0) chime_own_file(file);
  return file;
}

void chime_timer_file_set(int file, int32_t clock, int64_t time) {
  (void)clock;
  struct itimerspec spec = {{0, 0}, {0, 0}};
  if (time != INT64_MAX) {
    if (time < 1) time = 1; /* all zeroes would mean never */
    spec.it_value.tv_sec = time / 1000000000;
    spec.it_value.tv_nsec = time % 1000000000;
  }
  timerfd_settime(file, TFD_TIMER_ABSTIME, &spec, 0);
}
#endif
