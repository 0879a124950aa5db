/* refusals.h - what the tests of refused calls share. */
#ifndef CSUITE_REFUSALS_H
#define CSUITE_REFUSALS_H

#include "run_loop.h"

/* Not an id: ids are below 2^53. */
#define FORGED (UINT64_C(1) << 53)

/* What an out-parameter holds before a call that must not touch it. */
#define UNTOUCHED UINT64_C(0xABCDABCDABCD)

static inline void never(const chime_tick *tick, void *context) {
  csuite *t = context;
  (void)tick;
  EXPECT(!"a handler that must not run");
}

static inline void never_function(void *context) {
  csuite *t = context;
  EXPECT(!"a function that must not run");
}

/* A handler, its context and finalizer, none of which a call may accept. */
#define NEVER never, t, never_function

#define EXPECT_DETAIL(call, status, sentence) \
  do { \
    EXPECT_STATUS(call, status); \
    EXPECT_TEXT(chime_last_error_detail(), sentence); \
  } while (0)
#define INVALID(call, sentence) EXPECT_DETAIL(call, CHIME_ERROR_INVALID_ARGUMENT, sentence)
#define UNSUPPORTED(call, sentence) EXPECT_DETAIL(call, CHIME_ERROR_UNSUPPORTED, sentence)

/* Options whose context must stay with the caller. */
static inline chime_timer_options refused_options(csuite *t) {
  return TIMER_OPTIONS(.handler = never, .context = t, .finalizer = never_function);
}

#endif /* CSUITE_REFUSALS_H */
