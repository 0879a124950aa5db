#if defined(_WIN32)
/*
 * All in units of 100 ns. Without the two functions (before Windows 10, and in Wine 8) monotonic and boottime are both the
 * performance counter, which goes on while the system sleeps.
 */
#include "clocks.h"

#include "handles.h"

typedef void(WINAPI *query)(ULONGLONG *);
static query unbiased, biased;
static uint64_t frequency; /* of the performance counter; set last */

void *chime_function_of(const char *library, const char *name) {
  HMODULE module = GetModuleHandleA(library);
  return module == 0 ? 0 : (void *)(uintptr_t)GetProcAddress(module, name);
}

static query find(const char *name) { return (query)(uintptr_t)chime_function_of("kernelbase.dll", name); }

/* When the library is loaded: later the loader might be asked by who holds a lock of Chime's. Two threads store the same. */
__attribute__((constructor(101))) static void prepare(void) {
  LARGE_INTEGER found;
  query first = find("QueryUnbiasedInterruptTimePrecise"), second = find("QueryInterruptTimePrecise");
  if (first != 0 && second != 0) {
    __atomic_store_n(&unbiased, first, __ATOMIC_RELAXED);
    __atomic_store_n(&biased, second, __ATOMIC_RELAXED);
  }
  QueryPerformanceFrequency(&found);
  __atomic_store_n(&frequency, (uint64_t)found.QuadPart, __ATOMIC_RELEASE);
}

int64_t chime_clock_now(int32_t clock) {
  query asked;
  LARGE_INTEGER count;
  uint64_t ticks;
  if (clock == chime_wall_clock()) {
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return ((int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) - INT64_C(116444736000000000)) * 100;
  }
  if (__atomic_load_n(&frequency, __ATOMIC_ACQUIRE) == 0) prepare();
  asked = __atomic_load_n(clock == chime_boottime_clock() ? &biased : &unbiased, __ATOMIC_RELAXED);
  if (asked != 0) {
    ULONGLONG now;
    asked(&now);
    return (int64_t)(now * 100);
  }
  QueryPerformanceCounter(&count);
  ticks = (uint64_t)count.QuadPart;
  return (int64_t)(ticks / frequency * 1000000000 + ticks % frequency * 1000000000 / frequency);
}

HANDLE chime_timer_make(bool is_manual) {
  DWORD flags = is_manual ? CREATE_WAITABLE_TIMER_MANUAL_RESET : 0;
  HANDLE timer = CreateWaitableTimerExW(0, 0, flags | 2 /* CREATE_WAITABLE_TIMER_HIGH_RESOLUTION */, TIMER_ALL_ACCESS);
  return timer != 0 ? timer : CreateWaitableTimerExW(0, 0, flags, TIMER_ALL_ACCESS);
}

/* By a distance, which the system counts while it is awake. What is longer than ten years is set for ten years. */
bool chime_timer_set(HANDLE timer, int32_t clock, int64_t time) {
  LARGE_INTEGER due;
  const int64_t longest = INT64_C(86400) * 3650 * 10000000;
  int64_t left = INT64_MAX;
  if (time != INT64_MAX && time > 0) left = time - chime_clock_now(clock);
  if (time <= 0 || left < 0) left = 0;
  left = left / 100 + (left % 100 != 0);
  due.QuadPart = left > longest ? -longest : -left;
  return SetWaitableTimer(timer, &due, 0, 0, 0, FALSE);
}

/* What makes another clock than the monotonic one go on differently, its steps and the system's sleep, is noticed within a
   second. */
void chime_clock_sleep(int32_t clock, int64_t time) {
  HANDLE timer = chime_thread_timer();
  int64_t now = chime_clock_now(clock);
  if (clock != chime_monotonic_clock() && time > now && time - now > 1000000000) time = now + 1000000000;
  if (timer != 0 && chime_timer_set(timer, clock, time)) {
    WaitForSingleObject(timer, INFINITE);
  } else {
    Sleep(1);
  }
}
#endif
