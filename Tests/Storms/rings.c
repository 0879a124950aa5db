/*
 * rings.c - handlers that wait for each other's queues and timers all the time. A wait that would close a ring is told
 * so, every other one ends, and all go on. Promise 1.
 */
#include "storms.h"

enum { MOST_MEMBERS = 4 };

typedef struct ring ring;

typedef struct member {
  ring *ring;
  int number;
  chime_queue_t queue;
  chime_timer_t timer;
  struct member *next;
  int ok;
  int deadlocks;
  int others; /* other answers */
} member;

struct ring {
  csuite *t;
  int64_t timeout;
  int depth; /* a sync from a function that runs by sync, that many times */
  member members[MOST_MEMBERS];
  int count;
  int over;
};

static void count_answer(member *m, chime_status status) {
  if (status == CHIME_OK || status == CHIME_RUNNING || status == CHIME_IGNORED) add(&m->ok, 1);
  else if (status == CHIME_ERROR_WOULD_DEADLOCK) add(&m->deadlocks, 1);
  else add(&m->others, 1);
}

/* ---- chime_queue_sync -------------------------------------------------------------------------------------------- */

/* A function that stands in the member's queue, and in those of the members before. */
typedef struct step {
  member *at;
  int left;
} step;

static void sync_the_next(void *context) {
  step *s = context;
  member *m = s->at;
  step next = {m->next, s->left - 1};
  if (s->left == 0) return;
  count_answer(m, chime_queue_sync(m->next->queue, sync_the_next, &next, m->ring->timeout));
}

static void sync_in_the_handler(const chime_tick *tick, void *context) {
  member *m = context;
  step first = {m, m->ring->depth};
  (void)tick;
  storm_waits_for(m->number, "chime_queue_sync in a handler");
  sync_the_next(&first);
  storm_waits_for(m->number, "the wait for the next tick");
}

/* ---- chime_timer_cancel_and_wait --------------------------------------------------------------------------------- */

static void cancel_and_wait_in_the_handler(const chime_tick *tick, void *context) {
  member *m = context;
  csuite *t = m->ring->t;
  (void)tick;
  storm_waits_for(m->number, "chime_timer_cancel_and_wait in a handler");
  count_answer(m, chime_timer_cancel_and_wait(m->next->timer, m->ring->timeout));
  if (load(&m->ring->over) == 0) EXPECT_TOOK_EFFECT(chime_timer_restart(m->next->timer, NULL));
  storm_waits_for(m->number, "the wait for the next tick");
}

/* ---- The storms -------------------------------------------------------------------------------------------------- */

static void storm_of_a_ring(csuite *t, const where *places, int count, chime_handler handler, int depth,
                            int64_t timeout) {
  ring *r = csuite_memory(t, sizeof *r);
  chime_schedule schedule = schedule_of(0, 50 * CHIME_MICROSECOND);
  int i, ok = 0, deadlocks = 0;
  r->t = t;
  r->timeout = timeout;
  r->depth = depth;
  r->count = count;
  for (i = 0; i < count; i++) {
    member *m = &r->members[i];
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    m->ring = r;
    m->number = i;
    m->next = &r->members[(i + 1) % count];
    m->queue = csuite_queue(t, places[i]);
    if (m->queue == 0) return;
    options.handler = handler;
    options.context = m;
    REQUIRE_OK(chime_timer_create(m->queue, &options, &m->timer));
    EXPECT_OK(chime_timer_reschedule(m->timer, &schedule)); /* another's handler may start it before we do */
  }
  for (i = 0; i < count; i++) {
    storm_waits_for(i, "the wait for the first tick");
    EXPECT_TOOK_EFFECT(chime_timer_restart(r->members[i].timer, &schedule));
  }
  while (storm_goes_on(t)) {
    sleep_ns(10 * CHIME_MILLISECOND);
    for (i = 0; i < count; i++) EXPECT_EQ(load(&r->members[i].others), 0);
  }
  store(&r->over, 1);
  for (i = 0; i < count; i++) {
    storm_waits_for(STORM_PARTS - 1, "the end of the ring");
    EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(r->members[i].timer, CHIME_FOREVER)));
    storm_rests(i);
  }
  /* A handler that was in its last call has perhaps started the one before it once more. */
  for (i = 0; i < count; i++) EXPECT(!CHIME_FAILED(chime_timer_cancel_and_wait(r->members[i].timer, CHIME_FOREVER)));
  for (i = 0; i < count; i++) storm_rests(i);
  storm_rests(STORM_PARTS - 1);
  for (i = 0; i < count; i++) {
    EXPECT_EQ(load(&r->members[i].others), 0);
    ok += load(&r->members[i].ok);
    deadlocks += load(&r->members[i].deadlocks);
  }
  storm_saw("%d waits ended, %d would have been without end", ok, deadlocks);
  EXPECT(ok > 0);
}

#define PLACES(...) (const where[]){__VA_ARGS__}, (int)(sizeof((const where[]){__VA_ARGS__}) / sizeof(where))

/* [1] By sync: without a timeout; with one, that never ends; and by functions that run by sync. */
#define SYNC_RINGS(name, ...) \
  TEST(handlers_that_sync_the_next_queue_go_on_on_##name) { \
    storm_of_a_ring(t, PLACES(__VA_ARGS__), sync_in_the_handler, 1, CHIME_FOREVER); \
  } \
  TEST(handlers_that_sync_the_next_queue_never_time_out_on_##name) { \
    storm_of_a_ring(t, PLACES(__VA_ARGS__), sync_in_the_handler, 1, PATIENCE - CHIME_SECOND); \
  } \
  TEST(functions_that_sync_the_next_queue_go_on_on_##name) { \
    storm_of_a_ring(t, PLACES(__VA_ARGS__), sync_in_the_handler, 3, CHIME_FOREVER); \
  }
SYNC_RINGS(two_serial_queues, SERIAL, SERIAL)
SYNC_RINGS(two_precise_queues, PRECISE, PRECISE)
SYNC_RINGS(a_serial_and_a_precise_queue, SERIAL, PRECISE)
SYNC_RINGS(three_serial_queues, SERIAL, SERIAL, SERIAL)
SYNC_RINGS(three_mixed_queues, PRECISE, SERIAL, PRECISE)
SYNC_RINGS(the_main_queue_and_a_serial_queue, MAIN, SERIAL)
SYNC_RINGS(the_main_queue_and_two_others, MAIN, PRECISE, SERIAL)

/* [1] By cancel_and_wait, which needs no queue that can be locked. */
#define CANCEL_RINGS(name, ...) \
  TEST(handlers_that_cancel_and_wait_for_the_next_timer_go_on_on_##name) { \
    storm_of_a_ring(t, PLACES(__VA_ARGS__), cancel_and_wait_in_the_handler, 0, CHIME_FOREVER); \
  }
CANCEL_RINGS(two_serial_queues, SERIAL, SERIAL)
CANCEL_RINGS(two_concurrent_queues, CONCURRENT, CONCURRENT)
CANCEL_RINGS(two_precise_queues, PRECISE, PRECISE)
CANCEL_RINGS(a_host_driven_and_a_serial_queue, HOST, SERIAL)
CANCEL_RINGS(the_main_queue_and_a_precise_queue, MAIN, PRECISE)
CANCEL_RINGS(a_run_loop_and_a_serial_queue, RUN_LOOP, SERIAL)
CANCEL_RINGS(four_mixed_queues, HOST, SERIAL, MAIN, PRECISE)
