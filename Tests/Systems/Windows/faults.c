/*
 * faults.c - what is Windows' own: ends of threads and of the process, DLLs that come and go, exceptions, priorities, handles.
 *
 *     faults --list    for each case its name, the exit status that it has to end with, and a text that stderr has to contain
 *     faults NAME      one case, in this process
 */
#define _WIN32_WINNT 0x0A00
#include <windows.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"

static int failures;

static int expect(int holds, int line, const char *text) {
  if (!holds) {
    fprintf(stderr, "faults.c:%d: %s does not hold\n", line, text);
    failures++;
  }
  return holds;
}
#define EXPECT(condition) expect((condition) != 0, __LINE__, #condition)
#define EXPECT_OK(call) expect((call) == CHIME_OK, __LINE__, #call)

static chime_queue_t queue_of(chime_queue_kind kind) {
  chime_queue_t queue = 0;
  EXPECT_OK(chime_queue_create(kind, NULL, &queue));
  return queue;
}

/* ---- A callback that ends its thread: the process ends, and says why --------------------------------------------- */

enum { ABORTED = 3 };
static const char ended[] = "libchime: a callback has ended its thread";

static void exit_thread(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  ExitThread(0);
}
static void exit_pthread(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  pthread_exit(NULL);
}

/* On a thread of Chime's. */
static void ends(chime_handler handler) {
  EXPECT_OK(chime_timer_after(queue_of(CHIME_QUEUE_SERIAL), 0, handler, NULL, NULL, NULL));
  sleep_ns(PATIENCE);
}
static void exit_thread_on_chimes_thread(void) { ends(exit_thread); }
static void exit_pthread_on_chimes_thread(void) { ends(exit_pthread); }

/* On one of the program's. */
static void *advance(void *handler) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL);
  EXPECT_OK(chime_timer_after(queue, 1, *(chime_handler *)handler, NULL, NULL, NULL));
  chime_queue_advance(queue, 1);
  return NULL;
}
static void ends_a_pthread(chime_handler handler) {
  pthread_t thread;
  pthread_create(&thread, NULL, advance, &handler);
  sleep_ns(PATIENCE);
}
static void exit_thread_on_a_pthread(void) { ends_a_pthread(exit_thread); }
static void exit_pthread_on_a_pthread(void) { ends_a_pthread(exit_pthread); }

/* Outside callbacks a thread may end as it likes: what was kept for it is given back. */
static DWORD WINAPI use_and_exit(void *context) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL);
  int ticks = 0;
  (void)context;
  EXPECT_OK(chime_queue_async(queue, count_call, &ticks, NULL));
  chime_queue_advance(queue, 0);
  EXPECT(ticks == 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  ExitThread(0);
}
static int handles(void) {
  DWORD count = 0;
  GetProcessHandleCount(GetCurrentProcess(), &count);
  return (int)count;
}
static void threads_that_end_outside_callbacks(void) {
  int before = 0;
  for (int i = 0; i < 200; i++) {
    HANDLE thread = CreateThread(NULL, 0, use_and_exit, NULL, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    if (i == 99) before = handles();
  }
  EXPECT(handles() <= before);
}

/* Threads of Chime's and of the program's begin and end beside each other: the system calls what Chime has put down for a
   thread's end with a lock held that threads which begin take inside the loader's. */
static DWORD WINAPI begin_and_end(void *context) {
  for (int i = 0; i < 100; i++) {
    HANDLE thread = CreateThread(NULL, 0, use_and_exit, NULL, 0, NULL);
    EXPECT_OK(chime_queue_release(queue_of(CHIME_QUEUE_PRECISE)));
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
  }
  add(context, 1);
  return 0;
}
static void threads_end_while_others_begin(void) {
  int done = 0;
  for (int i = 0; i < 8; i++) CloseHandle(CreateThread(NULL, 0, begin_and_end, &done, 0, NULL));
  EXPECT(await(&done, 8));
}

/* ---- The end of the process -------------------------------------------------------------------------------------- */

static int entered;

static void stay(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  store(&entered, 1);
  sleep_ns(PATIENCE);
}
/* Its other threads are ended first, one of them inside a handler. */
static void returns_from_main(void) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_SERIAL);
  EXPECT_OK(chime_timer_after(queue, 0, stay, NULL, NULL, NULL));
  for (int i = 0; i < 1000; i++) EXPECT_OK(chime_timer_after(queue, CHIME_SECOND, ignore_tick, NULL, NULL, NULL));
  EXPECT(await(&entered, 1));
}

static void exit_process(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  exit(7);
}
static void exits_in_a_handler(void) {
  EXPECT_OK(chime_timer_after(queue_of(CHIME_QUEUE_PRECISE), 0, exit_process, NULL, NULL, NULL));
  sleep_ns(PATIENCE);
}
static void exits_in_a_handler_on_the_main_thread(void) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL);
  EXPECT_OK(chime_timer_after(queue, 1, exit_process, NULL, NULL, NULL));
  chime_queue_advance(queue, 1);
}

/* What was traced just before the end is in the file: the system has ended the writer by then. */
static void the_last_events_are_in_the_trace(void) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL);
  EXPECT_OK(chime_trace_to_file("faults.trace"));
  sleep_ns(200 * CHIME_MILLISECOND); /* the writer rests */
  for (int i = 0; i < 100; i++) EXPECT_OK(chime_timer_after(queue, i, ignore_tick, NULL, NULL, NULL));
  chime_queue_advance(queue, 100);
}

/* ---- DLLs that come and go --------------------------------------------------------------------------------------- */

/* The library stays, and its timers go on. (This program is linked to it; the DLL of dllmain.c is not this program's.) */
typedef int (*ticks_of_dll)(void);
static void a_dll_may_start_timers_when_it_is_loaded(void) {
  HMODULE module = LoadLibraryA("dllmain.dll");
  ticks_of_dll ticks = module == NULL ? NULL : (ticks_of_dll)(uintptr_t)GetProcAddress(module, "ticks_of_dll");
  if (!EXPECT(ticks != NULL)) return;
  for (int i = 0; i < 3000 && ticks() < 3; i++) sleep_ns(10 * CHIME_MILLISECOND);
  EXPECT(ticks() >= 3);
}

/* loads.c, which is not linked to libchime, has FreeLibrary with armed timers. */

/* ---- Exceptions and frames --------------------------------------------------------------------------------------- */

static int seen_by_handler;
static LONG CALLBACK look_at_exception(EXCEPTION_POINTERS *what) {
  if (what->ExceptionRecord->ExceptionCode != 0xE0000001u) return EXCEPTION_CONTINUE_SEARCH;
  seen_by_handler++;
  return EXCEPTION_CONTINUE_EXECUTION;
}
static HMODULE module_of(const void *address) {
  HMODULE found = NULL;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, address,
                     &found);
  return found;
}
static int frames_of_library, frames_below;
static void raise_and_walk(const chime_tick *tick, void *context) {
  void *frames[64];
  int count = RtlCaptureStackBackTrace(0, 64, frames, NULL);
  HMODULE library = GetModuleHandleA("chime-0.dll");
  (void)tick, (void)context;
  frames_of_library = frames_below = 0;
  for (int i = 0; i < count; i++) {
    if (module_of(frames[i]) == library) frames_of_library++;
    else if (frames_of_library > 0) frames_below++;
  }
  RaiseException(0xE0000001u, 0, 0, NULL);
}
/* Frames of Swift's code have unwind tables: a walk of the stack goes through them, to what called. */
static void a_walk_of_the_stack_goes_through(void) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL);
  AddVectoredExceptionHandler(1, look_at_exception);
  EXPECT_OK(chime_timer_after(queue, 1, raise_and_walk, NULL, NULL, NULL));
  chime_queue_advance(queue, 1);
  EXPECT(frames_of_library >= 2 && frames_below >= 2);
  EXPECT(seen_by_handler == 1);
}

/* ---- Threads of Chime's ------------------------------------------------------------------------------------------ */

static int priority_seen;
static void look_at_thread(const chime_tick *tick, void *context) {
  (void)tick;
  priority_seen = GetThreadPriority(GetCurrentThread());
  add(context, 1);
}
static void a_precise_queues_thread_is_as_asked_for(void) {
  chime_queue_options options = QUEUE_OPTIONS(.realtime_priority = 10);
  chime_queue_t queue = 0;
  int ticks = 0;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, look_at_thread, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 1));
  EXPECT(priority_seen == THREAD_PRIORITY_TIME_CRITICAL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
static void a_serial_queues_thread_is_the_usual_one(void) {
  int ticks = 0;
  SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_LOWEST);
  EXPECT_OK(chime_timer_after(queue_of(CHIME_QUEUE_SERIAL), 0, look_at_thread, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 1));
  EXPECT(priority_seen == THREAD_PRIORITY_NORMAL);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* A wall clock's and a boottime clock's are watched while they are armed, and not after. */
static void handles_of_each_clock_come_and_go(void) {
  static const chime_clock clocks[] = {CHIME_CLOCK_MONOTONIC, CHIME_CLOCK_BOOTTIME, CHIME_CLOCK_WALL};
  int before = 0;
  for (int i = 0; i < 90; i++) {
    chime_queue_options options = QUEUE_OPTIONS(.clock = clocks[i % 3]);
    chime_queue_t queue = 0;
    chime_waitable fd = -1;
    int ticks = 0;
    uint32_t count = 0;
    EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue));
    EXPECT_OK(chime_queue_fd(queue, &fd));
    EXPECT(WaitForSingleObject((HANDLE)fd, 0) == WAIT_TIMEOUT);
    EXPECT_OK(chime_queue_async(queue, count_call, &ticks, NULL));
    EXPECT(WaitForSingleObject((HANDLE)fd, 30000) == WAIT_OBJECT_0);
    EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, NULL));
    EXPECT_OK(chime_queue_process(queue, 0, &count));
    EXPECT(ticks == 1);
    EXPECT(WaitForSingleObject((HANDLE)fd, i % 9 == 0 ? 50 : 0) == WAIT_TIMEOUT);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    if (i == 44) before = handles();
  }
  EXPECT(handles() <= before);
}

/* A queue on the wall clock that a thread of the pool serves. */
static void the_wall_clock_is_watched(void) {
  chime_queue_options options = QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL);
  chime_queue_t queue = 0;
  int ticks = 0;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue));
  EXPECT_OK(chime_timer_every(queue, 500 * CHIME_MILLISECOND, look_at_thread, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 5)); /* while the distances of the clocks are compared twice */
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void a_trace_files_name_is_utf8(void) {
  EXPECT_OK(chime_trace_to_file("faults-\xc3\xa9.trace"));
  EXPECT_OK(chime_trace_to_file(NULL));
  EXPECT(DeleteFileW(L"faults-\x00e9.trace"));
  EXPECT(chime_trace_to_file("faults-\xff.trace") < 0);
}

/* Every call leaves errno as it was, whatever callbacks and the system do to it, and whether there is memory or not. */
enum { SENTINEL = 4242 };
static void change_errno(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  errno = EDOM;
}
static void change_errno_in_function(void *context) {
  (void)context;
  errno = EDOM;
}
#define KEEPS_ERRNO(call) (errno = SENTINEL, (void)(call), expect(errno == SENTINEL, __LINE__, #call))
static void use_a_queue(chime_queue_kind kind, chime_clock clock) {
  chime_queue_options options = QUEUE_OPTIONS(.clock = clock);
  chime_timer_options timer_options =
      TIMER_OPTIONS(.handler = change_errno, .finalizer = change_errno_in_function, .context = &options);
  chime_queue_t queue = 0;
  chime_timer_t timer = 0, other = 0;
  uint32_t count = 0;
  int64_t time = 0;
  KEEPS_ERRNO(chime_queue_create(kind, &options, &queue));
  KEEPS_ERRNO(chime_timer_start(queue, &timer_options, AFTER(0), &timer));
  KEEPS_ERRNO(chime_timer_create(queue, &timer_options, &other));
  KEEPS_ERRNO(chime_timer_activate(other, EVERY(CHIME_HOUR, CHIME_HOUR)));
  KEEPS_ERRNO(chime_timer_postpone(other, CHIME_HOUR));
  KEEPS_ERRNO(chime_queue_async(queue, change_errno_in_function, NULL, change_errno_in_function));
  KEEPS_ERRNO(chime_queue_process(queue, 0, &count));
  KEEPS_ERRNO(chime_queue_advance(queue, 1));
  KEEPS_ERRNO(chime_queue_sync(queue, change_errno_in_function, NULL, PATIENCE));
  KEEPS_ERRNO(chime_timer_fire(other));
  KEEPS_ERRNO(chime_queue_next_deadline(queue, &time));
  KEEPS_ERRNO(chime_timer_cancel_and_wait(other, PATIENCE));
  KEEPS_ERRNO(chime_timer_release(timer));
  KEEPS_ERRNO(chime_timer_release(other));
  KEEPS_ERRNO(chime_queue_shutdown(queue, PATIENCE));
}
static void calls_leave_errno_alone(void) {
  static const chime_queue_kind kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT,
                                           CHIME_QUEUE_HOST, CHIME_QUEUE_PRECISE};
  for (int refused = 0; refused < 2; refused++) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
      use_a_queue(kinds[i], CHIME_CLOCK_MONOTONIC);
      use_a_queue(kinds[i], CHIME_CLOCK_WALL);
    }
    KEEPS_ERRNO(chime_sleep_until(CHIME_CLOCK_MONOTONIC, 0));
    KEEPS_ERRNO(chime_trace_to_file("no such directory\\faults.trace"));
    KEEPS_ERRNO(chime_set_memory_limit(1)); /* the second round has no memory */
  }
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*run)(void);
  int status;
  const char *text;
} cases[] = {
    {"exit_thread_on_chimes_thread", exit_thread_on_chimes_thread, ABORTED, ended},
    {"exit_pthread_on_chimes_thread", exit_pthread_on_chimes_thread, ABORTED, ended},
    {"exit_thread_on_a_pthread", exit_thread_on_a_pthread, ABORTED, ended},
    {"exit_pthread_on_a_pthread", exit_pthread_on_a_pthread, ABORTED, ended},
    {"threads_that_end_outside_callbacks", threads_that_end_outside_callbacks, 0, ""},
    {"threads_end_while_others_begin", threads_end_while_others_begin, 0, ""},
    {"returns_from_main", returns_from_main, 0, ""},
    {"exits_in_a_handler", exits_in_a_handler, 7, ""},
    {"exits_in_a_handler_on_the_main_thread", exits_in_a_handler_on_the_main_thread, 7, ""},
    {"the_last_events_are_in_the_trace", the_last_events_are_in_the_trace, 0, ""},
    {"a_dll_may_start_timers_when_it_is_loaded", a_dll_may_start_timers_when_it_is_loaded, 0, ""},
    {"a_walk_of_the_stack_goes_through", a_walk_of_the_stack_goes_through, 0, ""},
    {"a_precise_queues_thread_is_as_asked_for", a_precise_queues_thread_is_as_asked_for, 0, ""},
    {"a_serial_queues_thread_is_the_usual_one", a_serial_queues_thread_is_the_usual_one, 0, ""},
    {"handles_of_each_clock_come_and_go", handles_of_each_clock_come_and_go, 0, ""},
    {"a_trace_files_name_is_utf8", a_trace_files_name_is_utf8, 0, ""},
    {"calls_leave_errno_alone", calls_leave_errno_alone, 0, ""},
    {"the_wall_clock_is_watched", the_wall_clock_is_watched, 0, ""},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
      printf("%s %d %s\n", cases[i].name, cases[i].status, cases[i].text);
    if (argc != 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    return failures == 0 ? 0 : 1;
  }
  return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
