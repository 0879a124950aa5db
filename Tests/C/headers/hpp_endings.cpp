/*
 * hpp_endings.cpp - exceptions and exits in each place where chime.hpp calls a function, on each kind of queue: an exception
 * ends the process by std::terminate, as any that leaves a thread; exit and _exit end it with their status.
 */
#include <chime.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

enum way { throws, exits, leaves, WAYS };
enum place { handler, large_handler, destruction, function, function_waited_for, PLACES };

const char *const way_names[] = {"throws", "exits", "leaves"};
const char *const place_names[] = {"handler", "handler on the heap", "destructor", "async", "sync"};

[[noreturn]] void end(way how) {
  if (how == leaves) _exit(7);
  if (how == exits) std::exit(7);
  throw std::runtime_error("nobody catches this");
}

/* What a lambda holds: its destructor is the finalizer. */
struct ends_when_destroyed {
  way how;
  explicit ends_when_destroyed(way how) : how(how) {}
  ~ends_when_destroyed() noexcept(false) { end(how); }
};

void begin(chime_queue_kind kind, place where, way how) {
  static chime::queue queue(kind);
  static chime::timer timer;
  const auto held = std::make_shared<int>(0);
  switch (where) {
    case handler: timer = queue.after(0ms, [how] { end(how); }); break;
    case large_handler: timer = queue.after(0ms, [how, held] { end(*held == 0 ? how : leaves); }); break;
    case destruction: static_cast<void>(queue.async([last = std::make_unique<ends_when_destroyed>(how)] {})); break;
    case function: static_cast<void>(queue.async([how] { end(how); })); break;
    default: static_cast<void>(queue.sync([how] { end(how); })); break;
  }
  for (int i = 0; i < 3000; i++) usleep(10000);
  _exit(1); /* 30 s are over */
}

bool holds(chime_queue_kind kind, place where, way how) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    std::set_terminate([] { _exit(9); }); /* a signal would leave a core file */
    begin(kind, where, how);
  }
  waitpid(child, &status, 0);
  const int expected = how == throws ? 9 : 7;
  if (WIFEXITED(status) && WEXITSTATUS(status) == expected) return true;
  std::fprintf(stderr, "kind %d, %s %s: status %#x, expected exit %d\n", static_cast<int>(kind), place_names[where],
               way_names[how], static_cast<unsigned>(status), expected);
  return false;
}

} // namespace

int main() {
  int ended = 0, failed = 0;
  for (const chime_queue_kind kind : {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE}) {
    for (int where = 0; where < PLACES; where++) {
      if (kind == CHIME_QUEUE_CONCURRENT && where == function_waited_for) continue;
      for (int how = 0; how < WAYS; how++)
        (holds(kind, static_cast<place>(where), static_cast<way>(how)) ? ended : failed)++;
    }
  }
  std::printf("%s chime.hpp: %d processes ended as they should\n", failed ? "FAILED" : "ok", ended);
  return failed != 0;
}
