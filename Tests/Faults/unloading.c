/*
 * unloading.c - dlclose with armed timers. The library stays (it is linked -z nodelete), and so the timers tick on; the
 * next dlopen finds everything as it was. After a shutdown that said CHIME_OK nothing runs.
 */
#include "loaded.h"

#include <dlfcn.h>

static void *load_chime(void) {
  void *handle = dlopen(path_of_chime(), RTLD_NOW | RTLD_LOCAL);
  EXPECT(handle != NULL);
  if (handle != NULL) use_library(handle);
  return handle;
}

static void armed(int where) {
  static int ticks;
  chime_queue_t queue;
  chime_timer_t timer = 0;
  chime_state state = -1;
  void *chime = load_chime();
  if (where == MAIN) fault_skip("nobody drains the main queue when it is closed");
  REQUIRE(chime != NULL);
  queue = place_tick(where, &ticks, &timer);
  EXPECT(place_await(where, queue, &ticks, 3));
  EXPECT_EQ(dlclose(chime), 0);
  if (where != VIRTUAL) EXPECT(await(&ticks, load(&ticks) + 3)); /* it ticks on, and nothing crashes */
  REQUIRE(load_chime() != NULL);
  EXPECT_OK(chime_timer_state(timer, &state));
  EXPECT_EQ(state, CHIME_STATE_RUNNING);
  EXPECT(place_await(where, queue, &ticks, load(&ticks) + 3));
  place_end(where, queue);
  place_expect_works(where);
  fault_seen("%s: ticks on, found again", place_name(where));
}

/* Closed at once, and loaded again: a callback that came all the same would have had its time. */
static void shut_down(int where) {
  int round;
  for (round = 0; round < 5; round++) {
    static int ticks;
    int at_end;
    chime_queue_t queue;
    void *chime = load_chime();
    if (where == MAIN) fault_skip("nobody drains the main queue when it is closed");
    REQUIRE(chime != NULL);
    store(&ticks, 0);
    queue = place_tick(where, &ticks, NULL);
    EXPECT(place_await(where, queue, &ticks, 3));
    place_end(where, queue);
    at_end = load(&ticks);
    EXPECT_EQ(dlclose(chime), 0);
    REQUIRE(load_chime() != NULL);
    let_others_tick();
    EXPECT_EQ(load(&ticks), at_end);
  }
  fault_seen("%s: nothing runs", place_name(where));
}

FAULT_CASES({"armed", armed, 0, PLACES - 1, 0, 0}, {"shut-down", shut_down, 0, PLACES - 1, 0, 0})
