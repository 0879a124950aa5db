/*
 * GLib's main context. A GSource may be created, attached and destroyed on any thread. Pending ones are moved with
 * g_source_set_ready_time, to the microsecond; what is created is an ordinary timeout in milliseconds.
 */
#include "../harness.h"

#include <glib.h>

const int peer_traits = PEER_THREAD_SAFE;

static GMainContext *contexts[2];
static GSource **timers;

static gboolean on_tick(gpointer context) {
  bench_tick((size_t)context);
  return G_SOURCE_REMOVE;
}

static gboolean on_beat(gpointer context) {
  bench_beat(1);
  return G_SOURCE_CONTINUE;
}

void peer_print_version(void) { printf("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version); }

/* Rounded up. g_get_monotonic_time is CLOCK_MONOTONIC in microseconds. */
static gint64 ready_time(const bench_offset *offset) { return (bench.base_ns + offset->ns + 999) / 1000; }

static guint milliseconds(int64_t ns) { return (guint)((ns + 999999) / 1000000); }

void peer_open(size_t count) {
  for (size_t i = 0; i < count; i++) contexts[i] = g_main_context_new();
}

void peer_fill(const bench_offset *offsets, size_t count) {
  timers = bench_array(count, sizeof *timers);
  for (size_t i = 0; i < count; i++) {
    timers[i] = g_timeout_source_new(milliseconds(offsets[i].ns));
    g_source_set_callback(timers[i], on_tick, (gpointer)i, NULL);
    g_source_set_ready_time(timers[i], ready_time(&offsets[i]));
    g_source_attach(timers[i], contexts[0]);
  }
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    GSource *timer = g_timeout_source_new(milliseconds(offsets[i].ns));
    g_source_set_callback(timer, on_tick, NULL, NULL);
    g_source_attach(timer, contexts[queue]);
    g_source_destroy(timer);
    g_source_unref(timer);
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) g_source_set_ready_time(timers[which[i]], ready_time(&offsets[i]));
}

int64_t peer_due_ns(size_t i) { return g_source_get_ready_time(timers[i]) * 1000 - bench.base_ns; }

void peer_run(void) {
  while (!bench.done) g_main_context_iteration(contexts[0], TRUE);
}

void peer_repeat(int64_t interval_ns) {
  GSource *beat = g_timeout_source_new(milliseconds(interval_ns));
  g_source_set_callback(beat, on_beat, NULL, NULL);
  g_source_attach(beat, contexts[0]);
}
