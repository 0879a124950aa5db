/*
 * records.c - host-driven queues that give records in place of calling functions. Promises 1, 7, 8, 11 and 12.
 */
#include "harness.h"

#define ALL_RECORDS (CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE)

static chime_timer_t record_timer(csuite *t, chime_queue_t queue, void *context, uint32_t flags,
                                  chime_schedule schedule) {
  chime_timer_t timer = 0;
  EXPECT_OK(chime_timer_start(queue, &TIMER_OPTIONS(.context = context, .flags = flags), &schedule, &timer));
  return timer;
}

/* One that is due at once, and then in an hour. */
static chime_timer_t record_now(csuite *t, chime_queue_t queue, void *context, uint32_t flags) {
  return record_timer(t, queue, context, flags, *EVERY(0, CHIME_HOUR));
}

static size_t take(csuite *t, chime_queue_t queue, chime_tick *ticks, size_t capacity) {
  size_t count = 99;
  EXPECT_OK(chime_queue_take_ticks(queue, ticks, sizeof *ticks, capacity, &count));
  return count;
}

/* Takes until there are records. */
static size_t take_some(csuite *t, chime_queue_t queue, chime_tick *ticks, size_t capacity) {
  int64_t end = monotonic_ns() + PATIENCE;
  size_t count = 0;
  while (count == 0 && EXPECT(monotonic_ns() < end)) {
    EXPECT(is_readable(fd_of(t, queue), LONG));
    count = take(t, queue, ticks, capacity);
  }
  return count;
}

HOST_TEST(records_say_what_callbacks_would, CHIME_QUEUE_FLAG_RECORDS) {
  char context[] = "c";
  chime_tick ticks[8];
  chime_timer_t timer = record_now(t, queue, context, ALL_RECORDS);
  EXPECT_OK(chime_queue_async(queue, NULL, &ticks, NULL));
  REQUIRE(take_some(t, queue, ticks, 8) == 2);
  EXPECT(ticks[0].kind == CHIME_TICK_FUNCTION && ticks[0].context == &ticks && ticks[0].timer == 0);
  EXPECT(ticks[1].kind == CHIME_TICK_ARMED && ticks[1].timer == timer && ticks[1].context == context);
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_DUE && ticks[0].sequence == 1 && ticks[0].actual_ns >= ticks[0].scheduled_ns);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT_OK(chime_timer_fire(timer));
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_FIRED && ticks[0].sequence == 2);
  EXPECT_STATUS(chime_timer_cancel(timer), CHIME_RUNNING); /* taken, and not ended */
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT_EQ(ticks[0].kind, CHIME_TICK_CANCELLED);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT_OK(chime_timer_release(timer));
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT(ticks[0].kind == CHIME_TICK_FINALIZE && ticks[0].context == context && ticks[0].timer == timer);
  EXPECT_EQ(take(t, queue, ticks, 8), 0);
  EXPECT(is_stale(timer));
}

/*
 * One take ends a batch that an earlier one had begun, and looks for what has fallen due since: there is the timer again
 * whose record was just taken. It is busy, and what was to bring it has been used up. It has missed no tick, and has no
 * option: with a side record another thing would bring it. Each round finds out which interval does that in the next, until
 * a few have.
 */
HOST_TEST(a_timer_due_again_while_its_record_is_taken_is_not_forgotten, CHIME_QUEUE_FLAG_RECORDS) {
  enum { OTHERS = 5000 };
  chime_tick *ticks = csuite_memory(t, (OTHERS + 8) * sizeof *ticks);
  chime_timer_t *others = csuite_memory(t, (OTHERS + 1) * sizeof *others);
  int64_t interval = CHIME_MILLISECOND;
  for (int round = 0, hits = 0; round < csuite_scaled(2000) && hits < 5; round++) {
    int64_t time = monotonic_ns() + 20 * CHIME_MILLISECOND + interval;
    others[0] = record_timer(t, queue, NULL, 0, *AT(time - 1));
    for (int i = 1; i <= OTHERS; i++) others[i] = record_timer(t, queue, NULL, 0, *AT(time + 10 * CHIME_MICROSECOND));
    while (monotonic_ns() < time - interval) continue;
    chime_timer_t repeating = record_timer(t, queue, NULL, 0, *EVERY(interval, interval));
    while (monotonic_ns() < time + 20 * CHIME_MICROSECOND) continue;
    size_t count = take_some(t, queue, ticks, 1);
    EXPECT(count == 1 && ticks[0].timer == others[0]);
    count = take(t, queue, ticks, OTHERS + 8);
    if (!EXPECT(count > 0)) return;
    int64_t late = ticks[0].actual_ns - time, taken = ticks[count - 1].actual_ns - ticks[0].actual_ns;
    for (size_t i = 0; i < count; i++) {
      hits += ticks[i].timer == repeating && ticks[count - 1].actual_ns > ticks[i].scheduled_ns + interval;
    }
    EXPECT(next_deadline(t, queue) != CHIME_FOREVER);
    if (!EXPECT(is_readable(fd_of(t, queue), LONG))) return;
    count = take_some(t, queue, ticks, OTHERS + 8);
    while (ticks[count - 1].timer != repeating) count = take_some(t, queue, ticks, OTHERS + 8);
    EXPECT_TOOK_EFFECT(chime_timer_release(repeating));
    for (int i = 0; i <= OTHERS; i++) EXPECT_TOOK_EFFECT(chime_timer_release(others[i]));
    take(t, queue, ticks, 1);
    interval = late + taken / 2;
  }
}

HOST_TEST(the_generation_tells_which_record_of_a_batch_is_stale, CHIME_QUEUE_FLAG_RECORDS) { /* [7] */
  chime_tick ticks[4];
  chime_timer_t first = record_now(t, queue, NULL, 0);
  chime_timer_t second = record_now(t, queue, NULL, 0);
  REQUIRE(take_some(t, queue, ticks, 4) == 2);
  EXPECT(ticks[0].timer == first && ticks[1].timer == second);
  EXPECT_OK(chime_timer_check_generation(second, ticks[1].generation));
  EXPECT_STATUS(chime_timer_cancel(second), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(second, ticks[1].generation), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_release(first), CHIME_RUNNING);
  EXPECT_STATUS(chime_timer_check_generation(first, ticks[0].generation), CHIME_ERROR_INVALID_HANDLE);
}

HOST_TEST(a_taken_tick_holds_its_target, CHIME_QUEUE_FLAG_RECORDS) {
  probe *o = probe_target(t, "o");
  chime_timer_t timer;
  chime_tick ticks[4];
  REQUIRE_OK(chime_timer_start(queue, &TIMER_OPTIONS(.target = o->id), EVERY(0, CHIME_HOUR), &timer));
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT(ticks[0].target == o);
  EXPECT_STATUS(chime_target_release(o->id), CHIME_RUNNING);
  EXPECT_EQ(load(&o->finalized), 0);
  EXPECT_EQ(state_of(t, timer), CHIME_STATE_CANCELLED);
  EXPECT(is_readable(fd_of(t, queue), LONG));
  EXPECT_EQ(take(t, queue, ticks, 4), 0);
  EXPECT_EQ(load(&o->finalized), 1);
}

HOST_TEST(records_beyond_the_capacity_come_next_and_longer_ones_are_zeroed, CHIME_QUEUE_FLAG_RECORDS) {
  struct {
    chime_tick tick;
    uint64_t tail;
  } longer[3];
  size_t count = 0, all = 0;
  int i;
  for (i = 0; i < 7; i++)
    record_timer(t, queue, longer, CHIME_TIMER_RECORD_FINALIZE | CHIME_TIMER_SELF_RELEASE, *AFTER(0));
  memset(longer, 0xFF, sizeof longer);
  EXPECT_OK(chime_queue_take_ticks(queue, &longer[0].tick, sizeof longer[0], 3, &count));
  EXPECT_EQ(count, 3);
  EXPECT(longer[0].tail == 0 && longer[2].tail == 0 && longer[2].tick.sequence == 1);
  for (i = 0, all = count; i < 20 && all < 14; i++) {
    if (!EXPECT(is_readable(fd_of(t, queue), LONG))) return;
    EXPECT_OK(chime_queue_take_ticks(queue, &longer[0].tick, sizeof longer[0], 3, &count));
    all += count;
  }
  EXPECT_EQ(all, 14); /* each was due, and each was finalized */
}

/* [8] [13]: a handle that is due now, until the next take; then it rests. */
HOST_TEST(the_end_of_a_record_is_asked_for_where_something_follows_it, CHIME_QUEUE_FLAG_RECORDS) {
  static const struct {
    uint32_t flags, follow; /* records at the next take */
    int is_wanted;
  } cases[] = {{0, 0, 0},
               {CHIME_TIMER_SELF_RELEASE, 0, 1},
               {CHIME_TIMER_RECORD_FINALIZE, 0, 1},
               {CHIME_TIMER_SELF_RELEASE | CHIME_TIMER_RECORD_FINALIZE, 1, 1}};
  for (int i = 0; i < 4; i++) {
    chime_tick ticks[4];
    chime_timer_t timer = record_timer(t, queue, NULL, cases[i].flags, *AFTER(0));
    EXPECT_EQ(take_some(t, queue, ticks, 4), 1);
    EXPECT_EQ(poll_timeout(t, queue), cases[i].is_wanted ? 0 : -1);
    EXPECT_EQ(take(t, queue, ticks, 4), cases[i].follow);
    EXPECT_EQ(poll_timeout(t, queue), -1);
    EXPECT_EQ(stats_of(t, queue).timers, !(cases[i].flags & CHIME_TIMER_SELF_RELEASE));
    if (!is_stale(timer)) EXPECT_TOOK_EFFECT(chime_timer_release(timer));
    take(t, queue, ticks, 4);
  }
}

static void release_the_queue(void *object) { chime_queue_release(*(chime_queue_t *)object); }

/* The take that lets go of the target ends the queue, and writes nothing. */
HOST_TEST(records_are_counted_only_when_they_were_written, CHIME_QUEUE_FLAG_RECORDS) {
  chime_target_t target = 0;
  chime_timer_t timer;
  chime_tick ticks[8];
  size_t i, count = 0;
  REQUIRE_OK(chime_target_create(&queue, release_the_queue, &target));
  REQUIRE_OK(chime_timer_start(queue, &TIMER_OPTIONS(.target = target), AFTER(0), &timer));
  REQUIRE(take_some(t, queue, ticks, 8) == 1);
  EXPECT_STATUS(chime_target_release(target), CHIME_RUNNING); /* the taken tick holds it */
  for (i = 0; i < 3; i++) EXPECT_OK(chime_queue_async(queue, NULL, ticks, NULL));
  memset(ticks, 0xEE, sizeof ticks);
  if (chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 8, &count) != CHIME_OK) return;
  for (i = 0; i < count; i++) EXPECT_EQ(ticks[i].kind, CHIME_TICK_FUNCTION);
}

/* A record that was taken has started, and ends at the next take: by the thread that would wait. */
HOST_TEST(release_and_wait_for_a_record_of_ones_own_is_a_deadlock, CHIME_QUEUE_FLAG_RECORDS) {
  chime_tick ticks[4];
  chime_timer_t timer = record_now(t, queue, ticks, CHIME_TIMER_RECORD_FINALIZE);
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT_EQ(info_of(t, timer).busy, 1);
  EXPECT_STATUS(chime_timer_reschedule(timer, EVERY(CHIME_HOUR, CHIME_HOUR)), CHIME_RUNNING);
  EXPECT(next_deadline(t, queue) <= deadline_of(t, timer) + 1024);
  EXPECT_OK(chime_timer_fire(timer));
  EXPECT_EQ(poll_timeout(t, queue), 0);
  EXPECT_STATUS(chime_timer_cancel_and_wait(timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT_STATUS(chime_timer_release_and_wait(timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK);
  EXPECT(is_stale(timer));
  REQUIRE(take_some(t, queue, ticks, 4) == 1);
  EXPECT_EQ(ticks[0].kind, CHIME_TICK_FINALIZE);
}

typedef struct taker {
  csuite *t;
  pthread_t thread;
  chime_queue_t queue;
  chime_timer_t timer;
} taker;

THREAD(take_and_end, taker, k) {
  chime_tick record;
  k->thread = pthread_self();
  EXPECT_EQ(take_some(t, k->queue, &record, 1), 1);
}

THREAD(wait_for_the_record, taker, k) {
  EXPECT_STATUS(chime_timer_cancel_and_wait(k->timer, CHIME_MILLISECOND), CHIME_ERROR_TIMED_OUT);
}

/* Any thread's next take ends it, so that another one may wait, whatever the system calls it. */
HOST_TEST(a_thread_with_the_name_of_the_one_that_took_a_record_may_wait_for_its_end, CHIME_QUEUE_FLAG_RECORDS) {
  taker k = {t, 0, queue, record_now(t, queue, NULL, 0)};
  chime_tick record;
  run_on_a_thread(t, take_and_end, &k);
  run_on_a_namesake(t, k.thread, wait_for_the_record, &k);
  EXPECT_EQ(info_of(t, k.timer).busy, 1);
  EXPECT_EQ(take(t, queue, &record, 1), 0);
  EXPECT_EQ(info_of(t, k.timer).busy, 0);
}
