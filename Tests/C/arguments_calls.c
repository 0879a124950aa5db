/*
 * arguments_calls.c - what each function answers to arguments that it cannot use: the documented status, and
 * chime_last_error_detail names the argument; nothing has changed, out-parameters are untouched, contexts are still the
 * caller's. Promise 1. (Options and schedules: arguments.c; what many functions refuse alike: each_function.c. EXPECT_STATUS sees that every refusal leaves a sentence.)
 */
#include "arguments.h"

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(calls_on_timers_are_refused_and_change_nothing) {
  uint64_t timer = UNTOUCHED;
  probe *p = probe_every(t, queue, "a", 10);
  chime_timer_info before = info_of(t, p->timer);
  INVALID(chime_timer_explain(p->timer, NULL, 1, &timer), "text is NULL, and capacity (1) is not 0");
  INVALID(chime_timer_add_handler(p->timer, NULL, NEVER), "key is NULL");
  INVALID(chime_timer_add_handler(p->timer, "x", NULL, t, never_function), "handler is NULL");
  INVALID(chime_timer_remove_handler(p->timer, NULL), "key is NULL");
  EXPECT_STATUS(chime_timer_remove_handler(p->timer, "y"), CHIME_IGNORED);
  INVALID(chime_timer_after(queue, 0, NULL, t, never_function, NULL), "handler is NULL, and finalizer is not");
  INVALID(chime_timer_every(queue, 0, NEVER, &timer), "interval_ns (0 ns) is not above 0");
  INVALID(chime_timer_every(queue, 1, NULL, t, never_function, &timer), "handler is NULL, and finalizer is not");
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 1);
  chime_timer_info after = info_of(t, p->timer);
  EXPECT(memcmp(&before, &after, sizeof before) == 0);
  ADVANCE(10);
  EXPECT_LOG("a1@10");
}

VIRTUAL_TEST(calls_on_queues_are_refused_and_change_nothing) {
  uint64_t count = UNTOUCHED;
  ADVANCE(5);
  INVALID(chime_queue_sync(queue, NULL, t, CHIME_FOREVER), "function is NULL");
  INVALID(chime_queue_async(queue, NULL, t, never_function), "function is NULL, and finalizer is not");
  INVALID(chime_queue_async(queue, NULL, t, NULL), "function is NULL, and queue gives no records");
  INVALID(chime_queue_dump(queue, NULL, 3, NULL), "text is NULL, and capacity (3) is not 0");
  INVALID(chime_queue_list(NULL, 1, &count), "queues is NULL, and capacity (1) is not 0");
  EXPECT_EQ(count, UNTOUCHED);
  EXPECT_EQ(now_of(t, queue), 5);
  EXPECT_OK(chime_queue_shutdown(queue, 0)); /* it was alive */
}

/* What only host-driven queues do. */
static void expect_not_host_driven(csuite *t, chime_queue_t queue, where place) {
  chime_tick ticks[1];
  chime_waitable file = 7;
  int32_t number = 7;
  int64_t deadline = 7;
  uint32_t count = 7;
  UNSUPPORTED(chime_queue_fd(queue, &file), "queue is not host-driven");
  EXPECT_STATUS(chime_queue_poll_timeout(queue, &number), CHIME_ERROR_UNSUPPORTED);
  if (place != VIRTUAL) EXPECT_STATUS(chime_queue_next_deadline(queue, &deadline), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_process(queue, 0, &count), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_take_ticks(queue, ticks, sizeof ticks[0], 1, &count), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_run(queue, 0), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_stop(queue), CHIME_ERROR_UNSUPPORTED);
  EXPECT(file == 7 && number == 7 && deadline == 7 && count == 7);
}

static const char *functions_on_records =
    "queue gives records: the timer's handler, and all other functions, must be NULL there";

/* Whatever else the options say, and whichever function it is; other mistakes are told as on other queues. */
HOST_TEST(a_function_on_a_queue_of_records_is_unsupported, CHIME_QUEUE_RECORDS) {
  const uint32_t records = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE;
  const uint32_t flags[] = {0, CHIME_TIMER_SELF_RELEASE, records, CHIME_TIMER_BACKGROUND | records};
  chime_queue_t callbacks = host_queue(t, 0);
  chime_timer_t timer = UNTOUCHED;
  for (int i = 0; i < 4; i++) {
    const chime_timer_options with[] = {TIMER_OPTIONS(.handler = never, .flags = flags[i]),
                                        TIMER_OPTIONS(.registration_handler = never, .flags = flags[i]),
                                        TIMER_OPTIONS(.cancel_handler = never, .flags = flags[i]),
                                        TIMER_OPTIONS(.finalizer = never_function, .flags = flags[i])};
    for (int k = 0; k < 4; k++) {
      UNSUPPORTED(chime_timer_create(queue, &with[k], &timer), functions_on_records);
      UNSUPPORTED(chime_timer_start(queue, &with[k], AFTER(0), &timer), functions_on_records);
      UNSUPPORTED(chime_timer_start(queue, &with[k], AFTER(0), NULL), functions_on_records);
      if (flags[i] & records || k > 0) {
        EXPECT_STATUS(chime_timer_create(callbacks, &with[k], &timer), CHIME_ERROR_INVALID_ARGUMENT);
      }
    }
  }
  UNSUPPORTED(chime_timer_after(queue, 0, NULL, t, never_function, &timer), functions_on_records);
  INVALID(chime_timer_after(callbacks, 0, NULL, t, never_function, &timer), "handler is NULL, and finalizer is not");
  INVALID(chime_timer_create(callbacks, &TIMER_OPTIONS(.handler = never, .flags = 15), &timer),
          "options.flags has CHIME_TIMER_RECORD_ARMED, which is for timers of queues with CHIME_QUEUE_RECORDS");
  INVALID(chime_timer_create(queue, &TIMER_OPTIONS(.handler = never, .flags = 47), &timer),
          "options.flags (47) has a bit that is no flag");
  EXPECT_EQ(timer, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

VIRTUAL_TEST(what_a_queue_cannot_do_is_told) {
  static const where places[] = {VIRTUAL, HOST, PRECISE, SERIAL, CONCURRENT, DISPATCH};
  chime_queue_t host = host_queue(t, 0), records = host_queue(t, CHIME_QUEUE_RECORDS);
  chime_timer_options options = refused_options(t);
  chime_timer_t timer = UNTOUCHED;
  chime_expiring_t value = UNTOUCHED;
  chime_tick tick;
  uint32_t count = 7;
  for (int i = 0; i < (csuite_has_dispatch() ? 6 : 5); i++) {
    QUEUE_OR_RETURN(other, places[i]);
    if (places[i] != HOST) expect_not_host_driven(t, other, places[i]);
    if (places[i] == VIRTUAL) continue;
    UNSUPPORTED(chime_queue_advance(other, 0), "queue is not virtual");
    UNSUPPORTED(chime_queue_jump(other, 0), "queue is not virtual");
    if (places[i] == SERIAL || places[i] == PRECISE || places[i] == DISPATCH) continue;
    EXPECT_STATUS(chime_queue_sync(other, never_function, t, 0), CHIME_ERROR_UNSUPPORTED);
  }
  UNSUPPORTED(chime_queue_sync(queue, never_function, t, CHIME_FOREVER),
              "queue is driven by calls of another thread: use chime_queue_async");
  UNSUPPORTED(chime_queue_process(records, 0, NULL), "queue gives records: chime_queue_take_ticks takes them");
  UNSUPPORTED(chime_queue_take_ticks(host, &tick, sizeof tick, 1, &count),
              "queue was made without CHIME_QUEUE_RECORDS, and gives no records");
  EXPECT_STATUS(chime_queue_run(records, 0), CHIME_ERROR_UNSUPPORTED);
  INVALID(chime_queue_run(host, 2), "flags (2) has a bit that is no flag");
  INVALID(chime_queue_take_ticks(records, &tick, 12, 1, &count), "tick_size (12) is not sizeof(chime_tick)");
  EXPECT_STATUS(chime_queue_take_ticks(records, NULL, sizeof tick, 1, &count), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_queue_take_ticks(records, &tick, sizeof tick, 0, &count), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(count, 7);
  /* A queue that gives records has no handlers, functions, finalizers and values. */
  UNSUPPORTED(chime_timer_after(records, 0, never, t, NULL, &timer), functions_on_records);
  EXPECT_STATUS(chime_timer_every(records, 10, never, t, NULL, &timer), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_async(records, never_function, t, NULL), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_queue_async(records, NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(records, t, never_function, 1, &value), CHIME_ERROR_UNSUPPORTED);
  EXPECT(timer == UNTOUCHED && value == UNTOUCHED);
  options.handler = NULL;
  options.finalizer = NULL;
  REQUIRE_OK(chime_timer_create(records, &options, &timer));
  EXPECT_STATUS(chime_timer_add_handler(timer, "x", NEVER), CHIME_ERROR_UNSUPPORTED);
  EXPECT_STATUS(chime_timer_remove_handler(timer, "x"), CHIME_IGNORED);
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
  EXPECT_DETAIL(chime_expiring_create(queue, t, never_function, 1, &id), CHIME_ERROR_LIMIT, full);
  EXPECT_EQ(id, UNTOUCHED);
  EXPECT_EQ(stats_of(t, queue).timers, 2);
  EXPECT_OK(chime_timer_release(a->timer));
  EXPECT_OK(chime_timer_after(queue, 10, never, t, NULL, &id));
  EXPECT_STATUS(chime_timer_create(queue, &options, &id), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_timer_release(id));
}

VIRTUAL_TEST(calls_on_targets_and_values_are_refused_and_change_nothing) {
  uint64_t id = UNTOUCHED;
  void *found = NULL;
  chime_expiring_t value = 0;
  EXPECT_STATUS(chime_target_create(NULL, never_function, &id), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_create(queue, NULL, never_function, 1, &id), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(id, UNTOUCHED);
  REQUIRE_OK(chime_expiring_create(queue, t, NULL, 10, &value));
  EXPECT_STATUS(chime_expiring_on_expiry(value, NULL, t, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_on_expiry(value, NULL, NULL, never_function), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_STATUS(chime_expiring_yield(value), CHIME_IGNORED); /* nothing was acquired */
  ADVANCE(9);
  EXPECT_OK(chime_expiring_acquire(value, &found)); /* its time is what it was */
  ADVANCE(1);
  EXPECT_STATUS(chime_expiring_acquire(value, &found), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_reset(value, INT64_MIN), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_expiring_release(value));
}

THREAD_OF_TEST(look_first) {
  int64_t now = 77;
  EXPECT_TEXT(chime_last_error_detail(), "");
  INVALID(chime_now(1000, &now), "clock (1000) is none of the constants that it may be");
  INVALID(chime_now(-1, &now), "clock (-1) is none of the constants that it may be");
  EXPECT_STATUS(chime_now(CHIME_CLOCK_VIRTUAL, &now), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(now, 77);
}

TEST(each_thread_has_a_detail_of_its_own) {
  int64_t now;
  INVALID(chime_now(CHIME_CLOCK_MONOTONIC, NULL), "now_ns is NULL");
  run_on_a_thread(t, look_first, t);
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
  EXPECT(chime_now(CHIME_CLOCK_MONOTONIC, &now) == CHIME_OK); /* what succeeds changes nothing */
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
  EXPECT(chime_timer_cancel(5) == CHIME_ERROR_INVALID_HANDLE);
  EXPECT_TEXT(chime_last_error_detail(), "timer (5) names nothing");
}

/* ---- Run loops and weak timers ----------------------------------------------------------------------------------- */

OWN_THREAD_TEST(calls_on_run_loops_are_refused) {
  static const char *const modes[] = {"", CHIME_RUN_LOOP_COMMON_MODES};
  chime_run_loop_t loop = current_loop(t);
  chime_queue_t queue = UNTOUCHED;
  INVALID(chime_run_loop_run(NULL, 0, 2), "flags (2) has a bit that is no flag");
  EXPECT_STATUS(chime_run_loop_add_common_mode(loop, NULL), CHIME_ERROR_INVALID_ARGUMENT);
  for (int i = 0; i < 2; i++) {
    EXPECT_STATUS(chime_run_loop_run(modes[i], 0, 0), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(chime_run_loop_add_common_mode(loop, modes[i]), CHIME_ERROR_INVALID_ARGUMENT);
    if (i == 1) break;
    EXPECT_STATUS(chime_run_loop_queue_create(loop, modes[i], NULL, &queue), CHIME_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(queue, UNTOUCHED);
}

OWN_THREAD_TEST(calls_on_weak_timers_are_refused) {
  static int object;
  chime_run_loop_t loop = current_loop(t);
  chime_target_t gone = 0;
  chime_weak_timer_t timer = UNTOUCHED, made = 0;
  EXPECT_OK(chime_target_create(&object, NULL, &gone));
  EXPECT_OK(chime_target_release(gone));
#define EXPECT_REFUSED(status, repeats, target, action) \
  EXPECT_STATUS(chime_weak_timer_create(1, repeats, target, action, t, never_function, &timer), status); \
  EXPECT_STATUS(chime_weak_timer_schedule(1, repeats, target, action, t, never_function, NULL), status)
  EXPECT_REFUSED(CHIME_ERROR_INVALID_ARGUMENT, 1, 0, NULL);
  EXPECT_REFUSED(CHIME_ERROR_INVALID_ARGUMENT, 2, 0, never);
  EXPECT_REFUSED(CHIME_ERROR_INVALID_ARGUMENT, -1, 0, never);
  EXPECT_REFUSED(CHIME_ERROR_TARGET_GONE, 1, gone, never);
  EXPECT_EQ(timer, UNTOUCHED);
  run_for(t, NULL, CHIME_MILLISECOND);
  REQUIRE_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, never, t, NULL, &made));
  EXPECT_STATUS(chime_weak_timer_add(made, loop, ""), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(chime_weak_timer_release(made));
}
