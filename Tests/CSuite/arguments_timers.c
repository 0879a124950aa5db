/* arguments_timers.c - what the functions of timers answer to what they cannot use. (Queues: arguments.c.) */
#include "arguments.h"

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

/* ---- Making timers ---------------------------------------------------------------------------------------------- */

static void expect_timer_refused(csuite *t, chime_queue_t queue, const chime_timer_options *options, int line) {
  chime_timer_t timer = UNTOUCHED;
  chime_schedule schedule = schedule_of(0, 0);
  csuite_expect_status(t, chime_timer_create(queue, options, &timer), CHIME_ERROR_INVALID_ARGUMENT, __FILE__, line,
                       "chime_timer_create");
  csuite_expect_status(t, chime_timer_start(queue, options, &schedule, &timer), CHIME_ERROR_INVALID_ARGUMENT, __FILE__,
                       line, "chime_timer_start");
  csuite_expect_status(t, chime_timer_start(queue, options, &schedule, NULL), CHIME_ERROR_INVALID_ARGUMENT, __FILE__,
                       line, "chime_timer_start without an id");
  csuite_expect(t, timer == UNTOUCHED, __FILE__, line, "the timer's id untouched");
}

static void expect_timer_made(csuite *t, chime_queue_t queue, const chime_timer_options *options, int line) {
  chime_timer_t timer = 0;
  csuite_expect_status(t, chime_timer_create(queue, options, &timer), CHIME_OK, __FILE__, line, "chime_timer_create");
  csuite_expect(t, timer > 0 && timer < FORGED, __FILE__, line, "an id below 2^53");
  csuite_expect_status(t, chime_timer_release(timer), CHIME_OK, __FILE__, line, "chime_timer_release");
}

#define TIMER_OPTIONS(...) \
  &(chime_timer_options) { .size = (uint32_t)sizeof(chime_timer_options), __VA_ARGS__ }
#define REFUSES_TIMER(...) \
  expect_timer_refused(t, queue, TIMER_OPTIONS(__VA_ARGS__, .context = t, .finalizer = never_function), __LINE__)

/* [8]: a context that was refused stays with the caller. */
TESTS_ON_VIRTUAL_AND_SERIAL(check_timer_options) {
  chime_timer_options options = refused_options(t);
  struct {
    chime_timer_options options;
    uint64_t tail[2];
  } longer;
  size_t i;
  QUEUE_OR_RETURN(queue, place);

  expect_timer_refused(t, queue, NULL, __LINE__);
  EXPECT_STATUS(chime_timer_create(queue, &options, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (i = 0; i < 2; i++) {
    options.size = (uint32_t)(4 * i);
    expect_timer_refused(t, queue, &options, __LINE__);
    options.size = (uint32_t)sizeof options - shorter_by[i];
    expect_timer_refused(t, queue, &options, __LINE__);
  }
  REFUSES_TIMER(.handler = NULL);
  REFUSES_TIMER(.handler = never, .flags = 2);
  REFUSES_TIMER(.handler = never, .flags = UINT32_C(1) << 31 | CHIME_TIMER_SELF_RELEASE);
  for (i = 0; i < NOT_UTF8; i++) REFUSES_TIMER(.handler = never, .label = not_utf8[i]);
  memset(&longer, 0, sizeof longer);
  longer.options = refused_options(t);
  longer.options.size = (uint32_t)sizeof longer;
  longer.tail[0] = UINT64_C(1) << 40;
  expect_timer_refused(t, queue, &longer.options, __LINE__);
  longer.tail[0] = 0;
  longer.tail[1] = UINT64_C(1) << 56;
  expect_timer_refused(t, queue, &longer.options, __LINE__);
  EXPECT_EQ(stats_of(t, queue).timers, 0);

  /* What is accepted; a finalizer would run. */
  longer.tail[1] = 0;
  longer.options.finalizer = NULL;
  expect_timer_made(t, queue, &longer.options, __LINE__);
  expect_timer_made(t, queue, TIMER_OPTIONS(.handler = never, .context = t, .label = "\xf0\x9f\x95\xb0"), __LINE__);
  expect_timer_made(t, queue, TIMER_OPTIONS(.handler = never), __LINE__);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

TEST(after_and_every_refuse_bad_arguments) {
  chime_timer_t timer = UNTOUCHED;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  EXPECT_STATUS(chime_timer_after(queue, -1, never, t, never_function, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_after(queue, INT64_MIN, never, t, never_function, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_after(queue, 0, NULL, t, never_function, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_after(queue, 0, NULL, t, never_function, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_every(queue, 0, never, t, never_function, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_every(queue, -1, never, t, never_function, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_every(queue, INT64_MIN, never, t, never_function, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_every(queue, 1, NULL, t, never_function, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  EXPECT_OK(chime_queue_advance(queue, 10));
}

/* ---- Schedules -------------------------------------------------------------------------------------------------- */

/* Each function that takes a schedule, with timers in which it would otherwise take effect. */
static void expect_schedule_refused(csuite *t, const chime_schedule *schedule, int line) {
  chime_queue_t queue = csuite_queue(t, VIRTUAL);
  chime_timer_options options = refused_options(t);
  chime_timer_t timer = UNTOUCHED;
  chime_timer_info before, after;
  probe *idle, *running;
  if (queue == 0) return;
#define REFUSED(call) csuite_expect_status(t, (call), CHIME_ERROR_INVALID_ARGUMENT, __FILE__, line, #call)
  REFUSED(chime_timer_start(queue, &options, schedule, &timer));
  REFUSED(chime_timer_start(queue, &options, schedule, NULL));
  csuite_expect(t, timer == UNTOUCHED, __FILE__, line, "the timer's id untouched");
  csuite_expect_equal(t, (int64_t)stats_of(t, queue).timers, 0, __FILE__, line, "timers after refused starts");
  idle = probe_idle(t, queue, "a");
  running = probe_every(t, queue, "b", 10);
  REFUSED(chime_timer_activate(idle->timer, schedule));
  REFUSED(chime_timer_restart(idle->timer, schedule));
  REFUSED(chime_timer_reschedule(idle->timer, schedule));
  csuite_expect_equal(t, state_of(t, idle->timer), CHIME_STATE_IDLE, __FILE__, line, "the idle timer's state");
  csuite_expect_equal(t, info_of(t, idle->timer).has_schedule, 0, __FILE__, line, "has_schedule of the idle timer");
  before = info_of(t, running->timer);
  REFUSED(chime_timer_restart(running->timer, schedule));
  REFUSED(chime_timer_reschedule(running->timer, schedule));
  after = info_of(t, running->timer);
  csuite_expect(t, memcmp(&before, &after, sizeof before) == 0, __FILE__, line, "nothing changed");
#undef REFUSED
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  csuite_expect(t, idle->finalized == 1 && running->finalized == 1, __FILE__, line, "each finalizer to have run");
}

static void expect_schedule_accepted(csuite *t, const chime_schedule *schedule, int line) {
  chime_queue_t queue = csuite_queue(t, VIRTUAL);
  probe *idle;
  if (queue == 0) return;
  idle = probe_idle(t, queue, "a");
#define ACCEPTED(call) csuite_expect_status(t, (call), CHIME_OK, __FILE__, line, #call)
  ACCEPTED(chime_timer_reschedule(idle->timer, schedule));
  ACCEPTED(chime_timer_activate(idle->timer, schedule));
  ACCEPTED(chime_timer_reschedule(idle->timer, schedule));
  ACCEPTED(chime_timer_restart(idle->timer, schedule));
#undef ACCEPTED
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

TEST(schedules_of_a_wrong_size_are_refused) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  size_t i;
  for (i = 0; i < 2; i++) {
    schedule.size = (uint32_t)(4 * i);
    expect_schedule_refused(t, &schedule, __LINE__);
    schedule.size = (uint32_t)sizeof schedule - shorter_by[i];
    expect_schedule_refused(t, &schedule, __LINE__);
  }
}

TEST(a_longer_schedule_is_accepted_only_with_a_zero_tail) {
  struct {
    chime_schedule schedule;
    uint64_t tail[2];
  } longer;
  memset(&longer, 0, sizeof longer);
  longer.schedule.size = (uint32_t)sizeof longer;
  expect_schedule_accepted(t, &longer.schedule, __LINE__);
  longer.tail[0] = 1;
  expect_schedule_refused(t, &longer.schedule, __LINE__);
  longer.tail[0] = 0;
  longer.tail[1] = UINT64_C(1) << 56;
  expect_schedule_refused(t, &longer.schedule, __LINE__);
}

/* Schedules with these members, and no others. */
#define SCHEDULE(...) \
  &(chime_schedule) { .size = (uint32_t)sizeof(chime_schedule), __VA_ARGS__ }
#define REFUSES(...) expect_schedule_refused(t, SCHEDULE(__VA_ARGS__), __LINE__)
#define ACCEPTS(...) expect_schedule_accepted(t, SCHEDULE(__VA_ARGS__), __LINE__)

TEST(a_schedule_is_checked_member_by_member) {
  REFUSES(.flags = 2);
  REFUSES(.flags = UINT32_C(1) << 31);
  REFUSES(.first_ns = -1);
  REFUSES(.first_ns = INT64_MIN, .interval_ns = 10);
  REFUSES(.interval_ns = -1);
  REFUSES(.interval_ns = INT64_MIN);
  REFUSES(.interval_ns = 10, .missed_policy = 2);
  REFUSES(.interval_ns = 10, .missed_policy = -1);
  REFUSES(.interval_ns = 10, .resume_policy = 2);
  REFUSES(.interval_ns = 10, .resume_policy = -1);
}

/* A one-shot has no such limit. */
TEST(leeway_is_below_the_interval_of_a_repeating_timer) {
  ACCEPTS(.interval_ns = 10, .leeway_ns = 9);
  REFUSES(.interval_ns = 10, .leeway_ns = 10);
  REFUSES(.interval_ns = 10, .leeway_ns = 11);
  REFUSES(.interval_ns = 10, .leeway_ns = -1);
  ACCEPTS(.leeway_ns = CHIME_HOUR);
  REFUSES(.leeway_ns = -1);
}

TEST(the_remaining_policy_does_not_go_with_a_deadline) {
  ACCEPTS(.first_ns = 100, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING);
  ACCEPTS(.first_ns = 100, .interval_ns = 10, .flags = CHIME_SCHEDULE_DEADLINE);
  REFUSES(.first_ns = 100, .interval_ns = 10, .flags = CHIME_SCHEDULE_DEADLINE,
          .resume_policy = CHIME_RESUME_REMAINING);
}

TEST(start_needs_a_schedule) {
  chime_timer_options options = refused_options(t);
  chime_timer_t timer = UNTOUCHED;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  EXPECT_STATUS(chime_timer_start(queue, &options, NULL, &timer), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_start(queue, &options, NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

TEST(a_timer_that_never_had_a_schedule_cannot_run) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_idle(t, queue, "a");
  EXPECT_STATUS(chime_timer_activate(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(CHIME_FAILED(chime_timer_restart(p->timer, NULL)));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_IDLE);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("");
}

/* ---- Arguments of functions of timers --------------------------------------------------------------------------- */

TEST(timer_functions_refuse_bad_arguments_and_change_nothing) {
  chime_timer_info before, after, info = CHIME_TIMER_INFO_INIT;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  before = info_of(t, p->timer);
  EXPECT_STATUS(chime_timer_postpone(p->timer, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_postpone(p->timer, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_cancel_and_wait(p->timer, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_generation(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_state(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_next_deadline(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_get_info(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  info.size = 4;
  EXPECT_STATUS(chime_timer_get_info(p->timer, &info), CHIME_ERROR_INVALID_ARGUMENT);
  after = info_of(t, p->timer);
  EXPECT(memcmp(&before, &after, sizeof before) == 0);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10");
}

/* ---- Named handlers ---------------------------------------------------------------------------------------------- */

TEST(bad_arguments_of_named_handlers_are_refused) {
  size_t i;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_every(t, queue, "a", 10);
  EXPECT_STATUS(chime_timer_add_handler(p->timer, NULL, never, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_add_handler(p->timer, "x", NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_add_handler(p->timer, NULL, NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (i = 0; i < NOT_UTF8; i++) {
    EXPECT_STATUS(chime_timer_add_handler(p->timer, not_utf8[i], never, t, never_function),
                  CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(chime_timer_remove_handler(p->timer, not_utf8[i]), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "y"), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, ""), CHIME_IGNORED);
  EXPECT_OK(chime_queue_advance(queue, 10));
  EXPECT_LOG("a1@10");
}

TEST(a_queue_that_gives_records_has_no_handlers) {
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  queue_options.flags = CHIME_QUEUE_RECORDS;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &queue_options, &queue));
  csuite_ends(t, queue, PATIENCE);
  REQUIRE_OK(chime_timer_create(queue, &options, &timer));
  EXPECT_STATUS(chime_timer_add_handler(timer, "x", never, t, never_function), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_timer_remove_handler(timer, "x"), CHIME_IGNORED);
  EXPECT_STATUS(chime_timer_add_handler(timer, NULL, never, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_timer_release(timer));
}

/* ---- Limits ----------------------------------------------------------------------------------------------------- */

/* [14] */
TEST(a_queue_with_a_timer_limit_refuses_one_more) {
  chime_queue_options queue_options = CHIME_QUEUE_OPTIONS_INIT;
  chime_timer_options options = refused_options(t);
  chime_schedule schedule = schedule_of(0, 0);
  chime_queue_t queue = 0;
  chime_timer_t timer = UNTOUCHED;
  probe *a, *b;
  queue_options.timer_limit = 2;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue));
  csuite_ends(t, queue, PATIENCE);
  a = probe_idle(t, queue, "a");
  b = probe_after(t, queue, "b", 10);
  EXPECT_STATUS(chime_timer_create(queue, &options, &timer), CHIME_ERROR_LIMIT);
  EXPECT_STATUS(chime_timer_start(queue, &options, &schedule, &timer), CHIME_ERROR_LIMIT);
  EXPECT_STATUS(chime_timer_start(queue, &options, &schedule, NULL), CHIME_ERROR_LIMIT);
  EXPECT_STATUS(chime_timer_after(queue, 0, never, t, never_function, &timer), CHIME_ERROR_LIMIT);
  EXPECT_STATUS(chime_timer_every(queue, 1, never, t, never_function, &timer), CHIME_ERROR_LIMIT);
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  EXPECT_OK(chime_timer_release(a->timer));
  options.handler = ignore_tick;
  options.finalizer = NULL;
  EXPECT_OK(chime_timer_create(queue, &options, &timer));
  EXPECT_STATUS(chime_timer_create(queue, &options, &timer), CHIME_ERROR_LIMIT);
  EXPECT_EQ(state_of(t, b->timer), CHIME_STATE_RUNNING);
}
