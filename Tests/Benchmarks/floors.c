/* Floors: the atomic operations and clock reads that a thread-safe timer cannot do without, measured by themselves. */
#include "harness.h"

#include <time.h>

typedef struct record {
  uint64_t word;
  uint64_t rest[7];
} record;

static record one;
static record *records;

static inline void swap(uint64_t *word) {
  uint64_t expected = __atomic_load_n(word, __ATOMIC_RELAXED);
  int swapped = __atomic_compare_exchange_n(word, &expected, expected + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  if (!swapped) bench_fail("an uncontended compare-and-swap succeeds", __FILE__, __LINE__);
}

void floor_three_swaps(size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    swap(&one.word);
    swap(&one.word);
    swap(&one.word);
  }
}

void floor_clock_and_swap(size_t count) {
  struct timespec now;
  size_t i;
  for (i = 0; i < count; i++) {
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    swap(&one.word);
  }
}

void floor_begin(size_t count) {
  size_t i;
  records = aligned_alloc(sizeof *records, count * sizeof *records);
  REQUIRE(records != NULL);
  for (i = 0; i < count; i++) records[i].word = i;
}

void floor_record_swaps(const uint32_t *which, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) swap(&records[which[i]].word);
}

void floor_end(void) { free(records); }
