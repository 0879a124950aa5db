/*
 * memory.h - the one door of all memory that libchime asks for: its own, that of Embedded Swift's runtime (posix_memalign
 * and free), and libdispatch's (calloc, strdup, free), which the linker leads here (--wrap).
 *
 * A runtime that gets no memory ends the process, and libdispatch sleeps until it gets some. So there is a reserve, which
 * they draw on when the system refuses. A call that makes something first has so much promised out of it as it can need,
 * at most, and fails where that cannot be promised: before anything has changed. What must not fail draws on what nobody
 * was promised. What is given back to the reserve serves again.
 *
 * Built for the Swift module there is no such door (without CHIME_OWN_MEMORY): Swift's own runtime has its own allocator.
 * Pages alone are counted there, and limited.
 */
#ifndef CHIME_MEMORY_H
#define CHIME_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

/* Blocks up to so many bytes come out of the reserve; for a larger one, see chime_memory_provide. */
enum { CHIME_MEMORY_LARGEST = 2032 };

enum { CHIME_HUGE_PAGE = 2 << 20 };

/* Zeroed pages that cost nothing before they are written; NULL: none. LeakSanitizer, where it is part of the program, looks
   for pointers in them. They are given back as a whole. */
void *chime_memory_map_uncounted(size_t bytes);
/* The same, never given back, where the system may use pages of CHIME_HUGE_PAGE. Bytes are a multiple of that. */
void *chime_memory_map_huge_uncounted(size_t bytes);
void chime_memory_unmap_uncounted(void *memory, size_t bytes);

/* Lets the system have the whole pages inside, whose contents go; how many bytes it has then, until they are written. */
void chime_memory_discard(void *memory, size_t bytes);
size_t chime_memory_discarded(const void *memory, size_t bytes);

size_t chime_page_size(void);

/* Counts bytes as held, unless the limit forbids it; takes them off. */
int chime_memory_take_account(size_t bytes);
void chime_memory_give_account(size_t bytes);

/* Pages as above, which count as held; those of chime_memory_map can be given back. */
void *chime_memory_map(size_t bytes);
void *chime_memory_map_huge(size_t bytes);
void chime_memory_unmap(void *memory, size_t bytes);

/* How many bytes the limit has refused in the calling thread's last request, rounded up to a power of two; 0: it was not the
   limit, or nothing was refused. */
uint64_t chime_memory_refused_by_limit(void);

/* What is held now; how much may be: 0 for no limit. */
uint64_t chime_memory_held(void);
uint64_t chime_memory_limit(void);
void chime_memory_set_limit(uint64_t bytes);

#ifdef CHIME_OWN_MEMORY

/* Makes sure that so many bytes can be had out of the reserve until chime_memory_leave gives the promise back; 0: they
   cannot. Not 0 also in a nested call. */
int chime_memory_promise(size_t bytes);
void chime_memory_leave(size_t bytes);

/* Has the calling thread's next block of more than CHIME_MEMORY_LARGEST bytes, and at most so many, ready: an array that is
   about to grow, a long string. 0: there is none. What is not used goes with the next chime_memory_leave. */
int chime_memory_provide(size_t bytes);

/* The host's allocator in place of the system's; 0: too late. */
int chime_memory_set_allocator(void *(*allocate)(size_t, size_t, void *), void (*deallocate)(void *, void *),
                               void *context);

static inline int chime_has_own_memory(void) { return 1; }

#else

static inline int chime_memory_promise(size_t bytes) { return (void)bytes, 1; }
static inline void chime_memory_leave(size_t bytes) { (void)bytes; }
static inline int chime_memory_provide(size_t bytes) { return (void)bytes, 1; }
static inline int chime_memory_set_allocator(void *(*allocate)(size_t, size_t, void *),
                                             void (*deallocate)(void *, void *), void *context) {
  return (void)allocate, (void)deallocate, (void)context, 0;
}
static inline int chime_has_own_memory(void) { return 0; }

#endif

#pragma GCC visibility pop

#endif
