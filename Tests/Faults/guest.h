/*
 * guest.h - what programs ask of Linux that try Chime as a guest: what the process has, one processor, refused calls.
 */
#ifndef FAULTS_GUEST_H
#define FAULTS_GUEST_H

#include "places.h"

/** How many threads the process has, and how many descriptors. */
int guest_threads(void);
int guest_files(void);

/** Waits until the process has no more threads than that. Returns 0 after PATIENCE. */
int guest_await_threads(int most);

/** The place has threads that are Chime's own; the case is skipped where they are libdispatch's. */
void guest_needs_own_threads(int where);

/** Whether a fault of the thread itself raises the signal. */
int guest_is_fault(int signal);

/** Binds the process to the first processor that it may use. */
void guest_bind_to_one_processor(void);
/** The calling thread has SCHED_FIFO from now on; the case is skipped where that is not permitted. */
void guest_become_realtime(int priority);
/** Runs a case in a process that has one processor from its beginning, whatever Chime's threads inherit. */
void guest_run_on_one_processor(const char *name, int argument);

/** A handler that counts and starts its timer again. */
void guest_tick_again(const chime_tick *tick, void *count);

/** From now on the kernel refuses this call with this error, to every thread and for good; skipped where it does not. */
void guest_refuse(long call, int error);

#endif
