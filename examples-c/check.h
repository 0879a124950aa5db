/*
 * What the examples share: every status is compared with the one that is expected; any other ends the program and says
 * which call it was. Not a part of Chime.
 */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <chime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/** Ends the program unless the call returns exactly this status. */
#define EXPECT(status, call) check_status((call), (status), #call, __FILE__, __LINE__)
/** Ends the program unless the call returns CHIME_OK. */
#define CHECK(call) EXPECT(CHIME_OK, call)
/** Ends the program unless a call of POSIX returns 0. */
#define CHECK_ZERO(call) check_zero((call), #call, __FILE__, __LINE__)

static inline void check_status(chime_status got, chime_status expected, const char *call, const char *file, int line) {
  if (got == expected) return;
  fprintf(stderr, "%s:%d: %s: %s, expected %s: %s\n", file, line, call, chime_status_name(got),
          chime_status_name(expected), chime_status_message(got));
  exit(EXIT_FAILURE);
}

static inline void check_zero(int got, const char *call, const char *file, int line) {
  if (got == 0) return;
  fprintf(stderr, "%s:%d: %s: %d, expected 0\n", file, line, call, got);
  exit(EXIT_FAILURE);
}

#endif
