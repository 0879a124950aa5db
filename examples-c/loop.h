/*
 * An epoll loop with a host-driven queue in it, for the examples that are about a library with sockets. How such a loop is made
 * is what epoll_host.c shows. Not a part of Chime.
 */
#ifndef EXAMPLES_LOOP_H
#define EXAMPLES_LOOP_H

#include "check.h"

#include <sys/epoll.h>
#include <unistd.h>

static struct {
  int epoll;
  int32_t timers;
  chime_queue_t queue;
} loop;

/** Watches a descriptor for EPOLLIN and EPOLLOUT; 0: no longer. */
static inline void loop_watch(int fd, int events) {
  struct epoll_event event = {(uint32_t)events, {.fd = fd}};
  epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL); /* fails if it is new */
  if (events != 0) CHECK_ZERO(epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &event));
}

/** Makes loop.queue, and a loop that watches it. */
static inline void loop_open(void) {
  loop.epoll = epoll_create1(EPOLL_CLOEXEC);
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &loop.queue));
  CHECK(chime_queue_fd(loop.queue, &loop.timers));
  loop_watch(loop.timers, EPOLLIN);
}

/** Waits for one event, of the queue or of another descriptor: one at a time, so that none is of what a handler has closed. */
static inline void loop_turn(void (*on_event)(int fd, int events)) {
  struct epoll_event event;
  if (epoll_wait(loop.epoll, &event, 1, -1) != 1) return;
  if (event.data.fd == loop.timers) CHECK(chime_queue_process(loop.queue, 0, NULL));
  else on_event(event.data.fd, (int)event.events);
}

/** Ends both: first the queue's descriptor leaves the loop. */
static inline void loop_close(void) {
  loop_watch(loop.timers, 0);
  CHECK(chime_queue_shutdown(loop.queue, CHIME_FOREVER));
  close(loop.epoll);
}

#endif
