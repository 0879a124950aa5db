/* hpp.cpp - chime.hpp on Windows: a host-driven queue's handle, and objects that go in order. Prints "ok hpp". */
#include <windows.h>

#include <cstdio>

#include <chime.hpp>

using namespace std::chrono_literals;

int main() {
  int ticks = 0;
  {
    chime::queue queue(CHIME_QUEUE_HOST);
    chime::timer timer = queue.every(1ms, [&] { ticks++; });
    while (ticks < 3 && WaitForSingleObject(reinterpret_cast<HANDLE>(queue.fd()), 30000) == WAIT_OBJECT_0)
      queue.process().or_throw();
  }
  if (ticks < 3) return 1;
  std::puts("ok hpp");
}
