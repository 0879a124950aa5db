/*
 * barrier.c - no membarrier, by which another thread ends what the thread of a bound queue may do alone. This program's
 * syscall stands before libc's, for the library too, and answers ENOSYS, as kernels before 4.14 and some sandboxes do.
 */
#include "places.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/syscall.h>

static int is_refused;
static int preparations, barriers;
static int is_missing; /* from the system itself */

long syscall(long number, ...) {
  static long (*next)(long, ...);
  long a, b, c, d, e, f;
  va_list list;
  va_start(list, number);
  a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
  d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (number == SYS_membarrier) {
    add(a == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED ? &preparations : &barriers, 1);
    if (is_refused) {
      errno = ENOSYS;
      return -1;
    }
  }
  if (next == NULL) *(void **)&next = fault_next("syscall");
  long result = next(number, a, b, c, d, e, f);
  if (number == SYS_membarrier && result != 0) store(&is_missing, 1);
  return result;
}

static void *restart(void *timer) {
  errno = 7;
  EXPECT_OK(chime_timer_restart(*(chime_timer_t *)timer, NULL));
  EXPECT_EQ(errno, 7);
  return NULL;
}

/* The queue's own thread and another change a timer in turns. Refused from the beginning, after the queue was made, or
 * not. */
enum { AT_FIRST, LATER, NEVER };

CASES(changes_in_turns, refused, AT_FIRST, NEVER) {
  enum { TURNS = 100 };
  chime_queue_t queue;
  chime_timer_t timer = 0;
  uint64_t before = 0, after = 0;
  store(&is_refused, refused == AT_FIRST);
  queue = place_queue(HOST, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_BOUND));
  if (load(&is_missing)) fault_skip("the system has no membarrier");
  /* The thread's first timer on a queue takes another way: it fills the thread's cache. */
  for (int i = 0; i < 2; i++) REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer));
  EXPECT_OK(chime_timer_generation(timer, &before));
  store(&is_refused, refused != NEVER);
  for (int i = 0; i < TURNS; i++) {
    restart(&timer);
    run_on_a_thread(restart, &timer);
  }
  EXPECT_OK(chime_timer_generation(timer, &after));
  EXPECT_EQ(after, before + 2 * TURNS);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&preparations), 1);
  EXPECT_EQ(load(&barriers), refused == AT_FIRST ? 0 : 1); /* for the first change of the other thread */
}
