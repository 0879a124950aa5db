#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timer_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* What marks an open file as Chime's, and survives a fork: the signal that it would send, and the process that it would
   send it to. (A kernel timer cannot actually be made to send one. All of them are one inode, so that device and inode do
   not tell them apart; P9b, Sources/README.md.) */
enum { MARK = 61 };
/* The process that makes them: a fork changes it when the child makes its first. */
static int maker;

int chime_timer_file_make(int32_t clock) {
  int file = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
  if (file < 0) return -1;
  fcntl(file, F_SETSIG, MARK);
  fcntl(file, F_SETOWN, getpid());
  __atomic_store_n(&maker, getpid(), __ATOMIC_RELAXED);
  return file;
}

int chime_timer_file_is_one(int file) {
  char path[40], name[64];
  ssize_t length;
  int owner;
  if (fcntl(file, F_GETSIG) != MARK) return 0;
  owner = fcntl(file, F_GETOWN);
  /* 0: the creator has ended. */
  if (owner != 0 && owner != __atomic_load_n(&maker, __ATOMIC_RELAXED)) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  length = readlink(path, name, sizeof name);
  return length == sizeof "anon_inode:[timerfd]" - 1 && memcmp(name, "anon_inode:[timerfd]", (size_t)length) == 0;
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
