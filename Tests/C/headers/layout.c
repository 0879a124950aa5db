/*
 * layout.c - the structures of chime.h as compilers see them: the sizes that Packaging/ABI records, with each member's
 * place and each number, and no padding, which -Wpadded would tell. Compiles as C99 and as C++; a wrong size does not
 * compile. For 64-bit platforms.
 */
#include "chime.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define ASSERT(condition) typedef char JOIN(assert_on_line_, __LINE__)[(condition) ? 1 : -1]

ASSERT(sizeof(void *) == 8);
ASSERT(sizeof(chime_status) == 4 && (chime_status)-1 < 0);
ASSERT(sizeof(chime_queue_t) == 8 && (chime_queue_t)-1 > 0);
ASSERT(sizeof(chime_timer_t) == 8 && (chime_timer_t)-1 > 0);
ASSERT(sizeof(chime_clock) == 4 && sizeof(chime_tick_kind) == 4 && sizeof(chime_queue_kind) == 4);
ASSERT(sizeof(chime_qos) == 4 && sizeof(chime_missed_policy) == 4 && sizeof(chime_resume_policy) == 4);
ASSERT(sizeof(chime_state) == 4);
ASSERT(sizeof(chime_tick) == 72);
ASSERT(sizeof(chime_queue_options) == 80);
ASSERT(sizeof(chime_schedule) == 48);
ASSERT(sizeof(chime_timer_options) == 64);
ASSERT(sizeof(chime_queue_stats) == 336);
ASSERT(sizeof(chime_timer_info) == 96);

ASSERT(CHIME_SECOND == 1000 * CHIME_MILLISECOND && CHIME_MILLISECOND == 1000 * CHIME_MICROSECOND);
ASSERT(CHIME_MICROSECOND == 1000 * CHIME_NANOSECOND && CHIME_NANOSECOND == 1);
ASSERT(CHIME_MINUTE == 60 * CHIME_SECOND && CHIME_HOUR == 60 * CHIME_MINUTE && CHIME_FOREVER == INT64_MAX);

/* The macros initialise every member, or -Wextra tells, and set size. */
#define INITIALISES(type, initialiser) \
  void layout_##type(type *out); \
  void layout_##type(type *out) { \
    type value = initialiser; \
    *out = value; \
  }
INITIALISES(chime_queue_options, CHIME_QUEUE_OPTIONS_INIT)
INITIALISES(chime_schedule, CHIME_SCHEDULE_INIT)
INITIALISES(chime_timer_options, CHIME_TIMER_OPTIONS_INIT)
INITIALISES(chime_queue_stats, CHIME_QUEUE_STATS_INIT)
INITIALISES(chime_timer_info, CHIME_TIMER_INFO_INIT)
