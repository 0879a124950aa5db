/*
 * main.c - runs the suite as a program of its own.
 *
 *     csuite              every test
 *     csuite NAME...      those tests
 *     csuite --list       their names
 *
 * Prints `ok NAME`, `FAILED NAME: message` or `skipped NAME: why` for each, and last `N passed, N failed, N skipped`.
 * Exits with 1 when a test failed. A test that takes longer than CSUITE_PATIENCE seconds (300) ends the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csuite.h"
#include "system.h"

static int counts[3]; /* of each result */
static const char *running;

static void give_up(int number) {
  (void)number;
  system_give_up("FAILED ", running, ": it does not end\n");
}

static unsigned patience(void) {
  const char *text = getenv("CSUITE_PATIENCE");
  long seconds = text == NULL ? 300 : strtol(text, NULL, 10);
  return seconds < 1 ? 300 : (unsigned)seconds;
}

static void run(int i) {
  static const char *const results[] = {"ok", "FAILED", "skipped"};
  char message[2048];
  running = csuite_name(i);
  system_watch(patience(), give_up);
  int result = csuite_run(i, message, sizeof message);
  system_watch(0, give_up);
  counts[result]++;
  printf("%s %s%s%s\n", results[result], running, message[0] == 0 ? "" : ": ", message);
  fflush(stdout);
}

static void run_by_name(const char *name) {
  for (int i = 0; i < csuite_count_all(); i++) {
    if (strcmp(name, csuite_name(i)) == 0) {
      run(i);
      return;
    }
  }
  counts[CSUITE_FAILED]++;
  printf("FAILED %s: there is no such test\n", name);
}

int main(int argc, char **argv) {
  int list = argc == 2 && strcmp(argv[1], "--list") == 0, count = csuite_count_all();
  for (int i = 1; i < argc && !list; i++) run_by_name(argv[i]);
  for (int n = 0; n < count && (argc == 1 || list); n++) {
    int i = (csuite_count() + n) % count; /* those first that look at the whole process */
    if (list) puts(csuite_name(i));
    else run(i);
  }
  if (list) return 0;
  printf("%d passed, %d failed, %d skipped\n", counts[CSUITE_PASSED], counts[CSUITE_FAILED], counts[CSUITE_SKIPPED]);
  return counts[CSUITE_FAILED] == 0 ? 0 : 1;
}
