/* harness.c - see harness.h and csuite.h: tests and their runs, expectations, queues, threads. (Probes: probes.c.) */
#include "harness.h"

#include <errno.h>
#include <stdarg.h>

#include "csuite.h"

enum { MESSAGE_CAPACITY = 2048, LOG_CAPACITY = 32768, MOST_QUEUES = 32, MOST_MESSAGES = 6 };

/* Precedes each piece of memory, which is as strictly aligned as what calloc gives. */
typedef struct block {
  struct block *next;
  int64_t fill;
} block;

typedef struct ending {
  void (*function)(void *context);
  void *context;
  struct ending *next;
} ending;

typedef struct owned_queue {
  chime_queue_t queue;
  int64_t timeout_ns;
  chime_run_loop_t loop; /* 0: it has none */
  pthread_t host;        /* drives it */
  int has_host;
} owned_queue;

struct csuite {
  const csuite_test *test;
  pthread_mutex_t mutex; /* guards message, failures, skipped, log, blocks and endings */
  char message[MESSAGE_CAPACITY];
  int failures;
  int skipped;
  int keep;
  char log[LOG_CAPACITY];
  size_t log_length;
  block *blocks;
  ending *endings;
  owned_queue queues[MOST_QUEUES];
  int queue_count;
  csuite *next_kept;
};

/* Runs whose memory is kept for ever, so that a leak checker finds them. */
static csuite *kept;

int csuite_has_dispatch(void) {
  static int answer; /* 0: not asked yet */
  if (load(&answer) == 0) {
    chime_queue_t queue = 0;
    store(&answer, chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &queue) == CHIME_ERROR_UNSUPPORTED ? -1 : 1);
    chime_queue_release(queue);
  }
  return load(&answer) > 0;
}

static void *wrapped[2]; /* set before the first test */

void csuite_set_dispatch_queues(void *serial, void *concurrent) {
  wrapped[0] = serial;
  wrapped[1] = concurrent;
}

void *csuite_wrapped(where place) { return wrapped[place == WRAPPED_CONCURRENT]; }

/* ---- The list of tests ------------------------------------------------------------------------------------------- */

static csuite_test *tests;

static int comes_before(const csuite_test *a, const csuite_test *b) {
  int order = (a->where != ANYWHERE) - (b->where != ANYWHERE);
  if (order == 0) order = strcmp(a->file, b->file);
  return order != 0 ? order < 0 : a->line <= b->line;
}

void csuite_add(csuite_test *test) {
  csuite_test **place = &tests;
  while (*place != NULL && comes_before(*place, test)) place = &(*place)->next;
  test->next = *place;
  *place = test;
}

static const csuite_test *find_test(int index) {
  const csuite_test *test = tests;
  while (index-- > 0) test = test->next;
  return test;
}

static int count_tests(int with_those_alone) {
  const csuite_test *test = tests;
  int count = 0;
  for (; test != NULL && (with_those_alone || test->where == ANYWHERE); test = test->next) count++;
  return count;
}

int csuite_count(void) { return count_tests(0); }
int csuite_count_all(void) { return count_tests(1); }
const char *csuite_name(int i) { return find_test(i)->name; }

/* ---- One run ---------------------------------------------------------------------------------------------------- */

static void run_end_queues(csuite *t) {
  while (t->queue_count > 0) {
    owned_queue *q = &t->queues[--t->queue_count];
    chime_status status = chime_queue_shutdown(q->queue, q->timeout_ns);
    if (q->loop != 0) chime_run_loop_release(q->loop);
    if (q->has_host) pthread_join(q->host, NULL); /* its queue has ended, and so its loop */
    if (status == CHIME_IGNORED || status == CHIME_ERROR_INVALID_HANDLE) continue; /* the test ended it */
    if (!csuite_expect_status(t, status, CHIME_OK, __FILE__, __LINE__, "the shutdown at the end of the test")) {
      t->keep = 1;
    }
  }
}

static void run_free(csuite *t) {
  if (t->keep) {
    csuite *first = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
    do {
      t->next_kept = first;
    } while (!__atomic_compare_exchange_n(&kept, &first, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return;
  }
  while (t->blocks != NULL) {
    block *first = t->blocks;
    t->blocks = first->next;
    free(first);
  }
  pthread_mutex_destroy(&t->mutex);
  free(t);
}

/* The stop comes when the queues of the test have ended: until then somebody must drain them. */
static void *run_to_the_end(void *argument) {
  csuite *t = argument;
  t->test->run(t);
  for (; t->endings != NULL; t->endings = t->endings->next) t->endings->function(t->endings->context);
  run_end_queues(t);
  if (t->test->where == ON_THE_MAIN_QUEUE) chime_main_stop();
  return NULL;
}

static void run_beside_the_main_queue(csuite *t) {
  pthread_t thread;
  if (!spawn(t, &thread, run_to_the_end, t)) return;
  EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
}

int csuite_run_test(const csuite_test *test, char *message, size_t capacity) {
  csuite *t = calloc(1, sizeof *t);
  if (t == NULL) abort(); /* the test program itself is out of memory */
  pthread_mutex_init(&t->mutex, NULL);
  t->test = test;
  if (test->where == ON_THE_MAIN_QUEUE) run_beside_the_main_queue(t);
  else run_to_the_end(t);
  pthread_mutex_lock(&t->mutex);
  snprintf(message, capacity, "%s", t->message);
  int result = t->failures > 0 ? CSUITE_FAILED : t->skipped ? CSUITE_SKIPPED : CSUITE_PASSED;
  pthread_mutex_unlock(&t->mutex);
  run_free(t);
  return result;
}

int csuite_run(int i, char *message, size_t capacity) { return csuite_run_test(find_test(i), message, capacity); }

void *csuite_memory(csuite *t, size_t size) {
  block *b = calloc(1, sizeof(block) + size);
  if (b == NULL) abort();
  pthread_mutex_lock(&t->mutex);
  b->next = t->blocks;
  t->blocks = b;
  pthread_mutex_unlock(&t->mutex);
  return b + 1;
}

void csuite_ends(csuite *t, chime_queue_t queue, int64_t timeout_ns) {
  if (!csuite_expect(t, t->queue_count < MOST_QUEUES, __FILE__, __LINE__, "fewer than 32 queues in one test")) return;
  t->queues[t->queue_count++] = (owned_queue){.queue = queue, .timeout_ns = timeout_ns};
}

void csuite_finally(csuite *t, void (*function)(void *context), void *context) {
  ending *e = csuite_memory(t, sizeof *e);
  e->function = function;
  e->context = context;
  pthread_mutex_lock(&t->mutex);
  e->next = t->endings;
  t->endings = e;
  pthread_mutex_unlock(&t->mutex);
}

void csuite_keep_memory(csuite *t) { t->keep = 1; }

int csuite_scaled(int n) {
  const char *text = getenv("CSUITE_SCALE");
  long scale = text == NULL ? 1 : strtol(text, NULL, 10);
  if (scale < 1) scale = 1;
  return n / scale < 1 ? 1 : (int)(n / scale);
}

/* ---- Expectations ----------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static int fail(csuite *t, const char *file, int line, const char *format, ...) {
  const char *slash = strrchr(file, '/');
  va_list arguments;
  char text[1024];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&t->mutex);
  if (t->failures == 0) t->message[0] = 0; /* a skip that was noted before */
  size_t length = strlen(t->message);
  if (t->failures < MOST_MESSAGES) {
    snprintf(t->message + length, MESSAGE_CAPACITY - length, "%s%s:%d: %s", length > 0 ? "; " : "",
             slash == NULL ? file : slash + 1, line, text);
  } else if (t->failures == MOST_MESSAGES) {
    snprintf(t->message + length, MESSAGE_CAPACITY - length, "; and more");
  }
  t->failures++;
  pthread_mutex_unlock(&t->mutex);
  return 0;
}

int csuite_expect(csuite *t, int holds, const char *file, int line, const char *text) {
  return holds ? 1 : fail(t, file, line, "expected %s", text);
}

int csuite_expect_equal(csuite *t, int64_t actual, int64_t expected, const char *file, int line, const char *text) {
  if (actual == expected) return 1;
  return fail(t, file, line, "%s is %" PRId64 ", expected %" PRId64, text, actual, expected);
}

int csuite_expect_between(csuite *t, int64_t actual, int64_t low, int64_t high, const char *file, int line,
                          const char *text) {
  if (actual >= low && actual <= high) return 1;
  return fail(t, file, line, "%s is %" PRId64 ", expected %" PRId64 " to %" PRId64, text, actual, low, high);
}

/* A clock that no test asks for: the sentence on it is known for a stale one. */
enum { NO_CLOCK = 123454321 };

void csuite_outdate_detail(void) {
  int64_t now;
  chime_now(NO_CLOCK, &now);
}

/* Whether a call that fails has left a sentence of its own, or emptied the one before: only for want of memory is there
   nothing to say. */
static int has_detail(csuite *t, chime_status status, const char *file, int line, const char *text) {
  /* A status that a variable holds is of an earlier call. */
  if (!CHIME_FAILED(status) || strstr(text, "(") == NULL) return 1;
  const char *detail = chime_last_error_detail();
  if ((detail[0] != 0 || status == CHIME_ERROR_NO_MEMORY) && strstr(detail, "123454321") == NULL &&
      strchr(detail, '%') == NULL) {
    return 1;
  }
  return fail(t, file, line, "%s is %s, and its detail is \"%s\"", text, chime_status_name(status), detail);
}

int csuite_expect_status(csuite *t, chime_status actual, chime_status expected, const char *file, int line,
                         const char *text) {
  if (actual == expected) return has_detail(t, actual, file, line, text);
  return fail(t, file, line, "%s is %s (%" PRId32 "), expected %s", text, chime_status_name(actual), actual,
              chime_status_name(expected));
}

chime_status csuite_ok_if_running(chime_status status) { return status == CHIME_RUNNING ? CHIME_OK : status; }

int csuite_expect_text(csuite *t, const char *actual, const char *expected, const char *file, int line,
                       const char *text) {
  if (actual != NULL && strcmp(actual, expected) == 0) return 1;
  return fail(t, file, line, "%s is \"%s\", expected \"%s\"", text, actual == NULL ? "(null)" : actual, expected);
}

int csuite_failed(csuite *t) {
  pthread_mutex_lock(&t->mutex);
  int failures = t->failures;
  pthread_mutex_unlock(&t->mutex);
  return failures > 0;
}

void csuite_skip(csuite *t, const char *why) {
  pthread_mutex_lock(&t->mutex);
  t->skipped = 1;
  if (t->failures == 0) snprintf(t->message, MESSAGE_CAPACITY, "%s", why);
  pthread_mutex_unlock(&t->mutex);
}

int stands_on_dispatch(where place) {
  return place == DISPATCH || place == WRAPPED_SERIAL || place == WRAPPED_CONCURRENT;
}

void csuite_log(csuite *t, const char *format, ...) {
  va_list arguments;
  char text[128];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&t->mutex);
  if (t->log_length < LOG_CAPACITY - sizeof text - 1) {
    t->log_length += (size_t)sprintf(t->log + t->log_length, "%s%s", t->log_length > 0 ? " " : "", text);
  }
  pthread_mutex_unlock(&t->mutex);
}

int csuite_expect_log(csuite *t, const char *expected, const char *file, int line) {
  char actual[512];
  pthread_mutex_lock(&t->mutex);
  int equal = strcmp(t->log, expected) == 0;
  snprintf(actual, sizeof actual, "%.*s", (int)sizeof actual - 1, t->log);
  t->log_length = 0;
  t->log[0] = 0;
  pthread_mutex_unlock(&t->mutex);
  if (equal) return 1;
  return fail(t, file, line, "the timeline is \"%s\", expected \"%s\"", actual, expected);
}

/* ---- Queues ----------------------------------------------------------------------------------------------------- */

static void *drive(void *argument) {
  chime_queue_t queue = (chime_queue_t)(uintptr_t)argument;
  chime_queue_run(queue, CHIME_QUEUE_RUN_UNTIL_STOPPED);
  return NULL;
}

chime_queue_t csuite_queue(csuite *t, where place) {
  chime_queue_t queue = 0;
  chime_run_loop_t loop = 0;
  chime_status status;
  int is_wrapped = place == WRAPPED_SERIAL || place == WRAPPED_CONCURRENT;
  if (stands_on_dispatch(place) && !csuite_has_dispatch()) {
    csuite_skip(t, "the library has no libdispatch");
    return 0;
  }
  if (is_wrapped && csuite_wrapped(place) == NULL) {
    csuite_skip(t, "no dispatch queue was given to the suite");
    return 0;
  }
  status = is_wrapped ? chime_queue_create_on_dispatch(csuite_wrapped(place), NULL, &queue)
                      : create_queue(place, NULL, &queue, &loop);
  if (!EXPECT_OK(status) || !EXPECT(queue != 0)) return 0;
  csuite_ends(t, queue, PATIENCE);
  owned_queue *q = &t->queues[t->queue_count - 1];
  q->loop = loop;
  if (place == HOST) q->has_host = spawn(t, &q->host, drive, (void *)(uintptr_t)queue);
  return queue;
}

chime_queue_t csuite_queue_with(csuite *t, chime_queue_kind kind, const chime_queue_options *options) {
  chime_queue_t queue = 0;
  if (!EXPECT_OK(chime_queue_create(kind, options, &queue))) return 0;
  csuite_ends(t, queue, PATIENCE);
  return queue;
}

chime_queue_t host_queue(csuite *t, uint32_t flags) {
  return csuite_queue_with(t, CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.flags = flags));
}

uint32_t process(csuite *t, chime_queue_t queue, uint32_t max) {
  uint32_t count = 99;
  EXPECT_OK(chime_queue_process(queue, max, &count));
  return count;
}

int is_readable(int fd, int milliseconds) { return system_is_readable(fd, milliseconds); }

int process_until(csuite *t, chime_queue_t queue, const int *value, int least) {
  int fd = fd_of(t, queue);
  while (load(value) < least && EXPECT(is_readable(fd, LONG))) process(t, queue, 0);
  return load(value) >= least;
}

void run_due(csuite *t, chime_queue_t queue, where place) {
  if (place == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 0));
}

void csuite_shutdown(csuite *t, chime_queue_t queue) { EXPECT_OK(chime_queue_shutdown(queue, PATIENCE)); }

/* ---- Waiting and threads ---------------------------------------------------------------------------------------- */

void let_later_ticks_come(csuite *t, chime_queue_t queue, int64_t delay_ns) {
  for (int i = 0; i < 4; i++) {
    probe *p = probe_quiet(t, queue, i == 0 ? delay_ns : 0, 0, NULL);
    if (!EXPECT(await(&p->returned, 1))) return;
    EXPECT_TOOK_EFFECT(chime_timer_release(p->timer));
  }
}

int runs_side_by_side(where place) { return place == CONCURRENT || place == WRAPPED_CONCURRENT; }

int spawn(csuite *t, pthread_t *thread, void *(*body)(void *), void *argument) {
  int64_t end = monotonic_ns() + PATIENCE;
  int error;
  while ((error = pthread_create(thread, NULL, body, argument)) == EAGAIN && monotonic_ns() < end) {
    sleep_ns(CHIME_MILLISECOND); /* the machine has none to give */
  }
  return EXPECT_EQ(error, 0);
}

void run_on_a_thread(csuite *t, void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (spawn(t, &thread, body, argument)) pthread_join(thread, NULL);
}

typedef struct namesake {
  pthread_t ended;
  int is_one;
  void *(*body)(void *);
  void *argument;
} namesake;

static void *run_if_a_namesake(void *argument) {
  namesake *n = argument;
  n->is_one = pthread_equal(pthread_self(), n->ended);
  if (n->is_one) n->body(n->argument);
  return NULL;
}

void run_on_a_namesake(csuite *t, pthread_t ended, void *(*body)(void *), void *argument) {
  enum { MOST = 1000 };
  namesake n = {ended, 0, body, argument};
  for (int i = 0; i < MOST && !n.is_one && !csuite_failed(t); i++) run_on_a_thread(t, run_if_a_namesake, &n);
  if (!n.is_one) csuite_skip(t, "no thread got the pthread_self of the one before");
}

int64_t roll_below(dice *d, int64_t bound) {
  d->state ^= d->state >> 12;
  d->state ^= d->state << 25;
  d->state ^= d->state >> 27;
  return (int64_t)((d->state * UINT64_C(2685821657736338717) >> 1) % (uint64_t)bound);
}
