/* windows/handles.h - what the files for Windows share. */
#ifndef CHIME_HANDLES_H
#define CHIME_HANDLES_H

#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdbool.h>
#include <stdint.h>

/* A handle has 32 bits that matter, so that it is a descriptor to Chime and its host. */
static inline int chime_file_of_handle(HANDLE handle) { return (int)(intptr_t)handle; }
static inline HANDLE chime_handle_of_file(int file) { return (HANDLE)(intptr_t)file; }

/* Where the system has them (Windows 10 1803 and later), a timer that does not wait for a tick of the system's clock. */
HANDLE chime_timer_make(bool is_manual);
/* Sets it for a time on one of our clocks, INT64_MAX for never: not signalled before. False: the system refuses. */
bool chime_timer_set(HANDLE timer, int32_t clock, int64_t time);

/* The calling thread's own, as long as it lives; both are reset by a wait that they end. NULL: the system has none left. */
HANDLE chime_thread_event(void);
HANDLE chime_thread_timer(void);

/* A function of a library of the system's that is loaded already, or NULL. */
void *chime_function_of(const char *library, const char *name);

/*
 * Something that is told of steps of the wall clock and of the system's sleep, from a thread of the system's, within a second
 * after either: a timer as long as it is armed; what the pool's poller has added, as long as that waits for a time.
 * (windows/wall_steps.c)
 */
typedef struct chime_watch {
  struct chime_watch *next;
  HANDLE handle, told;     /* told: what is signalled, unless it is a timer; most often the handle itself */
  bool is_armed, is_timer; /* a timer is set for now */
} chime_watch;
/* False without memory. */
bool chime_watch_begin(HANDLE handle, bool is_timer);
void chime_watch_arm(HANDLE handle, bool is_armed);
/* Says until when the pool's poller waits. What it has added is told of steps until then. */
void chime_watch_pool(int64_t time);
/* Has an event signalled in the watched one's place. */
bool chime_watch_tell(HANDLE handle, HANDLE event);
/* Does nothing for one that is not watched. */
void chime_watch_end(HANDLE handle);

#endif
