#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "scheduling.h"

/* A nice value is a thread's own here. */
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_state.h"

int chime_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* By the system call, since musl's sched_getscheduler and sched_setscheduler answer ENOSYS. */
static bool is_realtime(void) {
  long policy = syscall(SYS_sched_getscheduler, 0);
  return policy == SCHED_FIFO || policy == SCHED_RR;
}

int64_t chime_timer_slack(void) {
  static _Thread_local __attribute__((CHIME_THREAD_LOCAL_MODEL)) int64_t slack; /* and one; 0: not asked yet */
  if (slack == 0) {
    /* Nothing is added for threads with real-time priority. */
    int found = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    slack = is_realtime() || found < 0 ? 1 : (int64_t)found + 1;
  }
  return slack - 1;
}

int chime_nice(void) { return getpriority(PRIO_PROCESS, (id_t)gettid()); }

/* Whether a thread with this value that gets a higher one may come back. */
static bool returns(id_t thread, int value) {
  struct rlimit limit;
  if (setpriority(PRIO_PROCESS, thread, value - 1) == 0) return setpriority(PRIO_PROCESS, thread, value) == 0;
  if (getrlimit(RLIMIT_NICE, &limit) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || 20 - (int)limit.rlim_cur <= value;
}

bool chime_set_nice(int value) {
  static int may_return; /* the process's: 1, -1; 0: not tried yet */
  id_t thread = (id_t)gettid();
  int error = errno, present = getpriority(PRIO_PROCESS, thread);
  int known = __atomic_load_n(&may_return, __ATOMIC_RELAXED);
  if (value > present && known == 0) {
    known = returns(thread, present) ? 1 : -1;
    __atomic_store_n(&may_return, known, __ATOMIC_RELAXED);
  }
  bool is_done = (value <= present || known > 0) && setpriority(PRIO_PROCESS, thread, value) == 0;
  errno = error;
  return is_done;
}

void chime_schedule_as_usual(void) {
  struct sched_param parameters = {0};
  if (is_realtime()) syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameters);
}
#endif
