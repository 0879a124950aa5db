#if defined(__linux__)
#include "thread_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int64_t chime_system_thread(void) { return gettid(); }

_Thread_local struct chime_thread_locals thread_of_chime;

uint64_t chime_number_thread(void) {
  static uint64_t latest;
  thread_of_chime.number = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
  return thread_of_chime.number;
}

static pthread_key_t key_of_rooms;
static int has_rooms;

/* Made when the library is loaded, since the failure that a sentence is on may be that the process has no key left. */
__attribute__((constructor)) static void make_key_of_rooms(void) {
  has_rooms = pthread_key_create(&key_of_rooms, free) == 0;
}

char *chime_sentence_room(void) {
  const int error = errno;
  char *room = has_rooms ? pthread_getspecific(key_of_rooms) : NULL;
  if (room == NULL && has_rooms) {
    room = calloc(1, CHIME_SENTENCE);
    if (room != NULL && pthread_setspecific(key_of_rooms, room) != 0) {
      free(room);
      room = NULL;
    }
  }
  errno = error;
  return room;
}
#endif
