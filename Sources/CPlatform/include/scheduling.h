/* scheduling.h - how the system schedules threads: processors, classes, and how late a wait may end. */
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

/* How many processors the threads of Chime's own may run on. */
int chime_processors(void);

/*
 * How many nanoseconds the system may add to the limit of one of the calling thread's waits, as it was when the thread
 * asked first.
 */
int64_t chime_timer_slack(void);

/* Whether the calling thread has real-time priority. */
bool chime_is_realtime(void);

/*
 * Gives the calling thread, in place of what it has from its maker, the class, the nice value, the processors and the timer
 * slack that the process began with, as far as the system lets it; never real-time priority.
 */
void chime_schedule_as_usual(void);

#pragma GCC visibility pop

#endif
