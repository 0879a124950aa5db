/*
 * descriptors.c - no file descriptors. Where libdispatch needs one and has none it ends the process by SIGILL without a
 * message; Chime answers CHIME_ERROR_RESOURCE, and the same calls work when there are descriptors again. Promise 19.
 */
#include "calls.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* An argument is a call or a kind of queue, and how many descriptors are left; no call needs MOST_LEFT. */
enum { MOST = 64, MOST_LEFT = 9, LEFT = MOST_LEFT + 1 };

static int taken[MOST], taken_count;

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

/* As the first call of the process: it has its effect or none, and the sentence on it names the system's error. */
CASES(first_call, argument, 0, subject_count *LEFT - 1) {
  const subject *called = &subjects[argument / LEFT];
  int left = argument % LEFT;
  world w = {.made = UNTOUCHED};
  chime_status status;
  if ((called->flags & ALONE) == 0 || (called->flags & MAY_FAIL) == 0) fault_skip("needs none");
  take_descriptors_but(left);
  status = called->call(&w);
  if (status == CHIME_ERROR_RESOURCE) {
    EXPECT(strstr(chime_last_error_detail(), "(errno 24)") != NULL);
    EXPECT_EQ(w.made, UNTOUCHED);
  }
  give_descriptors_back();
  if (status == CHIME_ERROR_RESOURCE) {
    fault_seen("%s %d left: refused", called->name, left);
    EXPECT(left < MOST_LEFT);
    status = called->call(&w);
  }
  EXPECT(status != CHIME_ERROR_RESOURCE);
  if (status >= 0) world_end_made(called, w.made);
  place_expect_works(SERIAL);
  place_expect_works(RUN_LOOP);
  place_expect_works(MAIN);
}

/*
 * The queue was made while there were descriptors: its first timer needs no more, nor does what drives it. (While ticks wait
 * for a thread of libdispatch's, that opens a file once a second, and ends the process if it cannot: Limits.md.)
 */
CASES(starting, where, 0, PLACES - 1) {
  static int ticks;
  chime_queue_t queue = 0;
  if (!place_is_there(where)) fault_skip("the library has no libdispatch");
  REQUIRE_OK(place_make(where, NULL, &queue));
  take_descriptors_but(0);
  place_drive(where, queue);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
  EXPECT(place_await(where, queue, &ticks, 3));
  give_descriptors_back();
  EXPECT(place_await(where, queue, &ticks, load(&ticks) + 3));
  place_end(where, queue);
}
