#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "platform.h"

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "interpreter.h"

const void *chime_queue_key(void);
const void *chime_main_queue_key(void);

static bool membarrier(int command) {
  int error = errno;
  bool is_done = syscall(SYS_membarrier, command, 0, 0) == 0;
  errno = error;
  return is_done;
}

bool chime_prepare_barrier(void) { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool chime_barrier_in_all_threads(void) { return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

void chime_set_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

int chime_set_affinity(pthread_t thread, uint64_t processors) {
  cpu_set_t set;
  int i;
  CPU_ZERO(&set);
  for (i = 0; i < 64; i++) {
    if (processors >> i & 1) CPU_SET(i, &set);
  }
  return pthread_setaffinity_np(thread, sizeof set, &set);
}

void chime_set_thread_name(pthread_t thread, const char *name) { pthread_setname_np(thread, name); }

pid_t chime_thread_number(void) { return gettid(); }

void *chime_file_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : 0;
}

void chime_mark_file(int file, int signal, pid_t owner) {
  fcntl(file, F_SETSIG, signal);
  fcntl(file, F_SETOWN, owner);
}

int chime_file_mark(int file, pid_t *owner) {
  int signal = fcntl(file, F_GETSIG);
  *owner = fcntl(file, F_GETOWN);
  return signal;
}

static char keys[2];
const void *chime_queue_key(void) { return &keys[0]; }
const void *chime_main_queue_key(void) { return &keys[1]; }

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
