/*
 * libev. Not thread-safe, and nothing of it runs beside the calls. Its own cached time stands still, as between two
 * iterations of its loop; the watcher of the loads that create is the caller's, so that nothing is allocated.
 */
#include "../harness.h"

#include <ev.h>

static struct ev_loop *loop;
static ev_timer *timers, beat;
static ev_tstamp base;

static void on_tick(struct ev_loop *on, ev_timer *timer, int events) {
  (void)events;
  if (bench_tick((size_t)(timer - timers))) ev_break(on, EVBREAK_ALL);
}

static void on_beat(struct ev_loop *on, ev_timer *timer, int events) {
  (void)timer;
  (void)events;
  if (bench_beat(1)) ev_break(on, EVBREAK_ALL);
}

static const char *version(void) {
  static char text[32];
  snprintf(text, sizeof text, "%d.%d", ev_version_major(), ev_version_minor());
  return text;
}

static void open_loop(size_t count) {
  (void)count;
  loop = ev_loop_new(EVFLAG_AUTO);
  REQUIRE(loop != NULL);
}

static void fill(const bench_offset *offsets, size_t count) {
  size_t i;
  timers = malloc((count + 1) * sizeof *timers);
  REQUIRE(timers != NULL);
  ev_now_update(loop); /* base_ns was read just before: offsets count from here */
  base = ev_now(loop);
  for (i = 0; i < count; i++) {
    ev_timer_init(&timers[i], on_tick, offsets[i].seconds, 0.);
    ev_timer_start(loop, &timers[i]);
  }
  REQUIRE(ev_pending_count(loop) == 0);
}

static void create(size_t queue, const bench_offset *offsets, size_t count) {
  ev_timer timer;
  size_t i;
  (void)queue;
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

static void reschedule(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    ev_timer *timer = &timers[which[i]];
    ev_timer_stop(loop, timer);
    ev_timer_set(timer, offsets[i].seconds, 0.);
    ev_timer_start(loop, timer);
  }
}

static int64_t due_ns(size_t i) {
  REQUIRE(ev_is_active(&timers[i]));
  return (int64_t)((ev_timer_remaining(loop, &timers[i]) + ev_now(loop) - base) * 1e9);
}

static void run(void) { ev_run(loop, 0); }

static void repeat(int64_t interval_ns) {
  double interval = (double)interval_ns * 1e-9;
  ev_now_update(loop);
  ev_timer_init(&beat, on_beat, interval, interval);
  ev_timer_start(loop, &beat);
}

static void replace(size_t first, size_t count, int64_t delay_ns) {
  double delay = (double)delay_ns * 1e-9;
  size_t i;
  for (i = first; i < first + count; i++) {
    ev_timer_stop(loop, &timers[i]);
    ev_timer_init(&timers[i], on_tick, delay, 0.);
    ev_timer_start(loop, &timers[i]);
  }
}

static void poll_loop(void) { ev_run(loop, EVRUN_NOWAIT); }

const bench_peer bench_this_peer = {
    .version = version,
    .open = open_loop,
    .fill = fill,
    .create = create,
    .postpone = postpone,
    .reschedule = reschedule,
    .due_ns = due_ns,
    .run = run,
    .repeat = repeat,
    .replace = replace,
    .poll = poll_loop,
};
