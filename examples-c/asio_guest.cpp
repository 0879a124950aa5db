/*
 * Chime as a guest of Asio: a stream_descriptor with the queue's descriptor, by chime.hpp. Handlers run inside io_context::run,
 * on its thread. The queue owns the descriptor, so that the guest releases it instead of closing it. Before and after a fork
 * Asio is told, then the guest leaves the child's loop, and then Chime is made usable again.
 *
 * Build:  make build/asio_guest (libasio-dev)
 * Run:    build/asio_guest
 *
 * Output:
 *   Asio's timer; Chime's tick
 *   in the child: Asio's timer; Chime's tick
 *   and then: Asio's timer; Chime's tick
 */
#include <asio.hpp>
#include <chime.hpp>
#include <cstdio>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

class guest {
 public:
  explicit guest(asio::io_context &loop) : descriptor_(loop, queue.fd()) { wait(); }
  guest(const guest &) = delete;
  ~guest() { descriptor_.release(); } /* out of the loop, before the queue closes it */
  chime::queue queue{CHIME_QUEUE_HOST};

 private:
  void wait() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
      if (error) return; /* the guest has gone */
      chime::status status = queue.process();
      if (status.failed() && status != CHIME_ERROR_BUSY) throw chime::error(status); /* out of io_context::run */
      wait();
    });
  }
  asio::posix::stream_descriptor descriptor_;
};

static void run(asio::io_context &loop, guest &g, const char *text) {
  asio::steady_timer timer(loop, 1ms);
  timer.async_wait([&](asio::error_code) {
    std::printf("%sAsio's timer; ", text);
    g.queue.once(10ms, [&loop] { std::puts("Chime's tick"), loop.stop(); }).or_throw();
  });
  loop.restart();
  loop.run();
  std::fflush(stdout);
}

int main() {
  asio::io_context loop;
  std::optional<guest> g(std::in_place, loop);
  int status = 0;
  run(loop, *g, "");
  loop.notify_fork(asio::io_context::fork_prepare);
  const pid_t child = fork();
  loop.notify_fork(child == 0 ? asio::io_context::fork_child : asio::io_context::fork_parent);
  if (child == 0) {
    g.reset();
    chime::status(chime_reinitialize()).or_throw();
    g.emplace(loop);
  } else if (waitpid(child, &status, 0) != child) {
    return 1;
  }
  run(loop, *g, child == 0 ? "in the child: " : "and then: ");
  return status != 0;
}
