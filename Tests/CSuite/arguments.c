/*
 * arguments.c - what every function answers to what it cannot use: the documented status, nothing changed,
 * out-parameters untouched. Promise 1. (Ids that name nothing: ids.c.)
 */
#include "arguments.h"

static void count_function(void *context) { add(context, 1); }

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
