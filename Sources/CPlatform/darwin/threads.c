#if defined(__APPLE__)
#include "threads.h"

#include <errno.h>
#include <mach/mach.h>
#include <mach/thread_policy.h>
#include <time.h>

#include "../common/sleeper.h"
#include "clocks.h"

void chime_condition_init(chime_condition *condition) { pthread_cond_init(&condition->condition, 0); }

/* By a distance, which the kernel counts on mach_absolute_time, our monotonic clock. */
void chime_condition_wait_until(chime_condition *condition, chime_lock *lock, int64_t time) {
  int64_t left = time - chime_clock_now(chime_monotonic_clock());
  struct timespec distance;
  if (left <= 0) return; /* no distance means no limit */
  if (left > 86400000000000) left = 86400000000000;
  distance.tv_sec = left / 1000000000;
  distance.tv_nsec = left % 1000000000;
  pthread_cond_timedwait_relative_np(&condition->condition, &lock->mutex, &distance);
}

/* There is no pthread_mutex_timedlock. */
int chime_lock_take_within(chime_lock *lock, int64_t nanoseconds) {
  int64_t end = chime_clock_now(chime_monotonic_clock()) + nanoseconds;
  struct timespec pause = {0, 1000000};
  int error;
  while ((error = pthread_mutex_trylock(&lock->mutex)) == EBUSY && chime_clock_now(chime_monotonic_clock()) < end) {
    nanosleep(&pause, 0);
  }
  return error;
}

bool chime_is_main_thread(void) { return pthread_main_np() == 1; }

/* There is no slack in nanoseconds, but a tier that says how much wake-ups may be deferred to others. */
void chime_set_timer_slack(uint64_t nanoseconds) {
  thread_latency_qos_policy_data_t policy = {nanoseconds < 1000000 ? LATENCY_QOS_TIER_0 : LATENCY_QOS_TIER_UNSPECIFIED};
  thread_policy_set(pthread_mach_thread_np(pthread_self()), THREAD_LATENCY_QOS_POLICY, (thread_policy_t)&policy,
                    THREAD_LATENCY_QOS_POLICY_COUNT);
}

/* A thread that computes for a moment, soon after it is woken; any priority gives the same, which is above all others. */
int chime_set_realtime(int priority) {
  thread_time_constraint_policy_data_t policy;
  (void)priority;
  policy.period = 0; /* no regular one */
  policy.computation = (uint32_t)chime_mach_ticks(500000);
  policy.constraint = (uint32_t)chime_mach_ticks(1000000);
  policy.preemptible = 1;
  return thread_policy_set(pthread_mach_thread_np(pthread_self()), THREAD_TIME_CONSTRAINT_POLICY,
                           (thread_policy_t)&policy, THREAD_TIME_CONSTRAINT_POLICY_COUNT) == KERN_SUCCESS
             ? 0
             : EPERM;
}

void chime_set_thread_name(const char *name) { pthread_setname_np(name); }

/* There are no robust mutexes: what a thread leaves behind its last destructors stays. */
void chime_life_begin(chime_life *life) { (void)life; }
void chime_life_end(chime_life *life) { (void)life; }
bool chime_life_is_over(chime_life *life) { return (void)life, false; }
#endif
