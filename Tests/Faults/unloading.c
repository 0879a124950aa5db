/*
 * unloading.c - dlclose with armed timers. The library stays (it is linked -z nodelete), and so the timers tick on; the
 * next dlopen finds everything as it was. After a shutdown that said CHIME_OK nothing runs.
 */
#include "loaded.h"

#include <dlfcn.h>

static int ticks;

static void armed(int where) {
  const char *path = path_in(libraries(), "libchime.so.1");
  loaded l = load_library(path, RTLD_NOW | RTLD_LOCAL, 0), again;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_state state = -1;
  int at_close;
  REQUIRE(l.handle != NULL);
  REQUIRE_OK(loaded_make(&l, where, &queue));
  REQUIRE_OK(l.timer_every(queue, CHIME_MILLISECOND, count_loaded_tick, &ticks, NULL, &timer));
  if (where == VIRTUAL) EXPECT_OK(l.queue_advance(queue, 5 * CHIME_MILLISECOND));
  EXPECT(await(&ticks, 3));
  EXPECT_EQ(dlclose(l.handle), 0);
  at_close = load(&ticks);
  if (where != VIRTUAL) EXPECT(await(&ticks, at_close + 3)); /* it ticks on, and nothing crashes */
  again = load_library(path, RTLD_NOW | RTLD_LOCAL, 0);
  REQUIRE(again.handle != NULL);
  EXPECT_OK(again.timer_state(timer, &state));
  EXPECT_EQ(state, CHIME_STATE_RUNNING);
  EXPECT_OK(again.timer_cancel(timer));
  loaded_expect_works(&again);
  EXPECT_OK(again.queue_shutdown(queue, PATIENCE));
  fault_seen("%s: ticks on, found again", loaded_place_name(where));
}

static void shut_down(int where) {
  const char *path = path_in(libraries(), "libchime.so.1");
  int round, at_end;
  for (round = 0; round < 5; round++) {
    loaded l = load_library(path, RTLD_NOW | RTLD_LOCAL, 0);
    chime_queue_t queue = 0;
    REQUIRE(l.handle != NULL);
    store(&ticks, 0);
    REQUIRE_OK(loaded_make(&l, where, &queue));
    REQUIRE_OK(l.timer_every(queue, 100 * CHIME_MICROSECOND, count_loaded_tick, &ticks, NULL, NULL));
    if (where == VIRTUAL) EXPECT_OK(l.queue_advance(queue, 5 * CHIME_MILLISECOND));
    EXPECT(await(&ticks, 3));
    EXPECT_OK(l.queue_shutdown(queue, PATIENCE));
    at_end = load(&ticks);
    EXPECT_EQ(dlclose(l.handle), 0);
    sleep_ms(10);
    EXPECT_EQ(load(&ticks), at_end);
  }
  fault_seen("%s: nothing runs", loaded_place_name(where));
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"armed", armed, SERIAL, LOADED_PLACES - 1, 0, 0},
      {"shut-down", shut_down, SERIAL, LOADED_PLACES - 1, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
