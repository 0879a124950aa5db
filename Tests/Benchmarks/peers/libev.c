/*
 * libev. Not thread-safe, and nothing of it runs beside the calls. Its own cached time stands still, as between two
 * iterations of its loop; the watcher of the loads that create is the caller's, so that nothing is allocated.
 */
#include "../harness.h"

#include <ev.h>

const int peer_traits = 0;

static struct ev_loop *loop;
static ev_timer *timers, beat;
static ev_tstamp base;

static void on_tick(struct ev_loop *on, ev_timer *timer, int events) {
  if (bench_tick((size_t)(timer - timers))) ev_break(on, EVBREAK_ALL);
}

static void on_beat(struct ev_loop *on, ev_timer *timer, int events) {
  if (bench_beat(1)) ev_break(on, EVBREAK_ALL);
}

void peer_print_version(void) { printf("%d.%d", ev_version_major(), ev_version_minor()); }

void peer_open(size_t count) {
  loop = ev_loop_new(EVFLAG_AUTO);
  REQUIRE(loop != NULL);
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  ev_now_update(loop); /* base_ns was read just before: offsets count from here */
  base = ev_now(loop);
  for (size_t i = 0; i < count; i++) {
    ev_timer_init(&timers[i], on_tick, offsets[i].seconds, 0.);
    ev_timer_start(loop, &timers[i]);
  }
  REQUIRE(ev_pending_count(loop) == 0);
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  ev_timer timer;
  for (size_t i = 0; i < count; i++) {
    ev_timer_init(&timer, on_tick, offsets[i].seconds, 0.);
    ev_timer_start(loop, &timer);
    ev_timer_stop(loop, &timer);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    timers[which[i]].repeat = offsets[i].seconds;
    ev_timer_again(loop, &timers[which[i]]);
  }
}

void peer_reschedule(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ev_timer *timer = &timers[which[i]];
    ev_timer_stop(loop, timer);
    ev_timer_set(timer, offsets[i].seconds, 0.);
    ev_timer_start(loop, timer);
  }
}

int64_t peer_due_ns(size_t i) {
  REQUIRE(ev_is_active(&timers[i]));
  return (int64_t)((ev_timer_remaining(loop, &timers[i]) + ev_now(loop) - base) * 1e9);
}

void peer_run(void) { ev_run(loop, 0); }

void peer_repeat(int64_t interval_ns) {
  double interval = (double)interval_ns * 1e-9;
  ev_now_update(loop);
  ev_timer_init(&beat, on_beat, interval, interval);
  ev_timer_start(loop, &beat);
}
