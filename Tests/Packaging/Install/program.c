/*
 * A program of somebody's own, outside the tree. Compares the versions of header and library, then has a timer tick
 * three times in virtual time, once in real time and once on a run loop.
 */
#include <chime.h>
#include <chime_run_loop.h>
#include <semaphore.h>
#include <stdio.h>

#define REQUIRE(call) \
  do { \
    chime_status status = (call); \
    if (status != CHIME_OK) { \
      printf("%s: %s\n", #call, chime_status_name(status)); \
      return 1; \
    } \
  } while (0)

static void count(const chime_tick *tick, void *context) {
  (void)tick;
  ++*(int *)context;
}

static void post(const chime_tick *tick, void *context) {
  (void)tick;
  sem_post(context);
}

static int virtual_time(void) {
  chime_queue_t queue;
  int ticks = 0;
  REQUIRE(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  REQUIRE(chime_timer_every(queue, CHIME_SECOND, count, &ticks, NULL, NULL));
  REQUIRE(chime_queue_advance(queue, 3 * CHIME_SECOND));
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("virtual %d\n", ticks);
  return 0;
}

static int real_time(void) {
  chime_queue_t queue;
  sem_t ticked;
  sem_init(&ticked, 0, 0);
  REQUIRE(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  REQUIRE(chime_timer_after(queue, CHIME_MILLISECOND, post, &ticked, NULL, NULL));
  sem_wait(&ticked);
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER));
  puts("real 1");
  return 0;
}

static int run_loop(void) {
  chime_run_loop_t loop;
  chime_queue_t queue;
  int ticks = 0;
  REQUIRE(chime_run_loop_current(&loop));
  REQUIRE(chime_run_loop_queue_create(loop, NULL, NULL, &queue));
  REQUIRE(chime_timer_after(queue, CHIME_MILLISECOND, count, &ticks, NULL, NULL));
  REQUIRE(chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK));
  REQUIRE(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("run loop %d\n", ticks);
  return 0;
}

int main(void) {
  if (!CHIME_VERSION_MATCHES()) {
    printf("header %d.%d.%d, library %u.%u.%u\n", CHIME_VERSION_MAJOR, CHIME_VERSION_MINOR, CHIME_VERSION_PATCH,
           chime_version() >> 16, chime_version() >> 8 & 255, chime_version() & 255);
    return 2;
  }
  return virtual_time() || real_time() || run_loop();
}
