#include "swift_tasks.h"

#include <stdbool.h>
#include <stddef.h>

#define SWIFT_CALL __attribute__((swiftcall))

/* What Concurrency.h of Swift's runtime declares. */
typedef SWIFT_CALL void (*original_enqueue)(void *job);
typedef SWIFT_CALL void (*enqueue_hook)(void *job, original_enqueue original);
typedef SWIFT_CALL chime_swift_executor (*original_main)(void);
typedef SWIFT_CALL chime_swift_executor (*main_hook)(original_main original);
typedef SWIFT_CALL bool (*original_is_main)(chime_swift_executor executor);
typedef SWIFT_CALL bool (*is_main_hook)(chime_swift_executor executor, original_is_main original);

extern enqueue_hook swift_task_enqueueGlobal_hook __attribute__((weak));
extern main_hook swift_task_getMainExecutor_hook __attribute__((weak));
extern is_main_hook swift_task_isMainExecutor_hook __attribute__((weak));
extern SWIFT_CALL chime_swift_executor swift_task_getMainExecutor(void) __attribute__((weak));
extern SWIFT_CALL size_t swift_task_getJobFlags(const void *job) __attribute__((weak));
extern SWIFT_CALL uint64_t swift_task_getJobTaskId(const void *job) __attribute__((weak));
extern SWIFT_CALL const void *swift_task_getCurrent(void) __attribute__((weak));
extern SWIFT_CALL const void *swift_task_localValueGet(const void *key) __attribute__((weak));
extern SWIFT_CALL chime_swift_executor swift_task_getCurrentExecutor(void) __attribute__((weak));

/* MARK: the global executor's jobs */

static chime_swift_job_function job_function;

static SWIFT_CALL void take(void *job, original_enqueue original) {
  (void)original;
  /* Another thread may be storing the same function once more. */
  __atomic_load_n(&job_function, __ATOMIC_ACQUIRE)(job);
}

int chime_swift_take_jobs(chime_swift_job_function function) {
  enqueue_hook *place = &swift_task_enqueueGlobal_hook, none = NULL;
  if (place == NULL) return 0;
  if (!chime_swift_has_jobs()) __atomic_store_n(&job_function, function, __ATOMIC_RELEASE);
  return __atomic_compare_exchange_n(place, &none, take, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == take;
}

int chime_swift_has_jobs(void) {
  enqueue_hook *place = &swift_task_enqueueGlobal_hook;
  return place != NULL && __atomic_load_n(place, __ATOMIC_ACQUIRE) == take;
}

/* MARK: the default executor's */

/* What Executor.swift of the runtime declares. A Mac's linker would want to find these when it links. */
#ifndef __APPLE__
typedef SWIFT_CALL chime_swift_executor (*get_executor)(void);

/* A table of ExecutorFactory. */
typedef struct factory {
  const void *conformance;
  get_executor main, task;
} factory;

extern SWIFT_CALL chime_swift_executor get_main_actors(void) __asm__("$sScM8executors12MainExecutor_pvgZ")
    __attribute__((weak));
extern SWIFT_CALL chime_swift_executor get_default(void) __asm__("$sScTss5NeverORszABRs_rlE15defaultExecutorSch_pvgZ")
    __attribute__((weak));
extern SWIFT_CALL void swift_createExecutors(const void *metatype, const void *type, const factory *table)
    __attribute__((weak));

/* Stored before the runtime asks for it. */
static const void *default_table;

static SWIFT_CALL chime_swift_executor make_default(void) {
  chime_swift_executor executor = get_default();
  executor.table = __atomic_load_n(&default_table, __ATOMIC_ACQUIRE);
  return executor;
}

const void *chime_swift_default_executor(void) {
  return get_default == NULL || get_main_actors == NULL || swift_createExecutors == NULL ? NULL
                                                                                         : get_default().identity;
}

void chime_swift_take_default(const void *table) {
  /* Whoever asks the factory passes on its type, which these functions do not look at. */
  static const factory executors = {NULL, get_main_actors, make_default};
  if (chime_swift_default_executor() == NULL || get_default().table == table) return;
  __atomic_store_n(&default_table, table, __ATOMIC_RELEASE);
  swift_createExecutors(&executors, &executors, &executors);
}
#else
const void *chime_swift_default_executor(void) { return NULL; }

void chime_swift_take_default(const void *table) { (void)table; }
#endif

/* MARK: the main actor's */

static const void *main_identity, *main_table;

static SWIFT_CALL chime_swift_executor get_main(original_main original) {
  (void)original;
  /* Pairs with the CAS that made this function the hook: both are there. */
  chime_swift_executor executor = {__atomic_load_n(&main_identity, __ATOMIC_ACQUIRE),
                                   __atomic_load_n(&main_table, __ATOMIC_ACQUIRE)};
  return executor;
}

static SWIFT_CALL bool is_main(chime_swift_executor executor, original_is_main original) {
  return executor.identity == __atomic_load_n(&main_identity, __ATOMIC_ACQUIRE) || original(executor);
}

const void *chime_swift_main_executor(void) {
  return swift_task_getMainExecutor == NULL ? NULL : swift_task_getMainExecutor().identity;
}

int chime_swift_take_main(chime_swift_executor executor) {
  main_hook *place = &swift_task_getMainExecutor_hook, none = NULL;
  is_main_hook *question = &swift_task_isMainExecutor_hook, free_question = NULL;
  if (place == NULL || question == NULL) return 0;
  __atomic_store_n(&main_identity, executor.identity, __ATOMIC_RELEASE);
  __atomic_store_n(&main_table, executor.table, __ATOMIC_RELEASE);
  if (!__atomic_compare_exchange_n(question, &free_question, is_main, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
      free_question != is_main)
    return 0;
  return __atomic_compare_exchange_n(place, &none, get_main, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || none == get_main;
}

int chime_swift_has_main(void) {
  main_hook *place = &swift_task_getMainExecutor_hook;
  return place != NULL && __atomic_load_n(place, __ATOMIC_ACQUIRE) == get_main;
}

/* MARK: tasks */

uint64_t chime_swift_task_number(const void *job) {
  if (job == NULL || swift_task_getJobFlags == NULL || swift_task_getJobTaskId == NULL) return 0;
  /* JobFlags, MetadataValues.h: the lowest byte is the kind, and 0 is a task's. */
  return (swift_task_getJobFlags(job) & 0xff) == 0 ? swift_task_getJobTaskId(job) : 0;
}

const void *chime_swift_current_task(void) { return swift_task_getCurrent == NULL ? NULL : swift_task_getCurrent(); }

const void *chime_swift_task_local(const void *task_local) {
  return swift_task_localValueGet == NULL || chime_swift_current_task() == NULL ? NULL
                                                                                : swift_task_localValueGet(task_local);
}

const void *chime_swift_current_executor(void) {
  return swift_task_getCurrentExecutor == NULL ? NULL : swift_task_getCurrentExecutor().identity;
}

/* MARK: threads */

static _Thread_local uint64_t thread_number;

uint64_t chime_swift_thread_number(void) { return thread_number; }

uint64_t chime_swift_set_thread_number(uint64_t number) {
  uint64_t previous = thread_number;
  thread_number = number;
  return previous;
}
