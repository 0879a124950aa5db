/* What misuse.c loads and unloads. */
#include <chime.h>

void tick_of_the_plugin(const chime_tick *tick, void *context) {
  (void)tick;
  __atomic_store_n((int *)context, 1, __ATOMIC_RELEASE);
}
