/* There is no fork: a child of CreateProcess has nothing of its parent's memory. */
#if defined(_WIN32)
#include "forks.h"

#include "memory.h"

static uint32_t mark = 1;
uint32_t *mark_of_chime = &mark;

void *chime_map_emptied(size_t bytes) { return chime_memory_map_uncounted(bytes); }
bool chime_watch_forks(void) { return true; }
uint32_t chime_next_mark(void) { return mark + 1; }
void chime_mark_child(void) {}
#endif
