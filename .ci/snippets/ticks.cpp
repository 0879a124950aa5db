// Prints: tick 1 | tick 2 | tick 3
#include <chime.hpp>

#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // the snippet that begins chime::queue queue(CHIME_QUEUE_SERIAL);
  for (;;) std::this_thread::sleep_for(1s);
}
