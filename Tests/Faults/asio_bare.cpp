/*
 * What a cancel does that comes when two timers of Asio's are due and the first one's handler runs, and the same with Chime:
 * a row of the front page's table. (`make table` runs it. Its exit status is 1 if Chime does not do what the table says.)
 */
#include <chime.h>

#include <asio.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

static chime_timer_t second;
static int calls, answer;

static void on_first(const chime_tick *, void *) { answer = chime_timer_cancel(second); }

static void on_second(const chime_tick *, void *) { calls++; }

int main() {
  asio::io_context context;
  asio::steady_timer one(context, std::chrono::milliseconds(1)), two(context, std::chrono::milliseconds(2));
  bool runs = false;
  std::size_t cancelled = 1;
  one.async_wait([&](asio::error_code) { cancelled = two.cancel(); });
  two.async_wait([&](asio::error_code error) { runs = !error; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  context.run();

  chime_queue_t queue;
  if (CHIME_FAILED(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue))) return 1;
  if (CHIME_FAILED(chime_timer_after(queue, CHIME_MILLISECOND, on_first, NULL, NULL, NULL))) return 1;
  if (CHIME_FAILED(chime_timer_after(queue, 2 * CHIME_MILLISECOND, on_second, NULL, NULL, &second))) return 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (CHIME_FAILED(chime_queue_run(queue, 0))) return 1;
  std::printf("| Asio: cancel a timer whose time has come, before its handler has run | %s | %s |\n",
              runs && cancelled == 0 ? "it runs all the same, without an error" : "it does not run",
              calls == 0 && answer == CHIME_OK ? "it does not run" : "it runs");
  return calls != 0 || answer != CHIME_OK || CHIME_FAILED(chime_queue_shutdown(queue, CHIME_FOREVER));
}
