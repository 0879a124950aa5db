/*
 * libuv. Not thread-safe; it knows delays in milliseconds only, counted from its loop's cached time. A handle may be
 * released once its closing callback was called, so the load that creates lets the loop call those, many at once.
 */
#include "../harness.h"

#include <uv.h>

const int peer_traits = 0;

enum { TURN = 1024 }; /* handles that are closed together */

static uv_loop_t loop;
static uv_timer_t *timers, beat;

static void on_tick(uv_timer_t *timer) {
  if (bench_tick((size_t)(timer - timers))) uv_stop(&loop);
}

static void on_beat(uv_timer_t *timer) {
  if (bench_beat(1)) uv_stop(&loop);
}

static void on_close(uv_handle_t *handle) { (void)handle; }

void peer_print_version(void) { printf("%s", uv_version_string()); }

/* Rounded up. */
static uint64_t milliseconds(int64_t ns) { return (uint64_t)((ns + 999999) / 1000000); }

void peer_open(size_t count) { REQUIRE(uv_loop_init(&loop) == 0); }

static void start(uv_timer_t *timer, int64_t delay_ns) {
  REQUIRE(uv_timer_init(&loop, timer) == 0);
  REQUIRE(uv_timer_start(timer, on_tick, milliseconds(delay_ns), 0) == 0);
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  uv_update_time(&loop); /* base_ns was read just before: offsets count from here */
  for (size_t i = 0; i < count; i++) start(&timers[i], offsets[i].ns);
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  static uv_timer_t handles[TURN];
  for (size_t i = 0; i < count; i++) {
    uv_timer_t *timer = &handles[i % TURN];
    start(timer, offsets[i].ns);
    REQUIRE(uv_timer_stop(timer) == 0);
    uv_close((uv_handle_t *)timer, on_close);
    if (i % TURN == TURN - 1 || i == count - 1) uv_run(&loop, UV_RUN_NOWAIT);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++)
    REQUIRE(uv_timer_start(&timers[which[i]], on_tick, milliseconds(offsets[i].ns), 0) == 0);
}

int64_t peer_due_ns(size_t i) { return (int64_t)(uv_timer_get_due_in(&timers[i]) * 1000000); }

void peer_run(void) { uv_run(&loop, UV_RUN_DEFAULT); }

void peer_repeat(int64_t interval_ns) {
  uv_update_time(&loop);
  REQUIRE(uv_timer_init(&loop, &beat) == 0);
  REQUIRE(uv_timer_start(&beat, on_beat, milliseconds(interval_ns), milliseconds(interval_ns)) == 0);
}
