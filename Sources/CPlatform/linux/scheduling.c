#if defined(__linux__)
#include "scheduling.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_state.h"
#include "threads.h"

/* How the process's first thread was scheduled when the library was loaded: what threads of Chime's own begin with. */
static struct {
  bool has_processors;
  cpu_set_t processors;
  int policy, nice;
  long slack;
} usual;

/* By the system call, since musl's sched_getscheduler and sched_setscheduler answer ENOSYS. */
static int policy_of(pid_t thread) {
  int policy = (int)syscall(SYS_sched_getscheduler, thread);
  return policy < 0 ? SCHED_OTHER : policy & ~SCHED_RESET_ON_FORK;
}
static bool is_realtime(int policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

bool chime_is_realtime(void) { return is_realtime(policy_of(0)); }

__attribute__((constructor)) static void note_usual_scheduling(void) {
  pid_t first = getpid();
  int error = errno;
  usual.has_processors = sched_getaffinity(first, sizeof usual.processors, &usual.processors) == 0;
  usual.policy = policy_of(first);
  if (is_realtime(usual.policy)) usual.policy = SCHED_OTHER;
  usual.nice = getpriority(PRIO_PROCESS, (id_t)first);
  usual.slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  errno = error;
}

int chime_processors(void) {
  return usual.has_processors ? CPU_COUNT(&usual.processors) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t chime_timer_slack(void) {
  if (thread_of_chime.slack_and_one == 0) {
    /* Nothing is added for threads with real-time priority. */
    int found = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    thread_of_chime.slack_and_one = is_realtime(policy_of(0)) || found < 0 ? 1 : (uint32_t)found + 1;
  }
  return (int64_t)thread_of_chime.slack_and_one - 1;
}

bool chime_set_usual_class(pthread_attr_t *attributes) {
  struct sched_param parameters = {0};
  if (policy_of(0) != SCHED_IDLE || usual.policy == SCHED_IDLE) return false;
  pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(attributes, usual.policy);
  pthread_attr_setschedparam(attributes, &parameters);
  return true;
}

void chime_inherit_class(pthread_attr_t *attributes) {
  pthread_attr_setinheritsched(attributes, PTHREAD_INHERIT_SCHED);
}

/* What the system refuses stays as the thread has it from its maker: a better nice value, or another class for one that is
   idle, without the right to raise a priority. */
void chime_schedule_as_usual(void) {
  struct sched_param parameters = {0};
  if (policy_of(0) != usual.policy) syscall(SYS_sched_setscheduler, 0, usual.policy, &parameters);
  if (usual.has_processors) sched_setaffinity(0, sizeof usual.processors, &usual.processors);
  if (usual.slack > 0) prctl(PR_SET_TIMERSLACK, usual.slack, 0, 0, 0);
  if (getpriority(PRIO_PROCESS, (id_t)gettid()) != usual.nice) setpriority(PRIO_PROCESS, (id_t)gettid(), usual.nice);
}
#endif
