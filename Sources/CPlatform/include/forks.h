/*
 * forks.h - memory that a forked child finds empty. The kernel empties it whoever forks, and however: fork, _Fork, a system
 * call that copies the address space. Where it cannot, a handler of pthread_atfork does, which sees fork alone.
 *
 * The mark of the process lies there, so that one load tells a child that it is one; and the tables in which ids are looked
 * up, so that a call finds nothing there and asks for no more.
 */
#ifndef CHIME_FORKS_H
#define CHIME_FORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Zeroed pages that cost nothing before they are written, are not counted, and are empty in a child; NULL: none. They are
   never given back. One thread at a time. */
void *chime_map_emptied(size_t bytes);

extern uint32_t *mark_of_chime;

/* 0 in a child from the fork on, until chime_mark_child; elsewhere above 0. */
static inline uint32_t chime_fork_mark(void) {
  return __atomic_load_n(__atomic_load_n(&mark_of_chime, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* Whether the process is a forked child, or was one before it began anew. */
static inline bool chime_is_in_child(void) { return chime_fork_mark() != 1; }

/* Has forks empty the mark from now on; false without memory. One thread at a time. */
bool chime_watch_forks(void);

/* The mark that the child of the next fork gets when it begins anew, and no process before it had. */
uint32_t chime_next_mark(void);
/* In a child's only thread: gives it that mark. */
void chime_mark_child(void);

/* Has the system empty pages in each child; false: it cannot. (linux/forks.c, darwin/forks.c) */
bool chime_empty_in_child(void *first, size_t bytes);

#pragma GCC visibility pop

#endif
