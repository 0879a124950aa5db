#if defined(__APPLE__)
#include "platform.h"

#include <dlfcn.h>
#include <unistd.h>

void chime_stay_loaded(const void *address) {
  Dl_info info;
  if (dladdr(address, &info) != 0) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

const char *chime_getenv(const char *name) { return issetugid() ? 0 : getenv(name); }

bool chime_fill_at_random(void *bytes, size_t count) {
  arc4random_buf(bytes, count);
  return true;
}
#endif
