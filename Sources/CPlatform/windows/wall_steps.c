#if defined(_WIN32)
/*
 * Windows tells windows of a step (WM_TIMECHANGE) and services, and nobody who only waits; and a distance that is waited for
 * does not count the time that the system sleeps. So once a second, while somebody waits for a time, the distances of the
 * clocks are compared with what they were: a change by more than a millisecond is a step, or was a sleep. What changes while
 * nobody waits is found when somebody begins to.
 */
#include "wall_steps.h"

#include <errno.h>

#include "clocks.h"
#include "handles.h"

static SRWLOCK lock = SRWLOCK_INIT;
static chime_watch *watches;
static int armed_timers, armed_files;
static int64_t pool_time;    /* until when the pool's poller waits */
static PTP_TIMER timer;      /* made when first needed, and kept */
static bool is_set;          /* for once a second */
static int64_t wall, asleep; /* how far the clocks were ahead of the monotonic one */

static int64_t ahead(int32_t clock) { return chime_clock_now(clock) - chime_clock_now(chime_monotonic_clock()); }

static bool has_changed(int64_t *distance, int32_t clock) {
  int64_t now = ahead(clock), change = now - *distance;
  if (change < 1000000 && change > -1000000) return false;
  *distance = now;
  return true;
}

static void tell_of_changes(void) {
  bool has_stepped = has_changed(&wall, chime_wall_clock());
  bool has_slept = has_changed(&asleep, chime_boottime_clock());
  chime_watch *watch;
  for (watch = has_stepped || has_slept ? watches : 0; watch != 0; watch = watch->next) {
    if (!watch->is_armed) continue;
    if (watch->is_timer) chime_timer_set(watch->handle, chime_monotonic_clock(), 0);
    else SetEvent(watch->told);
  }
}

static bool is_wanted(void) {
  return armed_timers > 0 || (armed_files > 0 && chime_clock_now(chime_monotonic_clock()) < pool_time);
}

static void begin_if_wanted(void) {
  const LONGLONG second = -10000000;
  FILETIME due = {(DWORD)second, (DWORD)(second >> 32)};
  if (is_set || !is_wanted()) return;
  tell_of_changes();
  SetThreadpoolTimer(timer, &due, 1000, 0);
  is_set = true;
}

static void end_if_unwanted(void) {
  if (!is_set || is_wanted()) return;
  SetThreadpoolTimer(timer, 0, 0, 0);
  is_set = false;
}

static void CALLBACK compare(PTP_CALLBACK_INSTANCE instance, void *context, PTP_TIMER which) {
  (void)instance, (void)context, (void)which;
  AcquireSRWLockExclusive(&lock);
  if (is_set) tell_of_changes();
  end_if_unwanted();
  ReleaseSRWLockExclusive(&lock);
}

static void count(const chime_watch *watch, int change) {
  if (watch->is_timer) armed_timers += change;
  else armed_files += change;
  begin_if_wanted();
  end_if_unwanted();
}

void chime_watch_pool(int64_t time) {
  AcquireSRWLockExclusive(&lock);
  pool_time = time;
  begin_if_wanted();
  ReleaseSRWLockExclusive(&lock);
}

bool chime_watch_begin(HANDLE handle, bool is_timer) {
  chime_watch *made = HeapAlloc(GetProcessHeap(), 0, sizeof *made);
  if (made != 0) {
    AcquireSRWLockExclusive(&lock);
    if (timer == 0) timer = CreateThreadpoolTimer(compare, 0, 0);
    if (timer != 0) {
      if (watches == 0) {
        wall = ahead(chime_wall_clock());
        asleep = ahead(chime_boottime_clock());
      }
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
    count(watch, is_armed ? 1 : -1);
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
    if (watch->is_armed) count(watch, -1);
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
