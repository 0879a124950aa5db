/*
 * GLib's main context. A GSource may be created, attached and destroyed on any thread. Pending ones are moved with
 * g_source_set_ready_time, to the microsecond; what is created is an ordinary timeout in milliseconds.
 */
#include "../harness.h"

#include <glib.h>

static GMainContext *contexts[2];
static GSource **timers;

static gboolean on_tick(gpointer context) {
  bench_tick((size_t)context);
  return G_SOURCE_REMOVE;
}

static gboolean on_beat(gpointer context) {
  (void)context;
  bench_beat(1);
  return G_SOURCE_CONTINUE;
}

static const char *version(void) {
  static char text[48];
  snprintf(text, sizeof text, "%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
  return text;
}

/* Rounded up. g_get_monotonic_time is CLOCK_MONOTONIC in microseconds. */
static gint64 ready_time(const bench_offset *offset) { return (bench.base_ns + offset->ns + 999) / 1000; }

static guint milliseconds(int64_t ns) { return (guint)((ns + 999999) / 1000000); }

static void open_contexts(size_t count) {
  size_t i;
  for (i = 0; i < count; i++) contexts[i] = g_main_context_new();
}

static void fill(const bench_offset *offsets, size_t count) {
  size_t i;
  timers = malloc((count + 1) * sizeof *timers);
  REQUIRE(timers != NULL);
  for (i = 0; i < count; i++) {
    timers[i] = g_timeout_source_new(milliseconds(offsets[i].ns));
    g_source_set_callback(timers[i], on_tick, (gpointer)i, NULL);
    g_source_set_ready_time(timers[i], ready_time(&offsets[i]));
    g_source_attach(timers[i], contexts[0]);
  }
}

static void create(size_t queue, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    GSource *timer = g_timeout_source_new(milliseconds(offsets[i].ns));
    g_source_set_callback(timer, on_tick, NULL, NULL);
    g_source_attach(timer, contexts[queue]);
    g_source_destroy(timer);
    g_source_unref(timer);
  }
}

static void postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) g_source_set_ready_time(timers[which[i]], ready_time(&offsets[i]));
}

static int64_t due_ns(size_t i) { return g_source_get_ready_time(timers[i]) * 1000 - bench.base_ns; }

static void run(void) {
  while (!bench.done) g_main_context_iteration(contexts[0], TRUE);
}

static void repeat(int64_t interval_ns) {
  GSource *beat = g_timeout_source_new(milliseconds(interval_ns));
  g_source_set_callback(beat, on_beat, NULL, NULL);
  g_source_attach(beat, contexts[0]);
}

const bench_peer bench_this_peer = {
    .version = version,
    .thread_safe = 1,
    .open = open_contexts,
    .fill = fill,
    .create = create,
    .postpone = postpone,
    .due_ns = due_ns,
    .run = run,
    .repeat = repeat,
};
