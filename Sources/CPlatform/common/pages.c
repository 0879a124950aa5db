/* pages.c - the account of what is held, and pages that are in it. See memory.h. */
#include "memory.h"

#include <stdatomic.h>

#include "thread_state.h"

static _Atomic uint64_t held, limit; /* limit 0: none */
static _Thread_local __attribute__((CHIME_THREAD_LOCAL_MODEL)) int refused_by_limit;

int chime_memory_take_account(size_t bytes) {
  uint64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
  uint64_t before = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed);
  refused_by_limit = most != 0 && (before >= most || bytes > most - before);
  if (refused_by_limit) atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed);
  return !refused_by_limit;
}

void chime_memory_give_account(size_t bytes) { atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed); }

int chime_memory_refused_by_limit(void) { return refused_by_limit; }

static void *map_counted(void *(*map)(size_t), size_t bytes) {
  void *memory;
  if (!chime_memory_take_account(bytes)) return 0;
  memory = map(bytes);
  if (memory == 0) chime_memory_give_account(bytes);
  return memory;
}

void *chime_memory_map(size_t bytes) { return map_counted(chime_memory_map_uncounted, bytes); }
void *chime_memory_map_huge(size_t bytes) { return map_counted(chime_memory_map_huge_uncounted, bytes); }

void chime_memory_unmap(void *memory, size_t bytes) {
  chime_memory_unmap_uncounted(memory, bytes);
  chime_memory_give_account(bytes);
}

uint64_t chime_memory_held(void) { return atomic_load(&held); }

void chime_memory_set_limit(uint64_t bytes) { atomic_store(&limit, bytes); }
