/*
 * Floors: the atomic operations and clock reads that a thread-safe timer cannot do without, by themselves.
 *
 * create_until    three compare-and-swaps on one word; create: a clock read before them
 * postpone_until  one compare-and-swap in a random record of 64 bytes; postpone: a clock read before it
 * reschedule      two compare-and-swaps in a random record of 64 bytes, and a write between them
 *
 * The caller knows a record by an id, 8 bytes of an array of its own, as it knows the timers of libraries.
 */
#include "../harness.h"

const int peer_traits = PEER_THREAD_SAFE;

typedef struct record {
  uint64_t word;
  uint64_t rest[7];
} record;

static record ones[2][2]; /* two cache lines apart */
static record *records;
static uint64_t *ids;

static inline void swap(uint64_t *word) {
  uint64_t expected = __atomic_load_n(word, __ATOMIC_RELAXED);
  int swapped = __atomic_compare_exchange_n(word, &expected, expected + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  if (!swapped) bench_fail("an uncontended compare-and-swap succeeds", __FILE__, __LINE__);
}

void peer_print_version(void) { printf("%s", __VERSION__); }

void peer_open(size_t count) {}

void peer_fill(const bench_offset *offsets, size_t count) {
  records = aligned_alloc(sizeof *records, (count + 1) * sizeof *records);
  REQUIRE(records != NULL);
  ids = bench_array(count, sizeof *ids);
  for (size_t i = 0; i < count; i++) {
    records[i].word = (uint64_t)offsets[i].ns;
    ids[i] = i;
  }
}

static inline void swap_three_times(size_t queue) {
  uint64_t *word = &ones[queue][0].word;
  swap(word);
  swap(word);
  swap(word);
}

void peer_create_until(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) swap_three_times(queue);
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bench_now_ns();
    swap_three_times(queue);
  }
}

void peer_postpone_until(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) swap(&records[ids[which[i]]].word);
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t id = ids[which[i]]; /* known before the call */
    __asm__ volatile("" ::"r"(id));
    bench_now_ns();
    swap(&records[id].word);
  }
}

void peer_reschedule(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    record *record = &records[ids[which[i]]];
    swap(&record->word);
    record->rest[0] = (uint64_t)offsets[i].ns;
    swap(&record->word);
  }
}
