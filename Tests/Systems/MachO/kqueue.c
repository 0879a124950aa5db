/*
 * kqueue.c - a kqueue for one process of Linux: an epoll with a timerfd for each timer, an eventfd for each event of the user,
 * and the descriptors that it watches. It shows that Chime asks for the right things, and how it lives with what it is told;
 * it does not show what XNU does, nor what becomes of a kqueue in a forked child: none of these tests forks.
 */
#define _GNU_SOURCE
#include "shims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* <sys/event.h> */
typedef struct kevent64 {
  uint64_t ident;
  int16_t filter;
  uint16_t flags;
  uint32_t filter_flags;
  int64_t data;
  uint64_t user_data, more[2];
} kevent64;

enum { READ = -1, TIMER = -7, USER = -10 };
enum { ADD = 1, DELETE = 2, ONESHOT = 0x10, CLEAR = 0x20, RECEIPT = 0x40, ERROR = 0x4000 };
enum { NSECONDS = 4, ABSOLUTE = 8, CRITICAL = 0x20, CONTINUOUS = 0x80, MACHTIME = 0x100, TRIGGER = 0x1000000 };
enum { IMMEDIATE = 1 };

enum { MOST_EVENTS = 16, MOST_FILES = 65536 };

typedef struct watched {
  int is_there, file; /* file: the timerfd or eventfd */
  kevent64 event;
} watched;

typedef struct queue {
  watched all[MOST_EVENTS];
} queue;

static queue *queues[MOST_FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Signal handlers set timers, too. */
static void enter(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
  pthread_mutex_lock(&lock);
}

static void leave(const sigset_t *before) {
  pthread_mutex_unlock(&lock);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void forget(int file) {
  queue *it = queues[file];
  if (it == NULL) return;
  queues[file] = NULL;
  for (int i = 0; i < MOST_EVENTS; i++) {
    if (it->all[i].is_there && it->all[i].event.filter != READ) close(it->all[i].file);
  }
  free(it);
}

int s_kqueue(void) {
  sigset_t before;
  int file = epoll_create1(0);
  if (file < 0) return -1;
  enter(&before);
  queues[file] = calloc(1, sizeof(queue));
  leave(&before);
  return file;
}

int s_close(int file) {
  sigset_t before;
  if (file >= 0 && file < MOST_FILES && queues[file] != NULL) {
    enter(&before);
    forget(file);
    leave(&before);
  }
  return close(file);
}

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* On the monotonic clock here. An absolute time that no other flag explains is a time of day, of which XNU makes a distance
   once. */
static int set_timer(int file, const kevent64 *event) {
  struct itimerspec spec = {{0, 0}, {0, 0}};
  int64_t time;
  if (!(event->filter_flags & ABSOLUTE)) return EINVAL;
  if (event->filter_flags & MACHTIME) {
    time = (int64_t)nanoseconds_of((uint64_t)event->data) + 1;
    if (event->filter_flags & CONTINUOUS) time += now(CLOCK_MONOTONIC) - now(CLOCK_BOOTTIME) + 1000;
  } else {
    int64_t left = event->data - now(CLOCK_REALTIME);
    if (!(event->filter_flags & NSECONDS)) return EINVAL;
    time = now(CLOCK_MONOTONIC) + (left > 0 ? left : 0);
  }
  if (time < 1) time = 1;
  spec.it_value.tv_sec = time / 1000000000;
  spec.it_value.tv_nsec = time % 1000000000;
  return timerfd_settime(file, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : errno;
}

static int change(int file, queue *queue, const kevent64 *event) {
  watched *it = NULL, *free = NULL;
  struct epoll_event epoll = {.events = EPOLLIN};
  for (int i = 0; i < MOST_EVENTS; i++) {
    watched *other = &queue->all[i];
    if (!other->is_there) {
      free = other;
    } else if (other->event.filter == event->filter && other->event.ident == event->ident) {
      it = other;
    }
  }
  if (event->flags & DELETE) {
    if (it == NULL) return ENOENT;
    epoll_ctl(file, EPOLL_CTL_DEL, it->file, NULL);
    if (event->filter != READ) close(it->file);
    it->is_there = 0;
    return 0;
  }
  if (event->flags & ADD) {
    if (it == NULL) {
      it = free;
      if (it == NULL) return ENOMEM;
      switch (event->filter) {
        case READ: it->file = (int)event->ident; break;
        case TIMER: it->file = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); break;
        case USER: it->file = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); break;
        default: return EINVAL;
      }
      if (it->file < 0) return errno;
      it->is_there = 1;
      epoll.data.u32 = (uint32_t)(it - queue->all);
      if (event->flags & CLEAR) epoll.events |= EPOLLET;
      if (epoll_ctl(file, EPOLL_CTL_ADD, it->file, &epoll) != 0) return errno;
    }
    it->event = *event;
    if (event->filter == TIMER) return set_timer(it->file, event);
  }
  if (it == NULL) return ENOENT;
  if (event->filter == USER && event->filter_flags & TRIGGER) {
    uint64_t one = 1;
    if (write(it->file, &one, sizeof one) < 0) return errno;
  }
  return 0;
}

/* What is taken is gone, unless the queue only watches it. */
static int take(int file, kevent64 *events, int room, unsigned flags, const struct timespec *timeout) {
  struct epoll_event ready[MOST_EVENTS];
  sigset_t before;
  queue *queue;
  int64_t left = timeout == NULL ? -1 : timeout->tv_sec * INT64_C(1000) + (timeout->tv_nsec + 999999) / 1000000;
  int count = epoll_wait(file, ready, room < MOST_EVENTS ? room : MOST_EVENTS, flags & IMMEDIATE ? 0 : (int)left),
      taken = 0;
  if (count < 0) return -1;
  enter(&before);
  queue = queues[file];
  for (int i = 0; queue != NULL && i < count; i++) {
    watched *it = &queue->all[ready[i].data.u32];
    uint64_t number = 0;
    if (!it->is_there) continue;
    if (it->event.filter != READ && read(it->file, &number, sizeof number) < 0)
      continue; /* another thread was faster */
    events[taken] = it->event;
    events[taken++].data = (int64_t)number;
    if (it->event.flags & ONESHOT) {
      if (it->event.filter != READ) close(it->file);
      it->is_there = 0;
    }
  }
  leave(&before);
  return taken;
}

int s_kevent64(int file, const kevent64 *changes, int change_count, kevent64 *events, int event_count, unsigned flags,
               const void *timeout) {
  int told = 0;
  sigset_t before;
  enter(&before);
  for (int i = 0; i < change_count; i++) {
    int error = queues[file] == NULL ? EBADF : change(file, queues[file], &changes[i]);
    if (error == 0 && !(changes[i].flags & RECEIPT)) continue;
    if (told == event_count) {
      leave(&before);
      errno = error;
      return error == 0 ? told : -1;
    }
    events[told] = changes[i];
    events[told].flags |= ERROR;
    events[told++].data = error;
  }
  leave(&before);
  return told > 0 || event_count == 0 ? told : take(file, events, event_count, flags, timeout);
}

#pragma GCC visibility pop
