/* step.c - stops a thread before an instruction: by the processor's trap flag. */
#define _GNU_SOURCE /* the registers in a ucontext */

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <ucontext.h>

#include "storms.h"

/* The thread that steps posts `stands` and waits for `goes`; so one of the two runs at a time. */
static sem_t stands, goes;
static int has_ended, only_exchanges, runs_to_the_end;

#ifdef __x86_64__

enum { CAN_STEP = 1, TRAP_FLAG = 0x100 };

/* Beside the red zone, in which the compiler may keep something. */
#define SET_FLAGS(change) \
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" :: \
                       : "memory", "cc")
#define BEGIN_STEPPING SET_FLAGS("orq $0x100, (%%rsp)")
#define END_STEPPING SET_FLAGS("andq $~0x100, (%%rsp)")

/* LOCK CMPXCHG, with prefixes of size and registers in between. */
static int is_exchange(const unsigned char *code) {
  if (*code++ != 0xF0) return 0;
  while ((*code & 0xF0) == 0x40 || *code == 0x66) code++;
  return code[0] == 0x0F && (code[1] & 0xFE) == 0xB0;
}

static void stand_before_the_instruction(int number, siginfo_t *info, void *argument) {
  ucontext_t *context = argument;
  int before = errno;
  (void)number, (void)info;
  if (only_exchanges && !is_exchange((const unsigned char *)context->uc_mcontext.gregs[REG_RIP])) return;
  sem_post(&stands);
  while (sem_wait(&goes) != 0) continue;
  if (runs_to_the_end) context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  errno = before;
}

#else

enum { CAN_STEP = 0 };
#define BEGIN_STEPPING
#define END_STEPPING
static void stand_before_the_instruction(int number, siginfo_t *info, void *argument) {
  (void)number, (void)info, (void)argument, (void)goes;
}

#endif

int step_prepare(csuite *t) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = stand_before_the_instruction;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(SIGTRAP, &action, NULL);
  sem_init(&stands, 0, 0);
  sem_init(&goes, 0, 0);
  if (!CAN_STEP) csuite_skip(t, "this processor cannot be stepped through a call");
  return CAN_STEP;
}

void step_begin(int at_exchanges_only) {
  only_exchanges = at_exchanges_only;
  runs_to_the_end = 0;
  store(&has_ended, 0);
  BEGIN_STEPPING;
}

void step_end(void) {
  END_STEPPING;
  store(&has_ended, 1);
  sem_post(&stands);
}

int step_await(void) {
  while (sem_wait(&stands) != 0) continue;
  return load(&has_ended) == 0;
}

void step_on(int to_the_end) {
  runs_to_the_end = to_the_end;
  sem_post(&goes);
}
