/* threads.c - see threads.h. */
#include "threads.h"

#include "scheduling.h"

void chime_lock_take_busy(chime_lock *lock) {
  for (int tries = 0; !chime_lock_try(lock); tries++) {
    if (tries < 32) {
      chime_pause();
    } else if (tries < 96 && (tries > 32 || !chime_is_realtime())) {
      chime_yield();
    } else {
      chime_lock_take(lock);
      return;
    }
  }
}
