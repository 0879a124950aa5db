/*
 * libevent, with its locks switched on (LOCKS=1), so that it is as thread-safe as Chime is, or without. Nothing of it
 * runs beside the calls. It knows delays only, and outside its loop reads the (coarse) clock in each call.
 */
#include "../harness.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <sys/time.h>

const int peer_traits = LOCKS ? PEER_THREAD_SAFE : 0;

static struct event_base *bases[2];
static struct event **timers, *beat;
static struct timeval filled; /* time of day */

static void on_tick(evutil_socket_t descriptor, short events, void *context) {
  if (bench_tick((size_t)context)) event_base_loopbreak(bases[0]);
}

static void on_beat(evutil_socket_t descriptor, short events, void *context) {
  if (bench_beat(1)) event_base_loopbreak(bases[0]);
}

/* Rounded up to microseconds. */
static struct timeval timeout_of(int64_t ns) {
  return (struct timeval){(time_t)((ns + 999) / 1000000000), (suseconds_t)((ns + 999) % 1000000000 / 1000)};
}

void peer_print_version(void) { printf("%s", event_get_version()); }

void peer_open(size_t count) {
  if (LOCKS) REQUIRE(evthread_use_pthreads() == 0);
  for (size_t i = 0; i < count; i++) {
    bases[i] = event_base_new();
    REQUIRE(bases[i] != NULL);
  }
}

static struct event *start(struct event_base *base, size_t i, int64_t delay_ns) {
  struct timeval timeout = timeout_of(delay_ns);
  struct event *timer = evtimer_new(base, on_tick, (void *)i);
  REQUIRE(timer != NULL && evtimer_add(timer, &timeout) == 0);
  return timer;
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  REQUIRE(gettimeofday(&filled, NULL) == 0);
  for (size_t i = 0; i < count; i++) timers[i] = start(bases[0], i, bench_delay_ns(&offsets[i]));
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct event *timer = start(bases[queue], i, offsets[i].ns);
    REQUIRE(evtimer_del(timer) == 0);
    event_free(timer);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct timeval timeout = timeout_of(offsets[i].ns);
    REQUIRE(evtimer_add(timers[which[i]], &timeout) == 0);
  }
}

int64_t peer_due_ns(size_t i) {
  struct timeval due;
  REQUIRE(evtimer_pending(timers[i], &due));
  return ((int64_t)due.tv_sec - filled.tv_sec) * 1000000000 + ((int64_t)due.tv_usec - filled.tv_usec) * 1000;
}

void peer_run(void) { REQUIRE(event_base_dispatch(bases[0]) >= 0); }

void peer_repeat(int64_t interval_ns) {
  struct timeval interval = timeout_of(interval_ns);
  beat = event_new(bases[0], -1, EV_PERSIST, on_beat, NULL);
  REQUIRE(beat != NULL && event_add(beat, &interval) == 0);
}
