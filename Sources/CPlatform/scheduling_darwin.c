#if defined(__APPLE__)
#include "scheduling.h"

#include <pthread.h>
#include <pthread/qos.h>
#include <unistd.h>

int chime_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

/* Not to be known. No wait needs it: see chime_poller_keeps_time. */
int64_t chime_timer_slack(void) { return 0; }

/* The time-constraint policy is not passed on to a new thread. */
void chime_schedule_as_usual(void) {}

/* A nice value is the process's. A thread has a class of quality of service instead, which it may leave and come back to:
   one for each value that a thread of the pool takes, beside 0 for the usual one. */
int chime_nice(void) { return 0; }

bool chime_set_nice(int value) {
  qos_class_t class = QOS_CLASS_DEFAULT;
  if (value <= -5) {
    class = QOS_CLASS_USER_INTERACTIVE;
  } else if (value < 0) {
    class = QOS_CLASS_USER_INITIATED;
  } else if (value >= 10) {
    class = QOS_CLASS_BACKGROUND;
  } else if (value > 0) {
    class = QOS_CLASS_UTILITY;
  }
  return pthread_set_qos_class_self_np(class, 0) == 0;
}
#endif
