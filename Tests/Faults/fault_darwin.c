/* fault_darwin.c - see fault.h. */
#include "fault.h"

#if defined(__APPLE__)

#include <mach-o/dyld.h>

const char fault_library[] = "libchime.0.dylib", fault_copy[] = "libcopy.dylib";

const char *fault_self(void) {
  static char path[4096];
  uint32_t capacity = sizeof path;
  REQUIRE(_NSGetExecutablePath(path, &capacity) == 0);
  return path;
}

/* They are kqueues. */
int fault_timer_descriptors(void) { return -1; }
#endif
