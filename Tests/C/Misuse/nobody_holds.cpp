// A timer that is an object goes at the end of its block.
#include <chime.hpp>

using namespace std::chrono_literals;

extern "C" chime_timer_t begin_and_forget(chime_queue_t *of_timer) {
  static const chime::queue queue(CHIME_QUEUE_SERIAL);
  *of_timer = queue.id();
  chime_timer_options options{};
  options.label = "heartbeat";
  const chime::timer timer = queue.start(
      chime::schedule::every(1h), [] {}, options);
  return timer.id(); // what the caller has of it: the id of a timer that is gone
}
