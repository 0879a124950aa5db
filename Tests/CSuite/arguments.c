/*
 * arguments.c - what every function answers to what it cannot use: the documented status, nothing changed,
 * out-parameters untouched. Promise 1. (Ids that name nothing: ids.c.)
 */
#include "harness.h"

/* Not an id: ids are below 2^53. */
#define FORGED (UINT64_C(1) << 53)

#define UNTOUCHED UINT64_C(0xABCDABCDABCD)

static void never(const chime_tick *tick, void *context) {
  csuite *t = context;
  (void)tick;
  EXPECT(!"a handler that must not run");
}

static void never_function(void *context) {
  csuite *t = context;
  EXPECT(!"a function that must not run");
}

static void count_function(void *context) { add(context, 1); }
static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

/* Options whose context must stay with the caller. */
static chime_timer_options refused_options(csuite *t) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = never;
  options.context = t;
  options.finalizer = never_function;
  return options;
}

static const char *const not_utf8[] = {
    "\xff",             /* no such byte */
    "a\x80",            /* a continuation byte on its own */
    "\xc3",             /* cut short */
    "\xe2\x82 ",        /* cut short in the middle */
    "\xc0\xaf",         /* overlong */
    "\xed\xa0\x80",     /* a surrogate */
    "\xf4\x90\x80\x80", /* beyond U+10FFFF */
};
enum { NOT_UTF8 = sizeof not_utf8 / sizeof not_utf8[0] };

/* ---- Clocks ----------------------------------------------------------------------------------------------------- */

TEST(now_refuses_what_is_no_clock) {
  int64_t now = 77;
  EXPECT_STATUS(chime_now(CHIME_CLOCK_MONOTONIC, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_now(4, &now), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_now(-1, &now), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_now(INT32_MAX, &now), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_now(CHIME_CLOCK_VIRTUAL, &now), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(now, 77);
}

/* ---- Making queues ---------------------------------------------------------------------------------------------- */

typedef chime_status (*queue_maker)(const chime_queue_options *options, chime_queue_t *queue);

static chime_status make_serial(const chime_queue_options *options, chime_queue_t *queue) {
  return chime_queue_create(CHIME_QUEUE_SERIAL, options, queue);
}
static chime_status make_concurrent(const chime_queue_options *options, chime_queue_t *queue) {
  return chime_queue_create(CHIME_QUEUE_CONCURRENT, options, queue);
}
static chime_status make_virtual(const chime_queue_options *options, chime_queue_t *queue) {
  return chime_queue_create(CHIME_QUEUE_VIRTUAL, options, queue);
}
static chime_status make_global(const chime_queue_options *options, chime_queue_t *queue) {
  return chime_queue_global(CHIME_QOS_DEFAULT, options, queue);
}
static chime_status make_wrapped(const chime_queue_options *options, chime_queue_t *queue) {
  return chime_queue_wrap_dispatch(csuite_wrapped_serial(), options, queue);
}

static void expect_queue_refused(csuite *t, queue_maker make, const chime_queue_options *options, int line) {
  chime_queue_t queue = UNTOUCHED;
  chime_status status = make(options, &queue);
  csuite_expect_status(t, status, CHIME_ERROR_INVALID_ARGUMENT, __FILE__, line, "making the queue");
  csuite_expect(t, queue == UNTOUCHED, __FILE__, line, "the queue's id untouched");
}

static void expect_queue_made(csuite *t, queue_maker make, const chime_queue_options *options, int line) {
  chime_queue_t queue = 0;
  chime_status status = make(options, &queue);
  if (!csuite_expect_status(t, status, CHIME_OK, __FILE__, line, "making the queue")) return;
  csuite_expect(t, queue > 0 && queue < FORGED, __FILE__, line, "an id below 2^53");
  csuite_expect_status(t, chime_queue_shutdown(queue, PATIENCE), CHIME_OK, __FILE__, line, "ending the queue");
}

/* Options with these members, and no others. */
#define QUEUE_OPTIONS(...) \
  &(chime_queue_options) { .size = (uint32_t)sizeof(chime_queue_options), __VA_ARGS__ }
#define REFUSES_QUEUE(make, ...) expect_queue_refused(t, make, QUEUE_OPTIONS(__VA_ARGS__), __LINE__)
#define MAKES_QUEUE(make, ...) expect_queue_made(t, make, QUEUE_OPTIONS(__VA_ARGS__), __LINE__)

/* Sizes that no version had. */
static const uint32_t shorter_by[] = {1, 8};

/* Of a wrapped queue the label is not used, so that nothing is said of a bad one. */
static void check_queue_options(csuite *t, queue_maker make, int with_label) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  struct {
    chime_queue_options options;
    uint64_t tail[2];
  } longer;
  size_t i;
  expect_queue_made(t, make, NULL, __LINE__);
  expect_queue_made(t, make, &options, __LINE__);
  EXPECT_STATUS(make(&options, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (i = 0; i < 2; i++) {
    options.size = (uint32_t)(4 * i);
    expect_queue_refused(t, make, &options, __LINE__);
    options.size = (uint32_t)sizeof options - shorter_by[i];
    expect_queue_refused(t, make, &options, __LINE__);
  }
  memset(&longer, 0, sizeof longer);
  longer.options.size = (uint32_t)sizeof longer;
  expect_queue_made(t, make, &longer.options, __LINE__);
  longer.tail[1] = UINT64_C(1) << 56; /* in its last byte, or nearly */
  expect_queue_refused(t, make, &longer.options, __LINE__);
  longer.tail[1] = 0;
  longer.tail[0] = 1;
  expect_queue_refused(t, make, &longer.options, __LINE__);
  REFUSES_QUEUE(make, .flags = 2);
  REFUSES_QUEUE(make, .flags = UINT32_C(1) << 31);
  for (i = 0; with_label && i < NOT_UTF8; i++) REFUSES_QUEUE(make, .label = not_utf8[i]);
  MAKES_QUEUE(make, .label = "\xc3\xbc \xe2\x8f\xb0 \xf0\x9f\x95\xb0"); /* two, three and four bytes */
  MAKES_QUEUE(make, .label = "");
  REFUSES_QUEUE(make, .clock = 4);
  REFUSES_QUEUE(make, .clock = -1);
}

static void check_own_queue_options(csuite *t, queue_maker make) {
  check_queue_options(t, make, 1);
  REFUSES_QUEUE(make, .qos = 5);
  REFUSES_QUEUE(make, .qos = -1);
  MAKES_QUEUE(make, .qos = CHIME_QOS_USER_INTERACTIVE);
}

TEST(serial_queue_options_are_checked) {
  if (csuite_skips_without_dispatch(t)) return;
  check_own_queue_options(t, make_serial);
}
TEST(concurrent_queue_options_are_checked) {
  if (csuite_skips_without_dispatch(t)) return;
  check_own_queue_options(t, make_concurrent);
}

TEST(virtual_queue_options_are_checked) {
  check_own_queue_options(t, make_virtual);
  REFUSES_QUEUE(make_virtual, .start_ns = -1);
  REFUSES_QUEUE(make_virtual, .start_ns = INT64_MIN);
  MAKES_QUEUE(make_virtual, .start_ns = INT64_MAX);
  MAKES_QUEUE(make_virtual, .flags = CHIME_QUEUE_HONOUR_LEEWAY);
  MAKES_QUEUE(make_virtual, .clock = CHIME_CLOCK_VIRTUAL);
}

TEST(global_queue_options_are_checked) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = UNTOUCHED;
  chime_qos qos;
  if (csuite_skips_without_dispatch(t)) return;
  check_queue_options(t, make_global, 1);
  EXPECT_STATUS(chime_queue_global(5, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_global(-1, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  options.qos = CHIME_QOS_UTILITY; /* must be 0 or the same */
  EXPECT_STATUS(chime_queue_global(CHIME_QOS_BACKGROUND, &options, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, UNTOUCHED);
  REQUIRE_OK(chime_queue_global(CHIME_QOS_UTILITY, &options, &queue));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  for (qos = CHIME_QOS_DEFAULT; qos <= CHIME_QOS_USER_INTERACTIVE; qos++) {
    REQUIRE_OK(chime_queue_global(qos, NULL, &queue));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

TEST(wrapping_no_dispatch_queue_is_refused) {
  chime_queue_t queue = UNTOUCHED;
  EXPECT_STATUS(chime_queue_wrap_dispatch(NULL, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, UNTOUCHED);
}

TEST(wrapped_queue_options_are_checked) {
  if (csuite_wrapped_serial() == NULL) {
    csuite_skip(t, "no dispatch queue was given to the suite");
    return;
  }
  check_queue_options(t, make_wrapped, 0);
}

TEST(unknown_queue_kinds_are_refused) {
  chime_queue_t queue = UNTOUCHED;
  EXPECT_STATUS(chime_queue_create(5, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_create(-1, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_create(INT32_MAX, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, UNTOUCHED);
}

TEST(clocks_that_a_queue_does_not_offer_are_unsupported) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = UNTOUCHED;
  options.clock = CHIME_CLOCK_BOOTTIME;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_CONCURRENT, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_global(CHIME_QOS_DEFAULT, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT(CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue)));
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  options.clock = CHIME_CLOCK_WALL;
  EXPECT(CHIME_FAILED(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue)));
  options.clock = CHIME_CLOCK_VIRTUAL;
  EXPECT(CHIME_FAILED(chime_queue_create(CHIME_QUEUE_SERIAL, &options, &queue)));
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_HOST, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(queue, UNTOUCHED);
}

/* What stands on libdispatch is there, or each of it is told to be missing. */
TEST(without_libdispatch_all_that_stands_on_it_is_unsupported) {
  const chime_queue_kind kinds[] = {CHIME_QUEUE_HOST, CHIME_QUEUE_PRECISE, CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT};
  chime_queue_options on_the_wall_clock = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = UNTOUCHED;
  chime_run_loop_t loop = 0;
  int something = 0;
  size_t i;
#ifdef __x86_64__
  EXPECT(csuite_has_dispatch()); /* else most of the suite would be skipped */
#endif
  if (csuite_has_dispatch()) return;
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_global(CHIME_QOS_DEFAULT, NULL, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_main(NULL, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_wrap_dispatch(&something, NULL, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_main_run(), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_main_stop(), CHIME_ERROR_UNSUPPORTED);
  on_the_wall_clock.clock = CHIME_CLOCK_WALL;
  for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    EXPECT_STATUS(chime_queue_create(kinds[i], &on_the_wall_clock, &queue), CHIME_ERROR_UNSUPPORTED);
  }
  REQUIRE_OK(chime_run_loop_current(&loop));
  EXPECT_STATUS(chime_run_loop_queue_create(loop, NULL, &on_the_wall_clock, &queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(queue, UNTOUCHED);
}

/* ---- Arguments of functions of queues --------------------------------------------------------------------------- */

TEST(queue_functions_refuse_bad_arguments_on_a_serial_queue) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  int ran = 0;
  QUEUE_OR_RETURN(queue, SERIAL);
  EXPECT_STATUS(chime_queue_now(queue, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_sync(queue, NULL, t, CHIME_FOREVER), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_sync(queue, never_function, t, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_sync(queue, never_function, t, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_async(queue, NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_shutdown(queue, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_get_stats(queue, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  stats.size = 7;
  EXPECT_STATUS(chime_queue_get_stats(queue, &stats), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_dump(queue, NULL, 5, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  /* Nothing changed: the queue is alive. */
  EXPECT_OK(chime_queue_sync(queue, count_function, &ran, CHIME_FOREVER));
  EXPECT_EQ(ran, 1);
}

TEST(time_of_a_dispatch_queue_cannot_be_moved) {
  QUEUE_OR_RETURN(serial, SERIAL);
  QUEUE_OR_RETURN(concurrent, CONCURRENT);
  EXPECT_STATUS(chime_queue_advance(serial, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_advance_to(serial, INT64_MAX), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_jump(serial, 1), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_advance(concurrent, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_advance_to(concurrent, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_jump(concurrent, 0), CHIME_ERROR_UNSUPPORTED);
}

TEST(a_virtual_queue_refuses_negative_durations) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  EXPECT_OK(chime_queue_advance(queue, 5));
  EXPECT_STATUS(chime_queue_advance(queue, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_advance(queue, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_jump(queue, -1), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_jump(queue, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(now_of(t, queue), 5);
}

TEST(a_concurrent_queue_has_no_sync) {
  QUEUE_OR_RETURN(concurrent, CONCURRENT);
  QUEUE_OR_RETURN(global, GLOBAL);
  EXPECT_STATUS(chime_queue_sync(concurrent, never_function, t, CHIME_FOREVER), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_sync(global, never_function, t, CHIME_FOREVER), CHIME_ERROR_UNSUPPORTED);
}

TEST(a_virtual_queue_has_no_sync_outside_its_pass) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  EXPECT_STATUS(chime_queue_sync(queue, never_function, t, CHIME_FOREVER), CHIME_ERROR_UNSUPPORTED);
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
