#if defined(__linux__)
#include "threads.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void chime_condition_init(chime_condition *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition->condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

void chime_condition_wait_until(chime_condition *condition, chime_lock *lock, int64_t time) {
  struct timespec until;
  if (time < 0) time = 0;
  until.tv_sec = time / 1000000000;
  until.tv_nsec = time % 1000000000;
  pthread_cond_timedwait(&condition->condition, &lock->mutex, &until);
}

/* The kernel's, as linux/futex.h has them, which is not everywhere. */
enum { WAKE = 1 | 128, WAIT_BITSET = 9 | 128, ANY = -1 };

void chime_sleeper_init(chime_sleeper *sleeper) { sleeper->is_woken = sleeper->sleepers = 0; }
void chime_sleeper_destroy(chime_sleeper *sleeper) { (void)sleeper; }

/* Whoever wakes calls the system as long as a thread sleeps, also where another one is about to. */
void chime_sleeper_wake(chime_sleeper *sleeper) {
  int saved = errno;
  __atomic_store_n(&sleeper->is_woken, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&sleeper->sleepers, __ATOMIC_SEQ_CST)) {
    syscall(SYS_futex, &sleeper->is_woken, WAKE, 1, 0, 0, 0);
  }
  errno = saved;
}

bool chime_sleeper_sleep(chime_sleeper *sleeper, int64_t time) {
  int saved = errno;
  struct timespec until;
  if (time < 0) time = 0;
  until.tv_sec = time / 1000000000;
  until.tv_nsec = time % 1000000000;
  __atomic_fetch_add(&sleeper->sleepers, 1, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&sleeper->is_woken, __ATOMIC_SEQ_CST)) {
    syscall(SYS_futex, &sleeper->is_woken, WAIT_BITSET, 0, time == INT64_MAX ? 0 : &until, 0, ANY);
  }
  __atomic_fetch_sub(&sleeper->sleepers, 1, __ATOMIC_RELAXED);
  errno = saved;
  return __atomic_exchange_n(&sleeper->is_woken, 0, __ATOMIC_SEQ_CST);
}

int chime_lock_take_within(chime_lock *lock, int64_t nanoseconds) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  nanoseconds += end.tv_nsec;
  end.tv_sec += nanoseconds / 1000000000;
  end.tv_nsec = nanoseconds % 1000000000;
  return pthread_mutex_timedlock(&lock->mutex, &end);
}

bool chime_is_main_thread(void) { return gettid() == getpid(); }

void chime_set_timer_slack(uint64_t nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

int chime_set_realtime(int priority) {
  struct sched_param parameters;
  parameters.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

void chime_set_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

/* The kernel marks what a thread has locked when it ends. */
void chime_life_begin(chime_life *life) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&life->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  pthread_mutex_lock(&life->mutex);
}

void chime_life_end(chime_life *life) {
  pthread_mutex_unlock(&life->mutex);
  pthread_mutex_destroy(&life->mutex);
}

bool chime_life_is_over(chime_life *life) {
  if (pthread_mutex_trylock(&life->mutex) != EOWNERDEAD) return false;
  pthread_mutex_consistent(&life->mutex);
  chime_life_end(life);
  return true;
}
#endif
