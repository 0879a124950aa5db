#if defined(__APPLE__)
#include "step_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

/* <notify.h>, of the system's library; declared here, because not every set of headers has it. */
extern uint32_t notify_register_file_descriptor(const char *name, int *file, int flags, int *token);
extern uint32_t notify_cancel(int token);
static const char clock_was_set[] = "com.apple.system.clock_set"; /* kNotifyClockSet, <notify_keys.h> */

/* One descriptor for the process's own watch, and some for threads that sleep. */
enum { WATCHES = 64 };
static struct { int file, token, queue; } watches[WATCHES]; /* file + 1; 0: free; queue + 1; 0: in none of ours */

int chime_step_file_make(void) {
  int file = -1, token = -1, i, free = 0;
  if (notify_register_file_descriptor(clock_was_set, &file, 0, &token) != 0) {
    errno = EMFILE;
    return -1;
  }
  fcntl(file, F_SETFD, FD_CLOEXEC);
  fcntl(file, F_SETFL, O_NONBLOCK);
  for (i = 0; i < WATCHES; i++, free = 0) {
    if (__atomic_compare_exchange_n(&watches[i].file, &free, file + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      watches[i].token = token;
      return file;
    }
  }
  notify_cancel(token);
  errno = EMFILE;
  return -1;
}

/* Each step writes the token, four bytes. */
void chime_step_file_arm(int file) {
  char tokens[64];
  while (read(file, tokens, sizeof tokens) > 0) {}
}

bool chime_step_file_bind(int file, int queue) {
  for (int i = 0; i < WATCHES; i++) {
    if (__atomic_load_n(&watches[i].file, __ATOMIC_ACQUIRE) != file + 1) continue;
    __atomic_store_n(&watches[i].queue, queue + 1, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

int chime_step_file_of(int queue) {
  for (int i = 0; i < WATCHES; i++) {
    if (__atomic_load_n(&watches[i].queue, __ATOMIC_ACQUIRE) == queue + 1)
      return __atomic_load_n(&watches[i].file, __ATOMIC_ACQUIRE) - 1;
  }
  return -1;
}

void chime_step_file_close(int file) {
  int i;
  for (i = 0; i < WATCHES; i++) {
    if (__atomic_load_n(&watches[i].file, __ATOMIC_ACQUIRE) == file + 1) {
      int token = watches[i].token;
      __atomic_store_n(&watches[i].queue, 0, __ATOMIC_RELEASE);
      __atomic_store_n(&watches[i].file, 0, __ATOMIC_RELEASE);
      notify_cancel(token); /* closes the descriptor */
      return;
    }
  }
}
#endif
