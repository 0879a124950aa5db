/*
 * wall_steps.h - a descriptor that is readable once the wall clock was stepped: a timerfd that a step cancels on Linux, one
 * of notify(3) on macOS and iOS.
 */
#ifndef CHIME_WALL_STEPS_H
#define CHIME_WALL_STEPS_H

#pragma GCC visibility push(hidden)

/* -1 and errno: no descriptor. */
int chime_step_file_make(void);
/* Before the first wait, and after each step: not readable until the next one. */
void chime_step_file_arm(int file);
void chime_step_file_close(int file);

#pragma GCC visibility pop

#endif
