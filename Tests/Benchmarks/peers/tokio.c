/* The tokio peer: its functions are in tokio/src/lib.rs, a static library. */
#include "../harness.h"

void tokio_open(size_t count);
void tokio_fill(const bench_offset *offsets, size_t count);
void tokio_create(size_t queue, const bench_offset *offsets, size_t count);
void tokio_postpone(const uint32_t *which, const bench_offset *offsets, size_t count);
void tokio_run(void);
void tokio_repeat(int64_t interval_ns);

static const char *version(void) { return TOKIO_VERSION; }

const bench_peer bench_this_peer = {
    .version = version,
    .thread_safe = 1,
    .open = tokio_open,
    .fill = tokio_fill,
    .create = tokio_create,
    .postpone = tokio_postpone,
    .run = tokio_run,
    .repeat = tokio_repeat,
};
