/* output.h - the file that trace_file.c writes. Calls answer 0 or an error number. */
#ifndef CHIME_OUTPUT_H
#define CHIME_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct chime_output {
  int descriptor;         /* -1: none */
  int is_new;             /* there was no file of that name */
  int is_shared;          /* another output has its descriptor, and its lock, too */
  uint64_t device, inode; /* by which a child knows it */
} chime_output;

/* Without emptying it, because a file that is being written may be the same. EBUSY: another output, perhaps of another
   process, has it. */
int chime_output_open(chime_output *output, const char *name);
/* Where `own` is the file that was EBUSY: the output has it, too. Else EBUSY. */
int chime_output_share(chime_output *output, chime_output *own);
/* One writer at a time. */
int chime_output_write(const chime_output *output, const char *bytes, size_t count, int64_t at);
int chime_output_cut(const chime_output *output, int64_t length);
void chime_output_close(const chime_output *output);
/* Closes what was opened, and removes it if it is new. */
void chime_output_undo(const chime_output *output, const char *name);
/* In a child: closes what its parent opened. */
void chime_output_close_inherited(const chime_output *output);

#pragma GCC visibility pop

#endif
