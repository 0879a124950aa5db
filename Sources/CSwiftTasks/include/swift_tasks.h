/*
 * swift_tasks.h - what Swift's concurrency runtime offers to whoever wants to know which tasks can run: a hook that gets
 * every job on its way to the global executor, one that says which executor is the main actor's, and the numbers of tasks.
 * The runtime exports them for this purpose; Swift itself cannot import them.
 */
#ifndef CHIME_SWIFT_TASKS_H
#define CHIME_SWIFT_TASKS_H

#include <stdint.h>

/* Gets a job that has become runnable, and has to have it run, once: job is an UnownedJob. */
typedef void (*chime_swift_job_function)(void *job);

/*
 * Sends every job from now on to the function. Any thread; the last call counts. Answers 0 when the runtime has no such
 * hook, or another has taken it: then nothing has changed.
 */
int chime_swift_take_jobs(chime_swift_job_function function);

/* Whether jobs still go there. */
int chime_swift_has_jobs(void);

/* An UnownedSerialExecutor. */
typedef struct chime_swift_executor {
  const void *identity;
  const void *table;
} chime_swift_executor;

/*
 * The object to which the runtime itself gives the job of a task that yields on an actor, past the hook for jobs; NULL when
 * the runtime has none (Swift 6.2 uses the hook), or cannot be asked.
 */
const void *chime_swift_default_executor(void);

/*
 * Has that object enqueue by another class's table of TaskExecutor, whose functions must not look at the object: what else
 * it does, such as sleeping, it goes on to do itself. Its reference is two words, of which one changes, so that other threads
 * may be using it.
 */
void chime_swift_take_default(const void *table);

/* The object that runs the main actor's jobs; NULL when the runtime cannot be asked. */
const void *chime_swift_main_executor(void);

/*
 * Has the main actor's jobs go to an executor, which has to live for ever and to run them on the main queue. Tasks that have
 * begun before may go on past it. Any thread, always with the same executor. Answers 0 when the runtime has no such hook, or
 * another has taken it: then nothing has changed.
 */
int chime_swift_take_main(chime_swift_executor executor);

/* Whether they still go there. */
int chime_swift_has_main(void);

/*
 * The number of the task that a job is a part of; 0 for jobs that are none's, as an actor's are, and when the runtime cannot
 * be asked. Later tasks have larger numbers.
 */
uint64_t chime_swift_task_number(const void *job);

/* The task that this thread runs, whose first part is a job; NULL for none. */
const void *chime_swift_current_task(void);

/*
 * Where the calling task keeps the value of a task-local, which is named by the address of its TaskLocal; NULL if it has none.
 * A child task has it at the same place as its parent; a task that is nobody's child has a copy.
 */
const void *chime_swift_task_local(const void *task_local);

/* The serial executor whose job this thread runs, the identity of an actor's; NULL for none, or when it cannot be asked. */
const void *chime_swift_current_executor(void);

/* A number that belongs to this thread, at first 0. The second function answers the one that it replaces. */
uint64_t chime_swift_thread_number(void);
uint64_t chime_swift_set_thread_number(uint64_t number);

#endif
