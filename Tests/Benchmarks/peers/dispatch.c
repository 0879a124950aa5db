/*
 * Bare libdispatch: a timer source for each timer, on a serial queue. Thread-safe; its ticks run on its own threads.
 * Built with the Swift toolchain's clang against the toolchain's libdispatch.
 */
#include "../harness.h"

#include <dispatch/dispatch.h>

const int peer_traits = PEER_THREAD_SAFE;

static dispatch_queue_t queues[2];
static dispatch_source_t *timers, beat;

static void on_tick(void *context) { bench_tick((size_t)context); }

static void on_beat(void *context) { bench_beat(dispatch_source_get_data(beat)); }

void peer_print_version(void) { printf("of " SWIFT_VERSION); }

void peer_open(size_t count) {
  for (size_t i = 0; i < count; i++) queues[i] = dispatch_queue_create("benchmark", DISPATCH_QUEUE_SERIAL);
}

static dispatch_source_t start(dispatch_queue_t queue, size_t i, int64_t delay_ns) {
  dispatch_source_t timer = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
  REQUIRE(timer != NULL);
  dispatch_set_context(timer, (void *)i);
  dispatch_source_set_event_handler_f(timer, on_tick);
  dispatch_source_set_timer(timer, dispatch_time(DISPATCH_TIME_NOW, delay_ns), DISPATCH_TIME_FOREVER,
                            (uint64_t)bench.leeway_ns);
  dispatch_activate(timer);
  return timer;
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  for (size_t i = 0; i < count; i++) timers[i] = start(queues[0], i, bench_delay_ns(&offsets[i]));
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    dispatch_source_t timer = start(queues[queue], i, offsets[i].ns);
    dispatch_source_cancel(timer);
    dispatch_release(timer);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++)
    dispatch_source_set_timer(timers[which[i]], dispatch_time(DISPATCH_TIME_NOW, offsets[i].ns), DISPATCH_TIME_FOREVER,
                              0);
}

static void nothing(void *context) { (void)context; }

void peer_settle(void) { dispatch_sync_f(queues[0], NULL, nothing); }

void peer_repeat(int64_t interval_ns) {
  beat = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queues[0]);
  REQUIRE(beat != NULL);
  dispatch_source_set_event_handler_f(beat, on_beat);
  dispatch_source_set_timer(beat, dispatch_time(DISPATCH_TIME_NOW, interval_ns), (uint64_t)interval_ns, 0);
  dispatch_activate(beat);
}

void peer_run(void) { bench_wait(); }
