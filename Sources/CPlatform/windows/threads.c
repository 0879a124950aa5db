#if defined(_WIN32)
#include "threads.h"

#include <errno.h>
#include <process.h>
#include <stdlib.h>

#include "windows/callback_guard.h"
#include "../common/sleeper.h"
#include "clocks.h"
#include "handles.h"
#include "platform.h"

#include <tlhelp32.h>

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

typedef struct start {
  void *(*body)(void *);
  void *argument;
} start;

static void leave_thread(void);

static unsigned __stdcall run(void *argument) {
  start begun = *(start *)argument;
  HeapFree(GetProcessHeap(), 0, argument);
  begun.body(begun.argument);
  leave_thread(); /* before the system takes its locks */
  return 0;
}

int chime_thread_create(uintptr_t *thread, int is_detached, void *(*body)(void *), void *argument) {
  start *begun = HeapAlloc(GetProcessHeap(), 0, sizeof *begun);
  uintptr_t made;
  if (begun == 0) return ENOMEM;
  *begun = (start){body, argument};
  made = _beginthreadex(0, is_detached ? 8u << 20 : 0, run, begun, STACK_SIZE_PARAM_IS_A_RESERVATION, 0);
  if (made == 0) {
    int error = errno;
    HeapFree(GetProcessHeap(), 0, begun);
    return error;
  }
  if (is_detached) CloseHandle((HANDLE)made);
  *thread = made;
  return 0;
}

void chime_thread_join(uintptr_t thread) {
  WaitForSingleObject((HANDLE)thread, INFINITE);
  CloseHandle((HANDLE)thread);
}

void chime_begin_own_thread(void) { chime_set_own_thread(1); }
bool chime_take_cancellation(void) { return false; }

void chime_yield(void) { SwitchToThread(); }

void chime_rest(uint32_t microseconds) {
  chime_clock_sleep(chime_monotonic_clock(), chime_clock_now(chime_monotonic_clock()) + (int64_t)microseconds * 1000);
}

/* ---- A thread's end --------------------------------------------------------------------------------------------- */

/*
 * The system calls `end_of_thread` when a thread ends, and when a fiber does: then nothing is given back, since the thread
 * lives on. Chime keeps what it has for a thread in the thread, whichever fiber runs there.
 *
 * Wine, and some versions of Windows, hold the lock of these slots meanwhile, which other threads take inside the loader's:
 * so nothing here may ask the loader, and who holds a lock of Chime's may not set the slot.
 */
static _Thread_local struct {
  HANDLE event, timer;
  const void *value; /* of the one key */
  bool is_known;
} own;

static DWORD slot = FLS_OUT_OF_INDEXES;
static void (*destructor_of_key)(void *);

static BOOLEAN(WINAPI *is_shutting_down)(void);

bool chime_is_last_thread(void) { return is_shutting_down != 0 && is_shutting_down(); }

__attribute__((__noreturn__)) void chime_continue_thread_end(void) {
  static const char text[] =
      "libchime: a callback has ended its thread, which cannot be undone on Windows: a callback must "
      "return\n";
  chime_write_error(text, sizeof text - 1);
  abort();
}

static void leave_thread(void) {
  const void *value = own.value;
  own.value = 0;
  if (value != 0) destructor_of_key((void *)(uintptr_t)value);
  if (own.event != 0) CloseHandle(own.event);
  if (own.timer != 0) CloseHandle(own.timer);
  own.event = own.timer = 0;
  own.is_known = false;
}

static void WINAPI end_of_thread(void *of) {
  if (of != &own || IsThreadAFiber() || chime_is_last_thread()) return;
  if (*chime_host_functions() > 0) chime_continue_thread_end();
  leave_thread();
}

__attribute__((constructor(101))) static void prepare(void) {
  slot = FlsAlloc(end_of_thread);
  is_shutting_down = (BOOLEAN(WINAPI *)(void))(uintptr_t)chime_function_of("ntdll.dll", "RtlDllShutdownInProgress");
}

static bool is_known(void) {
  if (!own.is_known) own.is_known = slot != FLS_OUT_OF_INDEXES && FlsSetValue(slot, &own);
  return own.is_known;
}

/* There is one key, and it is made once. */
int chime_key_create(uint32_t *key, void (*destructor)(void *)) {
  if (slot == FLS_OUT_OF_INDEXES || destructor_of_key != 0) return EAGAIN;
  destructor_of_key = destructor;
  *key = 0;
  return 0;
}

int chime_key_set(uint32_t key, const void *value) {
  (void)key;
  if (!is_known()) return ENOMEM;
  own.value = value;
  return 0;
}

HANDLE chime_thread_event(void) {
  if (own.event == 0 && is_known()) own.event = CreateEventW(0, FALSE, FALSE, 0);
  return own.event;
}
HANDLE chime_thread_timer(void) {
  if (own.timer == 0 && is_known()) own.timer = chime_timer_make(false);
  return own.timer;
}

void chime_life_begin(chime_life *life) { life->thread = OpenThread(SYNCHRONIZE, FALSE, GetCurrentThreadId()); }
void chime_life_end(chime_life *life) {
  if (life->thread != 0) CloseHandle(life->thread);
  life->thread = 0;
}
bool chime_life_is_over(chime_life *life) {
  if (life->thread == 0 || WaitForSingleObject(life->thread, 0) != WAIT_OBJECT_0) return false;
  chime_life_end(life);
  return true;
}

/* ---- Locks and conditions --------------------------------------------------------------------------------------- */

void chime_lock_init(chime_lock *lock) { chime_lock_init_without_inheritance(lock); }
void chime_lock_take(chime_lock *lock) { AcquireSRWLockExclusive((SRWLOCK *)lock); }
bool chime_lock_try(chime_lock *lock) { return TryAcquireSRWLockExclusive((SRWLOCK *)lock); }
void chime_lock_give(chime_lock *lock) { ReleaseSRWLockExclusive((SRWLOCK *)lock); }

int chime_lock_take_within(chime_lock *lock, int64_t nanoseconds) {
  int64_t end = chime_clock_now(chime_monotonic_clock()) + nanoseconds;
  while (!chime_lock_try(lock)) {
    if (chime_clock_now(chime_monotonic_clock()) >= end) return EBUSY;
    Sleep(1);
  }
  return 0;
}

/* Who waits, in the order of their coming; each has its thread's event. */
typedef struct waiter {
  struct waiter *next;
  HANDLE event;
  bool is_listed;
} waiter;

static void lock_list(chime_condition *condition) { AcquireSRWLockExclusive((SRWLOCK *)&condition->lock); }
static void unlock_list(chime_condition *condition) { ReleaseSRWLockExclusive((SRWLOCK *)&condition->lock); }

void chime_condition_init(chime_condition *condition) { condition->lock = condition->waiting = 0; }

static void wait_for(HANDLE event, int64_t time) {
  HANDLE handles[2] = {event, time == INT64_MAX ? 0 : chime_thread_timer()};
  if (time == INT64_MAX) {
    WaitForSingleObject(event, INFINITE);
  } else if (handles[1] != 0 && chime_timer_set(handles[1], chime_monotonic_clock(), time)) {
    WaitForMultipleObjects(2, handles, FALSE, INFINITE);
  } else {
    WaitForSingleObject(event, 1);
  }
}

void chime_condition_wait_until(chime_condition *condition, chime_lock *lock, int64_t time) {
  waiter here = {0, own.event, true}, **last;
  bool was_signalled;
  if (here.event == 0) { /* the caller looks again */
    chime_lock_give(lock);
    if (chime_thread_event() == 0) Sleep(1);
    chime_lock_take(lock);
    return;
  }
  lock_list(condition);
  for (last = (waiter **)&condition->waiting; *last != 0; last = &(*last)->next) {}
  *last = &here;
  unlock_list(condition);
  chime_lock_give(lock);
  wait_for(here.event, time);
  lock_list(condition);
  was_signalled = !here.is_listed;
  if (here.is_listed) {
    for (last = (waiter **)&condition->waiting; *last != &here; last = &(*last)->next) {}
    *last = here.next;
  }
  unlock_list(condition);
  if (was_signalled) ResetEvent(here.event); /* a signal that came with the time */
  chime_lock_take(lock);
}

void chime_condition_wait(chime_condition *condition, chime_lock *lock) {
  chime_condition_wait_until(condition, lock, INT64_MAX);
}

/* Behind the list's lock, so that who is woken does not leave before this is done with its record. */
static bool wake_first(chime_condition *condition) {
  waiter *first = condition->waiting;
  if (first == 0) return false;
  condition->waiting = first->next;
  first->is_listed = false;
  SetEvent(first->event);
  return true;
}
void chime_condition_signal(chime_condition *condition) {
  lock_list(condition);
  wake_first(condition);
  unlock_list(condition);
}
void chime_condition_broadcast(chime_condition *condition) {
  lock_list(condition);
  while (wake_first(condition)) {}
  unlock_list(condition);
}

/* ---- What a thread is ------------------------------------------------------------------------------------------- */

/* No thread is the main one to the system: the one that was made first is. */
static DWORD find_first(void) {
  HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  THREADENTRY32 entry = {.dwSize = sizeof entry};
  ULONGLONG earliest = ~0ull;
  DWORD found = GetCurrentThreadId();
  BOOL goes_on;
  if (all == INVALID_HANDLE_VALUE) return found;
  for (goes_on = Thread32First(all, &entry); goes_on; goes_on = Thread32Next(all, &entry)) {
    FILETIME made, ended, kernel, user;
    HANDLE thread;
    if (entry.th32OwnerProcessID != GetCurrentProcessId()) continue;
    thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, entry.th32ThreadID);
    if (thread == 0) continue;
    if (GetThreadTimes(thread, &made, &ended, &kernel, &user)) {
      ULONGLONG at = (ULONGLONG)made.dwHighDateTime << 32 | made.dwLowDateTime;
      if (at < earliest) {
        earliest = at;
        found = entry.th32ThreadID;
      }
    }
    CloseHandle(thread);
  }
  CloseHandle(all);
  return found;
}

bool chime_is_main_thread(void) {
  static DWORD first;
  DWORD known = __atomic_load_n(&first, __ATOMIC_RELAXED);
  if (known == 0) __atomic_store_n(&first, known = find_first(), __ATOMIC_RELAXED);
  return known == GetCurrentThreadId();
}

void chime_set_timer_slack(uint64_t nanoseconds) { (void)nanoseconds; }

/* 15 in the usual class, whatever the priority; it takes no permission. */
int chime_set_realtime(int priority) {
  (void)priority;
  return SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_TIME_CRITICAL) ? 0 : EPERM;
}

void chime_set_thread_name(const char *name) {
  typedef HRESULT(WINAPI * describe)(HANDLE, PCWSTR);
  describe known = (describe)(uintptr_t)chime_function_of("kernelbase.dll", "SetThreadDescription");
  WCHAR wide[16];
  int i = 0;
  for (; i < 15 && name[i] != 0; i++) wide[i] = (unsigned char)name[i];
  wide[i] = 0;
  if (known != 0) known(GetCurrentThread(), wide);
}
#endif
