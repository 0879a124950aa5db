/* csuite.c - the lists of tests, and the run of one. The tests themselves are in the files named by subject. */
#include "csuite.h"

#include "harness.h"

/* Defined in harness.c. */
int csuite_run_test(const csuite_test *test, char *message, size_t capacity);

static const csuite_test *const files[] = {
    /* clang-format off */
    arguments_tests, states_tests, virtual_tests, lifetime_tests, dispatch_tests, queries_tests, seeing_tests, storm_tests,
    moves_storm_tests, pairs_storm_tests, ids_storm_tests, queues_storm_tests,
    statuses_tests, host_tests, endings_tests, targets_tests, targets_storm_tests, run_loop_tests, weak_timer_tests,
    named_handlers_tests, named_handlers_storm_tests, expiring_tests, expiring_storm_tests,
    known_libuv_tests, known_libevent_tests, known_go_tests, known_tokio_tests, known_nio_tests, known_dispatch_tests,
    known_timeout_tests, promises_tests, passes_tests, unchanging_tests, turns_tests, functions_tests, reused_tests,
    release_and_wait_tests, error_detail_tests,
    /* clang-format on */
};

/* Those that need the process's main thread, or the process to themselves. The tests on the main queue are among the
   files above, beside those on the other queues: their names tell. */
static const csuite_test *const main_files[] = {main_queue_tests, run_loop_main_tests, memory_main_tests};

#define LISTS(lists) lists, sizeof lists / sizeof lists[0]

static int is_on_the_main_queue(const csuite_test *test) {
  static const char ending[] = "_on_the_main_queue";
  size_t length = strlen(test->name), ending_length = sizeof ending - 1;
  return length > ending_length && strcmp(test->name + length - ending_length, ending) == 0;
}

/* Test `index` of those that are on the main queue, or of those that are not. */
static const csuite_test *find_test(const csuite_test *const *lists, size_t count, int on_the_main_queue, int index) {
  size_t list;
  if (index < 0) return NULL;
  for (list = 0; list < count; list++) {
    const csuite_test *test;
    for (test = lists[list]; test->name != NULL; test++) {
      if (is_on_the_main_queue(test) == on_the_main_queue && index-- == 0) return test;
    }
  }
  return NULL;
}

/* In one walk: the count is asked for once for each test. */
static int count_tests(const csuite_test *const *lists, size_t lists_count, int on_the_main_queue) {
  int count = 0;
  size_t list;
  for (list = 0; list < lists_count; list++) {
    const csuite_test *test;
    for (test = lists[list]; test->name != NULL; test++) count += is_on_the_main_queue(test) == on_the_main_queue;
  }
  return count;
}

static const csuite_test *test_at(int index) { return find_test(LISTS(files), 0, index); }

static const csuite_test *main_test_at(int index) {
  int before = count_tests(LISTS(main_files), 0);
  return index < before ? find_test(LISTS(main_files), 0, index) : find_test(LISTS(files), 1, index - before);
}

int csuite_count(void) { return count_tests(LISTS(files), 0); }

const char *csuite_name(int i) {
  const csuite_test *test = test_at(i);
  return test == NULL ? NULL : test->name;
}

int csuite_run(int i, char *message, size_t capacity) { return csuite_run_test(test_at(i), message, capacity); }

int csuite_main_count(void) { return count_tests(LISTS(main_files), 0) + count_tests(LISTS(files), 1); }

const char *csuite_main_name(int i) {
  const csuite_test *test = main_test_at(i);
  return test == NULL ? NULL : test->name;
}

/* ---- On the main queue ------------------------------------------------------------------------------------------ */

typedef struct main_queue_run {
  const csuite_test *test;
  char *message;
  size_t capacity;
  int result;
} main_queue_run;

/* The stop comes when the queues of the test have ended: until then somebody must drain them. */
static void *run_and_stop(void *argument) {
  main_queue_run *run = argument;
  run->result = csuite_run_test(run->test, run->message, run->capacity);
  chime_main_stop();
  return NULL;
}

static int run_on_the_main_queue(const csuite_test *test, char *message, size_t capacity) {
  main_queue_run run = {test, message, capacity, CSUITE_FAILED};
  pthread_t thread;
  chime_status status;
  if (pthread_create(&thread, NULL, run_and_stop, &run) != 0) {
    if (message != NULL && capacity > 0) snprintf(message, capacity, "no thread");
    return CSUITE_FAILED;
  }
  status = chime_main_run();
  pthread_join(thread, NULL);
  if (status == CHIME_STOPPED) return run.result;
  if (status == CHIME_ERROR_UNSUPPORTED && run.result == CSUITE_SKIPPED) return run.result; /* without libdispatch */
  if (message != NULL && capacity > 0) {
    snprintf(message, capacity, "chime_main_run is %s, expected CHIME_STOPPED", chime_status_name(status));
  }
  return CSUITE_FAILED;
}

int csuite_main_run(int i, char *message, size_t capacity) {
  const csuite_test *test = main_test_at(i);
  if (test != NULL && is_on_the_main_queue(test)) return run_on_the_main_queue(test, message, capacity);
  return csuite_run_test(test, message, capacity);
}
