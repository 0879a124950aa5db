/*
 * barrier.c - no membarrier, by which another thread ends what the thread of a bound queue may do alone. This program's
 * syscall stands before libc's, for the library too, and answers ENOSYS, as kernels before 4.14 and some sandboxes do.
 */
#include "places.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>

static int is_refused;
static int preparations, barriers;

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
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "syscall");
  return next(number, a, b, c, d, e, f);
}

static void *restart(void *timer) {
  EXPECT_OK(chime_timer_restart(*(chime_timer_t *)timer, NULL));
  return NULL;
}

/* The queue's own thread and another change a timer in turns. */
static void change_in_turns(int count) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  chime_timer_t timer = 0;
  uint64_t before = 0, after = 0;
  int i;
  options.flags = CHIME_QUEUE_BOUND;
  queue = place_queue(HOST, &options);
  /* The thread's first timer on a queue takes another way: it fills the thread's cache. */
  for (i = 0; i < 2; i++) REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer));
  EXPECT_OK(chime_timer_generation(timer, &before));
  for (i = 0; i < count; i++) {
    pthread_t other;
    restart(&timer);
    EXPECT_EQ(pthread_create(&other, NULL, restart, &timer), 0);
    pthread_join(other, NULL);
  }
  EXPECT_OK(chime_timer_generation(timer, &after));
  EXPECT_EQ(after, before + 2 * (uint64_t)count);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&preparations), 1);
}

CASE(refused) {
  is_refused = 1;
  change_in_turns(100);
  EXPECT_EQ(load(&barriers), 0); /* the queue never was its thread's alone */
}

CASE(there) {
  change_in_turns(100);
  EXPECT_EQ(load(&barriers), 1); /* the first change of another thread */
}
