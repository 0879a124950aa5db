#if defined(__linux__)
/* An epoll, in which every event is edge-triggered, so that it comes once, to one thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* As timer_file_linux.c marks its files, by another signal. */
enum { MARK = 62 };
static int maker;

static int marked(int file) {
  if (file < 0) return -1;
  fcntl(file, F_SETSIG, MARK);
  fcntl(file, F_SETOWN, getpid());
  __atomic_store_n(&maker, getpid(), __ATOMIC_RELAXED);
  return file;
}

bool chime_poller_is_one(int file) {
  if (fcntl(file, F_GETSIG) != MARK) return false;
  int owner = fcntl(file, F_GETOWN);
  return owner == 0 || owner == __atomic_load_n(&maker, __ATOMIC_RELAXED);
}

int chime_poller_make(void) { return marked(epoll_create1(EPOLL_CLOEXEC)); }

bool chime_poller_add(int poller, int file, uint32_t number) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = number};
  return epoll_ctl(poller, EPOLL_CTL_ADD, file, &event) == 0;
}

int chime_poller_wait(int poller, int milliseconds) {
  struct epoll_event event;
  int error = errno;
  int number = epoll_wait(poller, &event, 1, milliseconds) == 1 ? (int)event.data.u32 : -1;
  errno = error;
  return number;
}

int chime_bell_make(void) { return marked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void chime_bell_ring(int bell) {
  int error = errno;
  uint64_t one = 1;
  ssize_t written = write(bell, &one, sizeof one);
  (void)written;
  errno = error;
}

int chime_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
#endif
