/*
 * libevent with its locks switched on, so that it is as thread-safe as Chime is; nothing of it runs beside the calls.
 * It knows delays only, and outside its loop reads the (coarse) clock in each call.
 */
#include "harness.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <sys/time.h>

static struct event_base *base;
static struct event **timers;
static size_t timer_count;
static struct timeval begun; /* time of day */

static void on_tick(evutil_socket_t descriptor, short events, void *context) {
  (void)descriptor;
  (void)events;
  (void)context;
}

static struct timeval delay(const bench_offset *offset) {
  struct timeval result;
  result.tv_sec = (time_t)(offset->ns / 1000000000);
  result.tv_usec = (suseconds_t)(offset->ns / 1000 % 1000000);
  return result;
}

static const char *version(void) { return event_get_version(); }

static void begin(const bench_offset *offsets, size_t count) {
  static int locked;
  size_t i;
  if (!locked) REQUIRE(evthread_use_pthreads() == 0);
  locked = 1;
  base = event_base_new();
  timers = malloc((count + 1) * sizeof *timers);
  timer_count = count;
  REQUIRE(base != NULL && timers != NULL);
  REQUIRE(gettimeofday(&begun, NULL) == 0);
  for (i = 0; i < count; i++) {
    struct timeval timeout = delay(&offsets[i]);
    timers[i] = evtimer_new(base, on_tick, NULL);
    REQUIRE(timers[i] != NULL && evtimer_add(timers[i], &timeout) == 0);
  }
}

static void create(const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    struct timeval timeout = delay(&offsets[i]);
    struct event *timer = evtimer_new(base, on_tick, NULL);
    REQUIRE(timer != NULL && evtimer_add(timer, &timeout) == 0);
    REQUIRE(evtimer_del(timer) == 0);
    event_free(timer);
  }
}

static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    struct timeval timeout = delay(&offsets[i]);
    REQUIRE(evtimer_add(timers[which[i]], &timeout) == 0);
  }
}

static int64_t due_ns(size_t i) {
  struct timeval due;
  REQUIRE(evtimer_pending(timers[i], &due));
  return ((int64_t)due.tv_sec - begun.tv_sec) * 1000000000 + ((int64_t)due.tv_usec - begun.tv_usec) * 1000;
}

static void end(void) {
  size_t i;
  for (i = 0; i < timer_count; i++) event_free(timers[i]);
  event_base_free(base);
  free(timers);
}

const bench_peer libevent_peer = {"libevent, locks", version, begin, create, postpone, NULL, due_ns, NULL, end};
