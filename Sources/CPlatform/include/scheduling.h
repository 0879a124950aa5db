/* scheduling.h - how the system schedules threads: processors, nice values, and how late a wait may end. */
#ifndef CHIME_SCHEDULING_H
#define CHIME_SCHEDULING_H

#include <stdbool.h>
#include <stdint.h>

#include "platform.h"

#pragma GCC visibility push(hidden)

/* Some moments of a loop that waits for another processor, or for a time that is near. */
static inline void chime_spin(void) {
  for (int i = 0; i < 8; i++) chime_pause();
}

/* How many processors the calling thread may run on. */
int chime_processors(void);

/*
 * How many nanoseconds the system may add to the limit of one of the calling thread's waits, as it was when the thread
 * asked first.
 */
int64_t chime_timer_slack(void);

/* Takes real-time priority, which it may have from the thread that made it, from the calling thread. */
void chime_schedule_as_usual(void);

/*
 * The calling thread's nice value, and a change of it; false where the system does not let the thread have that one, or
 * not come back from it.
 */
int chime_nice(void);
bool chime_set_nice(int value);

#pragma GCC visibility pop

#endif
