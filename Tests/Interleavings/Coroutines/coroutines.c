#define _GNU_SOURCE
#include "coroutines.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* swapcontext(3) would do, but makes a system call at each switch. The frame pointer of a coroutine's first frame is 0,
   which ends the walk of chime_callers. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl chime_coroutine_switch\n"
        "chime_coroutine_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        "chime_coroutine_start:\n"
        "  movq %r12, %rdi\n"
        "  callq *%r13\n"
        "  ud2\n");
void chime_coroutine_start(void);

void *chime_coroutine_prepare(void *stack, size_t size, void (*body)(void *), void *argument) {
  uint64_t *top = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15);
  *--top = (uint64_t)chime_coroutine_start; /* whose call leaves the stack as a function expects it */
  *--top = 0;                               /* rbp */
  *--top = 0;                               /* rbx */
  *--top = (uint64_t)argument;              /* r12 */
  *--top = (uint64_t)body;                  /* r13 */
  *--top = 0;
  *--top = 0;
  return top;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl chime_coroutine_switch\n"
        "chime_coroutine_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        "chime_coroutine_start:\n"
        "  mov x0, x19\n"
        "  blr x20\n"
        "  brk #1\n");
void chime_coroutine_start(void);

void *chime_coroutine_prepare(void *stack, size_t size, void (*body)(void *), void *argument) {
  uint64_t *top = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 20;
  for (int i = 0; i < 20; i++) top[i] = 0;
  top[0] = (uint64_t)argument;               /* x19 */
  top[1] = (uint64_t)body;                   /* x20 */
  top[11] = (uint64_t)chime_coroutine_start; /* x30 */
  return top;
}
#else
#error "No coroutines for this processor."
#endif

int chime_callers(void **addresses, int most) {
  void **frame = __builtin_frame_address(0);
  int count = 0;
  while (frame && count < most && frame[1]) {
    addresses[count++] = frame[1];
    frame = frame[0];
  }
  return count;
}

/* Definitions in the program stand in front of libc's. */

struct chime_files chime_files;

int timerfd_create(int clock, int flags) {
  (void)clock;
  (void)flags;
  return chime_files.make ? chime_files.make() : -1;
}

int timerfd_settime(int file, int flags, const struct itimerspec *new, struct itimerspec *old) {
  (void)flags;
  (void)old;
  if (chime_files.set) chime_files.set(file, new->it_value.tv_sec * 1000000000LL + new->it_value.tv_nsec);
  return 0;
}

int close(int file) {
  if (file < CHIME_FIRST_FILE) return (int)syscall(SYS_close, file);
  if (chime_files.close) chime_files.close(file);
  return 0;
}

/* No thread of a scenario is the process's main one, whose run loop would drain libdispatch's main queue. */
pid_t gettid(void) { return getpid() + 1; }

int pthread_setname_np(pthread_t thread, const char *name) {
  (void)thread;
  (void)name;
  return 0;
}
