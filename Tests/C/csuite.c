/* csuite.c - what csuite.h declares: the tests by number, and the run of one. */
#include "csuite.h"

#include "harness.h"

static const csuite_test *find_test(int index) {
  const csuite_test *test = csuite_first_test();
  while (index-- > 0) test = test->next;
  return test;
}

static int count_tests(int with_those_alone) {
  const csuite_test *test = csuite_first_test();
  int count = 0;
  for (; test != NULL && (with_those_alone || test->where == ANYWHERE); test = test->next) count++;
  return count;
}

int csuite_count(void) { return count_tests(0); }
int csuite_count_all(void) { return count_tests(1); }
const char *csuite_name(int i) { return find_test(i)->name; }

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
  if (pthread_create(&thread, NULL, run_and_stop, &run) != 0) {
    snprintf(message, capacity, "no thread");
    return CSUITE_FAILED;
  }
  chime_status status = chime_main_run();
  pthread_join(thread, NULL);
  if (status == CHIME_STOPPED) return run.result;
  if (status == CHIME_ERROR_UNSUPPORTED && run.result == CSUITE_SKIPPED) return run.result; /* without libdispatch */
  snprintf(message, capacity, "chime_main_run is %s, expected CHIME_STOPPED", chime_status_name(status));
  return CSUITE_FAILED;
}

int csuite_run(int i, char *message, size_t capacity) {
  const csuite_test *test = find_test(i);
  return test->where == ON_THE_MAIN_QUEUE ? run_on_the_main_queue(test, message, capacity)
                                          : csuite_run_test(test, message, capacity);
}
