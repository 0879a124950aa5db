#if defined(__APPLE__)
/*
 * A kqueue that watches others: those of timers, and the bell's. EV_CLEAR has each event told of once, to one thread.
 */
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

/* A kqueue with an event of the user's. The process has one: that of its pool. */
static int bell_of_process = -1;

/* A fork keeps no kqueues. */
bool chime_poller_is_one(int file) { return (void)file, false; }

int chime_poller_make(void) {
  int file = kqueue();
  if (file >= 0) fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

bool chime_poller_add(int poller, int file, uint32_t number) {
  struct kevent64_s event;
  EV_SET64(&event, (uint64_t)file, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, number, 0, 0);
  return kevent64(poller, &event, 1, 0, 0, 0, 0) == 0;
}

int chime_poller_wait(int poller, int milliseconds) {
  struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  struct kevent64_s event, rung;
  int error = errno, number = -1;
  if (kevent64(poller, 0, 0, &event, 1, 0, milliseconds < 0 ? 0 : &limit) == 1) {
    number = (int)event.udata;
    /* Once it is taken, the next ring is a new event. Whoever takes it looks at everything afterwards, so that a ring in
       between is not lost. */
    if ((int)event.ident == __atomic_load_n(&bell_of_process, __ATOMIC_RELAXED)) {
      kevent64((int)event.ident, 0, 0, &rung, 1, KEVENT_FLAG_IMMEDIATE, 0);
    }
  }
  errno = error;
  return number;
}

int chime_bell_make(void) {
  struct kevent64_s event;
  int file = chime_poller_make();
  if (file < 0) return -1;
  EV_SET64(&event, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, 0, 0, 0);
  if (kevent64(file, &event, 1, 0, 0, 0, 0) != 0) {
    close(file);
    return -1;
  }
  __atomic_store_n(&bell_of_process, file, __ATOMIC_RELAXED);
  return file;
}

void chime_bell_ring(int bell) {
  struct kevent64_s event;
  int error = errno;
  EV_SET64(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, 0, 0, 0);
  kevent64(bell, &event, 1, 0, 0, 0, 0);
  errno = error;
}

int chime_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
#endif
