#if defined(_WIN32)
/*
 * A waitable timer, which stays signalled until it is set again: its handle is what a host waits for. Set for the wall clock or
 * the boottime clock it is watched, too, as long as it is set for a time.
 */
#include "timer_file.h"

#include <errno.h>

#include "clocks.h"
#include "handles.h"

static int make(bool is_watched) {
  HANDLE timer = chime_timer_make(true);
  if (timer != 0 && (!is_watched || chime_watch_begin(timer, true))) return chime_file_of_handle(timer);
  if (timer != 0) CloseHandle(timer);
  errno = EMFILE;
  return -1;
}

int chime_timer_file_make(int32_t clock) { return make(clock != chime_monotonic_clock()); }
int chime_wall_timer_file_make(void) { return make(true); }

/* Of a wall clock's file INT64_MAX and times in the past come here, of whichever clock. Armed last: what has changed meanwhile
   sets the timer anew. */
void chime_timer_file_set(int file, int32_t clock, int64_t time) {
  HANDLE timer = chime_handle_of_file(file);
  chime_timer_set(timer, clock, time);
  if (clock != chime_monotonic_clock()) chime_watch_arm(timer, time != INT64_MAX);
}

bool chime_timer_file_is_set(int file, int32_t clock, int64_t time) {
  (void)file;
  (void)clock;
  (void)time;
  return true;
}

void chime_wall_timer_file_set(int file, int64_t time, int64_t offset) {
  HANDLE timer = chime_handle_of_file(file);
  (void)offset;
  chime_timer_set(timer, chime_monotonic_clock(), time);
  chime_watch_arm(timer, time != INT64_MAX);
}
#endif
