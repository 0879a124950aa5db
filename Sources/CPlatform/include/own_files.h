/*
 * own_files.h - descriptors: those that Chime opens for itself, noted so that a forked child can close what came with it
 * (where a fork does not keep them there is nothing to note), and waiting for two of them. On Windows they are handles of the
 * system's, 32 bits of which matter.
 */
#ifndef CHIME_OWN_FILES_H
#define CHIME_OWN_FILES_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Notes a descriptor that was just opened. */
void chime_own_file(int file);

/* Closes one. A cancellation point. */
void chime_own_file_close(int file);

/* In a forked child's only thread: closes those of the process that it was forked from. A number that stands for something
   else by now, a file of the child's own or one that Chime has opened there, is left alone. */
void chime_own_files_close_inherited(void);

/* Whether so many could be opened now, which is tried: 0 or an error number. */
int chime_open_for_a_moment(int count);

/* Waits until one of two can be read, a signal comes, or so many milliseconds are over; negative: without end. A negative
   descriptor is passed over. True if the second can be read. A cancellation point. */
bool chime_wait_for_files(int first, int second, int milliseconds);

#pragma GCC visibility pop

#endif
