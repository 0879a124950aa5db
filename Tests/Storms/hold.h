/* hold.h - stops a thread in the midst of whatever it does, as a scheduler may, for as long as a storm wants. */
#ifndef STORMS_HOLD_H
#define STORMS_HOLD_H

#include <pthread.h>

/** Once, before the first hold. */
void hold_prepare(void);

/** Stops the thread, in a signal handler; returns when it stands. One thread at a time. */
void hold(pthread_t thread);

/** Lets it go on. */
void hold_end(void);

#endif /* STORMS_HOLD_H */
