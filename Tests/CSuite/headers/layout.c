/*
 * layout.c - the sizes, offsets and numbers of chime.h as they are recorded: once released they only grow at the end.
 * Compiles as C99 and as C++; a wrong number does not compile. For 64-bit platforms.
 */
#include "chime.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define ASSERT(condition) typedef char JOIN(assert_on_line_, __LINE__)[(condition) ? 1 : -1]
#define MEMBER(structure, member, offset, length) \
  ASSERT(offsetof(structure, member) == (offset) && sizeof(((structure *)0)->member) == (length))

ASSERT(sizeof(void *) == 8);
ASSERT(sizeof(chime_status) == 4 && (chime_status)-1 < 0);
ASSERT(sizeof(chime_queue_t) == 8 && (chime_queue_t)-1 > 0);
ASSERT(sizeof(chime_timer_t) == 8 && (chime_timer_t)-1 > 0);
ASSERT(sizeof(chime_clock) == 4 && sizeof(chime_tick_kind) == 4 && sizeof(chime_queue_kind) == 4);
ASSERT(sizeof(chime_qos) == 4 && sizeof(chime_missed_policy) == 4 && sizeof(chime_resume_policy) == 4);
ASSERT(sizeof(chime_state) == 4);

/* Each member begins where the one before ends, and the last ends where the structure does: no padding. */
MEMBER(chime_tick, timer, 0, 8);
MEMBER(chime_tick, generation, 8, 8);
MEMBER(chime_tick, sequence, 16, 8);
MEMBER(chime_tick, missed, 24, 8);
MEMBER(chime_tick, scheduled_ns, 32, 8);
MEMBER(chime_tick, actual_ns, 40, 8);
MEMBER(chime_tick, context, 48, 8);
MEMBER(chime_tick, target, 56, 8);
MEMBER(chime_tick, kind, 64, 4);
MEMBER(chime_tick, reserved, 68, 4);
ASSERT(sizeof(chime_tick) == 72);

MEMBER(chime_queue_options, size, 0, 4);
MEMBER(chime_queue_options, flags, 4, 4);
MEMBER(chime_queue_options, label, 8, 8);
MEMBER(chime_queue_options, qos, 16, 4);
MEMBER(chime_queue_options, clock, 20, 4);
MEMBER(chime_queue_options, timer_limit, 24, 8);
MEMBER(chime_queue_options, start_ns, 32, 8);
MEMBER(chime_queue_options, enter, 40, 8);
MEMBER(chime_queue_options, leave, 48, 8);
MEMBER(chime_queue_options, hook_context, 56, 8);
MEMBER(chime_queue_options, affinity, 64, 8);
MEMBER(chime_queue_options, realtime_priority, 72, 4);
MEMBER(chime_queue_options, reserved, 76, 4);
ASSERT(sizeof(chime_queue_options) == 80);

MEMBER(chime_schedule, size, 0, 4);
MEMBER(chime_schedule, flags, 4, 4);
MEMBER(chime_schedule, first_ns, 8, 8);
MEMBER(chime_schedule, interval_ns, 16, 8);
MEMBER(chime_schedule, leeway_ns, 24, 8);
MEMBER(chime_schedule, tick_limit, 32, 8);
MEMBER(chime_schedule, missed_policy, 40, 4);
MEMBER(chime_schedule, resume_policy, 44, 4);
ASSERT(sizeof(chime_schedule) == 48);

MEMBER(chime_timer_options, size, 0, 4);
MEMBER(chime_timer_options, flags, 4, 4);
MEMBER(chime_timer_options, handler, 8, 8);
MEMBER(chime_timer_options, registration_handler, 16, 8);
MEMBER(chime_timer_options, cancel_handler, 24, 8);
MEMBER(chime_timer_options, context, 32, 8);
MEMBER(chime_timer_options, finalizer, 40, 8);
MEMBER(chime_timer_options, label, 48, 8);
MEMBER(chime_timer_options, target, 56, 8);
ASSERT(sizeof(chime_timer_options) == 64);

MEMBER(chime_queue_stats, size, 0, 4);
MEMBER(chime_queue_stats, reserved, 4, 4);
MEMBER(chime_queue_stats, timers, 8, 8);
MEMBER(chime_queue_stats, running, 16, 8);
MEMBER(chime_queue_stats, entries, 24, 8);
MEMBER(chime_queue_stats, passes, 32, 8);
MEMBER(chime_queue_stats, empty_passes, 40, 8);
MEMBER(chime_queue_stats, ticks, 48, 8);
MEMBER(chime_queue_stats, missed, 56, 8);
MEMBER(chime_queue_stats, stale, 64, 8);
MEMBER(chime_queue_stats, merged, 72, 8);
MEMBER(chime_queue_stats, lateness, 80, 256);
ASSERT(sizeof(chime_queue_stats) == 336);

MEMBER(chime_timer_info, size, 0, 4);
MEMBER(chime_timer_info, state, 4, 4);
MEMBER(chime_timer_info, queue, 8, 8);
MEMBER(chime_timer_info, generation, 16, 8);
MEMBER(chime_timer_info, sequence, 24, 8);
MEMBER(chime_timer_info, next_deadline_ns, 32, 8);
MEMBER(chime_timer_info, remaining_ns, 40, 8);
MEMBER(chime_timer_info, interval_ns, 48, 8);
MEMBER(chime_timer_info, leeway_ns, 56, 8);
MEMBER(chime_timer_info, tick_limit, 64, 8);
MEMBER(chime_timer_info, due_count, 72, 8);
MEMBER(chime_timer_info, busy, 80, 4);
MEMBER(chime_timer_info, has_schedule, 84, 4);
MEMBER(chime_timer_info, missed, 88, 8);
ASSERT(sizeof(chime_timer_info) == 96);

/* Numbers never change. */
ASSERT(CHIME_OK == 0 && CHIME_IGNORED == 1 && CHIME_RUNNING == 2 && CHIME_STOPPED == 3 && CHIME_TIMED_OUT == 4);
ASSERT(CHIME_ERROR_INVALID_ARGUMENT == -1 && CHIME_ERROR_INVALID_HANDLE == -2 && CHIME_ERROR_LIMIT == -3);
ASSERT(CHIME_ERROR_NO_MEMORY == -4 && CHIME_ERROR_WOULD_DEADLOCK == -5 && CHIME_ERROR_BUSY == -6);
ASSERT(CHIME_ERROR_WRONG_THREAD == -7 && CHIME_ERROR_TARGET_GONE == -8 && CHIME_ERROR_SHUT_DOWN == -9);
ASSERT(CHIME_ERROR_UNSUPPORTED == -10 && CHIME_ERROR_PERMISSION == -11 && CHIME_ERROR_RESOURCE == -12);
ASSERT(CHIME_ERROR_FORKED == -13);
ASSERT(CHIME_CLOCK_MONOTONIC == 0 && CHIME_CLOCK_BOOTTIME == 1 && CHIME_CLOCK_WALL == 2 && CHIME_CLOCK_VIRTUAL == 3);
ASSERT(CHIME_TICK_DUE == 0 && CHIME_TICK_FIRED == 1 && CHIME_TICK_ARMED == 2 && CHIME_TICK_CANCELLED == 3);
ASSERT(CHIME_TRACE_CREATED == 16 && CHIME_TRACE_RETURNED == 27);
ASSERT(CHIME_QUEUE_SERIAL == 0 && CHIME_QUEUE_CONCURRENT == 1 && CHIME_QUEUE_HOST == 2 && CHIME_QUEUE_PRECISE == 3);
ASSERT(CHIME_QUEUE_VIRTUAL == 4 && CHIME_QUEUE_HONOUR_LEEWAY == 1);
ASSERT(CHIME_QOS_DEFAULT == 0 && CHIME_QOS_BACKGROUND == 1 && CHIME_QOS_UTILITY == 2);
ASSERT(CHIME_QOS_USER_INITIATED == 3 && CHIME_QOS_USER_INTERACTIVE == 4);
ASSERT(CHIME_MISSED_COALESCE == 0 && CHIME_MISSED_DELAY == 1);
ASSERT(CHIME_RESUME_COALESCE == 0 && CHIME_RESUME_REMAINING == 1);
ASSERT(CHIME_SCHEDULE_DEADLINE == 1 && CHIME_TIMER_SELF_RELEASE == 1);
ASSERT(CHIME_STATE_IDLE == 0 && CHIME_STATE_RUNNING == 1 && CHIME_STATE_SUSPENDED == 2);
ASSERT(CHIME_STATE_FINISHED == 3 && CHIME_STATE_CANCELLED == 4);
ASSERT(CHIME_SECOND == 1000 * CHIME_MILLISECOND && CHIME_MILLISECOND == 1000 * CHIME_MICROSECOND);
ASSERT(CHIME_MICROSECOND == 1000 * CHIME_NANOSECOND && CHIME_NANOSECOND == 1);
ASSERT(CHIME_MINUTE == 60 * CHIME_SECOND && CHIME_HOUR == 60 * CHIME_MINUTE && CHIME_FOREVER == INT64_MAX);

/* The macros initialise every member, and set size. */
chime_queue_options layout_queue_options(void);
chime_schedule layout_schedule(void);
chime_timer_options layout_timer_options(void);
chime_queue_stats layout_stats(void);
chime_timer_info layout_info(void);

chime_queue_options layout_queue_options(void) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  return options;
}
chime_schedule layout_schedule(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  return schedule;
}
chime_timer_options layout_timer_options(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  return options;
}
chime_queue_stats layout_stats(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  return stats;
}
chime_timer_info layout_info(void) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  return info;
}
