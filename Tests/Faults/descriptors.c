/*
 * descriptors.c - no file descriptors. Where libdispatch needs one and has none it ends the process by SIGILL without a
 * message; Chime answers CHIME_ERROR_RESOURCE, and the same calls work when there are descriptors again.
 */
#include "places.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 64 };

/* The sentence on it names the system's error. */
static void expect_resource(chime_status status) {
  EXPECT_EQ(status, CHIME_ERROR_RESOURCE);
  EXPECT(strstr(chime_last_error_detail(), "(errno 24)") != NULL);
}

static int taken[MOST];
static int taken_count;

/* Takes all descriptors but so many. */
static void take_descriptors_but(int left) {
  const struct rlimit limit = {MOST, MOST};
  int file;
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  while (taken_count < MOST && (file = open("/dev/null", O_RDONLY)) >= 0) taken[taken_count++] = file;
  while (left-- > 0 && taken_count > 0) close(taken[--taken_count]);
}

static void give_descriptors_back(void) {
  while (taken_count > 0) close(taken[--taken_count]);
}

/* Queue, timer and tick with so many descriptors left: all works, or there is a status. Then with enough of them. */
static void create_with(place where, int left) {
  static int ticks;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_status status;
  take_descriptors_but(left);
  status = place_make(where, NULL, &queue);
  fault_seen("%d left: %s", left, chime_status_name(status));
  if (status != CHIME_OK) {
    expect_resource(status);
    EXPECT_EQ(queue, 0);
  } else {
    place_drive(where, queue);
    status = chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, &timer);
    EXPECT_OK(status);
    EXPECT(place_await(where, queue, &ticks, 3));
    EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : PATIENCE));
  }
  give_descriptors_back();
  place_expect_works(where);
}

/* The queue was made while there were descriptors; there are none when its first timer is started. */
static void start_without(place where, int left) {
  static int ticks;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_status status;
  int i;
  REQUIRE_OK(place_make(where, NULL, &queue));
  place_drive(where, queue);
  take_descriptors_but(left);
  status = chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, &timer);
  fault_seen("%d left: %s", left, chime_status_name(status));
  for (i = 0; i < 10; i++) sleep_ms(5);
  fault_seen(", %s meanwhile", load(&ticks) > 0 ? "ticked" : "no tick");
  if (status != CHIME_OK) expect_resource(status);
  give_descriptors_back();
  if (status != CHIME_OK) EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, &timer));
  EXPECT(place_await(where, queue, &ticks, load(&ticks) + 3));
  EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : PATIENCE));
  place_expect_works(where);
}

#define ON(where, name) \
  static void create_##name(int left) { create_with(where, left); } \
  static void start_##name(int left) { start_without(where, left); }
ON(SERIAL, serial)
ON(CONCURRENT, concurrent)
ON(GLOBAL, global)
ON(HOST, host)
ON(PRECISE, precise)
ON(RUN_LOOP, run_loop)
ON(MAIN, main)
ON(VIRTUAL, virtual)

/* A queue on the wall clock has a descriptor more, which tells of steps of the clock. */
static void create_wall(int left) {
  static int ticks;
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_status status;
  options.clock = CHIME_CLOCK_WALL;
  take_descriptors_but(left);
  status = chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue);
  fault_seen("%d left: %s", left, chime_status_name(status));
  if (status != CHIME_OK) {
    expect_resource(status);
    give_descriptors_back();
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue));
  }
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 3));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* libdispatch has what it needs, once a timer has ticked: other queues then need none. */
static void after_the_first_tick(int left) {
  static int first, ticks[2];
  chime_queue_t queue = 0, others[2] = {0, 0};
  int i;
  REQUIRE_OK(place_make(SERIAL, NULL, &queue));
  for (i = SERIAL; i <= CONCURRENT; i++) REQUIRE_OK(place_make((place)i, NULL, &others[i]));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &first, NULL, NULL));
  EXPECT(await(&first, 1));
  take_descriptors_but(left);
  EXPECT(await(&first, load(&first) + 3));
  for (i = SERIAL; i <= CONCURRENT; i++) {
    EXPECT_OK(chime_timer_every(others[i], CHIME_MILLISECOND, count_tick, &ticks[i], NULL, NULL));
    EXPECT(await(&ticks[i], 3));
    EXPECT_OK(chime_queue_shutdown(others[i], PATIENCE));
  }
  fault_seen("%d left: timers on other queues tick, a new queue: %s", left,
             chime_status_name(place_make(SERIAL, NULL, &others[0])));
}

/* What a host-driven queue has, it keeps: nothing in its life asks for another descriptor. */
static void drive_host(int left) {
  static int ticks;
  chime_queue_t queue = 0;
  int32_t file = -1;
  int i;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  take_descriptors_but(left);
  EXPECT_OK(chime_queue_fd(queue, &file));
  EXPECT(file >= 0);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  for (i = 0; i < 5; i++) {
    EXPECT_OK(chime_queue_wait(queue, PATIENCE));
    EXPECT_OK(chime_queue_process(queue, 0, NULL));
  }
  EXPECT(load(&ticks) >= 3);
  EXPECT_OK(chime_queue_shutdown(queue, 0));
  fault_seen("chime_queue_fd, _wait and _process need none");
}

/* chime_main_run as the first call that needs libdispatch's descriptors. */
static void run_main(int left) {
  chime_status status;
  take_descriptors_but(left);
  EXPECT_OK(chime_main_stop());
  status = chime_main_run();
  fault_seen("%d left: %s", left, chime_status_name(status));
  if (status != CHIME_STOPPED) expect_resource(status);
  give_descriptors_back();
  if (status != CHIME_STOPPED) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  place_expect_works(MAIN);
}

/* The calls of run loops that need no queue. */
static void run_loops(int left) {
  chime_run_loop_t loop = 0;
  chime_status status;
  take_descriptors_but(left);
  status = chime_run_loop_current(&loop);
  fault_seen("%d left: current %s", left, chime_status_name(status));
  if (status == CHIME_OK) {
    status = chime_run_loop_run(NULL, CHIME_MILLISECOND, 0);
    fault_seen(", run %s", chime_status_name(status));
    if (status != CHIME_TIMED_OUT) expect_resource(status);
  } else {
    expect_resource(status);
  }
  status = chime_run_loop_create(NULL, &loop);
  fault_seen(", create %s", chime_status_name(status));
  if (status == CHIME_OK) {
    EXPECT_OK(chime_run_loop_release(loop));
  } else {
    expect_resource(status);
  }
  give_descriptors_back();
  EXPECT_EQ(chime_run_loop_run(NULL, CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  place_expect_works(RUN_LOOP);
}

/* The loop is there; its first timer comes when there are no descriptors. */
static void weak_timer(int left) {
  static int ticks;
  chime_run_loop_t loop = 0;
  chime_weak_timer_t timer = 0;
  chime_status status;
  REQUIRE_OK(chime_run_loop_current(&loop));
  EXPECT_EQ(chime_run_loop_run(NULL, CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  take_descriptors_but(left);
  status = chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, count_tick, &ticks, NULL, &timer);
  fault_seen("%d left: %s", left, chime_status_name(status));
  if (status == CHIME_OK) {
    EXPECT_EQ(chime_run_loop_run(NULL, 50 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  } else {
    expect_resource(status);
  }
  give_descriptors_back();
  if (status != CHIME_OK) {
    EXPECT_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 1, 0, count_tick, &ticks, NULL, &timer));
  }
  EXPECT_EQ(chime_run_loop_run(NULL, 50 * CHIME_MILLISECOND, 0), CHIME_TIMED_OUT);
  EXPECT(load(&ticks) >= 3);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"creating-serial", create_serial, 0, 7, 0, 0},
      {"creating-concurrent", create_concurrent, 0, 7, 0, 0},
      {"creating-global", create_global, 0, 7, 0, 0},
      {"creating-host-driven", create_host, 0, 1, 0, 0},
      {"creating-precise", create_precise, 0, 1, 0, 0},
      {"creating-run-loop", create_run_loop, 0, 9, 0, 0},
      {"creating-main", create_main, 0, 9, 0, 0},
      {"creating-virtual", create_virtual, 0, 0, 0, 0},
      {"creating-wall", create_wall, 0, 7, 0, 0},
      {"starting-serial", start_serial, 0, 4, 0, 0},
      {"starting-concurrent", start_concurrent, 0, 4, 0, 0},
      {"starting-global", start_global, 0, 4, 0, 0},
      {"starting-host-driven", start_host, 0, 0, 0, 0},
      {"starting-precise", start_precise, 0, 0, 0, 0},
      {"starting-run-loop", start_run_loop, 0, 4, 0, 0},
      {"starting-main", start_main, 0, 4, 0, 0},
      {"starting-virtual", start_virtual, 0, 0, 0, 0},
      {"after-the-first-tick", after_the_first_tick, 0, 0, 0, 0},
      {"driving", drive_host, 0, 0, 0, 0},
      {"main-run", run_main, 0, 5, 0, 0},
      {"run-loops", run_loops, 0, 7, 0, 0},
      {"weak-timer", weak_timer, 0, 4, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
