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

const int peer_traits = PEER_THREAD_SAFE;

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

} // namespace

void peer_print_version() {
  std::printf("%d.%d.%d", ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100);
}

void peer_open(std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    contexts[i] = std::make_unique<asio::io_context>();
    guards[i] = std::make_unique<work_guard>(contexts[i]->get_executor());
  }
}

void peer_fill(const bench_offset *offsets, std::size_t count) {
  timers.reserve(count);
  for (std::size_t i = 0; i < count; i++) {
    timers.emplace_back(*contexts[0], deadline(bench.base_ns + offsets[i].ns));
    wait_for(i);
  }
}

void peer_create(std::size_t queue, const bench_offset *offsets, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    {
      asio::steady_timer timer(*contexts[queue], deadline(bench.base_ns + offsets[i].ns));
      timer.async_wait([](const std::error_code &) {});
    }
    if (i % turn == turn - 1 || i == count - 1) contexts[queue]->poll();
  }
}

void peer_postpone(const uint32_t *which, const bench_offset *offsets, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    timers[which[i]].expires_at(deadline(bench.base_ns + offsets[i].ns));
    wait_for(which[i]);
    if (i % turn == turn - 1 || i == count - 1) contexts[0]->poll();
  }
}

int64_t peer_due_ns(std::size_t i) {
  return std::chrono::nanoseconds(timers[i].expiry().time_since_epoch()).count() - bench.base_ns;
}

void peer_run() { contexts[0]->run(); }

void peer_repeat(int64_t interval_ns) {
  beat = std::make_unique<asio::steady_timer>(*contexts[0], deadline(bench.base_ns + interval_ns));
  wait_for_beat();
}
