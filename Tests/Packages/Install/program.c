/*
 * A program of somebody's own, outside the tree. Compares the versions of header and library, then has a timer tick
 * three times in virtual time, once in real time and once on a run loop.
 */
#include "check.h" /* the examples' own */
#include <chime_run_loop.h>
#include <semaphore.h>

static void count(const chime_tick *tick, void *context) {
  (void)tick;
  ++*(int *)context;
}

static void post(const chime_tick *tick, void *context) {
  (void)tick;
  sem_post(context);
}

int main(void) {
  chime_queue_t queue;
  chime_run_loop_t loop;
  sem_t ticked;
  int ticks = 0;
  if (!CHIME_VERSION_MATCHES()) {
    printf("header %d.%d.%d, library %u.%u.%u\n", CHIME_VERSION_MAJOR, CHIME_VERSION_MINOR, CHIME_VERSION_PATCH,
           chime_version() >> 16, chime_version() >> 8 & 255, chime_version() & 255);
    return 2;
  }

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  CHECK(chime_timer_every(queue, CHIME_SECOND, count, &ticks, NULL, NULL));
  CHECK(chime_queue_advance(queue, 3 * CHIME_SECOND));
  EXPECT(CHIME_OK, chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("virtual %d\n", ticks);

  CHECK_ZERO(sem_init(&ticked, 0, 0));
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, post, &ticked, NULL, NULL));
  CHECK_ZERO(sem_wait(&ticked));
  EXPECT(CHIME_OK, chime_queue_shutdown(queue, CHIME_FOREVER));
  puts("real 1");

  ticks = 0;
  CHECK(chime_run_loop_current(&loop));
  CHECK(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue));
  CHECK(chime_timer_after(queue, CHIME_MILLISECOND, count, &ticks, NULL, NULL));
  EXPECT(CHIME_OK, chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT(CHIME_OK, chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("run loop %d\n", ticks);
  return 0;
}
