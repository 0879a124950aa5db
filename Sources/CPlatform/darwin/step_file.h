/* darwin/step_file.h - a descriptor that tells of steps, inside the kqueue of a queue that a host drives. */
#ifndef CHIME_STEP_FILE_H
#define CHIME_STEP_FILE_H

#include <stdbool.h>

#include "wall_steps.h"

#pragma GCC visibility push(hidden)

/* Notes the kqueue that it is in, with which darwin/own_files.c closes it; and finds it by that, -1: none. */
bool chime_step_file_bind(int file, int queue);
int chime_step_file_of(int queue);

#pragma GCC visibility pop

#endif
