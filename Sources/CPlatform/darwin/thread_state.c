#if defined(__APPLE__)
#include "thread_state.h"

#include <pthread.h>

#include "thread_locals.h"

int64_t chime_system_thread(void) {
  uint64_t number = 0;
  pthread_threadid_np(0, &number);
  return (int64_t)number;
}

_Thread_local struct chime_thread_locals thread_of_chime;

char *chime_sentence_room(void) {
  static _Thread_local char room[CHIME_SENTENCE];
  return room;
}

void *chime_thread_state(void) { return thread_of_chime.state; }
void chime_set_thread_state(void *state) { thread_of_chime.state = state; }
int chime_is_own_thread(void) { return thread_of_chime.is_own; }
void chime_set_own_thread(int own) { thread_of_chime.is_own = own != 0; }
int chime_thread_is_over(void) { return thread_of_chime.is_over; }
void chime_set_thread_over(void) { thread_of_chime.is_over = 1; }

uint64_t chime_own_thread_number(void) {
  static uint64_t latest;
  if (thread_of_chime.number == 0) thread_of_chime.number = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
  return thread_of_chime.number;
}
#endif
