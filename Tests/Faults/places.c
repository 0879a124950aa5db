/* places.c - see places.h. */
#include "places.h"

const char *place_name(int where) {
  static const char *const names[] = {"serial",   "concurrent",  "dispatch", "precise",
                                      "run loop", "host-driven", "main",     "virtual"};
  return names[where];
}

int place_is_there(int where) {
  static int status = 1; /* none */
  chime_queue_t queue = 0;
  if (where != DISPATCH) return 1;
  if (status == 1) {
    status = chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &queue);
    if (status == CHIME_OK) EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
  return status != CHIME_ERROR_UNSUPPORTED;
}

chime_status place_make(int where, const chime_queue_options *options, chime_queue_t *queue) {
  return create_queue(where, options, queue, &(chime_run_loop_t){0});
}

static void *run_host(void *context) {
  chime_queue_t queue = (chime_queue_t)(uintptr_t)context;
  chime_status status = CHIME_STOPPED;
  while (status == CHIME_STOPPED || status == CHIME_ERROR_BUSY) {
    status = chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED);
    if (status == CHIME_ERROR_BUSY) sleep_ns(CHIME_MILLISECOND);
  }
  return NULL;
}

void place_drive(int where, chime_queue_t queue) {
  if (where == HOST) pthread_detach(spawn(run_host, (void *)(uintptr_t)queue));
}

chime_queue_t place_queue(int where, const chime_queue_options *options) {
  chime_queue_t queue = 0;
  if (!place_is_there(where)) fault_skip("the library has no libdispatch");
  REQUIRE_OK(place_make(where, options, &queue));
  place_drive(where, queue);
  return queue;
}

chime_queue_t place_tick(int where, int *ticks, chime_timer_t *timer) {
  chime_queue_t queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, ticks, NULL, timer));
  return queue;
}

int place_await(int where, chime_queue_t queue, const int *value, int least) {
  static int stops;
  int i;
  if (where != VIRTUAL && where != MAIN) return await(value, least);
  for (i = 0; i < PATIENCE / CHIME_MILLISECOND && load(value) < least; i++) {
    if (where == VIRTUAL) {
      chime_queue_advance(queue, CHIME_MILLISECOND);
    } else {
      EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, stop_main, &stops, NULL, NULL));
      EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
    }
  }
  return load(value) >= least;
}

void place_end(int where, chime_queue_t queue) { EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : PATIENCE)); }

void count_tick(const chime_tick *tick, void *context) {
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  add(context, 1);
}

void stop_main(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_main_stop();
}

int staying, may_go;

void stay(const chime_tick *tick, void *unused) {
  (void)tick, (void)unused;
  add(&staying, 1);
  EXPECT(await(&may_go, 1)); /* else what is awaited beside it may come because it has left */
}

void place_use_up_reserve(chime_queue_t queue) {
  chime_status status = CHIME_OK;
  int i;
  for (i = 0; i < 10000 && status == CHIME_OK; i++) status = chime_queue_async(queue, ignore_call, NULL, NULL);
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
}

void place_expect_works(int where) {
  static int ticks; /* outlives a queue that does not end */
  chime_queue_t queue;
  store(&ticks, 0);
  queue = place_tick(where, &ticks, NULL);
  EXPECT(place_await(where, queue, &ticks, 3));
  place_end(where, queue);
}

void let_others_tick(void) {
  static int ticks;
  int before = load(&ticks);
  chime_queue_t queue = place_tick(PRECISE, &ticks, NULL);
  EXPECT(await(&ticks, before + 5));
  place_end(PRECISE, queue);
}
