/*
 * storms.h - what the storms share beside the harness of the C suite.
 *
 * A storm is a test of the C suite's form that goes on for a given time. Each runs in a process of its own, on a thread
 * of its own, while the process's main thread is in chime_main_run. Its verdict does not depend on how fast the machine
 * is: what must happen has 30 s, and what must not happen is a matter of order.
 */
#ifndef STORMS_STORMS_H
#define STORMS_STORMS_H

#include "harness.h"

/** 1 until the time is over or something failed. */
int storm_goes_on(csuite *t);

/** Pseudo-random numbers of the storm; the same for the same seed. */
dice storm_dice(void);

/** A line on what was seen, printed with the storm's verdict. */
void storm_saw(const char *format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* ---- What must end ---------------------------------------------------------------------------------------------- */

/**
 * From now on `what`, a string that stays, must end within 30 s: by the next storm_waits_for or storm_rests. Otherwise
 * the process says what did not end, and fails.
 */
void storm_waits_for(const char *what);
void storm_rests(void);

/* ---- The process's main thread ---------------------------------------------------------------------------------- */

/** Has the main thread leave chime_main_run, call the function outside of it, and go back. Does not wait for that. */
void storm_on_the_main_thread(chime_function function, void *context);

#endif /* STORMS_STORMS_H */
