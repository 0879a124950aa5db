/* pages.c - the account of what is held, and pages that are in it. See memory.h. */
#include "memory.h"

#include <stdatomic.h>

#include "thread_locals.h"

static _Atomic uint64_t held, limit; /* limit 0: none */

/* The logarithm to base 2, rounded up, and one. */
static int log2_and_one(size_t bytes) {
  int bits = 64 - __builtin_clzll((bytes - 1) | 1);
  return (bits < 62 ? bits : 62) + 1;
}

int chime_memory_take_account(size_t bytes) {
  uint64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
  uint64_t before = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed);
  int is_refused = most != 0 && (before >= most || bytes > most - before);
  thread_of_chime.refused_log2_and_one = is_refused ? log2_and_one(bytes) & 127 : 0;
  if (is_refused) atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed);
  return !is_refused;
}

void chime_memory_give_account(size_t bytes) { atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed); }

uint64_t chime_memory_refused_by_limit(void) {
  int bits = thread_of_chime.refused_log2_and_one;
  return bits == 0 ? 0 : (uint64_t)1 << (bits - 1);
}

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

uint64_t chime_memory_limit(void) { return atomic_load_explicit(&limit, memory_order_relaxed); }
void chime_memory_set_limit(uint64_t bytes) { atomic_store(&limit, bytes); }
