#if defined(_WIN32)
#include "thread_state.h"

#include "handles.h"

int64_t chime_system_thread(void) { return GetCurrentThreadId(); }

static _Thread_local void *state_of_thread;
static _Thread_local uint64_t number_of_thread;
static _Thread_local int is_own, is_over, host_functions;

void *chime_thread_state(void) { return state_of_thread; }
void chime_set_thread_state(void *state) { state_of_thread = state; }
int chime_is_own_thread(void) { return is_own; }
void chime_set_own_thread(int own) { is_own = own; }
int chime_thread_is_over(void) { return is_over; }
void chime_set_thread_over(void) { is_over = 1; }

int *chime_host_functions(void); /* of include/windows/callback_guard.h */
int *chime_host_functions(void) { return &host_functions; }

uint64_t chime_own_thread_number(void) {
  static uint64_t latest;
  if (number_of_thread == 0) number_of_thread = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
  return number_of_thread;
}
#endif
