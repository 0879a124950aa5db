/*
 * queries.c - what can be asked of timers and queues: state, generation, statistics, beyond what the model asks after
 * each of its calls: every member of the info, the counts of the statistics, the generations of ticks
 * (Tests/Model/lockstep.c). And that queries change nothing: they bring no pass, and make no descriptor readable. (That they
 * change no tick: Model, which asks in some of its runs and not in others. Texts: explain.c.) Promises 2, 13, 17 and 18.
 */
#include "harness.h"

/* ---- Timers ----------------------------------------------------------------------------------------------------- */

TESTS_ON_DISPATCH_QUEUES(the_state_read_after_a_call_agrees) { /* [2] */
  probe *p = probe_idle(t, queue, "a");
  for (int i = 0; i < 1000 && !csuite_failed(t); i++) {
    EXPECT_OK(chime_timer_activate(p->timer, AFTER(CHIME_HOUR)));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
    EXPECT(deadline_of(t, p->timer) < CHIME_FOREVER);
    EXPECT_OK(chime_timer_suspend(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_SUSPENDED);
    EXPECT_EQ(deadline_of(t, p->timer), CHIME_FOREVER);
    EXPECT_OK(chime_timer_resume(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
    EXPECT_OK(chime_timer_cancel(p->timer));
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_CANCELLED);
  }
  EXPECT_EQ(load(&p->ticks), 0);
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(lateness_is_counted_by_powers_of_two) {
  static const struct {
    int64_t late_ns;
    int bucket;
    /* clang-format off */
  } cases[] = {{0, 0}, {1023, 0}, {1024, 1}, {2047, 1}, {2048, 2}, {1 << 20, 11}, {INT64_C(1) << 39, 30},
               {(INT64_C(1) << 40) - 1, 30}, {INT64_C(1) << 40, 31}, {INT64_C(1) << 60, 31}};
  /* clang-format on */
  uint64_t expected[32] = {0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    probe_after(t, queue, "p", 5);
    JUMP(5 + cases[i].late_ns);
    ADVANCE(0);
    expected[cases[i].bucket]++;
    chime_queue_stats stats = stats_of(t, queue);
    for (int bucket = 0; bucket < 32; bucket++) EXPECT_EQ(stats.lateness[bucket], expected[bucket]);
  }
}

/* What the virtual queue has done so far: its statistics, and the line of its dump, which has most of them. */
#define EXPECT_DONE(expected) EXPECT_TEXT(done_by(t, queue), expected)
static const char *done_by(csuite *t, chime_queue_t queue) {
  const chime_queue_stats s = stats_of(t, queue);
  char line[200], dump[200], *text = csuite_memory(t, sizeof line), *end;
  const int length = snprintf(line, sizeof line,
                              "queue %" PRIu64 ": %" PRIu64 " timers, %" PRIu64 " running, %" PRIu64 " passes, %" PRIu64
                              " merged, %" PRIu64 " ticks, %" PRIu64 " missed, %" PRIu64 " entries, %" PRIu64 " stale",
                              queue, s.timers, s.running, s.passes, s.merged, s.ticks, s.missed, s.entries, s.stale);
  EXPECT_OK(chime_queue_dump(queue, dump, sizeof dump, NULL));
  if ((end = strchr(dump, '\n')) != NULL) *end = 0;
  EXPECT_TEXT(dump, line);
  snprintf(line + length, sizeof line - (size_t)length, ", %" PRIu64 " empty", s.empty_passes);
  return strcpy(text, strchr(line, ':') + 2);
}

static void miss_three(csuite *t, probe *p, const chime_tick *tick) {
  if (tick->sequence == 1) EXPECT_OK(chime_queue_jump(p->queue, 38));
}

VIRTUAL_TEST(each_statistic_is_exact_in_virtual_time) {
  probe *a[5];
  EXPECT_DONE("0 timers, 0 running, 0 passes, 0 merged, 0 ticks, 0 missed, 0 entries, 0 stale, 0 empty");
  for (int i = 0; i < 4; i++) a[i] = probe_after(t, queue, NULL, 10);
  a[4] = probe_quiet(t, queue, 20, 10, miss_three);
  EXPECT_DONE("5 timers, 5 running, 0 passes, 0 merged, 0 ticks, 0 missed, 0 entries, 0 stale, 0 empty");
  ADVANCE(0);
  EXPECT_DONE("5 timers, 5 running, 0 passes, 0 merged, 0 ticks, 0 missed, 5 entries, 0 stale, 0 empty");
  ADVANCE(9);
  EXPECT_DONE("5 timers, 5 running, 0 passes, 0 merged, 0 ticks, 0 missed, 5 entries, 0 stale, 0 empty");
  EXPECT_OK(chime_timer_cancel(a[0]->timer));
  EXPECT_DONE("5 timers, 4 running, 0 passes, 0 merged, 0 ticks, 0 missed, 5 entries, 1 stale, 0 empty");
  ADVANCE(1);
  EXPECT_DONE("5 timers, 1 running, 1 passes, 2 merged, 3 ticks, 0 missed, 1 entries, 0 stale, 0 empty");
  ADVANCE(10);
  EXPECT_DONE("5 timers, 1 running, 3 passes, 2 merged, 5 ticks, 2 missed, 1 entries, 0 stale, 0 empty");
  EXPECT_OK(chime_timer_suspend(a[4]->timer));
  EXPECT_OK(chime_timer_fire(a[4]->timer));
  ADVANCE(0);
  EXPECT_DONE("5 timers, 0 running, 4 passes, 2 merged, 6 ticks, 2 missed, 1 entries, 1 stale, 0 empty");
  EXPECT_OK(chime_timer_restart_after(a[0]->timer, 1000));
  ADVANCE(0);
  EXPECT_OK(chime_timer_restart_after(a[0]->timer, 500));
  ADVANCE(0);
  EXPECT_DONE("5 timers, 1 running, 4 passes, 2 merged, 6 ticks, 2 missed, 3 entries, 2 stale, 0 empty");
  EXPECT_OK(chime_timer_release(a[1]->timer));
  EXPECT_DONE("4 timers, 1 running, 4 passes, 2 merged, 6 ticks, 2 missed, 3 entries, 2 stale, 0 empty");
  ADVANCE(2000);
  EXPECT_DONE("4 timers, 0 running, 5 passes, 2 merged, 7 ticks, 2 missed, 1 entries, 1 stale, 0 empty");
  EXPECT_OK(chime_timer_restart_after(a[0]->timer, 10));
  ADVANCE(5);
  EXPECT_OK(chime_timer_postpone(a[0]->timer, 100)); /* the entry stays until its time comes */
  EXPECT_DONE("4 timers, 1 running, 5 passes, 2 merged, 7 ticks, 2 missed, 1 entries, 0 stale, 0 empty");
  ADVANCE(100);
  EXPECT_DONE("4 timers, 0 running, 6 passes, 2 merged, 8 ticks, 2 missed, 0 entries, 0 stale, 0 empty");
}

/* The host makes the passes: of some nothing comes, or only a timer that is new. */
HOST_TEST(passes_and_those_without_anything_new_or_due_are_counted, 0) {
  EXPECT_EQ(process(t, queue, 0), 0);
  EXPECT_DONE("0 timers, 0 running, 1 passes, 0 merged, 0 ticks, 0 missed, 0 entries, 0 stale, 1 empty");
  probe_after(t, queue, NULL, CHIME_HOUR);
  probe_after(t, queue, NULL, 0);
  EXPECT_EQ(process(t, queue, 0), 1);
  EXPECT_EQ(process(t, queue, 0), 0);
  EXPECT_DONE("2 timers, 1 running, 3 passes, 0 merged, 1 ticks, 0 missed, 1 entries, 0 stale, 2 empty");
}

/* Each part from 0 to the jitter comes, and none beyond. */
VIRTUAL_TEST(jitter_has_each_of_its_values) {
  for (int64_t jitter = 1; jitter <= 5; jitter++) {
    const chime_schedule schedule = SCHEDULE(.first_ns = 10, .interval_ns = 10, .jitter_ns = jitter);
    int64_t seen = 0, first = now_of(t, queue);
    probe *p = probe_start(t, queue, NULL, &schedule);
    for (int i = 1; i <= 200; i++) {
      EXPECT_BETWEEN(deadline_of(t, p->timer) - first - 10 * i, 0, jitter);
      seen |= 1 << ((deadline_of(t, p->timer) - first) % 10);
      EXPECT_OK(chime_queue_advance(queue, deadline_of(t, p->timer) - now_of(t, queue)));
    }
    EXPECT_EQ(seen, (2 << jitter) - 1);
    EXPECT_OK(chime_timer_release(p->timer));
  }
}

/* [17]: each restart misses half of all 64-bit numbers, so that the queue's own count of missed ticks overflows. */
VIRTUAL_TEST(missed_ticks_beyond_what_a_counter_holds_do_not_trap) {
  chime_schedule schedule = schedule_at(INT64_MIN, 1);
  probe *p = probe_start(t, queue, "a", &schedule);
  for (int i = 0; i < 5; i++) {
    ADVANCE(0);
    EXPECT(p->last.missed == (uint64_t)INT64_MAX + 1);
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
  }
}

/* ---- Queries and passes -------------------------------------------------------------------------------------------- */

/* Passes, when the queue has come to rest: one that wakes up for nothing never does. */
static uint64_t passes_at_rest(csuite *t, chime_queue_t queue) {
  int64_t end = monotonic_ns() + PATIENCE;
  uint64_t before, after = stats_of(t, queue).passes;
  do {
    if (!EXPECT(monotonic_ns() < end)) break;
    before = after;
    sleep_ns(100 * CHIME_MILLISECOND);
    after = stats_of(t, queue).passes;
  } while (after != before);
  return after;
}

TESTS_ON_DISPATCH_QUEUES(an_idle_queue_does_not_wake_up) { /* [13] */
  passes_at_rest(t, queue);                                /* no timer at all */
  for (int i = 0; i < 100; i++) {
    probe *p = probe_after(t, queue, "a", CHIME_HOUR + i * CHIME_MILLISECOND);
    if (i % 2 == 0) EXPECT_OK(chime_timer_suspend(p->timer));
  }
  passes_at_rest(t, queue); /* an hour to go */
  EXPECT_BETWEEN(stats_of(t, queue).passes, 0, 300);
}

/* [13] Whatever is due, and whatever comes to it: each change of a timer may bring one look, and that no other. */
TESTS_ON_DISPATCH_QUEUES(a_suspended_queue_does_not_wake_up) {
  probe_every_quietly(t, queue, CHIME_MILLISECOND);
  EXPECT_TOOK_EFFECT(chime_queue_suspend(queue));
  passes_at_rest(t, queue);
  uint64_t before = stats_of(t, queue).passes;
  for (int i = 0; i < 100; i++) {
    probe *p = probe_after(t, queue, NULL, 0);
    EXPECT_OK(chime_queue_async(queue, ignore_call, NULL, NULL));
    if (i % 2 == 0) EXPECT_OK(chime_timer_release(p->timer));
  }
  EXPECT_BETWEEN(passes_at_rest(t, queue) - before, 0, 3);
}

/* Wake-ups at one distance are foreseen: they must end with what they were for. */
TESTS_ON_DISPATCH_QUEUES(a_queue_whose_periodic_timers_have_ended_does_not_wake_up) {
  chime_schedule schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  probe_after(t, queue, "later", CHIME_HOUR);
  schedule.tick_limit = 20;
  probe *ends = probe_start(t, queue, "ends", &schedule);
  EXPECT(await_finished(t, ends->timer));
  passes_at_rest(t, queue);
  probe *suspended = probe_every(t, queue, "suspended", 2 * CHIME_MILLISECOND);
  EXPECT(await(&suspended->ticks, 20));
  EXPECT_TOOK_EFFECT(chime_timer_suspend(suspended->timer));
  passes_at_rest(t, queue);
}

/* [13] [18]: the deadlines are in no round unit of the wheel. Later ticks come behind whatever the queue was woken for; they and
   the ends of their timers bring some passes, so that only many are too many here: Interleavings' "queries bring no pass" allows
   none. */
TESTS_ON_DISPATCH_QUEUES(a_hundred_thousand_queries_bring_no_pass) {
  int kind, i, count = csuite_scaled(100000);
  probe *running = probe_after(t, queue, "a", CHIME_HOUR + 333);
  probe *suspended = probe_after(t, queue, "b", CHIME_HOUR + 777);
  EXPECT_OK(chime_timer_suspend(suspended->timer));
  let_later_ticks_come(t, queue, 0);
  uint64_t before = stats_of(t, queue).passes;
  for (kind = 0; kind < QUERIES; kind++) {
    int rounds = kind == 0 || kind == 1 ? count : count / 10; /* a text takes longer than a number */
    for (i = 0; i < rounds; i++) REQUIRE_OK(query(kind, queue, (i % 8 == 0 ? suspended : running)->timer));
  }
  let_later_ticks_come(t, queue, 0);
  EXPECT_BETWEEN(stats_of(t, queue).passes - before, 0, 30);
}

/* [18]: nobody drives it but the test. */
TEST(queries_leave_the_descriptor_of_a_host_driven_queue_alone) {
  static const uint32_t kinds_of_queue[] = {0, CHIME_QUEUE_FLAG_BOUND, CHIME_QUEUE_FLAG_RECORDS};
  for (int k = 0; k < 3; k++) {
    chime_queue_t queue = host_queue(t, kinds_of_queue[k]);
    chime_timer_options options = TIMER_OPTIONS(.handler = k == 2 ? NULL : ignore_tick);
    chime_timer_t timer = 0;
    chime_tick tick;
    size_t taken = 0;
    uint32_t count = 0;
    int fd = fd_of(t, queue);
    REQUIRE_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR + 333), &timer));
    for (int kind = 0; kind < QUERIES + 2; kind++) {
      EXPECT_OK(k == 2 ? chime_queue_take_ticks(queue, &tick, sizeof tick, 1, &taken)
                       : chime_queue_process(queue, 0, &count));
      EXPECT_EQ(count + taken, 0);
      EXPECT(!is_readable(fd, 0));
      for (int i = 0; i < csuite_scaled(1000); i++) {
        if (kind == QUERIES) next_deadline(t, queue);
        else if (kind > QUERIES) poll_timeout(t, queue);
        else REQUIRE_OK(query(kind, queue, timer));
        REQUIRE(!is_readable(fd, 0));
      }
    }
  }
}
