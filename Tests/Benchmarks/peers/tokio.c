/* The tokio peer: its functions are in tokio/src/lib.rs, a static library, of which a weak symbol would take nothing. */
#include "../harness.h"

void tokio_open(size_t count);
void tokio_fill(const bench_offset *offsets, size_t count);
void tokio_create(size_t queue, const bench_offset *offsets, size_t count);
void tokio_postpone(const uint32_t *which, const bench_offset *offsets, size_t count);
void tokio_run(void);
void tokio_repeat(int64_t interval_ns);

const int peer_traits = PEER_THREAD_SAFE;

void peer_print_version(void) { printf(TOKIO_VERSION); }
void peer_open(size_t count) { tokio_open(count); }
void peer_fill(const bench_offset *offsets, size_t count) { tokio_fill(offsets, count); }
void peer_create(size_t queue, const bench_offset *offsets, size_t count) { tokio_create(queue, offsets, count); }
void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  tokio_postpone(which, offsets, count);
}
void peer_run(void) { tokio_run(); }
void peer_repeat(int64_t interval_ns) { tokio_repeat(interval_ns); }
