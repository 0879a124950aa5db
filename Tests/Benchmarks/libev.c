/*
 * libev. Not thread-safe, and nothing of it runs beside the calls. Its own cached time stands still, as between two
 * iterations of its loop; the watcher of the loads that create is the caller's, so that nothing is allocated.
 */
#include "harness.h"

#include <ev.h>

static struct ev_loop *loop;
static ev_timer *timers;
static ev_tstamp base;

static void on_tick(struct ev_loop *on, ev_timer *timer, int events) {
  (void)on;
  (void)timer;
  (void)events;
}

static const char *version(void) {
  static char text[16];
  snprintf(text, sizeof text, "%d.%d", ev_version_major(), ev_version_minor());
  return text;
}

static void begin(const bench_offset *offsets, size_t count) {
  size_t i;
  loop = ev_loop_new(EVFLAG_AUTO);
  timers = malloc((count + 1) * sizeof *timers);
  REQUIRE(loop != NULL && timers != NULL);
  base = ev_now(loop);
  for (i = 0; i < count; i++) {
    ev_timer_init(&timers[i], on_tick, offsets[i].seconds, 0.);
    ev_timer_start(loop, &timers[i]);
  }
  REQUIRE(ev_pending_count(loop) == 0);
}

static void create(const bench_offset *offsets, size_t count) {
  ev_timer timer;
  size_t i;
  for (i = 0; i < count; i++) {
    ev_timer_init(&timer, on_tick, offsets[i].seconds, 0.);
    ev_timer_start(loop, &timer);
    ev_timer_stop(loop, &timer);
  }
}

static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    timers[which[i]].repeat = offsets[i].seconds;
    ev_timer_again(loop, &timers[which[i]]);
  }
}

static int64_t due_ns(size_t i) {
  REQUIRE(ev_is_active(&timers[i]));
  return (int64_t)((ev_timer_remaining(loop, &timers[i]) + ev_now(loop) - base) * 1e9);
}

static void end(void) {
  ev_loop_destroy(loop);
  free(timers);
}

const bench_peer libev_peer = {"libev", version, begin, create, postpone, NULL, due_ns, NULL, end};
