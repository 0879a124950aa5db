/*
 * hpp_endings.cpp - exceptions in each place where chime.hpp calls a function, on each kind of queue: they end the process by
 * std::terminate, as any that leaves a thread. (exit and _exit there: Tests/Faults, exit.)
 */
#include <chime.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

const char *const places[] = {"handler", "handler on the heap", "destructor", "async", "sync"};

[[noreturn]] void end() { throw std::runtime_error("nobody catches this"); }

/* What a lambda holds: its destructor is the finalizer. */
struct ends_when_destroyed {
  ~ends_when_destroyed() noexcept(false) { end(); }
};

void begin(chime_queue_kind kind, int place) {
  static chime::queue queue(kind);
  static chime::timer timer;
  const auto held = std::make_shared<int>(0);
  switch (place) {
    case 0: timer = queue.after(0ms, [] { end(); }); break;
    case 1: timer = queue.after(0ms, [held] { end(); }); break;
    case 2: static_cast<void>(queue.async([last = std::make_unique<ends_when_destroyed>()] {})); break;
    case 3: static_cast<void>(queue.async([] { end(); })); break;
    default: static_cast<void>(queue.sync([] { end(); })); break;
  }
  sleep(30);
  _exit(1);
}

} // namespace

int main() {
  int ended = 0, failed = 0;
  for (const chime_queue_kind kind : {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE}) {
    for (int place = 0; place < (kind == CHIME_QUEUE_CONCURRENT ? 4 : 5); place++) {
      const pid_t child = fork();
      int status = 0;
      if (child == 0) {
        std::set_terminate([] { _exit(9); }); /* a signal would leave a core file */
        begin(kind, place);
      }
      waitpid(child, &status, 0);
      const bool holds = WIFEXITED(status) && WEXITSTATUS(status) == 9;
      (holds ? ended : failed)++;
      if (!holds) std::fprintf(stderr, "kind %d, %s: status %#x\n", static_cast<int>(kind), places[place], status);
    }
  }
  std::printf("%s chime.hpp: %d processes ended as they should\n", failed ? "FAILED" : "ok", ended);
  return failed != 0;
}
