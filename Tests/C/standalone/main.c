/*
 * main.c - runs the suite as a program of its own.
 *
 *     csuite              every test
 *     csuite NAME...      those tests
 *     csuite --list       their names
 *
 * Prints `ok NAME`, `FAILED NAME: message` or `skipped NAME: why` for each, and last `N passed, N failed, N skipped`.
 * Exits with 1 when a test failed. CSUITE_JOBS (1) tests run side by side, as most of them wait rather than work, except
 * those that need the process or its main thread for themselves. When CSUITE_PATIENCE seconds (300) go by in which no test
 * ends, the program does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csuite.h"
#include "system.h"

enum { MOST_JOBS = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and the standard output */
static int counts[3];                                     /* of each result */
static const char *running[MOST_JOBS];
static int next;
/* A process has one trace. */
static pthread_mutex_t tracing = PTHREAD_MUTEX_INITIALIZER;

static void give_up(int number) {
  static char names[4096];
  (void)number;
  for (int i = 0; i < MOST_JOBS; i++) {
    if (running[i] != NULL) snprintf(names + strlen(names), sizeof names - strlen(names), " %s", running[i]);
  }
  system_give_up("FAILED", names, ": it does not end\n");
}

static int number_of(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  long number = text == NULL ? otherwise : strtol(text, NULL, 10);
  return number < 1 ? otherwise : (int)number;
}

static void run(int i, int job) {
  static const char *const results[] = {"ok", "FAILED", "skipped"};
  char message[2048];
  int has_trace = strstr(csuite_name(i), "trace") != NULL, result;
  if (has_trace) pthread_mutex_lock(&tracing);
  pthread_mutex_lock(&mutex);
  running[job] = csuite_name(i);
  system_watch((unsigned)number_of("CSUITE_PATIENCE", 300), give_up);
  pthread_mutex_unlock(&mutex);
  result = csuite_run(i, message, sizeof message);
  pthread_mutex_lock(&mutex);
  running[job] = NULL;
  counts[result]++;
  printf("%s %s%s%s\n", results[result], csuite_name(i), message[0] == 0 ? "" : ": ", message);
  fflush(stdout);
  pthread_mutex_unlock(&mutex);
  if (has_trace) pthread_mutex_unlock(&tracing);
}

static void *run_what_is_left(void *job) {
  while (1) {
    pthread_mutex_lock(&mutex);
    int i = next++;
    pthread_mutex_unlock(&mutex);
    if (i >= csuite_count()) return NULL;
    run(i, (int)(intptr_t)job);
  }
}

/* Those first that look at the whole process. */
static void run_all(void) {
  pthread_t threads[MOST_JOBS];
  int jobs = number_of("CSUITE_JOBS", 1);
  if (jobs > MOST_JOBS) jobs = MOST_JOBS;
  for (int i = csuite_count(); i < csuite_count_all(); i++) run(i, 0);
  for (int job = 1; job < jobs; job++) {
    if (pthread_create(&threads[job], NULL, run_what_is_left, (void *)(intptr_t)job) != 0) jobs = job;
  }
  run_what_is_left((void *)0);
  for (int job = 1; job < jobs; job++) pthread_join(threads[job], NULL);
}

static void run_by_name(const char *name) {
  for (int i = 0; i < csuite_count_all(); i++) {
    if (strcmp(name, csuite_name(i)) == 0) {
      run(i, 0);
      return;
    }
  }
  counts[CSUITE_FAILED]++;
  printf("FAILED %s: there is no such test\n", name);
}

int main(int argc, char **argv) {
  int list = argc == 2 && strcmp(argv[1], "--list") == 0, count = csuite_count_all();
  for (int i = 1; i < argc && !list; i++) run_by_name(argv[i]);
  for (int n = 0; n < count && list; n++) puts(csuite_name((csuite_count() + n) % count));
  if (list) return 0;
  if (argc == 1) run_all();
  printf("%d passed, %d failed, %d skipped\n", counts[CSUITE_PASSED], counts[CSUITE_FAILED], counts[CSUITE_SKIPPED]);
  return counts[CSUITE_FAILED] == 0 ? 0 : 1;
}
