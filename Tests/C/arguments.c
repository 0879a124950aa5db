/*
 * arguments.c - what is answered to options and schedules that cannot be used: the documented status, and
 * chime_last_error_detail names the member; nothing has changed, out-parameters are untouched, contexts are still the
 * caller's. Promise 1. (Other arguments: arguments_calls.c; ids that name nothing: ids.c.)
 */
#include "arguments.h"

/* ---- Structures that are shorter or longer ----------------------------------------------------------------------- */

/* Calls a function with a structure, and takes back what it made. */
typedef chime_status (*use)(csuite *t, uint64_t object, void *structure);

/* A longer structure is one of a later version: accepted if what lies beyond is zero. No version had the other sizes. */
static void check_sizes(csuite *t, use function, uint64_t object, const void *structure) {
  const uint32_t size = *(const uint32_t *)structure, longer = size + 16;
  const struct {
    uint32_t size, not_zero; /* 0: all bytes beyond are */
    chime_status expected;
  } cases[] = {{0, 0, CHIME_ERROR_INVALID_ARGUMENT},
               {4, 0, CHIME_ERROR_INVALID_ARGUMENT},
               {size - 4, 0, CHIME_ERROR_INVALID_ARGUMENT},
               {size - 1, 0, CHIME_ERROR_INVALID_ARGUMENT},
               {longer, size, CHIME_ERROR_INVALID_ARGUMENT},
               {longer, longer - 1, CHIME_ERROR_INVALID_ARGUMENT},
               {longer, 0, CHIME_OK},
               {size, 0, CHIME_OK}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t memory[64] = {0}, before[64];
    memcpy(memory, structure, size);
    memcpy(memory, &cases[i].size, sizeof size);
    if (cases[i].not_zero != 0) ((char *)memory)[cases[i].not_zero] = 1;
    memcpy(before, memory, sizeof memory);
    EXPECT_STATUS(function(t, object, memory), cases[i].expected);
    if (cases[i].expected != CHIME_OK) EXPECT(memcmp(memory, before, sizeof memory) == 0);
  }
}

#define USE(name, call) \
  static chime_status name(csuite *t, uint64_t object, void *structure) { return call(object, structure); }
USE(use_info, chime_timer_get_info)
USE(use_stats, chime_queue_get_stats)
USE(use_schedule, chime_timer_reschedule)

static chime_status use_timer_options(csuite *t, uint64_t queue, void *structure) {
  chime_timer_t timer = UNTOUCHED;
  chime_status status = chime_timer_create(queue, structure, &timer);
  if (status == CHIME_OK) EXPECT_OK(chime_timer_release(timer));
  else EXPECT_EQ(timer, UNTOUCHED);
  return status;
}

VIRTUAL_TEST(structures_of_another_size) {
  const chime_timer_info info = CHIME_TIMER_INFO_INIT;
  const chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  const chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  probe *p = probe_idle(t, queue, "a");
  options.handler = never;
  check_sizes(t, use_info, p->timer, &info);
  check_sizes(t, use_stats, queue, &stats);
  check_sizes(t, use_schedule, p->timer, &schedule);
  check_sizes(t, use_timer_options, queue, &options);
}

/* What a program finds that was compiled with version 0.1 of the header. */
VIRTUAL_TEST(structures_of_an_earlier_version_are_filled_as_far_as_they_go) {
  chime_queue_stats stats;
  chime_timer_info info;
  probe *a = probe_every(t, queue, "a", 10);
  memset(&stats, 0x5a, sizeof stats);
  memset(&info, 0x5a, sizeof info);
  stats.size = 64;
  info.size = 88;
  EXPECT_OK(chime_queue_get_stats(queue, &stats));
  EXPECT_OK(chime_timer_get_info(a->timer, &info));
  EXPECT(stats.size == 64 && stats.timers == 1 && stats.stale == 0x5a5a5a5a5a5a5a5a);
  EXPECT(info.size == 88 && info.interval_ns == 10 && info.missed == 0x5a5a5a5a5a5a5a5a);
}

/* ---- Options of queues ------------------------------------------------------------------------------------------- */

#define ON(place) (1u << (place))
#define OWN (ON(SERIAL) | ON(CONCURRENT) | ON(DISPATCH))
#define THREADED (OWN | ON(MAIN))
#define OTHERS (ON(VIRTUAL) | ON(HOST) | ON(PRECISE) | ON(RUN_LOOP))
/* Of a wrapped queue the label is not used, so that nothing is said of a bad one. */
#define LABELLED (THREADED | OTHERS)
#define ALL (LABELLED | ON(WRAPPED_SERIAL))

static const struct queue_row {
  unsigned places;
  chime_status expected;
  const char *sentence; /* what is in it, where it is refused */
  chime_queue_options options;
} queue_rows[] = {
    {ALL, CHIME_OK, NULL, {.size = 0}},
    {ALL,
     CHIME_ERROR_INVALID_ARGUMENT,
     "options.flags (2147483648) has a bit that is no flag",
     {.flags = UINT32_C(1) << 31}},
    {ALL & ~ON(HOST),
     CHIME_ERROR_INVALID_ARGUMENT,
     "options.flags has CHIME_QUEUE_BOUND, which only host-driven queues have",
     {.flags = CHIME_QUEUE_BOUND}},
    {ALL & ~ON(HOST),
     CHIME_ERROR_INVALID_ARGUMENT,
     "options.flags has CHIME_QUEUE_RECORDS, which only host-driven queues have",
     {.flags = CHIME_QUEUE_RECORDS}},
    {ALL, CHIME_ERROR_INVALID_ARGUMENT, "options.clock (4) is none of the constants that it may be", {.clock = 4}},
    {ALL, CHIME_ERROR_INVALID_ARGUMENT, "options.clock (-1) is none of the constants", {.clock = -1}},
    {THREADED | ON(PRECISE), CHIME_ERROR_UNSUPPORTED, "options.clock ", {.clock = CHIME_CLOCK_BOOTTIME}},
    {THREADED | ON(HOST) | ON(PRECISE), CHIME_ERROR_UNSUPPORTED, "options.clock ", {.clock = CHIME_CLOCK_VIRTUAL}},
    {ON(VIRTUAL), CHIME_ERROR_UNSUPPORTED, "options.clock is one of the system's", {.clock = CHIME_CLOCK_WALL}},
    {ON(VIRTUAL), CHIME_ERROR_UNSUPPORTED, "options.clock is one of the system's", {.clock = CHIME_CLOCK_BOOTTIME}},
    {ON(VIRTUAL), CHIME_OK, NULL, {.clock = CHIME_CLOCK_VIRTUAL}},
    {ALL, CHIME_OK, NULL, {.flags = CHIME_QUEUE_HONOUR_LEEWAY}},
    {ON(VIRTUAL), CHIME_OK, NULL, {.start_ns = INT64_MAX}},
    {ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "options.start_ns (-1 ns)", {.start_ns = -1}},
    {ALL & ~ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "start_ns is for virtual queues only", {.start_ns = 5}},
    {ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "options.start_ns", {.start_ns = INT64_MIN}},
    {ON(VIRTUAL), CHIME_OK, NULL, {.seed = UINT64_MAX}},
    {ALL & ~ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "options.seed is for virtual queues only", {.seed = 5}},
    {OWN, CHIME_ERROR_INVALID_ARGUMENT, "options.qos (5) is none", {.qos = 5}},
    {OWN, CHIME_ERROR_INVALID_ARGUMENT, "options.qos (-1) is none", {.qos = -1}},
    {OWN, CHIME_OK, NULL, {.qos = CHIME_QOS_USER_INTERACTIVE}},
    {OTHERS, CHIME_ERROR_INVALID_ARGUMENT, "options.qos is for serial, ", {.qos = CHIME_QOS_UTILITY}},
    {ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "priority (100) is not within 0 to 99", {.realtime_priority = 100}},
    {LABELLED & ~ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "are for precise queues only", {.realtime_priority = 1}},
    {LABELLED & ~ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "are for precise queues only", {.affinity = 1}},
    {ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "affinity", {.affinity = UINT64_C(1) << 63}}, /* that is no processor */
    {ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "reserved", {.reserved = 1}},
    /* Two, three and four bytes. */
    {ALL, CHIME_OK, NULL, {.label = "\xc3\xbc \xe2\x8f\xb0 \xf0\x9f\x95\xb0"}},
    {ALL, CHIME_OK, NULL, {.label = ""}},
};
enum { QUEUE_ROWS = sizeof queue_rows / sizeof queue_rows[0] };

/* Of those on a run loop: on the calling thread's. */
static chime_status make(csuite *t, where place, const chime_queue_options *options, chime_queue_t *queue) {
  chime_run_loop_t loop = place == RUN_LOOP ? current_loop(t) : 0;
  if (place == WRAPPED_SERIAL) return chime_queue_wrap_dispatch(csuite_wrapped(place), options, queue);
  return create_queue(place, options, queue, &loop);
}

static chime_status use_queue_options(csuite *t, uint64_t place, void *structure) {
  chime_queue_t queue = UNTOUCHED;
  chime_status status = make(t, (where)place, structure, &queue);
  if (status == CHIME_OK) {
    EXPECT(queue > 0 && queue < FORGED);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  } else {
    EXPECT_EQ(queue, UNTOUCHED);
  }
  return status;
}

/* What the system says of processors that there are not; it need not bind threads to any. */
static chime_status no_such_processor(void) {
  const chime_queue_options options = QUEUE_OPTIONS(.affinity = UINT64_MAX);
  chime_queue_t queue = 0;
  chime_status status = chime_queue_create(CHIME_QUEUE_PRECISE, &options, &queue);
  if (status == CHIME_OK) chime_queue_shutdown(queue, CHIME_FOREVER);
  return status == CHIME_ERROR_UNSUPPORTED ? status : CHIME_ERROR_INVALID_ARGUMENT;
}

static void check_queue_options(csuite *t, where place) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  check_sizes(t, use_queue_options, place, &options);
  EXPECT_OK(use_queue_options(t, place, NULL));
  EXPECT_STATUS(make(t, place, &options, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (int i = 0; i < NOT_UTF8 && (LABELLED & ON(place)) != 0; i++) {
    options.label = not_utf8[i];
    INVALID(use_queue_options(t, place, &options), "options.label is not UTF-8");
  }
  for (int i = 0; i < QUEUE_ROWS; i++) {
    const struct queue_row *row = &queue_rows[i];
    if ((row->places & ON(place)) == 0) continue;
    options = row->options;
    options.size = (uint32_t)sizeof options;
    EXPECT_STATUS(use_queue_options(t, place, &options),
                  row->options.affinity >> 63 ? no_such_processor() : row->expected);
    if (row->sentence != NULL && strstr(chime_last_error_detail(), row->sentence) == NULL) {
      EXPECT_TEXT(chime_last_error_detail(), row->sentence);
    }
  }
}

OWN_THREAD_TEST(queue_options_are_checked) {
  static const where places[] = {VIRTUAL, HOST, PRECISE, RUN_LOOP, SERIAL, CONCURRENT, DISPATCH, WRAPPED_SERIAL};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    if (stands_on_dispatch(places[i]) && !csuite_has_dispatch()) break;
    if (places[i] == WRAPPED_SERIAL && csuite_wrapped(WRAPPED_SERIAL) == NULL)
      continue; /* none was given to the suite */
    check_queue_options(t, places[i]);
  }
}

TEST_ALONE(main_queue_options_are_checked) { check_queue_options(t, MAIN); }

TEST(kinds_and_classes_of_queues_are_checked) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = UNTOUCHED;
  chime_qos qos;
  INVALID(chime_queue_create(77, NULL, &queue), "kind (77) is none of the constants that it may be");
  EXPECT_STATUS(chime_queue_create(6, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_create(-1, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_wrap_dispatch(NULL, NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queue, UNTOUCHED);
  for (qos = CHIME_QOS_DEFAULT; qos <= CHIME_QOS_USER_INTERACTIVE; qos++) {
    options.qos = qos;
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_CONCURRENT, &options, &queue));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

/* By any thread, and whether anybody drains it or not. */
TEST(a_main_queue_can_be_made_and_ended_anywhere) {
  chime_queue_t queue = UNTOUCHED;
  chime_status status = chime_queue_main(NULL, &queue);
  if (status == CHIME_ERROR_UNSUPPORTED) {
    EXPECT_TEXT(chime_last_error_detail(), "libdispatch was loaded by another thread than the process's main one");
    EXPECT_EQ(queue, UNTOUCHED);
    return;
  }
  REQUIRE_OK(status);
  probe *p = probe_after(t, queue, "a", CHIME_HOUR);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(p->finalized, 1);
}

/* What stands on libdispatch is there, or each of it is told to be missing. The rest is there either way. */
TEST(without_libdispatch_all_that_stands_on_it_is_unsupported) {
  static const where places[] = {SERIAL, CONCURRENT}, others[] = {HOST, PRECISE, RUN_LOOP, SERIAL};
  const chime_queue_options on_the_wall_clock = QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL);
  chime_queue_t queue = UNTOUCHED;
  int something = 0;
  if (!csuite_has_dispatch()) {
    UNSUPPORTED(chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &queue), "this libchime was built without libdispatch");
    UNSUPPORTED(chime_queue_wrap_dispatch(&something, NULL, &queue), "this libchime was built without libdispatch");
    EXPECT_EQ(queue, UNTOUCHED);
  }
  for (size_t i = 0; i < 2; i++) {
    REQUIRE_OK(make(t, places[i], NULL, &queue));
    csuite_shutdown(t, queue);
  }
  for (size_t i = 0; i < 4; i++) {
    REQUIRE_OK(make(t, others[i], &on_the_wall_clock, &queue));
    EXPECT_OK(chime_queue_shutdown(queue, others[i] == RUN_LOOP ? 0 : PATIENCE));
  }
}

/* ---- Schedules and options of timers ----------------------------------------------------------------------------- */

static const struct schedule_row {
  const char *sentence; /* NULL: it is accepted */
  chime_schedule schedule;
} schedule_rows[] = {
    {"schedule.flags (6) has a bit that is no flag", {.flags = 6}},
    {"schedule.flags (2147483648) has a bit that is no flag", {.flags = UINT32_C(1) << 31}},
    {"schedule.first_ns (-1 ns) is negative", {.first_ns = -1}},
    {"schedule.first_ns (-9223372036.854775808 s) is negative", {.first_ns = INT64_MIN, .interval_ns = 10}},
    {"schedule.interval_ns (-1.5 ms) is negative", {.interval_ns = -1500 * CHIME_MICROSECOND}},
    {"schedule.interval_ns (-9223372036.854775808 s) is negative", {.interval_ns = INT64_MIN}},
    {"schedule.missed_policy (2) is none of the constants that it may be", {.interval_ns = 10, .missed_policy = 2}},
    {"schedule.missed_policy (-1) is none of the constants that it may be", {.interval_ns = 10, .missed_policy = -1}},
    {"schedule.resume_policy (2) is none of the constants that it may be", {.interval_ns = 10, .resume_policy = 2}},
    {"schedule.resume_policy (-1) is none of the constants that it may be", {.interval_ns = 10, .resume_policy = -1}},
    /* Leeway is below the interval of a repeating timer; a one-shot has no such limit. */
    {NULL, {.interval_ns = 10, .leeway_ns = 9}},
    {"schedule.leeway_ns (10 ns) is not below interval_ns (10 ns)", {.interval_ns = 10, .leeway_ns = 10}},
    {"schedule.leeway_ns (5 ms) is not below interval_ns (1.000001 ms)",
     {.interval_ns = 1000001, .leeway_ns = 5 * CHIME_MILLISECOND}},
    {"schedule.leeway_ns (CHIME_FOREVER) is not below interval_ns (CHIME_FOREVER)",
     {.interval_ns = CHIME_FOREVER, .leeway_ns = CHIME_FOREVER}},
    {"schedule.leeway_ns (-90 s) is negative", {.interval_ns = 10, .leeway_ns = -90 * CHIME_SECOND}},
    {NULL, {.leeway_ns = CHIME_HOUR}},
    {"schedule.leeway_ns (-1 ns) is negative", {.leeway_ns = -1}},
    {NULL, {.interval_ns = 10, .jitter_ns = 10}},
    {NULL, {.interval_ns = CHIME_FOREVER, .jitter_ns = CHIME_FOREVER}},
    {"schedule.jitter_ns (-1 ns) is negative", {.interval_ns = 10, .jitter_ns = -1}},
    {"schedule.jitter_ns (11 ns) is beyond interval_ns (10 ns)", {.interval_ns = 10, .jitter_ns = 11}},
    {"schedule.jitter_ns is 1 ns, and interval_ns is 0: jitter is for repeating timers", {.jitter_ns = 1}},
    {NULL, {.first_ns = 100, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING}},
    {NULL, {.flags = CHIME_SCHEDULE_DEADLINE, .first_ns = 100, .interval_ns = 10}},
    {"schedule.resume_policy is CHIME_RESUME_REMAINING, which does not go with CHIME_SCHEDULE_DEADLINE",
     {.flags = CHIME_SCHEDULE_DEADLINE, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING}},
};

/* Each function that takes a schedule, with timers in which it would otherwise take effect. */
static void expect_schedule_refused(csuite *t, chime_queue_t queue, const chime_schedule *schedule, const char *why) {
  chime_timer_options options = refused_options(t);
  chime_timer_t timer = UNTOUCHED;
  probe *idle = probe_idle(t, queue, "a"), *running = probe_every(t, queue, "b", 10);
  INVALID(chime_timer_start(queue, &options, schedule, &timer), why);
  INVALID(chime_timer_start(queue, &options, schedule, NULL), why);
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  INVALID(chime_timer_activate(idle->timer, schedule), why);
  INVALID(chime_timer_restart(idle->timer, schedule), why);
  INVALID(chime_timer_reschedule(idle->timer, schedule), why);
  EXPECT_EQ(state_of(t, idle->timer), CHIME_STATE_IDLE);
  EXPECT_EQ(info_of(t, idle->timer).has_schedule, 0);
  chime_timer_info before = info_of(t, running->timer);
  INVALID(chime_timer_restart(running->timer, schedule), why);
  INVALID(chime_timer_reschedule(running->timer, schedule), why);
  chime_timer_info after = info_of(t, running->timer);
  EXPECT(memcmp(&before, &after, sizeof before) == 0);
  EXPECT_OK(chime_timer_release(idle->timer));
  EXPECT_OK(chime_timer_release(running->timer));
}

static void expect_schedule_accepted(csuite *t, chime_queue_t queue, const chime_schedule *schedule) {
  probe *idle = probe_idle(t, queue, "a");
  EXPECT_OK(chime_timer_reschedule(idle->timer, schedule));
  EXPECT_OK(chime_timer_activate(idle->timer, schedule));
  EXPECT_OK(chime_timer_restart(idle->timer, schedule));
  EXPECT_OK(chime_timer_release(idle->timer));
}

VIRTUAL_TEST(a_schedule_is_checked_member_by_member) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_options options = refused_options(t);
  for (size_t i = 0; i < sizeof schedule_rows / sizeof schedule_rows[0]; i++) {
    schedule = schedule_rows[i].schedule;
    schedule.size = (uint32_t)sizeof schedule;
    if (schedule_rows[i].sentence != NULL) expect_schedule_refused(t, queue, &schedule, schedule_rows[i].sentence);
    else expect_schedule_accepted(t, queue, &schedule);
  }
  schedule.size = 0;
  expect_schedule_refused(t, queue, &schedule, "schedule.size (0) is not set: its structure has 56 bytes");
  EXPECT_STATUS(chime_timer_start(queue, &options, NULL, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  probe *p = probe_idle(t, queue, "p");
  /* A timer that never had a schedule has none to keep. */
  INVALID(chime_timer_activate(p->timer, NULL), "schedule is NULL, and the timer has none to keep");
  INVALID(chime_timer_restart(p->timer, NULL), "schedule is NULL, and the timer has none to keep");
  INVALID(chime_timer_restart_after(p->timer, -1), "delay_ns (-1 ns) is negative");
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_IDLE);
}

/* What it keeps must still be a schedule with the deadline. */
VIRTUAL_TEST(a_deadline_does_not_go_with_the_remaining_time_that_is_kept) {
  const char *why = "the timer's resume_policy is CHIME_RESUME_REMAINING, which does not go with a deadline";
  const int64_t intervals[] = {0, 10};
  for (int i = 0; i < 2; i++) {
    probe *p = probe_start(
        t, queue, "p", &SCHEDULE(.first_ns = 5, .interval_ns = intervals[i], .resume_policy = CHIME_RESUME_REMAINING));
    chime_timer_info before = info_of(t, p->timer);
    INVALID(chime_timer_restart_until(p->timer, 7), why);
    chime_timer_info after = info_of(t, p->timer);
    EXPECT(memcmp(&before, &after, sizeof before) == 0);
    EXPECT_OK(chime_timer_restart_after(p->timer, 7));
    EXPECT_EQ(deadline_of(t, p->timer), 7);
    EXPECT_OK(chime_timer_suspend(p->timer));
    EXPECT_EQ(info_of(t, p->timer).remaining_ns, 7);
    INVALID(chime_timer_restart_until(p->timer, 7), why);
    EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_SUSPENDED);
  }
}

static void expect_timer_refused(csuite *t, chime_queue_t queue, const chime_timer_options *options, const char *why) {
  chime_timer_t timer = UNTOUCHED;
  INVALID(chime_timer_create(queue, options, &timer), why);
  INVALID(chime_timer_start(queue, options, AFTER(0), &timer), why);
  INVALID(chime_timer_start(queue, options, AFTER(0), NULL), why);
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

/* [8]: a context that was refused stays with the caller. */
TESTS_ON_VIRTUAL_AND_SERIAL(timer_options_are_checked) {
  chime_timer_options options = refused_options(t);
  chime_timer_t timer = UNTOUCHED;
  expect_timer_refused(t, queue, NULL, "options is NULL");
  INVALID(chime_timer_create(queue, &options, NULL), "timer is NULL");
  for (size_t i = 0; i < NOT_UTF8; i++) {
    options.label = not_utf8[i];
    expect_timer_refused(t, queue, &options, "options.label is not UTF-8");
  }
  options.label = "\xf0\x9f\x95\xb0";
  options.flags = CHIME_TIMER_SELF_RELEASE | UINT32_C(1) << 31;
  expect_timer_refused(t, queue, &options, "options.flags (2147483649) has a bit that is no flag");
  options.flags = CHIME_TIMER_BACKGROUND << 1;
  expect_timer_refused(t, queue, &options, "options.flags (32) has a bit that is no flag");
  static const struct {
    uint32_t flag;
    const char *sentence;
  } of_records[] = {
      {CHIME_TIMER_RECORD_ARMED,
       "options.flags has CHIME_TIMER_RECORD_ARMED, which is for timers of queues with CHIME_QUEUE_RECORDS"},
      {CHIME_TIMER_RECORD_CANCELLED,
       "options.flags has CHIME_TIMER_RECORD_CANCELLED, which is for timers of queues with CHIME_QUEUE_RECORDS"},
      {CHIME_TIMER_RECORD_FINALIZE,
       "options.flags has CHIME_TIMER_RECORD_FINALIZE, which is for timers of queues with CHIME_QUEUE_RECORDS"},
  };
  for (int i = 0; i < 3; i++) {
    options.flags = of_records[i].flag;
    expect_timer_refused(t, queue, &options, of_records[i].sentence);
  }
  options.flags = 0;
  options.handler = NULL;
  expect_timer_refused(t, queue, &options, "options.handler is NULL, and another function of options is not");
  EXPECT_EQ(timer, UNTOUCHED);
  options.handler = never;
  options.finalizer = NULL;
  EXPECT_OK(chime_timer_create(queue, &options, &timer));
  EXPECT(timer > 0 && timer < FORGED);
  EXPECT_OK(chime_timer_release(timer));
}
