#if defined(__APPLE__)
/*
 * A kqueue, in it a timer, an event of the user's for the bell, and what it watches. An event that was delivered is gone
 * (EV_CLEAR, EV_ONESHOT), so it comes once, to one thread.
 */
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "timer_file.h"

static bool change(int file, uint64_t what, int filter, uint16_t flags, uint32_t filter_flags) {
  struct kevent64_s event;
  EV_SET64(&event, what, filter, flags, filter_flags, 0, 0, 0, 0);
  return kevent64(file, &event, 1, 0, 0, 0, 0) == 0;
}

bool chime_poller_open(chime_poller *poller) {
  int file = chime_timer_file_make(chime_monotonic_clock());
  if (file < 0) return false;
  if (!change(file, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0)) {
    int error = errno;
    close(file);
    errno = error;
    return false;
  }
  *poller = (chime_poller){file, -1, -1};
  return true;
}

bool chime_poller_add(const chime_poller *poller, int file) {
  return change(poller->file, (uint64_t)file, EVFILT_READ, EV_ADD | EV_CLEAR, 0);
}

void chime_poller_remove(const chime_poller *poller, int file) {
  int error = errno;
  change(poller->file, (uint64_t)file, EVFILT_READ, EV_DELETE, 0);
  errno = error;
}

void chime_poller_close(chime_poller *poller) {
  int error = errno;
  close(poller->file);
  poller->file = -1;
  errno = error;
}

int chime_poller_wait(const chime_poller *poller, int64_t nanoseconds) {
  struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  struct kevent64_s event;
  int error = errno;
  int count = kevent64(poller->file, 0, 0, &event, 1, 0, nanoseconds < 0 ? 0 : &limit);
  errno = error;
  if (count != 1) return CHIME_POLLER_NOTHING;
  return event.filter == EVFILT_USER    ? CHIME_POLLER_BELL
         : event.filter == EVFILT_TIMER ? CHIME_POLLER_TIME
                                        : CHIME_POLLER_FILE;
}

/* The system defers the end of a wait to that of others, and a timer with NOTE_CRITICAL not. */
bool chime_poller_keeps_time(void) { return false; }

bool chime_poller_set(const chime_poller *poller, int64_t time) {
  int error = errno;
  chime_timer_file_set(poller->file, chime_monotonic_clock(), time);
  errno = error;
  return true;
}

bool chime_poller_is_set(const chime_poller *poller) {
  (void)poller;
  return true;
}

void chime_poller_ring(const chime_poller *poller) {
  int error = errno;
  change(poller->file, 0, EVFILT_USER, 0, NOTE_TRIGGER);
  errno = error;
}
#endif
