#if defined(__linux__)
#include "thread_state.h"

#include <unistd.h>

int64_t chime_system_thread(void) { return gettid(); }

_Thread_local void *thread_state_of_chime;
_Thread_local uint64_t thread_number_of_chime;
_Thread_local int is_thread_of_chime, thread_of_chime_is_over;

uint64_t chime_number_thread(void) {
  static uint64_t latest;
  thread_number_of_chime = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
  return thread_number_of_chime;
}
#endif
