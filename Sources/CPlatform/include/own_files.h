/*
 * own_files.h - the descriptors that Chime opens for itself, noted so that a forked child can close what came with it. (Where
 * a fork does not keep them there is nothing to note.)
 */
#ifndef CHIME_OWN_FILES_H
#define CHIME_OWN_FILES_H

#pragma GCC visibility push(hidden)

/* Notes a descriptor that was just opened. */
void chime_own_file(int file);

/* Closes one. A cancellation point. */
void chime_own_file_close(int file);

/* In a forked child's only thread: closes those of the process that it was forked from. A number that stands for something
   else by now, a file of the child's own or one that Chime has opened there, is left alone. */
void chime_own_files_close_inherited(void);

#pragma GCC visibility pop

#endif
