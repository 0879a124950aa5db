/* The Go peer: what Go cannot say in C's types. The functions are in go/go.go, a C archive with the Go runtime in it. */
#include "../harness.h"

#include "libgo.h"

static const char *version(void) { return go_version(); }
static void open_queues(size_t count) { (void)count; } /* Go has one for each of its processors */
static void fill(const bench_offset *offsets, size_t count) { go_fill((bench_offset *)offsets, count); }
static void create(size_t queue, const bench_offset *offsets, size_t count) {
  (void)queue;
  go_create((bench_offset *)offsets, count);
}
static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  go_postpone((uint32_t *)which, (bench_offset *)offsets, count);
}
static void repeat(int64_t interval_ns) { go_repeat(interval_ns); }

const bench_peer bench_this_peer = {
    .version = version,
    .thread_safe = 1,
    .open = open_queues,
    .fill = fill,
    .create = create,
    .postpone = postpone,
    .run = bench_wait,
    .repeat = repeat,
};
