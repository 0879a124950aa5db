/*
 * storms.h - a storm is a test of the C suite's form that goes on for a given time. Its verdict does not depend on how
 * fast the machine is: what must happen has 30 s, and what must not happen is a matter of order.
 */
#ifndef STORMS_STORMS_H
#define STORMS_STORMS_H

#include "harness.h"

/** What the environment says, or `otherwise`. */
static inline int64_t storm_number(const char *variable, int64_t otherwise) {
  const char *text = getenv(variable);
  return text == NULL || text[0] == 0 ? otherwise : (int64_t)strtoull(text, NULL, 0);
}

/** 1 until STORM_SECONDS (60) have passed since then, or something failed. */
static inline int storm_goes_on(csuite *t, int64_t begun_ns) {
  return monotonic_ns() < begun_ns + storm_number("STORM_SECONDS", 60) * CHIME_SECOND && !csuite_failed(t);
}

#endif /* STORMS_STORMS_H */
