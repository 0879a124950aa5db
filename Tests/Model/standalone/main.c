/*
 * seeds COUNT CALLS [FIRST]: COUNT seeds from FIRST (1) on, so many calls each. seeds one INPUT: that one, in hexadecimal.
 * Ends with 1 at a difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seeded.h"

int main(int argc, char **argv) {
  static char message[8192];
  int is_one = argc > 2 && strcmp(argv[1], "one") == 0;
  unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100,
                     first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  long long calls = argc > 2 ? strtoll(argv[2], NULL, 10) : 100000;
  unsigned long long seed;
  if (is_one && chime_model_try(argv[2], message, sizeof message) == 0) puts("ok one input");
  else if (is_one) printf("FAILED %s\n", message);
  if (is_one) return message[0] != 0;
  for (seed = first; seed < first + count; seed += 1) {
    if (chime_model_run(seed, calls, message, sizeof message) == 0) continue;
    printf("FAILED seed %llu: %s\n", seed, message);
    return 1;
  }
  printf("ok %llu seeds, %lld calls each\n", count, calls);
  return 0;
}
