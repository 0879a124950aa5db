/*
 * queries.c - what can be asked of timers and queues: state, generation, deadlines, info, statistics, dump.
 * Promises 2, 13 and 14.
 */
#include "harness.h"

/* ---- Timers ----------------------------------------------------------------------------------------------------- */

/* [2] */
TEST(info_tells_all_of_an_idle_timer) {
  chime_timer_info info;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  info = info_of(t, p->timer);
  EXPECT_EQ(info.size, sizeof info);
  EXPECT_EQ(info.state, CHIME_STATE_IDLE);
  EXPECT_EQ(info.queue, queue);
  EXPECT_EQ(info.generation, generation_of(t, p->timer));
  EXPECT_EQ(info.sequence, 0);
  EXPECT_EQ(info.next_deadline_ns, CHIME_FOREVER);
  EXPECT_EQ(info.remaining_ns, -1);
  EXPECT_EQ(info.interval_ns, 0);
  EXPECT_EQ(info.tick_limit, 0);
  EXPECT_EQ(info.due_count, 0);
  EXPECT_EQ(info.busy, 0);
  EXPECT_EQ(info.has_schedule, 0);
}

TEST(info_tells_all_of_a_running_timer) {
  chime_schedule schedule = schedule_of(100, 50);
  chime_timer_info info;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p;
  schedule.leeway_ns = 20;
  schedule.tick_limit = 9;
  EXPECT_OK(chime_queue_advance(queue, 7));
  p = probe_start(t, queue, "a", &schedule);
  info = info_of(t, p->timer);
  EXPECT_EQ(info.state, CHIME_STATE_RUNNING);
  EXPECT_EQ(info.next_deadline_ns, 107);
  EXPECT_EQ(info.next_deadline_ns, deadline_of(t, p->timer));
  EXPECT_EQ(info.remaining_ns, -1);
  EXPECT_EQ(info.interval_ns, 50);
  EXPECT_EQ(info.leeway_ns, 20);
  EXPECT_EQ(info.tick_limit, 9);
  EXPECT_EQ(info.due_count, 0);
  EXPECT_EQ(info.has_schedule, 1);
  EXPECT_OK(chime_queue_advance_to(queue, 107));
  EXPECT_OK(chime_queue_jump(queue, 110)); /* 157 and 207 come as one tick */
  EXPECT_OK(chime_queue_advance(queue, 0));
  info = info_of(t, p->timer);
  EXPECT_EQ(info.sequence, 2);
  EXPECT_EQ(info.due_count, 3);
  EXPECT_EQ(info.next_deadline_ns, 257);
}

TEST(leeway_loses_less_than_one_part_in_33_million) {
  static const int64_t leeways[] = {1, 1023, 1025, 999999999, CHIME_HOUR + 1, INT64_C(1) << 53, INT64_MAX - 1};
  size_t i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < sizeof leeways / sizeof leeways[0]; i++) {
    chime_schedule schedule = schedule_of(10, 0);
    chime_timer_info info;
    schedule.leeway_ns = leeways[i];
    info = info_of(t, probe_start(t, queue, "a", &schedule)->timer);
    EXPECT_BETWEEN(info.leeway_ns, leeways[i] - leeways[i] / 33000000, leeways[i]);
    if (leeways[i] < 1000000) EXPECT_EQ(info.leeway_ns, leeways[i]);
  }
}

static void note_info(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  chime_timer_info info = info_of(t, tick->timer);
  EXPECT_EQ(info.busy, 1);
  EXPECT_EQ(info.sequence, tick->sequence);
  EXPECT_EQ(info.generation, tick->generation);
  EXPECT_EQ(info.queue, p->queue);
}

TESTS_ON_VIRTUAL_AND_SERIAL(info_inside_the_handler_agrees_with_the_tick) {
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_quiet(t, queue, 0, CHIME_MILLISECOND, note_info);
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  EXPECT(await(&p->returned, 10));
}

TEST(info_of_another_size) {
  struct {
    chime_timer_info info;
    uint64_t tail[2];
  } longer, before;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", 10);
  memset(&longer, 0, sizeof longer);
  longer.info.size = (uint32_t)sizeof longer;
  EXPECT_OK(chime_timer_get_info(p->timer, &longer.info));
  EXPECT_EQ(longer.info.next_deadline_ns, 10);
  EXPECT(longer.tail[0] == 0 && longer.tail[1] == 0);
  memset(&longer, 0, sizeof longer);
  longer.info.size = (uint32_t)sizeof longer;
  longer.tail[1] = UINT64_C(1) << 56;
  before = longer;
  EXPECT_STATUS(chime_timer_get_info(p->timer, &longer.info), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(memcmp(&longer, &before, sizeof longer) == 0);
  memset(&longer, 0, sizeof longer);
  longer.info.size = (uint32_t)sizeof longer.info - 1;
  before = longer;
  EXPECT_STATUS(chime_timer_get_info(p->timer, &longer.info), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(memcmp(&longer, &before, sizeof longer) == 0);
}

/* ---- Generations ------------------------------------------------------------------------------------------------ */

static void expect_new_generation(csuite *t, chime_timer_t timer, uint64_t *generation, int line) {
  uint64_t now = generation_of(t, timer);
  csuite_expect(t, now != *generation, __FILE__, line, "another generation");
  csuite_expect_status(t, chime_timer_check_generation(timer, now), CHIME_OK, __FILE__, line, "check of the new one");
  csuite_expect_status(t, chime_timer_check_generation(timer, *generation), CHIME_IGNORED, __FILE__, line,
                       "check of the old one");
  *generation = now;
}

#define CHANGES(call) \
  EXPECT_OK(call); \
  expect_new_generation(t, p->timer, &generation, __LINE__)

TEST(every_accepted_change_gives_another_generation) {
  chime_schedule schedule = schedule_of(10, 10);
  uint64_t generation;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  generation = generation_of(t, p->timer);
  CHANGES(chime_timer_activate(p->timer, &schedule));
  CHANGES(chime_timer_reschedule(p->timer, &schedule));
  CHANGES(chime_timer_suspend(p->timer));
  CHANGES(chime_timer_restart(p->timer, NULL));
  CHANGES(chime_timer_cancel(p->timer));
  CHANGES(chime_timer_activate(p->timer, NULL));
  CHANGES(chime_timer_cancel_and_wait(p->timer, 0));
}

TEST(a_tick_carries_the_generation_it_was_armed_in) {
  chime_schedule schedule = schedule_of(10, 10);
  uint64_t generation;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_start(t, queue, "a", &schedule);
  generation = generation_of(t, p->timer);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(p->last.generation, generation);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(p->last.generation, generation);
  EXPECT_OK(chime_timer_restart(p->timer, NULL));
  generation = generation_of(t, p->timer);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_EQ(p->last.generation, generation);
}

TEST(a_generation_that_never_was_is_not_the_current_one) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  uint64_t generation = generation_of(t, p->timer);
  EXPECT_OK(chime_timer_check_generation(p->timer, generation));
  EXPECT_STATUS(chime_timer_check_generation(p->timer, generation + 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_check_generation(p->timer, ~generation), CHIME_IGNORED);
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

TEST(statistics_count_timers_ticks_and_misses) {
  chime_queue_stats stats;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a, *b;
  stats = stats_of(t, queue);
  EXPECT_EQ(stats.size, sizeof stats);
  EXPECT_EQ(stats.reserved, 0);
  EXPECT_EQ(stats.timers, 0);
  EXPECT_EQ(stats.running, 0);
  EXPECT_EQ(stats.entries, 0);
  EXPECT_EQ(stats.ticks + stats.missed, 0);
  a = probe_every(t, queue, "a", 10);
  b = probe_idle(t, queue, "b");
  stats = stats_of(t, queue);
  EXPECT_EQ(stats.timers, 2);
  EXPECT_EQ(stats.running, 1);
  EXPECT_OK(chime_queue_advance(queue, 30)); /* three ticks */
  EXPECT_OK(chime_queue_jump(queue, 25));    /* 40 and 50 are over: one tick, one missed */
  EXPECT_OK(chime_timer_fire(b->timer));
  EXPECT_OK(chime_queue_advance(queue, 0));
  stats = stats_of(t, queue);
  EXPECT_EQ(stats.ticks, 5);
  EXPECT_EQ(stats.missed, 1);
  EXPECT_BETWEEN(stats.passes, 4, 100);
  EXPECT(stats.empty_passes <= stats.passes);
  EXPECT_OK(chime_timer_suspend(a->timer));
  stats = stats_of(t, queue);
  EXPECT_EQ(stats.timers, 2);
  EXPECT_EQ(stats.running, 0);
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_OK(chime_timer_release(b->timer));
  stats = stats_of(t, queue);
  EXPECT_EQ(stats.timers, 0);
  EXPECT_EQ(stats.ticks, 5);
}

TEST(statistics_of_another_size) {
  struct {
    chime_queue_stats stats;
    uint64_t tail[2];
  } longer, before;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe_after(t, queue, "a", 10);
  memset(&longer, 0, sizeof longer);
  longer.stats.size = (uint32_t)sizeof longer;
  EXPECT_OK(chime_queue_get_stats(queue, &longer.stats));
  EXPECT_EQ(longer.stats.timers, 1);
  memset(&longer, 0, sizeof longer);
  longer.stats.size = (uint32_t)sizeof longer;
  longer.tail[0] = 1;
  before = longer;
  EXPECT_STATUS(chime_queue_get_stats(queue, &longer.stats), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(memcmp(&longer, &before, sizeof longer) == 0);
  memset(&longer, 0, sizeof longer);
  longer.stats.size = 0;
  before = longer;
  EXPECT_STATUS(chime_queue_get_stats(queue, &longer.stats), CHIME_ERROR_INVALID_ARGUMENT);
  longer.stats.size = before.stats.size = (uint32_t)sizeof longer.stats - 1;
  EXPECT_STATUS(chime_queue_get_stats(queue, &longer.stats), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(memcmp(&longer, &before, sizeof longer) == 0);
}

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

/* [17]: each restart misses half of all 64-bit numbers, so that the queue's own count of missed ticks overflows. */
TEST(missed_ticks_beyond_what_a_counter_holds_do_not_trap) {
  chime_schedule schedule = schedule_at(INT64_MIN, 1);
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_start(t, queue, "a", &schedule);
  for (i = 0; i < 5; i++) {
    ADVANCE(0);
    EXPECT(p->last.missed == (uint64_t)INT64_MAX + 1);
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
  }
}

/* [14]: even if no pass ever comes. */
TEST(restarts_without_a_pass_leave_nothing_behind) {
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  for (i = 0; i < 20000; i++) {
    chime_schedule schedule = schedule_of(CHIME_HOUR + i * CHIME_SECOND, 0);
    EXPECT_OK(chime_timer_cancel(p->timer));
    EXPECT_OK(chime_timer_activate(p->timer, &schedule));
    EXPECT_OK(chime_timer_postpone(p->timer, CHIME_HOUR + 2 * i * CHIME_SECOND));
  }
  EXPECT_BETWEEN(stats_of(t, queue).entries, 0, 1000);
}

/* [14] */
TEST(restarts_between_passes_leave_nothing_behind) {
  int i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  for (i = 0; i < 20000; i++) {
    chime_schedule schedule = schedule_of(CHIME_HOUR + i * CHIME_SECOND, 0);
    EXPECT_OK(chime_timer_restart(p->timer, &schedule));
    EXPECT_OK(chime_queue_advance(queue, 1));
  }
  EXPECT_BETWEEN(stats_of(t, queue).entries, 0, 1000);
  EXPECT_EQ(load(&p->ticks), 0);
}

/* Two calls each, on a timer with the schedule given. */
enum { POSTPONES, CANCELS, RESTARTS, RESCHEDULES, SUSPENDS, REPLACES, FIRES, CHANGES };

static void change_entry(csuite *t, int change, chime_queue_t queue, chime_timer_t *timer, const chime_schedule *s) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  switch (change) {
    case POSTPONES:
      chime_timer_postpone(*timer, s->first_ns);
      chime_timer_postpone(*timer, s->first_ns + 1);
      break;
    case CANCELS:
      chime_timer_cancel(*timer);
      chime_timer_activate(*timer, s);
      break;
    case RESTARTS:
      chime_timer_restart(*timer, s);
      chime_timer_restart(*timer, NULL);
      break;
    case RESCHEDULES:
      chime_timer_reschedule(*timer, s);
      chime_timer_reschedule(*timer, NULL);
      break;
    case SUSPENDS:
      chime_timer_suspend(*timer);
      chime_timer_resume(*timer);
      break;
    case REPLACES:
      chime_timer_release(*timer);
      options.handler = ignore_tick;
      EXPECT_OK(chime_timer_start(queue, &options, s, timer));
      break;
    default:
      chime_timer_fire(*timer);
      chime_timer_restart(*timer, s);
      break;
  }
}

/* [14]: two entries for each slot that was ever in use at once, or is kept at hand by the thread, and a constant. */
TEST(changes_of_every_kind_leave_nothing_behind) {
  enum { TIMERS = 100, MOST = 2 * (TIMERS + 64) + 1100 };
  int count = csuite_scaled(60000), change, advances, i;
  for (change = 0; change <= CHANGES; change++) { /* the last: all of them */
    for (advances = 0; advances < 2; advances++) {
      chime_timer_t timers[TIMERS] = {0};
      dice d = {UINT64_C(14)};
      uint64_t most = 0;
      chime_queue_t queue = virtual_queue_at(t, 0);
      if (queue == 0) return;
      for (i = 0; i < TIMERS + count; i++) {
        chime_schedule s = schedule_of(roll_below(&d, 100000), 50000);
        int number = i < TIMERS ? i : (int)roll_below(&d, TIMERS);
        int kind = i < TIMERS ? REPLACES : change == CHANGES ? (int)roll_below(&d, CHANGES) : change;
        change_entry(t, kind, queue, &timers[number], &s);
        if (advances && i % 1000 == 0) ADVANCE(100);
        if (i % 500 == 0 && stats_of(t, queue).entries > most) most = stats_of(t, queue).entries;
      }
      EXPECT_BETWEEN(most, 0, MOST);
      EXPECT_EQ(stats_of(t, queue).timers, TIMERS);
      for (i = 0; i < TIMERS; i++) EXPECT_OK(chime_timer_release(timers[i]));
      ADVANCE(1000000);
      EXPECT_EQ(stats_of(t, queue).timers, 0);
      EXPECT_BETWEEN(stats_of(t, queue).entries, 0, MOST);
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
  }
}

/* [13] */
static void check_idle(csuite *t, chime_queue_t queue) {
  int64_t end = monotonic_ns() + PATIENCE;
  uint64_t before, after = stats_of(t, queue).passes;
  do { /* a queue that wakes up for nothing never comes to rest */
    REQUIRE(monotonic_ns() < end);
    before = after;
    sleep_ns(150 * CHIME_MILLISECOND);
    after = stats_of(t, queue).passes;
  } while (after != before);
}

TESTS_ON_DISPATCH_QUEUES(an_idle_queue_does_not_wake_up) {
  int i;
  QUEUE_OR_RETURN(queue, place);
  check_idle(t, queue); /* no timer at all */
  for (i = 0; i < 100; i++) {
    probe *p = probe_after(t, queue, "a", CHIME_HOUR + i * CHIME_MILLISECOND);
    if (i % 2 == 0) EXPECT_OK(chime_timer_suspend(p->timer));
  }
  check_idle(t, queue); /* an hour to go */
  EXPECT_BETWEEN(stats_of(t, queue).passes, 0, 300);
}

/* Wake-ups at one distance are foreseen: they must end with what they were for. */
TESTS_ON_DISPATCH_QUEUES(a_queue_whose_periodic_timers_have_ended_does_not_wake_up) {
  chime_schedule schedule = schedule_of(2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND);
  probe *ends, *suspended;
  QUEUE_OR_RETURN(queue, place);
  probe_after(t, queue, "later", CHIME_HOUR);
  schedule.tick_limit = 20;
  ends = probe_start(t, queue, "ends", &schedule);
  EXPECT(await_finished(t, ends->timer));
  check_idle(t, queue);
  suspended = probe_every(t, queue, "suspended", 2 * CHIME_MILLISECOND);
  EXPECT(await(&suspended->ticks, 20));
  EXPECT_TOOK_EFFECT(chime_timer_suspend(suspended->timer));
  check_idle(t, queue);
}

/* ---- Dump ------------------------------------------------------------------------------------------------------- */

static int lines_in(const char *text) {
  int lines = 0;
  const char *c;
  for (c = text; *c != 0; c++) {
    if (*c == '\n') lines++;
  }
  return c > text && c[-1] != '\n' ? lines + 1 : lines;
}

TEST(a_dump_has_a_line_for_the_queue_and_one_for_each_timer) {
  enum { CAPACITY = 8192 };
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  char *text = csuite_memory(t, CAPACITY);
  char *cut = csuite_memory(t, CAPACITY);
  uint64_t length = 0, again = 0, capacity;
  chime_timer_options options;
  probe *p;
  queue_options.label = "metronome-\xe2\x8f\xb0";
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue));
  csuite_ends(t, queue, PATIENCE);
  EXPECT_OK(chime_queue_dump(queue, text, CAPACITY, &length));
  EXPECT_EQ(strlen(text), length);
  EXPECT_EQ(lines_in(text), 1);
  EXPECT(strstr(text, "metronome-\xe2\x8f\xb0") != NULL);

  p = probe_new(t, queue, "a");
  options = probe_options(p);
  options.label = "lubdub";
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  probe_every(t, queue, "b", 1000);
  EXPECT_OK(chime_queue_dump(queue, text, CAPACITY, &length));
  EXPECT_EQ(strlen(text), length);
  EXPECT_EQ(lines_in(text), 3);
  EXPECT(strstr(text, "lubdub") != NULL);

  EXPECT_OK(chime_queue_dump(queue, NULL, 0, &again)); /* only asks */
  EXPECT_EQ(again, length);
  EXPECT_OK(chime_queue_dump(queue, cut, CAPACITY, NULL)); /* the length may be NULL */
  EXPECT_TEXT(cut, text);
  for (capacity = 1; capacity <= 12; capacity++) {
    memset(cut, '#', CAPACITY);
    again = 0;
    EXPECT_OK(chime_queue_dump(queue, cut, capacity, &again));
    EXPECT_EQ(again, length); /* of the whole text */
    EXPECT(memchr(cut, 0, (size_t)capacity) != NULL);
    EXPECT(strncmp(cut, text, strlen(cut)) == 0);
    EXPECT_EQ(cut[capacity], '#'); /* not a byte beyond */
  }
  memset(cut, '#', CAPACITY);
  EXPECT_OK(chime_queue_dump(queue, cut, length, NULL));                 /* one byte short */
  EXPECT_BETWEEN(strlen(cut), (int64_t)length - 4, (int64_t)length - 1); /* or cut before a character */
  EXPECT_EQ(cut[length], '#');
  memset(cut, '#', CAPACITY);
  EXPECT_OK(chime_queue_dump(queue, cut, length + 1, NULL)); /* just enough */
  EXPECT_TEXT(cut, text);
  EXPECT_EQ(cut[length + 1], '#');
}

TESTS_ON_DISPATCH_QUEUES(a_dump_of_each_dispatch_queue_counts_its_timers) {
  enum { CAPACITY = 8192 };
  char *text = csuite_memory(t, CAPACITY);
  uint64_t length = 0;
  int i;
  QUEUE_OR_RETURN(queue, place);
  for (i = 0; i < 10; i++) probe_after(t, queue, "a", CHIME_HOUR);
  EXPECT_OK(chime_queue_dump(queue, text, CAPACITY, &length));
  EXPECT_EQ(lines_in(text), 11);
  EXPECT_EQ(strlen(text), length);
}

TEST(strings_are_copied) {
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  char label[] = "before";
  char text[2048];
  chime_timer_options options;
  probe *p;
  queue_options.label = label;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue));
  csuite_ends(t, queue, PATIENCE);
  strcpy(label, "afterw");
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, "before") != NULL);
  p = probe_new(t, queue, "a");
  options = probe_options(p);
  options.label = label;
  EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
  strcpy(label, "beyond");
  EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
  EXPECT(strstr(text, "afterw") != NULL);
  EXPECT(strstr(text, "beyond") == NULL);
}

/* [2] */
TESTS_ON_DISPATCH_QUEUES(the_state_read_after_a_call_agrees) {
  int i;
  chime_schedule in_an_hour = schedule_of(CHIME_HOUR, 0);
  QUEUE_OR_RETURN(queue, place);
  probe *p = probe_idle(t, queue, "a");
  for (i = 0; i < 1000 && !csuite_failed(t); i++) {
    EXPECT_OK(chime_timer_activate(p->timer, &in_an_hour));
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
