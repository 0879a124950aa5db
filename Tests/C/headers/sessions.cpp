// The class of include/README.md on a serial queue, which ends while timeouts come: no handler uses what has gone.

#include "sessions.inc"

#include <thread>

int main() {
  for (int round = 0; round < 20; round++) {
    sessions open(CHIME_QUEUE_SERIAL);
    for (int name = 0; name < 500; name++) open.sign_of_life("a client with a long name, " + std::to_string(name));
    std::this_thread::sleep_for(1ms);
  }
}
