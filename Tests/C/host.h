/* host.h - what the tests of host-driven queues share. */
#ifndef CSUITE_HOST_H
#define CSUITE_HOST_H

#include "harness.h"

#include <poll.h>

/* Milliseconds to poll for what must come. */
enum { LONG = (int)(PATIENCE / CHIME_MILLISECOND) };

static inline int is_readable(int fd, int milliseconds) {
  struct pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

/* Processes until that many callbacks have run. */
static inline int process_until(csuite *t, chime_queue_t queue, const int *value, int least) {
  int fd = fd_of(t, queue);
  while (load(value) < least && EXPECT(is_readable(fd, LONG))) process(t, queue, 0);
  return load(value) >= least;
}

#endif /* CSUITE_HOST_H */
