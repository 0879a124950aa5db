#if defined(__linux__)
#include "timer_file.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "own_files.h"

int chime_timer_file_make(int32_t clock) {
  int file = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
  if (file < 0) return file;
  /* A sandbox may grant the descriptor and refuse what is done with it. */
  if (timerfd_settime(file, 0, &(struct itimerspec){{0, 0}, {0, 0}}, 0) != 0) {
    int error = errno;
    close(file);
    errno = error;
    return -1;
  }
  chime_own_file(file);
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

bool chime_timer_file_is_set(int file, int32_t clock, int64_t time) {
  enum { SKEW = 10000000 }; /* of the clock, as tests have it */
  struct itimerspec left = {{0, 0}, {0, 0}};
  struct timespec now = {0, 0};
  int error = errno;
  clock_gettime(clock, &now);
  bool is_set = timerfd_gettime(file, &left) != 0 || poll(&(struct pollfd){file, POLLIN, 0}, 1, 0) != 0;
  if (left.it_value.tv_sec > 0 || left.it_value.tv_nsec > 0) {
    int64_t end = (now.tv_sec + left.it_value.tv_sec) * 1000000000 + now.tv_nsec + left.it_value.tv_nsec;
    is_set = is_set || time > INT64_MAX - SKEW || end <= time + SKEW;
  }
  errno = error;
  return is_set;
}

int chime_wall_timer_file_make(void) { return chime_timer_file_make(CLOCK_REALTIME); }

/* A step cancels it, which makes it readable. */
void chime_wall_timer_file_set(int file, int64_t time, int64_t offset) {
  struct itimerspec spec = {{0, 0}, {0, 0}};
  int64_t wall;
  if (__builtin_add_overflow(time, offset, &wall)) wall = INT64_MAX;
  if (wall < 1) wall = 1; /* all zeroes would mean never */
  spec.it_value.tv_sec = wall / 1000000000;
  spec.it_value.tv_nsec = wall % 1000000000;
  timerfd_settime(file, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, 0);
}
#endif
