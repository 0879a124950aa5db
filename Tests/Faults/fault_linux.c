/* fault_linux.c - see fault.h. */
#include "fault.h"

#if defined(__linux__)

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char fault_library[] = "libchime.so.0", fault_copy[] = "libcopy.so";

const char *fault_self(void) {
  static char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  REQUIRE(length > 0);
  path[length] = 0;
  return path;
}

int fault_timer_descriptors(void) {
  int number, count = 0;
  for (number = 0; number < 256; number++) {
    char name[64], target[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", number);
    if (readlink(name, target, sizeof target - 1) > 0) count += strstr(target, "[timerfd]") != NULL;
  }
  return count;
}
#endif
