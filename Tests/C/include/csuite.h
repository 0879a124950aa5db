/*
 * csuite.h - the tests of chime.h, written in C.
 *
 * Each test makes its own queues and timers and shares nothing with the others, so that any number of them may run at
 * the same time on different threads.
 */
#ifndef CSUITE_H
#define CSUITE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What csuite_run returns. */
enum { CSUITE_PASSED = 0, CSUITE_FAILED = 1, CSUITE_SKIPPED = 2 };

/** How many tests may be run from any thread, in any order, at the same time: 0 to csuite_count() - 1. Those that have
 *  "trace" in their name one after the other, as a process has one trace. */
int csuite_count(void);

/** How many there are with those that need the main thread, the main queue or the process to themselves, which come
 *  last: only the process's main thread may run them, one after the other and without others. */
int csuite_count_all(void);

/** The name of test i, a sentence in snake case. */
const char *csuite_name(int i);

/**
 * Runs test i and returns when everything it made is gone.
 *
 * @param message   receives what failed, or why the test was skipped, cut to capacity; empty when it passed
 * @return CSUITE_PASSED, CSUITE_FAILED or CSUITE_SKIPPED
 */
int csuite_run(int i, char *message, size_t capacity);

/**
 * Gives the suite two dispatch queues (dispatch_queue_t) of the host; without them the tests of wrapped queues are
 * skipped. They must outlive the last test.
 */
void csuite_set_dispatch_queues(void *serial, void *concurrent);

#ifdef __cplusplus
}
#endif

#endif /* CSUITE_H */
