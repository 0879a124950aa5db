/*
 * status_set.h - sets of statuses, a bit for each.
 */
#ifndef CHIME_TESTS_STATUS_SET_H
#define CHIME_TESTS_STATUS_SET_H

#include <stdint.h>

#include "chime.h"

/* Failures are 16 apart, from -16 down; everything else is between 0 and 15. */
#define STATUS_SET(status) (UINT32_C(1) << ((status) < 0 ? 16 + (status) / 16 : 16 + (status)))

/** Whether a call may return the status. Where it may return IGNORED and RUNNING it may return both in one. */
static inline int status_set_has(uint32_t set, chime_status status) {
  const uint32_t both = STATUS_SET(CHIME_IGNORED) | STATUS_SET(CHIME_RUNNING);
  if (status < CHIME_ERROR_TIMED_OUT || status > 15 || (status < 0 && status % 16 != 0)) return 0;
  return (set & STATUS_SET(status)) != 0 || (status == (CHIME_IGNORED | CHIME_RUNNING) && (set & both) == both);
}

#endif /* CHIME_TESTS_STATUS_SET_H */
