/*
 * swift_tasks.h - what Swift's concurrency runtime offers to whoever wants to know which tasks can run: a hook that gets
 * every job on its way to the global executor. The runtime exports it for this purpose; Swift itself cannot import it.
 */
#ifndef CHIME_SWIFT_TASKS_H
#define CHIME_SWIFT_TASKS_H

/* Gets a job that has become runnable, and has to have it run, once: job is an UnownedJob. */
typedef void (*chime_swift_job_function)(void *job);

/*
 * Sends every job from now on to the function. Any thread; the last call counts. Answers 0 when the runtime has no such
 * hook, or another has taken it: then nothing has changed.
 */
int chime_swift_take_jobs(chime_swift_job_function function);

/* Whether jobs still go there. */
int chime_swift_has_jobs(void);

#endif
