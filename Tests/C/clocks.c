/* clocks.c - the clocks of queues, sleeping, precise queues, and the functions around handlers. */
#include "harness.h"

/* ---- Clocks ----------------------------------------------------------------------------------------------------- */

static const struct {
  chime_queue_kind kind;
  chime_clock clock;
} offered[] = {
    {CHIME_QUEUE_HOST, CHIME_CLOCK_MONOTONIC},   {CHIME_QUEUE_HOST, CHIME_CLOCK_BOOTTIME},
    {CHIME_QUEUE_HOST, CHIME_CLOCK_WALL},        {CHIME_QUEUE_SERIAL, CHIME_CLOCK_WALL},
    {CHIME_QUEUE_CONCURRENT, CHIME_CLOCK_WALL},  {CHIME_QUEUE_PRECISE, CHIME_CLOCK_WALL},
    {CHIME_QUEUE_SERIAL, CHIME_CLOCK_BOOTTIME},  {CHIME_QUEUE_CONCURRENT, CHIME_CLOCK_BOOTTIME},
    {CHIME_QUEUE_PRECISE, CHIME_CLOCK_BOOTTIME},
};

TEST(a_deadline_of_each_clock_is_met) {
  for (size_t i = 0; i < sizeof offered / sizeof offered[0]; i++) {
    int64_t now, after;
    chime_queue_t queue = csuite_queue_with(t, offered[i].kind, &QUEUE_OPTIONS(.clock = offered[i].clock));
    if (queue == 0) continue;
    REQUIRE_OK(chime_now(offered[i].clock, &now));
    EXPECT_BETWEEN(now_of(t, queue), now, now + 10 * CHIME_SECOND);
    int64_t due = now + 10 * CHIME_MILLISECOND;
    probe *p = probe_start(t, queue, "a", AT(due));
    EXPECT(offered[i].kind == CHIME_QUEUE_HOST ? process_until(t, queue, &p->returned, 1) : await(&p->returned, 1));
    REQUIRE_OK(chime_now(offered[i].clock, &after));
    EXPECT_EQ(p->first.scheduled_ns, due);
    EXPECT_BETWEEN(p->first.actual_ns, due, after);
    EXPECT_TOOK_EFFECT(chime_timer_restart(p->timer, AT(after + CHIME_MINUTE)));
    EXPECT_TOOK_EFFECT(chime_timer_restart_until(p->timer, after + 30 * CHIME_SECOND));
    EXPECT_EQ(deadline_of(t, p->timer), after + 30 * CHIME_SECOND);
    EXPECT_TOOK_EFFECT(chime_timer_postpone_until(p->timer, after + CHIME_HOUR));
    EXPECT_EQ(deadline_of(t, p->timer), after + CHIME_HOUR);
  }
}

TEST(sleep_until_is_never_early) {
  const chime_clock clocks[] = {CHIME_CLOCK_MONOTONIC, CHIME_CLOCK_BOOTTIME, CHIME_CLOCK_WALL};
  for (size_t i = 0; i < 3; i++) {
    int64_t now, after;
    REQUIRE_OK(chime_now(clocks[i], &now));
    REQUIRE_OK(chime_sleep_until(clocks[i], now + 5 * CHIME_MILLISECOND));
    REQUIRE_OK(chime_now(clocks[i], &after));
    EXPECT_BETWEEN(after - now, 5 * CHIME_MILLISECOND, PATIENCE);
    EXPECT_OK(chime_sleep_until(clocks[i], INT64_MIN));
  }
  EXPECT_STATUS(chime_sleep_until(CHIME_CLOCK_WALL + 1, 0), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_sleep_until(99, 0), CHIME_ERROR_INVALID_ARGUMENT);
}

/* ---- Precise queues and threads --------------------------------------------------------------------------------- */

TEST(real_time_priority_is_given_or_refused_by_a_status) {
  chime_queue_options options = QUEUE_OPTIONS(.realtime_priority = 1);
  chime_queue_t queue = 0;
  chime_status status = chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue);
  if (status == CHIME_OK) {
    csuite_ends(t, queue, PATIENCE);
    EXPECT(await(&probe_every_quietly(t, queue, CHIME_MILLISECOND)->ticks, 5));
  } else {
    EXPECT_EQ(status, CHIME_ERROR_PERMISSION);
    EXPECT_EQ(queue, 0);
  }
}

TEST(sync_on_a_precise_queue_runs_on_its_thread) {
  QUEUE_OR_RETURN(queue, PRECISE);
  probe *first = probe_new(t, queue, NULL), *second = probe_new(t, queue, NULL);
  EXPECT_OK(chime_queue_sync(queue, probe_function, first, CHIME_FOREVER));
  EXPECT_OK(chime_queue_sync(queue, probe_function, second, PATIENCE));
  EXPECT(pthread_equal(first->thread, second->thread) && !pthread_equal(first->thread, pthread_self()));
}

typedef struct hooks {
  chime_queue_t queue;
  int entered, left, ticks, outside, finalized;
  int asks_in_leave, shuts_down, asked, synced;
  chime_status status;
} hooks;

/* The hooks are callbacks of the queue: what would wait for it in one is answered. */
static void ask(hooks *h) {
  if (load(&h->asked) != 0 || add(&h->asked, 1) != 1) return;
  h->status = h->shuts_down ? chime_queue_shutdown(h->queue, CHIME_FOREVER)
                            : chime_queue_sync(h->queue, count_call, &h->synced, CHIME_FOREVER);
  store(&h->asked, 2);
}

static void on_enter(void *context) {
  hooks *h = context;
  add(&h->entered, 1);
  if (!h->asks_in_leave) ask(h);
}

static void on_leave(void *context) {
  hooks *h = context;
  if (h->asks_in_leave) ask(h);
  sleep_ns(200 * CHIME_MICROSECOND);
  add(&h->left, 1);
}

/* The last callback of the queue. */
static void on_hooks_end(void *context) {
  hooks *h = context;
  if (load(&h->left) != load(&h->entered) ||
      chime_queue_shutdown(h->queue, CHIME_FOREVER) != CHIME_ERROR_WOULD_DEADLOCK)
    add(&h->outside, 1);
  add(&h->finalized, 1);
}

static void note_inside(const chime_tick *tick, void *context) {
  hooks *h = context;
  int left = load(&h->left);
  if (load(&h->entered) <= left) add(&h->outside, 1); /* other threads of the queue may be inside, too */
  add(&h->ticks, 1);
}

static const where hooked[] = {SERIAL, CONCURRENT, PRECISE, DISPATCH};

/* A queue with hooks; NULL: none without libdispatch. They ask once, where the bits of `way` say, when `asked` is 0. */
static hooks *hooked_queue(csuite *t, where place, int way) {
  hooks *h = csuite_memory(t, sizeof *h);
  const chime_queue_options options =
      QUEUE_OPTIONS(.enter = on_enter, .leave = on_leave, .hook_context = h, .hook_finalizer = on_hooks_end);
  h->asked = 2;
  h->asks_in_leave = way % 2;
  h->shuts_down = way / 2 % 2;
  if (stands_on_dispatch(place) && !csuite_has_dispatch()) return NULL;
  return EXPECT_OK(create_queue(place, &options, &h->queue, NULL)) ? h : NULL;
}

/* [8, 16]: the hooks stand around each handler. A queue that was released is waited for, too. */
TEST(shutdown_waits_for_the_last_hook) {
  for (int i = 0; i < 4 * csuite_scaled(100) && !csuite_failed(t); i++) {
    hooks *h = hooked_queue(t, hooked[i % 4], 0);
    if (h == NULL) continue;
    EXPECT_OK(chime_timer_after(h->queue, CHIME_MICROSECOND, note_inside, h, NULL, NULL));
    if (i / 4 % 4 == 0) EXPECT(await(&h->ticks, 1));
    else sleep_ns(i / 4 % 4 * 100 * CHIME_MICROSECOND);
    if (i % 2) EXPECT_TOOK_EFFECT(chime_queue_release(h->queue));
    chime_status status = chime_queue_shutdown(h->queue, PATIENCE);
    EXPECT(status == CHIME_OK || (i % 2 && status == CHIME_IGNORED));
    EXPECT_EQ(load(&h->left), load(&h->entered));
    EXPECT_EQ(load(&h->finalized), 1);
    EXPECT_EQ(load(&h->outside), 0);
  }
}

TEST(the_context_of_hooks_stays_the_callers_where_no_queue_is_made) {
  hooks h = {0};
  chime_queue_options options = QUEUE_OPTIONS(.enter = on_enter, .hook_context = &h, .hook_finalizer = on_hooks_end);
  chime_queue_t queue = 0;
  options.realtime_priority = 100;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.realtime_priority = 0;
  options.clock = CHIME_CLOCK_BOOTTIME;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_DISPATCH, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  options = QUEUE_OPTIONS(.hook_context = &h, .hook_finalizer = on_hooks_end);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(h.finalized, 0);
}

/* A timer that comes wakes the queue, which calls nothing yet. */
TEST(a_pass_that_calls_nothing_enters_no_hook) {
  for (int i = 0; i < 4; i++) {
    hooks *h = hooked_queue(t, hooked[i], 0);
    if (h == NULL) continue;
    EXPECT_OK(chime_timer_after(h->queue, CHIME_HOUR, ignore_tick, NULL, NULL, NULL));
    AWAIT(stats_of(t, h->queue).passes > 0);
    EXPECT_EQ(load(&h->entered), 0);
    EXPECT_OK(chime_timer_after(h->queue, 0, note_inside, h, NULL, NULL));
    EXPECT(await(&h->ticks, 1));
    EXPECT_EQ(load(&h->entered), 1);
    EXPECT_OK(chime_queue_shutdown(h->queue, PATIENCE));
    EXPECT_EQ(load(&h->outside), 0);
  }
}

static void suspend_the_queue(void *context) {
  hooks *h = context;
  if (add(&h->entered, 1) == 1) h->status = chime_queue_suspend(h->queue);
}

/* What comes first on a queue is a hook that suspends it: then neither a function nor a tick begins. */
TEST(what_a_hook_suspends_does_not_begin) {
  for (int i = 0; i < 8; i++) {
    hooks *h = csuite_memory(t, sizeof *h);
    const chime_queue_options options = QUEUE_OPTIONS(.enter = suspend_the_queue, .hook_context = h);
    if (stands_on_dispatch(hooked[i / 2]) && !csuite_has_dispatch()) continue;
    REQUIRE_OK(create_queue(hooked[i / 2], &options, &h->queue, NULL));
    if (i % 2) EXPECT_OK(chime_queue_async(h->queue, count_call, &h->ticks, NULL));
    else EXPECT_OK(chime_timer_after(h->queue, 0, note_inside, h, NULL, NULL));
    EXPECT(await(&h->entered, 1));
    AWAIT(chime_queue_suspend(h->queue) == CHIME_OK); /* what runs is over */
    EXPECT_EQ(h->status, CHIME_RUNNING);
    EXPECT_EQ(load(&h->ticks), 0);
    while (chime_queue_resume(h->queue) == CHIME_OK) continue;
    EXPECT(await(&h->ticks, 1));
    EXPECT_OK(chime_queue_shutdown(h->queue, PATIENCE));
    EXPECT_EQ(load(&h->ticks), 1);
  }
}

TEST(what_waits_for_the_queue_in_its_hooks_is_answered) {
  for (int i = 0; i < 16 && !csuite_failed(t); i++) {
    hooks *h = hooked_queue(t, hooked[i / 4], i);
    if (h == NULL) continue;
    EXPECT_OK(chime_timer_every(h->queue, CHIME_MILLISECOND, ignore_tick, NULL, NULL, NULL));
    store(&h->asked, 0); /* the next pass asks, and may release the queue */
    EXPECT(await(&h->asked, 2));
    if (h->shuts_down) EXPECT_EQ(h->status, CHIME_ERROR_WOULD_DEADLOCK);
    else if (hooked[i / 4] == CONCURRENT) EXPECT_EQ(h->status, CHIME_ERROR_UNSUPPORTED);
    else EXPECT(h->status == CHIME_OK && load(&h->synced) == 1);
    chime_status status = chime_queue_shutdown(h->queue, PATIENCE);
    EXPECT(status == CHIME_OK || (h->shuts_down && status == CHIME_IGNORED));
    EXPECT(load(&h->left) == load(&h->entered) && load(&h->finalized) == 1);
  }
}

/* ---- Functions that are discarded between hooks ------------------------------------------------------------------- */

enum { DISCARDED = 300 };

typedef struct attached {
  pthread_key_t key;
  int entered, may_go, finalized, outside;
} attached;

static void attach(void *context) {
  attached *a = context;
  pthread_setspecific(a->key, a);
}
static void detach(void *context) {
  attached *a = context;
  pthread_setspecific(a->key, NULL);
}
static void wait_until_it_may_go(void *context) {
  attached *a = context;
  add(&a->entered, 1);
  await(&a->may_go, 1);
}
static void count_if_outside(void *context) {
  attached *a = context;
  if (pthread_getspecific(a->key) == NULL) add(&a->outside, 1);
  add(&a->finalized, 1);
}

TEST(what_a_concurrent_queue_discards_ends_between_its_hooks) {
  static attached here; /* the last thread leaves after the last finalizer, perhaps after this test */
  attached *a = &here;
  chime_queue_t queue = 0;
  int i;
  *a = (attached){0};
  REQUIRE(pthread_key_create(&a->key, NULL) == 0);
  REQUIRE_OK(create_queue(CONCURRENT, &QUEUE_OPTIONS(.enter = attach, .leave = detach, .hook_context = a), &queue,
                          &(chime_run_loop_t){0}));
  for (i = 0; i < DISCARDED; i++) EXPECT_OK(chime_queue_async(queue, wait_until_it_may_go, a, count_if_outside));
  EXPECT(await(&a->entered, 1));
  EXPECT(chime_queue_release(queue) >= 0);
  store(&a->may_go, 1);
  EXPECT(await(&a->finalized, DISCARDED));
  EXPECT_EQ(a->outside, 0);
  pthread_key_delete(a->key);
}
