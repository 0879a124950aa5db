/*
 * layout.c - the structures of the headers as compilers see them: no padding, which -Wpadded would tell, so that every
 * compiler lays them out as Packages/ABI records. Compiles as C99 and as C++.
 */
#include "chime.h"
#include "chime_run_loop.h"

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
INITIALISES(chime_expiring_options, CHIME_EXPIRING_OPTIONS_INIT)
INITIALISES(chime_run_loop_options, CHIME_RUN_LOOP_OPTIONS_INIT)
INITIALISES(chime_weak_timer_options, CHIME_WEAK_TIMER_OPTIONS_INIT)
INITIALISES(chime_queue_stats, CHIME_QUEUE_STATS_INIT)
INITIALISES(chime_timer_info, CHIME_TIMER_INFO_INIT)
