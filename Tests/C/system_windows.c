/* system_windows.c - see system.h. */
#if defined(_WIN32)
#define _WIN32_WINNT 0x0A00
#include <windows.h>

#include <process.h>
#include <psapi.h>
#include <string.h>
#endif

#include "system.h"

#if defined(_WIN32)

/* Of these two Chime takes the first where there is one. */
static int64_t counted_ns(const char *name) {
  typedef void(WINAPI * query)(ULONGLONG *);
  query asked = (query)(uintptr_t)GetProcAddress(GetModuleHandleA("kernelbase.dll"), name);
  LARGE_INTEGER count, frequency;
  if (asked != NULL) {
    ULONGLONG now;
    asked(&now);
    return (int64_t)(now * 100);
  }
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&frequency);
  return (int64_t)(count.QuadPart / frequency.QuadPart * 1000000000 +
                   count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart);
}

int64_t system_monotonic_ns(void) { return counted_ns("QueryUnbiasedInterruptTimePrecise"); }
int64_t system_boottime_ns(void) { return counted_ns("QueryInterruptTimePrecise"); }
int64_t system_wall_ns(void) {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return ((int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) - INT64_C(116444736000000000)) * 100;
}

/* In place of what is mapped, what is committed. */
static int64_t memory_kib(int is_committed) {
  PROCESS_MEMORY_COUNTERS counters;
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return -1;
  return (int64_t)((is_committed ? counters.PagefileUsage : counters.WorkingSetSize) / 1024);
}
int64_t system_mapped_kib(void) { return memory_kib(1); }
int64_t system_resident_kib(void) { return memory_kib(0); }
int64_t system_allocated_bytes(void) { return 0; }

int system_open_files(void) {
  DWORD count = 0;
  return GetProcessHandleCount(GetCurrentProcess(), &count) ? (int)count : -1;
}

int system_is_readable(int fd, int milliseconds) {
  DWORD limit = milliseconds < 0 ? INFINITE : (DWORD)milliseconds;
  return WaitForSingleObject((HANDLE)(intptr_t)fd, limit) == WAIT_OBJECT_0;
}

int system_others_may_have(int fd) {
  HANDLE first = CreateEventW(NULL, FALSE, FALSE, NULL), second = CreateEventW(NULL, FALSE, FALSE, NULL);
  int is_right = WaitForSingleObject(first, 0) == WAIT_TIMEOUT && WaitForSingleObject(second, 0) == WAIT_TIMEOUT;
  (void)fd; /* each wait has failed if it was closed */
  CloseHandle(first);
  CloseHandle(second);
  return is_right;
}

int system_has_signals(void) { return 0; }
int system_handle_signal(void (*handler)(int)) { return (void)handler, 0; }
void system_signal_thread(pthread_t thread) { (void)thread; }
int system_blocks_signals(void) { return 1; } /* there are none */

void system_name_of_thread(char *name, int capacity) {
  typedef HRESULT(WINAPI * describe)(HANDLE, PWSTR *);
  describe known = (describe)(uintptr_t)GetProcAddress(GetModuleHandleA("kernelbase.dll"), "GetThreadDescription");
  PWSTR found = NULL;
  int i = 0;
  name[0] = 0;
  if (known == NULL || known(GetCurrentThread(), &found) < 0 || found == NULL) return;
  for (; found[i] != 0 && i + 1 < capacity; i++) name[i] = (char)found[i];
  name[i] = 0;
  LocalFree(found);
}

static void (*watcher)(int);
static volatile LONG64 ends_at;

static unsigned __stdcall watch(void *argument) {
  LONG64 at;
  (void)argument;
  for (at = 0; at == 0 || (LONG64)GetTickCount64() <= at; at = ends_at) Sleep(200);
  watcher(0);
  return 0;
}

void system_watch(unsigned seconds, void (*function)(int)) {
  if (watcher == NULL) {
    watcher = function;
    CloseHandle((HANDLE)_beginthreadex(NULL, 0, watch, NULL, 0, NULL));
  }
  ends_at = seconds == 0 ? 0 : (LONG64)GetTickCount64() + seconds * INT64_C(1000);
}

void system_give_up(const char *first, const char *second, const char *third) {
  const char *const texts[] = {first, second, third};
  for (int i = 0; i < 3; i++) {
    DWORD written;
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), texts[i], (DWORD)strlen(texts[i]), &written, NULL);
  }
  TerminateProcess(GetCurrentProcess(), 1);
}
#endif
