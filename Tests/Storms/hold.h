/* hold.h - stops a thread in the midst of whatever it does, as a scheduler may, for as long as a storm wants. */
#ifndef STORMS_HOLD_H
#define STORMS_HOLD_H

#include <pthread.h>

/** Once, before anything else here. */
void hold_prepare(void);

/** Stops the thread where it is; returns when it stands. One thread at a time. */
void hold(pthread_t thread);

/** Lets it go on. */
void hold_end(void);

/* ---- One instruction after the other, where the processor offers it (x86-64) ------------------------------------- */

/** Whether the functions below do anything. */
int hold_can_step(void);

/**
 * Has the calling thread stand before each instruction that it executes from here to step_end, or only before each
 * compare-and-exchange. Each time another thread has to let it go on.
 */
void step_begin(int at_exchanges_only);
void step_end(void);

/** In another thread: waits until the thread stands; 0 when it has come to step_end. */
int step_await(void);
/** Lets it go on to the next place; or, with `to_the_end`, without standing again. */
void step_on(int to_the_end);

#endif /* STORMS_HOLD_H */
