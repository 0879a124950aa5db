#if defined(__APPLE__)
#include "platform.h"

#include <dlfcn.h>

void chime_stay_loaded(const void *address) {
  Dl_info info;
  if (dladdr(address, &info) != 0) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

const char *chime_getenv(const char *name) { return issetugid() ? 0 : getenv(name); }
#endif
