/*
 * guest.h - what the programs of this directory share beyond Faults' harness: what the process has, seccomp, and bounds.
 */
#ifndef HOSTS_GUEST_H
#define HOSTS_GUEST_H

#include "places.h"

/** How many threads the process has, and how many descriptors. */
int guest_threads(void);
int guest_files(void);

/** Waits until the process has no more threads than that. Returns 0 after PATIENCE. */
int guest_await_threads(int most);

/** The case fails after so many seconds, by SIGALRM: for calls that would never return. */
void guest_ends_within(unsigned seconds);

/** The place has threads that are Chime's own. */
int guest_is_own(int where);

/** Binds the process to the first processor that it may use. */
void guest_bind_to_one_processor(void);

/**
 * From now on the kernel refuses this call with this error, to every thread and for good.
 * @return 0 where the kernel has no seccomp or does not permit it
 */
int guest_refuse(long call, int error);

#endif
