/*
 * main.c - runs the suite as a program of its own.
 *
 *     csuite              every test
 *     csuite NAME...      those tests
 *     csuite --list       their names
 *
 * Prints `ok NAME`, `FAILED NAME: message` or `skipped NAME: why` for each, and last `N passed, N failed, N skipped`.
 * Exits with 1 when a test failed. A test that takes longer than CSUITE_PATIENCE seconds (300) ends the program.
 * CSUITE_SEED is the seed of the random models (known_timeout.c) in place of their own; a failure there names it.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csuite.h"

static int passed, failed, skipped;
static const char *running;

static void write_text(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) return;
}

static void give_up(int number) {
  (void)number;
  write_text("FAILED ");
  write_text(running);
  write_text(": it does not end\n");
  _exit(1);
}

static unsigned patience(void) {
  const char *text = getenv("CSUITE_PATIENCE");
  long seconds = text == NULL ? 300 : strtol(text, NULL, 10);
  return seconds < 1 ? 300 : (unsigned)seconds;
}

/*
 * The host's dispatch queues, when a libdispatch that this program can see is loaded: no dispatch header is needed,
 * and a libchime that carries its own copy leaves none to be seen.
 */
typedef void *(*queue_create_function)(const char *label, void *attribute);
typedef void (*release_function)(void *object);

static void *serial, *concurrent;

static void make_dispatch_queues(void) {
  void *found = dlsym(RTLD_DEFAULT, "dispatch_queue_create");
  void *attribute = dlsym(RTLD_DEFAULT, "_dispatch_queue_attr_concurrent");
  queue_create_function create;
  if (found == NULL || attribute == NULL) return;
  memcpy(&create, &found, sizeof create); /* ISO C has no cast from an object to a function pointer */
  serial = create("csuite.serial", NULL);
  concurrent = create("csuite.concurrent", attribute);
  csuite_set_dispatch_queues(serial, concurrent);
}

static void release_dispatch_queues(void) {
  void *found = dlsym(RTLD_DEFAULT, "dispatch_release");
  release_function release;
  if (found == NULL || serial == NULL) return;
  memcpy(&release, &found, sizeof release);
  csuite_set_dispatch_queues(NULL, NULL);
  release(serial);
  release(concurrent);
}

static void run(const char *name, int (*run_test)(int, char *, size_t), int i) {
  char message[2048];
  int result;
  running = name;
  alarm(patience());
  result = run_test(i, message, sizeof message);
  alarm(0);
  switch (result) {
    case CSUITE_PASSED:
      passed++;
      printf("ok %s\n", name);
      break;
    case CSUITE_SKIPPED:
      skipped++;
      printf("skipped %s: %s\n", name, message);
      break;
    default:
      failed++;
      printf("FAILED %s: %s\n", name, message);
      break;
  }
  fflush(stdout);
}

static int is_wanted(const char *name, int count, char **names) {
  int i;
  if (count == 0) return 1;
  for (i = 0; i < count; i++) {
    if (strcmp(name, names[i]) == 0) return 1;
  }
  return 0;
}

static int is_known(const char *name) {
  int i;
  for (i = 0; i < csuite_main_count(); i++) {
    if (strcmp(name, csuite_main_name(i)) == 0) return 1;
  }
  for (i = 0; i < csuite_count(); i++) {
    if (strcmp(name, csuite_name(i)) == 0) return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  int i;
  int list = argc == 2 && strcmp(argv[1], "--list") == 0;
  if (list) argc = 1;
  for (i = 1; i < argc; i++) {
    if (is_known(argv[i])) continue;
    failed++;
    printf("FAILED %s: there is no such test\n", argv[i]);
  }
  if (!list) {
    signal(SIGALRM, give_up);
    make_dispatch_queues();
  }
  for (i = 0; i < csuite_main_count(); i++) {
    const char *name = csuite_main_name(i);
    if (list) {
      puts(name);
    } else if (is_wanted(name, argc - 1, argv + 1)) {
      run(name, csuite_main_run, i);
    }
  }
  for (i = 0; i < csuite_count(); i++) {
    const char *name = csuite_name(i);
    if (list) {
      puts(name);
    } else if (is_wanted(name, argc - 1, argv + 1)) {
      run(name, csuite_run, i);
    }
  }
  if (list) return 0;
  release_dispatch_queues();
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed == 0 ? 0 : 1;
}
