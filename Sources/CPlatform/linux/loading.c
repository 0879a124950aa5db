#if defined(__linux__)
#include "platform.h"

#include <sys/random.h>

/* The linker has said so already: -z nodelete. */
void chime_stay_loaded(const void *address) { (void)address; }

const char *chime_getenv(const char *name) { return secure_getenv(name); }

bool chime_fill_at_random(void *bytes, size_t count) {
  unsigned char *next = bytes;
  while (count > 0) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) next += got, count -= (size_t)got;
  }
  return true;
}
#endif
