/*
 * mktime as other parts of the program leave it that have just asked it for a summer's day or, from the call WINTER_FROM on,
 * for a winter's: glibc then takes that one's offset where a time of day comes twice, or not at all. examples-c/Makefile
 * compiles daily.c with this as well.
 */
#include <stdlib.h>
#include <time.h>

static inline time_t guessing_mktime(struct tm *time) {
  static int calls;
  struct tm other = {
      .tm_year = 126, .tm_mon = calls++ < atoi(getenv("WINTER_FROM")) ? 6 : 11, .tm_mday = 1, .tm_isdst = -1};
  mktime(&other);
  return mktime(time);
}
#define mktime guessing_mktime
