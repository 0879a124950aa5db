/*
 * Asio, standalone: a steady_timer for each timer. An io_context may be used by many threads. A wait that was cancelled
 * or moved still has its handler called, so the loads let the context call those, many at once.
 */
#include "../harness.h"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/version.hpp>
#include <memory>
#include <vector>

namespace {

constexpr std::size_t turn = 1024; // waits that are cancelled before their handlers are called

using work_guard = asio::executor_work_guard<asio::io_context::executor_type>;

std::unique_ptr<asio::io_context> contexts[2];
std::unique_ptr<work_guard> guards[2]; // a context without work stops, and would have to be restarted
std::vector<asio::steady_timer> timers;
std::unique_ptr<asio::steady_timer> beat;

/* steady_clock is CLOCK_MONOTONIC. */
asio::steady_timer::time_point deadline(std::int64_t ns) {
  return asio::steady_timer::time_point(std::chrono::nanoseconds(ns));
}

void wait_for(std::size_t i) {
  timers[i].async_wait([i](const std::error_code &error) {
    if (!error && bench_tick(i)) contexts[0]->stop();
  });
}

void wait_for_beat() {
  beat->async_wait([](const std::error_code &) {
    if (bench_beat(1)) contexts[0]->stop();
    beat->expires_at(beat->expiry() + std::chrono::nanoseconds(bench.interval_ns));
    wait_for_beat();
  });
}

const char *version() {
  static char text[48];
  snprintf(text, sizeof text, "%d.%d.%d", ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100);
  return text;
}

void open_contexts(std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    contexts[i] = std::make_unique<asio::io_context>();
    guards[i] = std::make_unique<work_guard>(contexts[i]->get_executor());
  }
}

void fill(const bench_offset *offsets, std::size_t count) {
  timers.reserve(count);
  for (std::size_t i = 0; i < count; i++) {
    timers.emplace_back(*contexts[0], deadline(bench.base_ns + offsets[i].ns));
    wait_for(i);
  }
}

void create(std::size_t queue, const bench_offset *offsets, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    {
      asio::steady_timer timer(*contexts[queue], deadline(bench.base_ns + offsets[i].ns));
      timer.async_wait([](const std::error_code &) {});
    }
    if (i % turn == turn - 1 || i == count - 1) contexts[queue]->poll();
  }
}

void postpone(const uint32_t *which, const bench_offset *offsets, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    timers[which[i]].expires_at(deadline(bench.base_ns + offsets[i].ns));
    wait_for(which[i]);
    if (i % turn == turn - 1 || i == count - 1) contexts[0]->poll();
  }
}

int64_t due_ns(std::size_t i) {
  return std::chrono::nanoseconds(timers[i].expiry().time_since_epoch()).count() - bench.base_ns;
}

void run() { contexts[0]->run(); }

void repeat(int64_t interval_ns) {
  beat = std::make_unique<asio::steady_timer>(*contexts[0], deadline(bench.base_ns + interval_ns));
  wait_for_beat();
}

bench_peer peer() {
  bench_peer made = {};
  made.version = version;
  made.thread_safe = 1;
  made.open = open_contexts;
  made.fill = fill;
  made.create = create;
  made.postpone = postpone;
  made.due_ns = due_ns;
  made.run = run;
  made.repeat = repeat;
  return made;
}

} // namespace

extern const bench_peer bench_this_peer;
const bench_peer bench_this_peer = peer();
