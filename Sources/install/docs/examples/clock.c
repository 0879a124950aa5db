/*
 * Pages: chime_now chime_sleep_until chime_clock CHIME_SECOND
 * Output:
 *   slept: yes
 */
#include <chime.h>
#include <stdio.h>

int main(void) {
  int64_t before, after;
  if (CHIME_FAILED(chime_now(CHIME_CLOCK_MONOTONIC, &before))) return 1;
  if (CHIME_FAILED(chime_sleep_until(CHIME_CLOCK_MONOTONIC, before + 20 * CHIME_MILLISECOND))) return 1;
  if (CHIME_FAILED(chime_now(CHIME_CLOCK_MONOTONIC, &after))) return 1;
  printf("slept: %s\n", after - before >= 20 * CHIME_MILLISECOND ? "yes" : "no");
  return 0;
}
