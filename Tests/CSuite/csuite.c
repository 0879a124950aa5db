/* csuite.c - the lists of tests, and the run of one. The tests themselves are in the files named by subject. */
#include "csuite.h"

#include "harness.h"

/* Defined in harness.c. */
int csuite_run_test(const csuite_test *test, char *message, size_t capacity);

static const csuite_test *const files[] = {
    arguments_tests, states_tests, virtual_tests, lifetime_tests, dispatch_tests, queries_tests, seeing_tests, storm_tests,
    moves_storm_tests, pairs_storm_tests, ids_storm_tests, queues_storm_tests,
    statuses_tests, host_tests, endings_tests, targets_tests, targets_storm_tests, run_loop_tests, weak_timer_tests,
    named_handlers_tests, named_handlers_storm_tests, expiring_tests, expiring_storm_tests,
    known_libuv_tests, known_libevent_tests, known_go_tests, known_tokio_tests, known_nio_tests, known_dispatch_tests,
    known_timeout_tests, promises_tests,
};

/* Those that need the process's main thread, or the process to themselves. */
static const csuite_test *const main_files[] = {main_queue_tests, run_loop_main_tests, memory_main_tests};

static const csuite_test *find_test(const csuite_test *const *lists, size_t count, int index) {
  size_t list;
  if (index < 0) return NULL;
  for (list = 0; list < count; list++) {
    const csuite_test *test;
    for (test = lists[list]; test->name != NULL; test++) {
      if (index-- == 0) return test;
    }
  }
  return NULL;
}

/* In one walk: the count is asked for once for each test. */
static int count_tests(const csuite_test *const *lists, size_t lists_count) {
  int count = 0;
  size_t list;
  for (list = 0; list < lists_count; list++) {
    const csuite_test *test;
    for (test = lists[list]; test->name != NULL; test++) count++;
  }
  return count;
}

static const csuite_test *test_at(int index) { return find_test(files, sizeof files / sizeof files[0], index); }

static const csuite_test *main_test_at(int index) {
  return find_test(main_files, sizeof main_files / sizeof main_files[0], index);
}

int csuite_count(void) { return count_tests(files, sizeof files / sizeof files[0]); }

const char *csuite_name(int i) {
  const csuite_test *test = test_at(i);
  return test == NULL ? NULL : test->name;
}

int csuite_run(int i, char *message, size_t capacity) { return csuite_run_test(test_at(i), message, capacity); }

int csuite_main_count(void) { return count_tests(main_files, sizeof main_files / sizeof main_files[0]); }

const char *csuite_main_name(int i) {
  const csuite_test *test = main_test_at(i);
  return test == NULL ? NULL : test->name;
}

int csuite_main_run(int i, char *message, size_t capacity) {
  return csuite_run_test(main_test_at(i), message, capacity);
}
