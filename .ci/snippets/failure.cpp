// Prints: The id is none, is of another kind, or was released. | timeout
#include <chime.hpp>

#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

void on_timeout() { std::puts("timeout"); }

void try_on(const chime::queue &queue) {
  // the snippet that begins chime::timer timer;
  if (timer.id() != 0) std::this_thread::sleep_for(6s);
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try_on(chime::queue());
  try_on(chime::queue(CHIME_QUEUE_SERIAL));
}
