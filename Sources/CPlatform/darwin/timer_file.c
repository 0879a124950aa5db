/*
 * A kqueue with one timer in it. The queue can be polled, selected, and put in another kqueue; a fork does not keep it,
 * an exec closes it.
 */
#if defined(__APPLE__)
#include "timer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

#include "clocks.h"
#include "step_file.h"

int chime_timer_file_make(int32_t clock) {
  int file = kqueue();
  (void)clock;
  if (file >= 0) fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

/*
 * The old timer goes, fired or not, and the new one comes, in one call. (A timer that is only changed leaves the queue
 * readable, if it has fired.) The receipts keep a deletion of nothing from ending the call, and fired timers from being
 * taken.
 *
 * NOTE_MACHTIME: the time is not converted, and follows no step. NOTE_CRITICAL: the system does not defer it to others.
 * A time of day is converted by the system, once: whoever needs to know of steps watches them.
 */
void chime_timer_file_set(int file, int32_t clock, int64_t time) {
  struct kevent64_s changes[2], receipts[2];
  uint32_t flags = NOTE_ABSOLUTE | NOTE_CRITICAL;
  int64_t data = time < 0 ? 0 : time;
  if (clock == chime_wall_clock()) {
    flags |= NOTE_NSECONDS;
  } else {
    flags |= NOTE_MACHTIME | (clock == chime_boottime_clock() ? NOTE_MACH_CONTINUOUS_TIME : 0);
    data = (int64_t)chime_mach_ticks(data);
  }
  EV_SET64(&changes[0], 0, EVFILT_TIMER, EV_DELETE | EV_RECEIPT, 0, 0, 0, 0, 0);
  EV_SET64(&changes[1], 0, EVFILT_TIMER, EV_ADD | EV_ONESHOT | EV_RECEIPT, flags, data, 0, 0, 0);
  while (kevent64(file, changes, time == INT64_MAX ? 1 : 2, receipts, 2, 0, 0) < 0 && errno == EINTR) {}
}

bool chime_timer_file_is_set(int file, int32_t clock, int64_t time) {
  (void)file;
  (void)clock;
  (void)time;
  return true;
}

/* With the descriptor of notify(3) in it that is readable after a step. */
int chime_wall_timer_file_make(void) {
  int file = chime_timer_file_make(chime_wall_clock()), steps = file < 0 ? -1 : chime_step_file_make();
  struct kevent64_s change;
  EV_SET64(&change, (uint64_t)steps, EVFILT_READ, EV_ADD, 0, 0, 0, 0, 0);
  if (steps >= 0 && chime_step_file_bind(steps, file) && kevent64(file, &change, 1, 0, 0, 0, 0) == 0) return file;
  int error = errno;
  if (steps >= 0) chime_step_file_close(steps);
  if (file >= 0) close(file);
  errno = error;
  return -1;
}

void chime_wall_timer_file_set(int file, int64_t time, int64_t offset) {
  (void)offset;
  chime_step_file_arm(chime_step_file_of(file));
  chime_timer_file_set(file, chime_monotonic_clock(), time);
}
#endif
