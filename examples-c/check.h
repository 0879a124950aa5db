/*
 * What the examples share: no status is passed over. A call that failed ends the program, which says what call it was, and
 * why it failed. Not a part of Chime.
 *
 * A status that is not CHIME_OK need not be a failure: CHIME_FAILED says whether it is. A restart in the timer's own
 * handler returns CHIME_RUNNING, for example, since that handler has not returned yet.
 */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <chime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/** Ends the program if the call failed. */
#define CHECK(call) check_success((call), #call, __FILE__, __LINE__)
/** Ends the program unless the call returns exactly this status: where the example is about that. */
#define EXPECT(status, call) check_status((call), (status), #call, __FILE__, __LINE__)
/** Ends the program unless a call of POSIX returns 0. */
#define CHECK_ZERO(call) check_zero((call), #call, __FILE__, __LINE__)

static inline void check_success(chime_status status, const char *call, const char *file, int line) {
  if (!CHIME_FAILED(status)) return;
  fprintf(stderr, "%s:%d: %s: %s: %s (%s)\n", file, line, call, chime_status_name(status), chime_status_message(status),
          chime_last_error_detail());
  exit(EXIT_FAILURE);
}

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
