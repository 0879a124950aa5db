// A timer that is an object goes at the end of its block.
#include <chime.hpp>

#include "misuse.h"

using namespace std::chrono_literals;

static chime_timer_t begin(const chime::queue &queue) {
  chime_timer_options options{};
  options.label = "heartbeat";
  const chime::timer timer = queue.start(
      chime::schedule::every(1h), [] {}, options);
  return timer.id(); // what the caller has of it: the id of a timer that is gone
}

int main() {
  const chime::queue queue(CHIME_QUEUE_SERIAL);
  const chime_timer_t id = begin(queue);
  told(chime_timer_resume(id));
  look(queue.id(), id);
}
