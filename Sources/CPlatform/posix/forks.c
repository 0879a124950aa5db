#if !defined(_WIN32)
#include "forks.h"

#include <pthread.h>
#include <sys/mman.h>

#include "memory.h"

static uint32_t unwatched_mark = 1; /* until forks are watched */
static uint32_t latest_mark = 1;    /* a child inherits it */
uint32_t *mark_of_chime = &unwatched_mark;

/* What a handler has to empty. */
enum { MOST = 4 };
static struct {
  void *first;
  size_t bytes;
} by_hand[MOST];
static int by_hand_count;

static void empty_by_hand(void) {
  for (int i = 0; i < by_hand_count; i++) {
    mmap(by_hand[i].first, by_hand[i].bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
}

static bool is_emptied_by_hand(void *memory, size_t bytes) {
  if (by_hand_count == MOST || (by_hand_count == 0 && pthread_atfork(0, 0, empty_by_hand) != 0)) return false;
  by_hand[by_hand_count].first = memory;
  by_hand[by_hand_count].bytes = bytes;
  by_hand_count++;
  return true;
}

void *chime_map_emptied(size_t bytes) {
  void *memory = chime_memory_map_uncounted(bytes);
  if (memory == 0 || chime_empty_in_child(memory, bytes) || is_emptied_by_hand(memory, bytes)) return memory;
  chime_memory_unmap_uncounted(memory, bytes);
  return 0;
}

bool chime_watch_forks(void) {
  uint32_t *watched = chime_map_emptied(chime_page_size());
  if (watched == 0) return false;
  /* Whoever loads the pointer reads this behind it. */
  __atomic_store_n(watched, unwatched_mark, __ATOMIC_RELAXED);
  __atomic_store_n(&mark_of_chime, watched, __ATOMIC_RELEASE);
  return true;
}

uint32_t chime_next_mark(void) { return latest_mark + 1; }

void chime_mark_child(void) { __atomic_store_n(mark_of_chime, ++latest_mark, __ATOMIC_SEQ_CST); }
#endif
