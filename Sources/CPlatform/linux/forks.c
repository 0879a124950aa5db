#if defined(__linux__)
#include "forks.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* From Linux 4.14 on. Whoever takes every advice, as emulators do, is found out by one that no kernel knows. */
bool chime_empty_in_child(void *first, size_t bytes) {
  int error = errno;
  bool is_done = madvise(first, bytes, MADV_WIPEONFORK) == 0 && madvise(first, bytes, 0x7fff) != 0;
  errno = error;
  return is_done;
}
#endif
