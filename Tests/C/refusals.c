/*
 * refusals.c - calls that are refused though each argument alone makes sense: values that do not go together, what a kind of
 * queue does not have, limits. The documented status, and chime_last_error_detail names the argument; nothing has changed,
 * out-parameters are untouched, contexts are still the caller's. Promise 1. (Senseless arguments: arguments.c.)
 */
#include "refusals.h"

/* ---- Structures that are shorter or longer ----------------------------------------------------------------------- */

/* A copy of the structure as a later version may have it: what lies beyond is zero. */
static void *longer(csuite *t, const void *structure) {
  const uint32_t size = *(const uint32_t *)structure, said = size + 16;
  char *copy = csuite_memory(t, said);
  memcpy(copy, structure, size);
  memcpy(copy, &said, sizeof said);
  return copy;
}

VIRTUAL_TEST(a_longer_structure_is_one_of_a_later_version) {
  chime_timer_t timer;
  chime_timer_info *info = longer(t, &(chime_timer_info)CHIME_TIMER_INFO_INIT);
  REQUIRE_OK(chime_timer_start(queue, longer(t, &TIMER_OPTIONS(.handler = never)), longer(t, AFTER(5)), &timer));
  EXPECT_OK(chime_timer_get_info(timer, info));
  EXPECT(info->size == sizeof *info + 16 && info->next_deadline_ns == 5);
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
    {ALL & ~ON(HOST),
     CHIME_ERROR_INVALID_ARGUMENT,
     "options.flags has CHIME_QUEUE_FLAG_BOUND, which only host-driven queues have",
     {.flags = CHIME_QUEUE_FLAG_BOUND}},
    {ALL & ~ON(HOST),
     CHIME_ERROR_INVALID_ARGUMENT,
     "options.flags has CHIME_QUEUE_FLAG_RECORDS, which only host-driven queues have",
     {.flags = CHIME_QUEUE_FLAG_RECORDS}},
    {ON(DISPATCH) | ON(WRAPPED_SERIAL), CHIME_ERROR_UNSUPPORTED, "options.clock ", {.clock = CHIME_CLOCK_BOOTTIME}},
    {(OWN | OTHERS) & ~(ON(DISPATCH) | ON(VIRTUAL)), CHIME_OK, NULL, {.clock = CHIME_CLOCK_BOOTTIME}},
    {ALL, CHIME_ERROR_INVALID_ARGUMENT, "options.clock ", {.clock = CHIME_CLOCK_WALL + 1}},
    {ON(VIRTUAL), CHIME_ERROR_UNSUPPORTED, "options.clock is one of the system's", {.clock = CHIME_CLOCK_WALL}},
    {ON(VIRTUAL), CHIME_ERROR_UNSUPPORTED, "options.clock is one of the system's", {.clock = CHIME_CLOCK_BOOTTIME}},
    {ALL & ~ON(VIRTUAL), CHIME_OK, NULL, {.clock = CHIME_CLOCK_WALL}},
    {ALL, CHIME_OK, NULL, {.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY}},
    {ON(VIRTUAL), CHIME_OK, NULL, {.start_ns = INT64_MAX}},
    {ALL & ~ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "start_ns is for virtual queues only", {.start_ns = 5}},
    {ON(VIRTUAL), CHIME_OK, NULL, {.seed = UINT64_MAX}},
    {ALL & ~ON(VIRTUAL), CHIME_ERROR_INVALID_ARGUMENT, "options.seed is for virtual queues only", {.seed = 5}},
    {OWN, CHIME_OK, NULL, {.qos = CHIME_QOS_BACKGROUND}},
    {OWN, CHIME_OK, NULL, {.qos = CHIME_QOS_UTILITY}},
    {OWN, CHIME_OK, NULL, {.qos = CHIME_QOS_USER_INITIATED}},
    {OWN, CHIME_OK, NULL, {.qos = CHIME_QOS_USER_INTERACTIVE}},
    {OTHERS, CHIME_ERROR_INVALID_ARGUMENT, "options.qos is for serial, ", {.qos = CHIME_QOS_UTILITY}},
    {ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "priority (100) is not within 0 to 99", {.realtime_priority = 100}},
    {LABELLED & ~ON(PRECISE), CHIME_ERROR_INVALID_ARGUMENT, "is for precise queues only", {.realtime_priority = 1}},
    /* Two, three and four bytes. */
    {ALL, CHIME_OK, NULL, {.label = "\xc3\xbc \xe2\x8f\xb0 \xf0\x9f\x95\xb0"}},
    {ALL, CHIME_OK, NULL, {.label = ""}},
};
enum { QUEUE_ROWS = sizeof queue_rows / sizeof queue_rows[0] };

/* Of those on a run loop: on the calling thread's. */
static chime_status make(csuite *t, where place, const chime_queue_options *options, chime_queue_t *queue) {
  chime_run_loop_t loop = place == RUN_LOOP ? current_loop(t) : 0;
  if (place == WRAPPED_SERIAL) return chime_queue_create_on_dispatch(csuite_wrapped(place), options, queue);
  return create_queue(place, options, queue, &loop);
}

static chime_status use_queue_options(csuite *t, where place, const chime_queue_options *options) {
  chime_queue_t queue = UNTOUCHED;
  chime_status status = make(t, place, options, &queue);
  if (status == CHIME_OK) {
    EXPECT(queue > 0 && queue < FORGED);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  } else {
    EXPECT_EQ(queue, UNTOUCHED);
  }
  return status;
}

static void check_queue_options(csuite *t, where place) {
  chime_queue_options options;
  chime_status status;
  EXPECT_OK(use_queue_options(t, place, NULL));
  for (int i = 0; i < QUEUE_ROWS; i++) {
    const struct queue_row *row = &queue_rows[i];
    if ((row->places & ON(place)) == 0) continue;
    options = row->options;
    options.size = (uint32_t)sizeof options;
    status = use_queue_options(t, place, &options);
    EXPECT_EQ(status, row->expected);
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

/* By any thread, and whether anybody drains it or not. */
TEST(a_main_queue_can_be_made_and_ended_anywhere) {
  chime_queue_t queue = UNTOUCHED;
  chime_status status = chime_queue_create_main(NULL, &queue);
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

TEST(without_libdispatch_all_that_stands_on_it_is_unsupported) {
  chime_queue_t queue = UNTOUCHED;
  if (csuite_has_dispatch()) return;
  UNSUPPORTED(chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &queue), "this libchime was built without libdispatch");
  UNSUPPORTED(chime_queue_create_on_dispatch(&queue, NULL, &queue), "this libchime was built without libdispatch");
  EXPECT_EQ(queue, UNTOUCHED);
}

/* ---- Schedules and options of timers ----------------------------------------------------------------------------- */

/* What it keeps must still be a schedule with the deadline. */
VIRTUAL_TEST(a_deadline_does_not_go_with_the_remaining_time_that_is_kept) {
  const char *why = "the timer's resume_policy is CHIME_RESUME_REMAINING, which does not go with a deadline";
  for (int64_t interval = 0; interval <= 10; interval += 10) {
    probe *p = probe_start(t, queue, "p",
                           &SCHEDULE(.first_ns = 5, .interval_ns = interval, .resume_policy = CHIME_RESUME_REMAINING));
    INVALID(chime_timer_restart_until(p->timer, 7), why);
    EXPECT_EQ(deadline_of(t, p->timer), 5);
    EXPECT_OK(chime_timer_suspend(p->timer));
    INVALID(chime_timer_restart_until(p->timer, 7), why);
    EXPECT_EQ(info_of(t, p->timer).remaining_ns, 5);
  }
}

/* ---- Flags ---------------------------------------------------------------------------------------------------------- */

enum { KIND, OF_QUEUE, OF_RUN, OF_RUN_LOOP, OF_SCHEDULE, OF_TIMER, SETS };
static const struct {
  uint32_t bits;
  int set;
} constants[] = {
    {CHIME_QUEUE_CONCURRENT, KIND},
    {CHIME_QUEUE_HOST, KIND},
    {CHIME_QUEUE_PRECISE, KIND},
    {CHIME_QUEUE_VIRTUAL, KIND},
    {CHIME_QUEUE_DISPATCH, KIND},
    {CHIME_QUEUE_FLAG_HONOUR_LEEWAY, OF_QUEUE},
    {CHIME_QUEUE_FLAG_BOUND, OF_QUEUE},
    {CHIME_QUEUE_FLAG_RECORDS, OF_QUEUE},
    {CHIME_QUEUE_RUN_UNTIL_STOPPED, OF_RUN},
    {CHIME_QUEUE_RUN_NO_WAIT, OF_RUN},
    {CHIME_RUN_LOOP_UNTIL_TICK, OF_RUN_LOOP},
    {CHIME_SCHEDULE_DEADLINE, OF_SCHEDULE},
    {CHIME_TIMER_SELF_RELEASE, OF_TIMER},
    {CHIME_TIMER_RECORD_ARMED, OF_TIMER},
    {CHIME_TIMER_RECORD_CANCELLED, OF_TIMER},
    {CHIME_TIMER_RECORD_FINALIZE, OF_TIMER},
    {CHIME_TIMER_BACKGROUND, OF_TIMER},
};
enum { CONSTANTS = sizeof constants / sizeof constants[0] };

static chime_status use(int set, uint32_t bits, chime_queue_t host, chime_timer_t timer) {
  uint64_t id = 0;
  switch (set) {
    case KIND: return chime_queue_create(bits, NULL, &id);
    case OF_QUEUE: return chime_queue_create(CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.flags = bits), &id);
    case OF_RUN: return chime_queue_run(host, bits);
    case OF_RUN_LOOP: return chime_run_loop_run(NULL, 0, bits);
    case OF_SCHEDULE: return chime_timer_reschedule(timer, &SCHEDULE(.flags = bits));
    default: return chime_timer_create(host, &TIMER_OPTIONS(.handler = never, .flags = bits), &id);
  }
}

OWN_THREAD_TEST(a_constant_of_one_set_is_refused_where_another_is_meant) {
  chime_queue_t host = host_queue(t, 0);
  chime_timer_t timer = 0;
  REQUIRE_OK(chime_timer_every(host, CHIME_HOUR, never, NULL, NULL, &timer));
  for (int i = 0; i < CONSTANTS; i++) {
    for (int j = i + 1; j < CONSTANTS; j++) {
      if (constants[i].set != KIND || constants[j].set != KIND) EXPECT((constants[i].bits & constants[j].bits) == 0);
    }
    for (int set = 0; set < SETS; set++) {
      if (set != constants[i].set)
        EXPECT_STATUS(use(set, constants[i].bits, host, timer), CHIME_ERROR_INVALID_ARGUMENT);
    }
  }
}

/* ---- Calls --------------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(arguments_that_do_not_go_with_each_other_are_refused) {
  chime_queue_t host = host_queue(t, 0), records = host_queue(t, CHIME_QUEUE_FLAG_RECORDS);
  uint64_t id = UNTOUCHED;
  size_t count = 7;
  chime_tick tick;
  probe *p = probe_every(t, queue, "a", 10), *value = probe_value(t, queue, "v", 10);
  INVALID(chime_timer_explain(p->timer, NULL, 1, &count), "text is NULL, and capacity (1) is not 0");
  INVALID(chime_timer_restart(p->timer, &(chime_schedule){0}),
          "schedule.size (0) is not set: its structure has 56 bytes");
  INVALID(chime_queue_list(NULL, 1, &count), "queues is NULL, and capacity (1) is not 0");
  INVALID(chime_timer_after(queue, 0, NULL, t, never_function, &id), "handler is NULL, and finalizer is not");
  INVALID(chime_timer_every(queue, 0, NEVER, &id), "interval_ns (0 ns) is not above 0");
  INVALID(chime_queue_async(queue, NULL, t, never_function), "function is NULL, and finalizer is not");
  INVALID(chime_queue_async(queue, NULL, t, NULL), "function is NULL, and queue gives no records");
  INVALID(chime_queue_async(records, NULL, t, never_function), "function is NULL, and finalizer is not");
  INVALID(chime_expiring_on_expiry(value->id, NULL, NULL, never_function), "handler is NULL, and finalizer is not");
  INVALID(chime_queue_run(host, 4), "flags (4) has a bit that is no flag");
  EXPECT_OK(chime_queue_stop(records));
  EXPECT_STATUS(chime_queue_run(records, 0), CHIME_ERROR_UNSUPPORTED); /* whatever is pending */
  EXPECT_STATUS(chime_queue_take_ticks(records, &tick, sizeof tick, 0, &count), CHIME_ERROR_INVALID_ARGUMENT);
  for (int i = 0; i < 4; i++) { /* shorter, not aligned, longer than any */
    static const size_t sizes[] = {0, sizeof tick - 8, sizeof tick + 4, 4104};
    EXPECT_STATUS(chime_queue_take_ticks(records, &tick, sizes[i], 1, &count), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT(id == UNTOUCHED && count == 7);
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "y"), CHIME_IGNORED);
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  EXPECT_OK(chime_expiring_release(value->id));
}

/* Whatever else the options say, and whichever function it is; other mistakes are told as on other queues. */
HOST_TEST(a_function_on_a_queue_of_records_is_unsupported, CHIME_QUEUE_FLAG_RECORDS) {
  static const char why[] = "queue gives records: the timer's handler, and all other functions, must be NULL there";
  const uint32_t records = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE;
  const chime_timer_options with[] = {TIMER_OPTIONS(.handler = never), TIMER_OPTIONS(.registration_handler = never),
                                      TIMER_OPTIONS(.cancel_handler = never, .flags = records),
                                      TIMER_OPTIONS(.finalizer = never_function, .flags = CHIME_TIMER_SELF_RELEASE)};
  chime_timer_t timer = UNTOUCHED;
  for (int k = 0; k < 4; k++) {
    UNSUPPORTED(chime_timer_create(queue, &with[k], &timer), why);
    UNSUPPORTED(chime_timer_start(queue, &with[k], AFTER(0), NULL), why);
  }
  UNSUPPORTED(chime_timer_after(queue, 0, NULL, t, never_function, &timer), why);
  INVALID(chime_timer_create(queue, &TIMER_OPTIONS(.handler = never, .flags = 47), &timer),
          "options.flags (47) has a bit that is no flag");
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  REQUIRE_OK(chime_timer_create(queue, &TIMER_OPTIONS(.flags = records), &timer));
  EXPECT_STATUS(chime_timer_add_handler(timer, "x", NEVER), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_timer_remove_handler(timer, "x"), CHIME_IGNORED);
}

typedef struct replacement {
  csuite *t;
  chime_queue_t queue;
  int finalized;
} replacement;

/* One timer after another on a queue that admits one; each has its finalizer to come when the next is made. */
static void replace_again_and_again(void *context) {
  replacement *r = context;
  csuite *t = r->t;
  const chime_timer_options options =
      TIMER_OPTIONS(.handler = ignore_tick, .context = &r->finalized, .finalizer = count_call);
  for (int i = 0; i < 100 && !csuite_failed(t); i++) {
    chime_timer_t timer = 0, another = 0;
    EXPECT_EQ(stats_of(t, r->queue).timers, 0);
    EXPECT_OK(chime_timer_create(r->queue, &options, &timer));
    EXPECT_EQ(stats_of(t, r->queue).timers, 1);
    EXPECT_STATUS(chime_timer_create(r->queue, &options, &another), CHIME_ERROR_LIMIT);
    EXPECT_OK(chime_timer_release(timer));
  }
}

TEST(a_timer_limit_counts_what_the_statistics_count) { /* [14] */
  static const chime_queue_kind kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_HOST, CHIME_QUEUE_SERIAL,
                                           CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    chime_queue_t queue = csuite_queue_with(t, kinds[i], &QUEUE_OPTIONS(.timer_limit = 1));
    replacement r = {t, queue, 0};
    if (kinds[i] == CHIME_QUEUE_VIRTUAL) { /* in a pass, whose end calls the finalizers */
      EXPECT_OK(chime_queue_async(queue, replace_again_and_again, &r, NULL));
      ADVANCE(0);
    } else {
      replace_again_and_again(&r);
    }
    csuite_shutdown(t, queue);
    EXPECT_EQ(r.finalized, 100);
  }
}

TEST(a_queue_with_a_timer_limit_refuses_one_more) { /* [14] */
  static const char full[] = "queue has as many timers as its timer_limit admits";
  chime_timer_options options = refused_options(t);
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_VIRTUAL, &QUEUE_OPTIONS(.timer_limit = 2));
  uint64_t id = UNTOUCHED;
  probe *a = probe_idle(t, queue, "a");
  probe_after(t, queue, "b", 10);
  EXPECT_DETAIL(chime_timer_create(queue, &options, &id), CHIME_ERROR_LIMIT, full);
  EXPECT_DETAIL(chime_timer_start(queue, &options, AFTER(0), &id), CHIME_ERROR_LIMIT, full);
  EXPECT_DETAIL(chime_timer_start(queue, &options, AFTER(0), NULL), CHIME_ERROR_LIMIT, full);
  EXPECT_DETAIL(chime_timer_after(queue, 0, NEVER, &id), CHIME_ERROR_LIMIT, full);
  EXPECT_DETAIL(chime_timer_every(queue, 1, NEVER, &id), CHIME_ERROR_LIMIT, full);
  EXPECT_DETAIL(chime_expiring_create(queue, 1, t, never_function, NULL, &id), CHIME_ERROR_LIMIT, full);
  EXPECT_EQ(id, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_OK(chime_timer_after(queue, 10, never, t, NULL, &id));
  EXPECT_STATUS(chime_timer_create(queue, &options, &id), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_timer_release(id));
}
