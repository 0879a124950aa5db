#if defined(_WIN32)
/*
 * Windows tells windows of a step (WM_TIMECHANGE) and services, and nobody who only waits; and a distance that is waited for
 * does not count the time that the system sleeps. So once a second, while anything is armed, the distances of the clocks are
 * compared with what they were: a change by more than a millisecond is a step, or was a sleep.
 */
#include "wall_steps.h"

#include <errno.h>

#include "clocks.h"
#include "handles_windows.h"

static SRWLOCK lock = SRWLOCK_INIT;
static chime_watch *watches;
static int armed;
static PTP_TIMER timer;      /* made when first needed, and kept */
static int64_t wall, asleep; /* how far the clocks were ahead of the monotonic one */

static int64_t ahead(int32_t clock) { return chime_clock_now(clock) - chime_clock_now(chime_monotonic_clock()); }

static bool has_changed(int64_t *distance, int32_t clock) {
  int64_t now = ahead(clock), change = now - *distance;
  if (change < 1000000 && change > -1000000) return false;
  *distance = now;
  return true;
}

static void CALLBACK compare(PTP_CALLBACK_INSTANCE instance, void *context, PTP_TIMER which) {
  chime_watch *watch;
  bool has_stepped, has_slept;
  (void)instance, (void)context, (void)which;
  AcquireSRWLockExclusive(&lock);
  has_stepped = has_changed(&wall, chime_wall_clock());
  has_slept = has_changed(&asleep, chime_boottime_clock());
  for (watch = has_stepped || has_slept ? watches : 0; watch != 0; watch = watch->next) {
    if (!watch->is_armed) continue;
    if (watch->is_timer) chime_timer_set(watch->handle, chime_monotonic_clock(), 0);
    else SetEvent(watch->told);
  }
  ReleaseSRWLockExclusive(&lock);
}

static void count(int change) {
  LONGLONG second = -10000000;
  FILETIME due = {(DWORD)second, (DWORD)(second >> 32)};
  int before = armed;
  armed += change;
  if (before == 0 && armed > 0) {
    wall = ahead(chime_wall_clock());
    asleep = ahead(chime_boottime_clock());
    SetThreadpoolTimer(timer, &due, 1000, 0);
  } else if (before > 0 && armed == 0) {
    SetThreadpoolTimer(timer, 0, 0, 0);
  }
}

bool chime_watch_begin(HANDLE handle, bool is_timer) {
  chime_watch *made = HeapAlloc(GetProcessHeap(), 0, sizeof *made);
  if (made != 0) {
    AcquireSRWLockExclusive(&lock);
    if (timer == 0) timer = CreateThreadpoolTimer(compare, 0, 0);
    if (timer != 0) {
      *made = (chime_watch){watches, handle, handle, false, is_timer};
      watches = made;
    }
    ReleaseSRWLockExclusive(&lock);
    if (timer != 0) return true;
    HeapFree(GetProcessHeap(), 0, made);
  }
  return false;
}

static chime_watch *find(HANDLE handle) {
  chime_watch *watch = watches;
  while (watch != 0 && watch->handle != handle) watch = watch->next;
  return watch;
}

bool chime_watch_tell(HANDLE handle, HANDLE event) {
  chime_watch *watch;
  AcquireSRWLockExclusive(&lock);
  watch = find(handle);
  if (watch != 0) watch->told = event;
  ReleaseSRWLockExclusive(&lock);
  return watch != 0;
}

void chime_watch_arm(HANDLE handle, bool is_armed) {
  chime_watch *watch;
  AcquireSRWLockExclusive(&lock);
  watch = find(handle);
  if (watch != 0 && watch->is_armed != is_armed) {
    watch->is_armed = is_armed;
    count(is_armed ? 1 : -1);
  }
  ReleaseSRWLockExclusive(&lock);
}

void chime_watch_end(HANDLE handle) {
  chime_watch **place, *watch;
  AcquireSRWLockExclusive(&lock);
  for (place = &watches; *place != 0 && (*place)->handle != handle; place = &(*place)->next) {}
  watch = *place;
  if (watch != 0) {
    *place = watch->next;
    if (watch->is_armed) count(-1);
  }
  ReleaseSRWLockExclusive(&lock);
  if (watch != 0) HeapFree(GetProcessHeap(), 0, watch);
}

int chime_step_file_make(void) {
  HANDLE event = CreateEventW(0, FALSE, FALSE, 0);
  if (event != 0 && chime_watch_begin(event, false)) return chime_file_of_handle(event);
  if (event != 0) CloseHandle(event);
  errno = EMFILE;
  return -1;
}

void chime_step_file_arm(int file) { chime_watch_arm(chime_handle_of_file(file), true); }

void chime_step_file_close(int file) {
  chime_watch_end(chime_handle_of_file(file));
  CloseHandle(chime_handle_of_file(file));
}
#endif
