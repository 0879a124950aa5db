/*
 * shims.c - functions of libSystem for a process of Linux on arm64, where glibc's differ by a name, a number, a structure or
 * the way in which arguments are passed. What only a Mac can do (a priority, a notification of notify(3)) is done by
 * nobody.
 *
 * The shim of a function NAME is s_NAME: image.c finds it by that name.
 */
#define _GNU_SOURCE
#include "shims.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* ---- Time ------------------------------------------------------------------------------------------------------- */

enum { NUMERATOR = 125, DENOMINATOR = 3 };

uint64_t ticks_of(uint64_t nanoseconds) { return (uint64_t)((unsigned __int128)nanoseconds * DENOMINATOR / NUMERATOR); }
uint64_t nanoseconds_of(uint64_t ticks) { return (uint64_t)((unsigned __int128)ticks * NUMERATOR / DENOMINATOR); }

int s_mach_timebase_info(uint32_t *base) {
  base[0] = NUMERATOR;
  base[1] = DENOMINATOR;
  return 0;
}

/* In whole ticks; the time of day in whole microseconds. 8: CLOCK_UPTIME_RAW, 4: CLOCK_MONOTONIC_RAW, 0: CLOCK_REALTIME. Any
   other is none that Chime should ask for. */
uint64_t s_clock_gettime_nsec_np(int clock) {
  struct timespec time;
  uint64_t nanoseconds;
  if (clock != 8 && clock != 4 && clock != 0) abort();
  clock_gettime(clock == 8 ? CLOCK_MONOTONIC : clock == 4 ? CLOCK_BOOTTIME : CLOCK_REALTIME, &time);
  nanoseconds = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
  return clock == 0 ? nanoseconds / 1000 * 1000 : nanoseconds_of(ticks_of(nanoseconds));
}

int s_mach_wait_until(uint64_t ticks) {
  uint64_t nanoseconds = nanoseconds_of(ticks) + 1;
  struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {}
  return 0;
}

/* A step of the wall clock never comes; whoever waits for one waits for this end of a pipe. */
static int other_ends[65536];
uint32_t s_notify_register_file_descriptor(const char *name, int *file, int flags, int *token) {
  int ends[2];
  if (strcmp(name, "com.apple.system.clock_set") != 0 || pipe(ends) != 0) return 1;
  *file = ends[0];
  *token = ends[0];
  other_ends[ends[0]] = ends[1];
  return 0;
}
uint32_t s_notify_cancel(int token) {
  close(token);
  close(other_ends[token]);
  return 0;
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

int s_pthread_cond_init(pthread_cond_t *condition, const void *attributes) {
  return attributes == NULL ? pthread_cond_init(condition, NULL) : EINVAL;
}
int s_pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                         const struct timespec *distance) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += distance->tv_sec;
  time.tv_nsec += distance->tv_nsec;
  if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
  return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &time);
}
int s_pthread_attr_setdetachstate(pthread_attr_t *attributes, int state) {
  return pthread_attr_setdetachstate(attributes, state == 2 ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
}
int s_pthread_setcancelstate(int state, int *old) {
  int before, error = pthread_setcancelstate(state != 0 ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &before);
  if (old != NULL) *old = before == PTHREAD_CANCEL_ENABLE;
  return error;
}
int s_pthread_setcanceltype(int type, int *old) {
  int before, error = pthread_setcanceltype(type != 0 ? PTHREAD_CANCEL_DEFERRED : PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  if (old != NULL) *old = before == PTHREAD_CANCEL_DEFERRED ? 2 : 0;
  return error;
}
int s_pthread_threadid_np(pthread_t thread, uint64_t *number) {
  *number = (uint64_t)gettid();
  return 0;
}
int s_pthread_key_create(uint64_t *key, void (*destructor)(void *)) {
  pthread_key_t made;
  int error = pthread_key_create(&made, destructor);
  *key = made;
  return error;
}
int s_pthread_setspecific(uint64_t key, const void *value) { return pthread_setspecific((pthread_key_t)key, value); }
int s_pthread_main_np(void) { return gettid() == getpid(); }
int s_pthread_setname_np(const char *name) { return pthread_setname_np(pthread_self(), name); }
unsigned s_pthread_mach_thread_np(pthread_t thread) { return 7; }
int s_thread_policy_set(unsigned thread, unsigned flavour, const uint32_t *words, unsigned count) { return 0; }
int s_pthread_set_qos_class_self_np(unsigned class, int priority) { return 0; }

/*
 * What <pthread.h> tells of a thread there: a signature, and its cleanup functions. pthread_exit calls those, once all signals
 * and its cancellation are off; this one stands before glibc's, for the program that is tested, too.
 */
struct handler {
  void (*routine)(void *);
  void *argument;
  struct handler *next;
};
static _Thread_local struct {
  long signature;
  struct handler *cleanup_stack;
} thread;
void *s_pthread_self(void) { return &thread; }

__attribute__((noreturn)) void pthread_exit(void *result) {
  __attribute__((noreturn)) void (*next)(void *);
  sigset_t all;
  struct handler *handler;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  while ((handler = thread.cleanup_stack) != NULL) {
    handler->routine(handler->argument);
    thread.cleanup_stack = handler->next;
  }
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_exit");
  next(result);
}

/* A set of signals is 32 bits. Chime asks for all of them, or for what there was. */
int s_sigfillset(uint32_t *set) {
  *set = ~0u;
  return 0;
}
int s_pthread_sigmask(int how, const uint32_t *set, uint32_t *old) {
  static _Thread_local uint32_t mask;
  static _Thread_local sigset_t before;
  sigset_t all;
  if (how != 3) abort(); /* SIG_SETMASK */
  if (old != NULL) *old = mask;
  if (set == NULL) return 0;
  sigfillset(&all);
  if (*set != 0 && mask == 0) {
    pthread_sigmask(SIG_SETMASK, &all, &before);
  } else if (*set == 0 && mask != 0) {
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  mask = *set;
  return 0;
}

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

static char zone;
void *s_malloc_default_zone(void) { return &zone; }
void *s_malloc_zone_malloc(const char *of, size_t bytes) { return of == &zone ? malloc(bytes) : NULL; }
void *s_malloc_zone_memalign(const char *of, size_t alignment, size_t bytes) {
  void *memory = NULL;
  return of == &zone && posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}
void s_malloc_zone_free(const char *of, void *memory) {
  if (of == &zone) free(memory);
}
/* qemu takes the advice of Linux and does not follow it: so libchime empties its pages by a handler of forks. */
int s_minherit(void *first, size_t bytes, int inherit) { return -1; }
int s_getpagesize(void) { return 16384; }
int s_madvise(void *memory, size_t bytes, int advice) {
  if (advice != 5 || (uintptr_t)memory % 16384 != 0) abort(); /* MADV_FREE */
  return madvise(memory, bytes, MADV_DONTNEED);
}
void *s_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(address, bytes, protection,
              (flags & 0x13) | (flags & 0x1000 ? MAP_ANONYMOUS : 0) | (flags & 0x40 ? MAP_NORESERVE : 0), file, offset);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static const struct {
  int darwin, linux_;
} open_flags[] = {{0x200, O_CREAT}, {0x400, O_TRUNC},    {0x800, O_EXCL},       {8, O_APPEND},
                  {4, O_NONBLOCK},  {0x100, O_NOFOLLOW}, {0x1000000, O_CLOEXEC}};

static int flags_for_linux(int flags) {
  int made = flags & 3;
  for (size_t i = 0; i < sizeof open_flags / sizeof *open_flags; i++) {
    if (flags & open_flags[i].darwin) made |= open_flags[i].linux_;
  }
  return made;
}

/* Apple passes variable arguments on the stack, in eight bytes each; and a list of them is the address of the first. */
struct linux_list {
  void *stack, *general, *vector;
  int general_offset, vector_offset;
};
__attribute__((used)) int shim_open(const char *path, int flags, const uint64_t *more) {
  return open(path, flags_for_linux(flags), (mode_t)more[0]);
}
__attribute__((used)) int shim_fcntl(int file, int command, const uint64_t *more) {
  int argument = (int)more[0];
  if (command < 1 || command > 4) abort(); /* F_GETFD, F_SETFD, F_GETFL, F_SETFL: the same numbers */
  return fcntl(file, command, command == 4 ? flags_for_linux(argument) : argument);
}
__attribute__((used)) int s_vsnprintf(char *text, size_t bytes, const char *format, void *list) {
  union {
    struct linux_list fields;
    va_list list;
  } made = {.fields = {list, NULL, NULL, 0, 0}};
  return vsnprintf(text, bytes, format, made.list);
}
__asm__(".text\n.globl s_open, s_fcntl, s_snprintf, s__tlv_bootstrap\n"
        "s_open:\n  mov x2, sp\n  b shim_open\n"
        "s_fcntl:\n  mov x2, sp\n  b shim_fcntl\n"
        "s_snprintf:\n  mov x3, sp\n  b s_vsnprintf\n");

/* ---- The loaded file -------------------------------------------------------------------------------------------- */

/* A thread-local variable's descriptor has its offset in the third word; this function keeps all registers but x0. */
__attribute__((tls_model("initial-exec"), aligned(64), visibility("hidden"))) _Thread_local char thread_block[4096];
__asm__("s__tlv_bootstrap:\n"
        "  ldr x0, [x0, #16]\n"
        "  stp x16, x17, [sp, #-16]!\n"
        "  adrp x17, :gottprel:thread_block\n  ldr x17, [x17, #:gottprel_lo12:thread_block]\n"
        "  mrs x16, tpidr_el0\n  add x16, x16, x17\n  add x0, x0, x16\n"
        "  ldp x16, x17, [sp], #16\n"
        "  ret\n");

int s_dladdr(const void *address, Dl_info *info) {
  if ((const char *)address < image_base || (const char *)address >= image_base + image_bytes)
    return dladdr(address, info);
  *info = (Dl_info){image_path, image_base, NULL, NULL};
  return 1;
}
void *s_dlopen(const char *path, int flags) { return image_base; }
void *s_dlsym(void *file, const char *name) { return NULL; }
long s_sysconf(int name) {
  if (name != 58) abort(); /* _SC_NPROCESSORS_ONLN */
  return sysconf(_SC_NPROCESSORS_ONLN);
}
int s_issetugid(void) { return 0; }

int s_strerror_r(int error, char *text, size_t bytes) {
  extern int __xpg_strerror_r(int error, char *text, size_t bytes);
  return __xpg_strerror_r(error, text, bytes);
}
/* Numbers of the system's errors stay Linux's. */
int *s___error(void) { return &errno; }
int s_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
  return pthread_atfork(before, in_parent, in_child);
}
unsigned __int128 s___udivti3(unsigned __int128 number, unsigned __int128 by) { return number / by; }
uint64_t s___stack_chk_guard[4], s_mach_task_self_[4];

#pragma GCC visibility pop
