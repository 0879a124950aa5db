#include "swift_tasks.h"

#include <stddef.h>

#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*original)(void *job);
typedef SWIFT_CALL void (*hook)(void *job, original original);

/* Concurrency.h of Swift's runtime. */
extern hook swift_task_enqueueGlobal_hook __attribute__((weak));

static chime_swift_job_function job_function;

static SWIFT_CALL void take(void *job, original original) {
  (void)original;
  /* Another thread may be storing the same function once more. */
  __atomic_load_n(&job_function, __ATOMIC_ACQUIRE)(job);
}

int chime_swift_take_jobs(chime_swift_job_function function) {
  hook *place = &swift_task_enqueueGlobal_hook, none = NULL;
  if (place == NULL) return 0;
  if (!chime_swift_has_jobs()) __atomic_store_n(&job_function, function, __ATOMIC_RELEASE);
  return __atomic_compare_exchange_n(place, &none, take, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == take;
}

int chime_swift_has_jobs(void) {
  hook *place = &swift_task_enqueueGlobal_hook;
  return place != NULL && __atomic_load_n(place, __ATOMIC_ACQUIRE) == take;
}
