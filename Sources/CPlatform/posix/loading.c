#if !defined(_WIN32)
#include "platform.h"

#include <dlfcn.h>
#include <unistd.h>

#include "interpreter.h"

void *chime_file_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : 0;
}

int64_t chime_process_number(void) { return getpid(); }

void chime_write_error(const char *text, size_t length) {
  ssize_t written = write(2, text, length);
  (void)written;
}

chime_interpreter_question chime_find_interpreter(void) {
  void *found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* from 3.13 on */
  Dl_info info;
  if (found == 0) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"); /* 3.7 to 3.12 */
  if (found != 0 && dladdr(found, &info) != 0) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return (chime_interpreter_question)found;
}
#endif
