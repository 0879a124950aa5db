/*
 * Pages: chime_now chime_sleep_until chime_clock CHIME_SECOND
 * Output:
 *   slept: yes
 */
#include "check.h"

int main(void) {
  int64_t before, after;
  CHECK(chime_now(CHIME_CLOCK_MONOTONIC, &before));
  CHECK(chime_sleep_until(CHIME_CLOCK_MONOTONIC,
                          before + 20 * CHIME_MILLISECOND));
  CHECK(chime_now(CHIME_CLOCK_MONOTONIC, &after));
  printf("slept: %s\n",
         after - before >= 20 * CHIME_MILLISECOND ? "yes" : "no");
  return 0;
}
