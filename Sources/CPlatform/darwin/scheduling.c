#if defined(__APPLE__)
#include "scheduling.h"

#include "threads.h"

#include <pthread.h>
#include <pthread/qos.h>
#include <unistd.h>

int chime_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

/* Not to be known. No wait needs it: see chime_poller_keeps_time. */
int64_t chime_timer_slack(void) { return 0; }

/* Not to be known without a call to the kernel's server. */
bool chime_is_realtime(void) { return false; }

bool chime_set_usual_class(pthread_attr_t *attributes) {
  (void)attributes;
  return false;
}

void chime_inherit_class(pthread_attr_t *attributes) { (void)attributes; }

/* The time-constraint policy is not passed on to a new thread, nor is anything else but its maker's class. */
void chime_schedule_as_usual(void) { pthread_set_qos_class_self_np(QOS_CLASS_DEFAULT, 0); }
#endif
