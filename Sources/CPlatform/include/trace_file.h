/*
 * trace_file.h - what happens to timers, as Chrome trace events in a file. Each file has a ring of events and a thread,
 * its writer. Whoever makes an event copies it into the ring behind a lock, which nobody holds for longer than such a
 * copy; only the writer has to do with the file, and holds no lock meanwhile, so that nobody waits for a disk. An event
 * for which there is no room, in the ring or on the disk, is counted, and the count stands in the file. The file is whole
 * JSON whenever the writer rests, so that the file of a program that is killed can be read, too.
 */
#ifndef CHIME_TRACE_FILE_H
#define CHIME_TRACE_FILE_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { CHIME_TRACE_LABEL = 40, CHIME_TRACE_QUEUE = 15, CHIME_TRACE_TIMER = 14, CHIME_TRACE_SHORT = 13 };

typedef struct chime_trace_event {
  uint32_t kind;     /* chime_tick_kind; CHIME_TRACE_QUEUE: names a queue; _TIMER: a timer that there was before;
                        _SHORT: the interval in scheduled_ns is shorter than anybody means */
  uint32_t overlaps; /* callbacks of the queue may overlap */
  uint64_t timer;
  uint64_t queue;
  int64_t now_ns;       /* CLOCK_MONOTONIC */
  int64_t scheduled_ns; /* on the queue's clock, as the next: of a transition, the next deadline */
  int64_t actual_ns;
  uint64_t sequence;
  uint64_t missed;
  uint64_t passes; /* of the queue, so far */
  uint64_t merged;
  char label[CHIME_TRACE_LABEL]; /* of the timer; of the queue for CHIME_TRACE_QUEUE. Ends with a 0 */
} chime_trace_event;

/* Makes the lock, once, before the calls below. */
void chime_trace_initialize(void);

/* Begins to write a file, in place of the one that is being written, which is complete then. 0, or the system's error
   number, and nothing has changed. %p in the path is the process's number. */
int chime_trace_begin(const char *path);

/* Ends it: all that was put before is in the file. 0: none was being written. */
int chime_trace_end(void);

int chime_trace_is_open(void);

/* Never waits for a file. */
void chime_trace_put(const chime_trace_event *event);

/* In a forked child's only thread: makes the lock anew, and gives back what the child has of the parent's file. */
void chime_trace_reinitialize(void);

/* Copies a label, cut between two characters. */
void chime_trace_set_label(chime_trace_event *event, const char *label);

/* To whoever asks first the path in the environment variable CHIME_TRACE; to others, and in a program that runs with more
   rights than its user has (set-user-ID and the like), NULL. */
const char *chime_trace_wanted(void);

#pragma GCC visibility pop

#endif
