/*
 * seeds COUNT CALLS [FIRST [INPUT]]: COUNT seeds from FIRST (1) on, so many calls each, from that input on. Ends with 1 at a
 * difference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seeded.h"
#include "wall.h"

int main(int argc, char **argv) {
  static char message[2000];
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  int64_t calls = argc > 2 ? strtoll(argv[2], NULL, 10) : 100000, input = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
  for (uint64_t seed = first; seed < first + count; seed += 1) {
    if (chime_model_run(seed, input, calls, message, sizeof message) == 0 &&
        chime_wall_run(seed, input, calls, message, sizeof message) == 0) {
      continue;
    }
    printf("FAILED seed %" PRIu64 ": %s\n", seed, message);
    return 1;
  }
  printf("ok %" PRIu64 " seeds, %" PRId64 " calls each\n", count, calls);
  return 0;
}
