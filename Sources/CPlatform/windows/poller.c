#if defined(_WIN32)
/*
 * An event for the bell, a timer, and an event for what is watched, each reset by the one wait that it ends. The system
 * wakes the thread that began to wait first.
 */
#include "poller.h"

#include <errno.h>

#include "clocks.h"
#include "handles.h"

static void close_all(HANDLE file, HANDLE bell, HANDLE timer) {
  if (file != 0) CloseHandle(file);
  if (bell != 0) CloseHandle(bell);
  if (timer != 0) CloseHandle(timer);
}

bool chime_poller_open(chime_poller *poller) {
  HANDLE file = CreateEventW(0, FALSE, FALSE, 0), bell = CreateEventW(0, FALSE, FALSE, 0),
         timer = chime_timer_make(false);
  if (file != 0 && bell != 0 && timer != 0) {
    *poller = (chime_poller){chime_file_of_handle(file), chime_file_of_handle(bell), chime_file_of_handle(timer)};
    return true;
  }
  close_all(file, bell, timer);
  errno = EMFILE;
  return false;
}

/* A thread that waits already would not see another handle, so the watched one's event is the poller's from now on. Nothing
   but windows/wall_steps.c's can be added. */
bool chime_poller_add(const chime_poller *poller, int file) {
  if (chime_watch_tell(chime_handle_of_file(file), chime_handle_of_file(poller->file))) return true;
  errno = EINVAL;
  return false;
}

void chime_poller_remove(const chime_poller *poller, int file) {
  (void)poller;
  chime_watch_tell(chime_handle_of_file(file), chime_handle_of_file(file));
}

void chime_poller_close(chime_poller *poller) {
  close_all(chime_handle_of_file(poller->file), chime_handle_of_file(poller->bell),
            chime_handle_of_file(poller->timer));
  *poller = (chime_poller){-1, -1, -1};
}

int chime_poller_wait(const chime_poller *poller, int64_t nanoseconds) {
  HANDLE handles[3] = {chime_handle_of_file(poller->timer), chime_handle_of_file(poller->bell),
                       chime_handle_of_file(poller->file)};
  DWORD limit = nanoseconds < 0                      ? INFINITE
                : nanoseconds / 1000000 >= INT32_MAX ? INT32_MAX
                                                     : (DWORD)((nanoseconds + 999999) / 1000000);
  switch (WaitForMultipleObjects(3, handles, FALSE, limit)) {
    case WAIT_OBJECT_0: return CHIME_POLLER_TIME;
    case WAIT_OBJECT_0 + 1: return CHIME_POLLER_BELL;
    case WAIT_OBJECT_0 + 2: return CHIME_POLLER_FILE;
    default: return CHIME_POLLER_NOTHING;
  }
}

/* A limit ends with a tick of the system's clock. */
bool chime_poller_keeps_time(void) { return false; }

bool chime_poller_set(const chime_poller *poller, int64_t time) {
  if (!chime_timer_set(chime_handle_of_file(poller->timer), chime_monotonic_clock(), time)) return false;
  chime_watch_pool(time);
  return true;
}

bool chime_poller_is_set(const chime_poller *poller) {
  (void)poller;
  return true;
}

void chime_poller_ring(const chime_poller *poller) { SetEvent(chime_handle_of_file(poller->bell)); }
#endif
