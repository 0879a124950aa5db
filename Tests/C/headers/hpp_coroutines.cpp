/*
 * What chime.hpp has for C++20: waits of coroutines, and stop tokens. See the Makefile.
 */
#include <chime.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

void expect(bool holds, const char *text, int line) {
  if (holds) return;
  std::fprintf(stderr, "hpp_coroutines.cpp:%d: %s\n", line, text);
  std::abort();
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/** A coroutine that begins at once, whose end can be awaited by a thread, and that can be destroyed before. */
struct task {
  struct promise_type {
    std::promise<void> ended;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this), ended.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() { ended.set_value(); }
    void unhandled_exception() { ended.set_exception(std::current_exception()); }
  };
  std::coroutine_handle<promise_type> handle;
  std::future<void> ended;
};

const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE, CHIME_QUEUE_HOST,
                                  CHIME_QUEUE_VIRTUAL};

/** Drives the queue, if it does not do that itself, until the task has ended. */
void await(const chime::queue &queue, chime_queue_kind kind, task &task) {
  for (int rounds = 0; task.ended.wait_for(1ms) != std::future_status::ready; rounds++) {
    EXPECT(rounds < 30000);
    if (kind == CHIME_QUEUE_VIRTUAL) EXPECT(!queue.advance(1ms).failed());
    if (kind == CHIME_QUEUE_HOST) EXPECT(!queue.process().failed());
  }
}

chime_status outcome(task &task) {
  try {
    task.ended.get();
    return CHIME_OK;
  } catch (const chime::error &error) {
    EXPECT(*error.what() != 0);
    return error.status();
  }
}

void a_wait_is_never_early_and_goes_on_on_the_queue() {
  for (const chime_queue_kind kind : kinds) {
    chime::queue queue(kind);
    const std::thread::id caller = std::this_thread::get_id();
    task waits = [](const chime::queue &queue, std::thread::id caller, bool is_driven) -> task {
      for (int count = 0; count < 20; count++) {
        const chime::time_point before = queue.now();
        EXPECT(co_await queue.after(1ms));
        EXPECT(queue.now() - before >= 1ms && (std::this_thread::get_id() == caller) == is_driven);
      }
#if defined(__clang__) /* g++ 12 loses what one of two waits in an expression gives */
      EXPECT((co_await queue.after(0ms) ? 1 : 0) + (co_await queue.after(1ms) ? 2 : 0) == 3);
#endif
    }(queue, caller, kind == CHIME_QUEUE_HOST || kind == CHIME_QUEUE_VIRTUAL);
    await(queue, kind, waits);
    EXPECT(outcome(waits) == CHIME_OK);
  }
}

void waits_that_end_together_go_on_in_order() {
  chime::queue queue(CHIME_QUEUE_VIRTUAL);
  std::vector<int> seen;
  for (int number = 0; number < 5; number++) {
    [](const chime::queue &queue, std::vector<int> &seen, int number) -> task {
      co_await queue.after(5ms);
      seen.push_back(number);
      co_await queue.after(std::chrono::milliseconds(5 - number));
      seen.push_back(number);
    }(queue, seen, number);
  }
  EXPECT(queue.advance(10ms) == CHIME_OK);
  EXPECT((seen == std::vector{0, 1, 2, 3, 4, 4, 3, 2, 1, 0}));
}

void a_stop_ends_a_wait_before_it_within_it_and_beside_its_end() {
  for (const chime_queue_kind kind : kinds) {
    chime::queue queue(kind);
    for (int round = 0; round < 300; round++) {
      std::stop_source source;
      if (round % 3 == 0) source.request_stop();
      task waits = [](const chime::queue &queue, std::stop_token token, bool is_beside) -> task {
        const bool is_over = co_await queue.after(is_beside ? 0s : 3600s, token);
        EXPECT(is_beside || !is_over);
      }(queue, source.get_token(), round % 3 == 2);
      std::thread stops([&] { source.request_stop(); });
      await(queue, kind, waits);
      stops.join();
      EXPECT(outcome(waits) == CHIME_OK);
    }
    chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
    EXPECT(chime_queue_get_stats(queue.id(), &stats) == CHIME_OK && stats.timers == 0);
  }
}

void a_queue_that_ends_ends_its_waits() {
  for (const chime_queue_kind kind : kinds) {
    chime::queue queue(kind);
    std::stop_source source;
    auto wait = [](const chime::queue &queue, std::stop_token token) -> task { co_await queue.after(3600s, token); };
    task waits = wait(queue, source.get_token());
    EXPECT(queue.shutdown() == CHIME_OK);
    EXPECT(outcome(waits) == CHIME_ERROR_SHUT_DOWN);
    source.request_stop();
    task refused = wait(queue, {});
    EXPECT(outcome(refused) == CHIME_ERROR_INVALID_HANDLE);
  }
}

void a_coroutine_that_waits_may_be_destroyed() {
  for (const chime_queue_kind kind : {CHIME_QUEUE_HOST, CHIME_QUEUE_VIRTUAL}) {
    chime::queue queue(kind);
    int ends = 0;
    struct guard {
      int &ends;
      ~guard() { ends++; }
    };
    task waits = [](const chime::queue &queue, int &ends) -> task {
      guard guard{ends};
      co_await queue.after(0ms);
      ends = 100;
    }(queue, ends);
    waits.handle.destroy();
    EXPECT(kind == CHIME_QUEUE_VIRTUAL ? !queue.advance(1ms).failed() : !queue.process().failed());
    EXPECT(ends == 1);
  }
}

/** What it captures lies where it lay when the coroutine began, though the handler has returned since. */
void a_handler_may_be_a_coroutine() {
  chime::queue queue(CHIME_QUEUE_VIRTUAL);
  struct state {
    const chime::queue &queue;
    int ticks = 0;
  } state{queue};
  chime::timer timer = queue.every(10ms, [&state]() -> task {
    co_await state.queue.after(1ms);
    state.ticks++;
    co_await state.queue.after(1ms);
    state.ticks++;
  });
  EXPECT(queue.advance(35ms) == CHIME_OK);
  EXPECT(state.ticks == 6);
}

void a_stop_ends_a_run() {
  chime::queue queue(CHIME_QUEUE_HOST);
  int ticks = 0;
  std::jthread runs([&](std::stop_token token) { EXPECT(queue.run(token) == CHIME_STOPPED); });
  std::promise<void> ticked;
  EXPECT(!queue.once(1ms, [&] { ticks++, ticked.set_value(); }).failed());
  ticked.get_future().wait();
  runs.request_stop();
  runs.join();
  EXPECT(ticks == 1);
  std::stop_source source;
  source.request_stop();
  EXPECT(queue.run(source.get_token()) == CHIME_STOPPED);
}

} // namespace

int main() {
  a_wait_is_never_early_and_goes_on_on_the_queue();
  waits_that_end_together_go_on_in_order();
  a_stop_ends_a_wait_before_it_within_it_and_beside_its_end();
  a_queue_that_ends_ends_its_waits();
  a_coroutine_that_waits_may_be_destroyed();
  a_handler_may_be_a_coroutine();
  a_stop_ends_a_run();
  std::puts("ok hpp_coroutines");
}
