/* The Go peer: what Go cannot say in C's types. The functions are in go/go.go, a C archive with the Go runtime in it. */
#include "../harness.h"

#include "libgo.h"

const int peer_traits = PEER_THREAD_SAFE;

void peer_print_version(void) { printf("%s", go_version()); }
void peer_open(size_t count) {} /* Go has one for each of its processors */
void peer_fill(const bench_offset *offsets, size_t count) { go_fill((bench_offset *)offsets, count); }
void peer_create(size_t queue, const bench_offset *offsets, size_t count) { go_create((bench_offset *)offsets, count); }
void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  go_postpone((uint32_t *)which, (bench_offset *)offsets, count);
}
void peer_repeat(int64_t interval_ns) { go_repeat(interval_ns); }
void peer_run(void) { bench_wait(); }
