/*
 * embedded_runtime.c - what Embedded Swift's standard library asks of its surroundings, for libchime alone: SwiftPM's
 * builds have Swift's own runtime.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The seed of hash tables; glibc has this function from 2.36 on only. */
HIDDEN void arc4random_buf(void *bytes, size_t count) {
  unsigned char *next = bytes;
  while (count > 0) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0 && errno != EINTR) {
      /* No such system call: tables that are hard to foresee are not a promise. */
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      for (; count > 0; count--) *next++ = (unsigned char)(now.tv_nsec >> count % 20);
      return;
    }
    if (got > 0) next += got, count -= (size_t)got;
  }
}

/* For the capacities of hash tables; libm is not needed then. */
HIDDEN double ceil(double value) {
  double whole = (double)(int64_t)value;
  return whole < value ? whole + 1 : whole;
}
