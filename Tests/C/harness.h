/*
 * harness.h - what the tests of the suite share.
 *
 * A `csuite` is one run of one test: it collects failures (from every thread), owns the memory of the test and ends
 * the queues it handed out. Memory lives until every queue has been shut down; if one cannot be, it is never freed,
 * so that a late callback finds it.
 *
 * The macros expect a variable `csuite *t` in scope.
 */
#ifndef CSUITE_HARNESS_H
#define CSUITE_HARNESS_H

#include "basics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct csuite csuite;

/* Where a test runs. ALONE: it needs the process's main thread, or the process to itself. */
typedef enum csuite_where { ANYWHERE, ALONE, ON_THE_MAIN_QUEUE } csuite_where;

typedef struct csuite_test {
  const char *name;
  void (*run)(csuite *t);
  csuite_where where;
  const char *file;
  int line;
  struct csuite_test *next;
} csuite_test;

/* ---- Tests: defined and added to the suite in one place ---------------------------------------------------------- */

/** Adds a test to the list: in the order of files and lines, those not for ANYWHERE last. Before main begins. */
void csuite_add(csuite_test *test);

/** Runs a test, which need not be in the list; returns and answers as csuite_run does (csuite.h). */
int csuite_run_test(const csuite_test *test, char *message, size_t capacity);

#define CSUITE_ADD(name, function, where) \
  static void function(csuite *t); \
  __attribute__((constructor)) static void add_##function(void) { \
    static csuite_test test = {name, function, where, __FILE__, __LINE__, NULL}; \
    csuite_add(&test); \
  }

/* TEST(a_sentence) { ... } defines a test; `t` names its run. */
#define TEST(name) \
  CSUITE_ADD(#name, name, ANYWHERE) \
  static void name(csuite *t)

/* The same for one that needs the process's main thread, or the process to itself. */
#define TEST_ALONE(name) \
  CSUITE_ADD(#name, name, ALONE) \
  static void name(csuite *t)

/* One of these with a queue, which the test ends. */
#define ON_A_QUEUE(test, name, made) \
  static void name##_with(csuite *t, chime_queue_t queue); \
  test(name) { \
    chime_queue_t queue = made; \
    if (queue != 0) name##_with(t, queue); \
  } \
  static void name##_with(csuite *t, chime_queue_t queue)
#define VIRTUAL_TEST(name) ON_A_QUEUE(TEST, name, csuite_queue(t, VIRTUAL))
#define SERIAL_TEST(name) ON_A_QUEUE(TEST, name, csuite_queue(t, SERIAL))
/* On a host-driven queue that the test drives itself. */
#define HOST_TEST(name, flags) ON_A_QUEUE(TEST, name, host_queue(t, flags))

/*
 * TESTS_ON_...(a_sentence) { ... } defines a test for each of those kinds of queue: `place` is the kind. What ends in
 * _on_the_main_queue runs on a thread of its own while the process's main thread runs chime_main_run (harness.c).
 */
#define TESTS_ON(name) static void name(csuite *t, where place, chime_queue_t queue)
#define TEST_ON(name, kind, place) \
  CSUITE_ADD(#name "_on_" #kind, name##_on_##kind, place == MAIN ? ON_THE_MAIN_QUEUE : ANYWHERE) \
  static void name##_on_##kind(csuite *t) { \
    chime_queue_t queue = csuite_queue(t, place); \
    if (queue != 0) name(t, place, queue); \
  }
#define TESTS_ON_DISPATCH_QUEUES(name) \
  TESTS_ON(name); \
  TEST_ON(name, a_serial_queue, SERIAL) \
  TEST_ON(name, a_concurrent_queue, CONCURRENT) \
  TEST_ON(name, a_dispatch_queue, DISPATCH) \
  TEST_ON(name, a_wrapped_serial_queue, WRAPPED_SERIAL) \
  TEST_ON(name, a_wrapped_concurrent_queue, WRAPPED_CONCURRENT) \
  TEST_ON(name, a_run_loop_queue, RUN_LOOP) \
  TEST_ON(name, a_host_driven_queue, HOST) \
  TEST_ON(name, a_precise_queue, PRECISE) \
  TEST_ON(name, the_main_queue, MAIN) \
  TESTS_ON(name)
#define TESTS_ON_ALL_QUEUES(name) \
  TESTS_ON(name); \
  TEST_ON(name, a_virtual_queue, VIRTUAL) \
  TESTS_ON_DISPATCH_QUEUES(name)
#define TESTS_ON_VIRTUAL_SERIAL_AND_MAIN(name) \
  TESTS_ON(name); \
  TEST_ON(name, a_virtual_queue, VIRTUAL) \
  TEST_ON(name, a_serial_queue, SERIAL) \
  TEST_ON(name, the_main_queue, MAIN) \
  TESTS_ON(name)

/* ---- Expectations: they record file, line and values, and go on ------------------------------------------------- */

int csuite_expect(csuite *t, int holds, const char *file, int line, const char *text);
int csuite_expect_equal(csuite *t, int64_t actual, int64_t expected, const char *file, int line, const char *text);
int csuite_expect_between(csuite *t, int64_t actual, int64_t low, int64_t high, const char *file, int line,
                          const char *text);
int csuite_expect_status(csuite *t, chime_status actual, chime_status expected, const char *file, int line,
                         const char *text);
void csuite_outdate_detail(void);
chime_status csuite_ok_if_running(chime_status status);
int csuite_expect_text(csuite *t, const char *actual, const char *expected, const char *file, int line,
                       const char *text);
int csuite_expect_log(csuite *t, const char *expected, const char *file, int line);
int csuite_failed(csuite *t);

#define EXPECT(condition) csuite_expect(t, (condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define EXPECT_EQ(actual, expected) \
  csuite_expect_equal(t, (int64_t)(actual), (int64_t)(expected), __FILE__, __LINE__, #actual)
#define EXPECT_BETWEEN(actual, low, high) \
  csuite_expect_between(t, (int64_t)(actual), (int64_t)(low), (int64_t)(high), __FILE__, __LINE__, #actual)
/* Of the statuses that have a sentence in chime_last_error_detail it also wants a fresh one. */
#define EXPECT_STATUS(actual, expected) \
  csuite_expect_status(t, (csuite_outdate_detail(), (actual)), (expected), __FILE__, __LINE__, #actual)
#define EXPECT_OK(actual) \
  csuite_expect_status(t, (csuite_outdate_detail(), (actual)), CHIME_OK, __FILE__, __LINE__, #actual)
/* OK or RUNNING, where which of them is not the subject. */
#define EXPECT_TOOK_EFFECT(actual) EXPECT_OK(csuite_ok_if_running(actual))
#define EXPECT_TEXT(actual, expected) csuite_expect_text(t, (actual), (expected), __FILE__, __LINE__, #actual)
/* Compares the log with a timeline and empties it. */
#define EXPECT_LOG(expected) csuite_expect_log(t, (expected), __FILE__, __LINE__)

/* The same, and leave the test: what follows would make no sense. */
#define REQUIRE(condition) \
  do { \
    if (!EXPECT(condition)) return; \
  } while (0)
#define REQUIRE_OK(actual) \
  do { \
    if (!EXPECT_OK(actual)) return; \
  } while (0)

/* ---- What a test uses ------------------------------------------------------------------------------------------- */

/** Zeroed memory that lives as long as the test. */
void *csuite_memory(csuite *t, size_t size);

/** Adds a token to the timeline. Any thread. */
void csuite_log(csuite *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Has the test end this queue by chime_queue_shutdown with that timeout; a queue that is gone by then is fine. */
void csuite_ends(csuite *t, chime_queue_t queue, int64_t timeout_ns);
/** Calls the function at the end of the test, before its queues end; what came last first. */
void csuite_finally(csuite *t, void (*function)(void *context), void *context);
/** For a test after which callbacks may still be under way: keeps its memory for ever. */
void csuite_keep_memory(csuite *t);
/** n divided by the environment variable CSUITE_SCALE, at least 1: for runs under valgrind and sanitizers. */
int csuite_scaled(int n);
/** Marks the test as skipped, unless something failed. */
void csuite_skip(csuite *t, const char *why);

/** A queue that the test ends; 0, with the failure recorded or the test skipped, when there is none. */
chime_queue_t csuite_queue(csuite *t, where place);
#define QUEUE_OR_RETURN(name, place) \
  chime_queue_t name = csuite_queue(t, place); \
  if (name == 0) return
/** The same with options; and a host-driven queue that the test drives itself. */
chime_queue_t csuite_queue_with(csuite *t, chime_queue_kind kind, const chime_queue_options *options);
chime_queue_t host_queue(csuite *t, uint32_t flags);

/**
 * Whether the library has libdispatch, by what it answers to a dispatch queue. Without it there are no dispatch and no
 * wrapped queues.
 */
int csuite_has_dispatch(void);
/** Whether queues of a kind are libdispatch's, and may be missing. */
int stands_on_dispatch(where place);
/** The dispatch queue, given by csuite_set_dispatch_queues, that a queue of that kind wraps; NULL: none was given. */
void *csuite_wrapped(where place);
/** Whether handlers of different timers run side by side there, so that later ticks come while a handler stays. */
int runs_side_by_side(where place);

/** chime_queue_process; returns how many callbacks ran. */
uint32_t process(csuite *t, chime_queue_t queue, uint32_t max);
/** Has a virtual queue run what is due; other queues do so by themselves. */
void run_due(csuite *t, chime_queue_t queue, where place);
/** Ends the queue; from then on nothing can be called any more, so that the counts are final. */
void csuite_shutdown(csuite *t, chime_queue_t queue);

/* Time of the virtual queue that the variable `queue` in scope names. */
#define ADVANCE(duration) EXPECT_OK(chime_queue_advance(queue, duration))
#define JUMP(duration) EXPECT_OK(chime_queue_jump(queue, duration))

/* ---- Waiting and threads ---------------------------------------------------------------------------------------- */

enum { LONG = (int)(PATIENCE / CHIME_MILLISECOND) };

/** Whether there is something to read within so many milliseconds. */
int is_readable(int fd, int milliseconds);

/** Processes whenever the queue's descriptor is readable, until *value is at least `least`. Returns 0 after LONG. */
int process_until(csuite *t, chime_queue_t queue, const int *value, int least);

/** Waits until a condition holds, with the failure recorded. */
#define AWAIT(condition) \
  do { \
    int64_t csuite_end = monotonic_ns() + PATIENCE; \
    while (!(condition) && EXPECT(monotonic_ns() < csuite_end)) sleep_ns(100 * CHIME_MICROSECOND); \
  } while (0)

/**
 * Starts one-shots on the queue, the first after that delay, each of the others when the one before has returned, and
 * waits for all of them. What was due before them has had its turn then: shows by order that something does not come.
 * The queue must be one that runs by itself.
 */
void let_later_ticks_come(csuite *t, chime_queue_t queue, int64_t delay_ns);

/** Starts a thread, or records a failure and returns 0. Each one that was started must be joined. */
int spawn(csuite *t, pthread_t *thread, void *(*body)(void *), void *argument);

/* THREAD(name, type, x) { ... }: such a body, whose argument is x, a `type` with the test's run as its member `t`. */
#define THREAD(name, type, x) \
  static void name##_runs(csuite *t, type *x); \
  static void *name(void *x) { \
    name##_runs(((type *)x)->t, x); \
    return NULL; \
  } \
  static void name##_runs(csuite *t, type *x)
/* The same, whose argument is the test's run. */
#define THREAD_OF_TEST(name) \
  static void name##_runs(csuite *t); \
  static void *name(void *t) { \
    name##_runs(t); \
    return NULL; \
  } \
  static void name##_runs(csuite *t)

/** Has a thread run the body, and waits for its end. */
void run_on_a_thread(csuite *t, void *(*body)(void *), void *argument);

/**
 * Has a thread run the body whose pthread_self is that of one that was joined: systems give it to another soon. Where none
 * of many threads gets it, the test is skipped.
 */
void run_on_a_namesake(csuite *t, pthread_t ended, void *(*body)(void *), void *argument);

/** A generator of pseudo-random numbers (xorshift64*), of one thread. */
typedef struct dice {
  uint64_t state;
} dice;
int64_t roll_below(dice *d, int64_t bound);

/* ---- What timers answer, and probes ------------------------------------------------------------------------------ */

/* A function that returns what the call tells of what has this id, and records its failure. */
#define ANSWER(name, type, call, otherwise) \
  type name(csuite *t, uint64_t id) { \
    type answer = otherwise; \
    EXPECT_OK(call(id, &answer)); \
    return answer; \
  }
chime_state state_of(csuite *t, chime_timer_t timer);
uint64_t generation_of(csuite *t, chime_timer_t timer);
int64_t deadline_of(csuite *t, chime_timer_t timer);
chime_timer_info info_of(csuite *t, chime_timer_t timer);
int64_t now_of(csuite *t, chime_queue_t queue);
int64_t next_deadline(csuite *t, chime_queue_t queue);
chime_waitable fd_of(csuite *t, chime_queue_t queue);
int32_t poll_timeout(csuite *t, chime_queue_t queue);
chime_queue_stats stats_of(csuite *t, chime_queue_t queue);
int is_stale(chime_timer_t timer);

/** Asks for something of the timer or its queue: in as many ways, of which the first two are the shortest. */
enum { QUERIES = 9 };
chime_status query(int kind, chime_queue_t queue, chime_timer_t timer);

/*
 * A probe is the context of a timer, of a named handler, of a function or of the handler of an expiry, or the object
 * of a target or a value. Its callbacks check what holds for each of them, write the timeline, count, and call the
 * test's action. In a timeline, with name `a`:
 *     a^           registration handler           a-           cancel handler        a.   finalizer, destructor
 *     a3@10        third tick, due and started at 10; a@10 an expiry
 *     a3@10>15     third tick, due at 10, started at 15
 *     a3+2>35      third tick, 2 missed, started at 35: which of the three due times it names is left open
 *     a3!10        third tick, kind FIRED, asked for and started at 10
 *     a3           named handler, in the third tick
 */
typedef struct probe probe;
typedef void (*probe_action)(csuite *t, probe *p, const chime_tick *tick);
struct probe {
  csuite *t;
  const char *name;
  chime_queue_t queue;
  chime_timer_t timer;
  probe_action on_tick;
  probe_action on_armed;
  probe_action on_cancelled;
  void (*on_finalize)(csuite *t, probe *p);
  probe *target; /* the object of its timer's target */
  probe *owner;  /* of a named handler: its timer; of the handler of an expiry: the value */
  uint64_t id;   /* of the target or the value whose object it is */
  probe *other;  /* this and those that follow for the action's use */
  void *user;
  int64_t number;
  chime_status status;
  chime_tick first; /* of its DUE and FIRED ticks */
  chime_tick last;
  int64_t missed;   /* of all its ticks */
  pthread_t thread; /* of its last callback */
  int quiet;        /* 1: nothing in the timeline */
  /* read and written by load, store and add */
  int ticks;
  int armed;
  int cancelled;
  int finalized;
  int busy;
  int returned; /* handlers for ticks that have returned */
  int gate;     /* for the action's use */
  int flag;
};

/** Where its name is NULL it is quiet: there is nothing of it in the timeline. */
probe *probe_new(csuite *t, chime_queue_t queue, const char *name);
/** Options with the probe's handler, finalizer and target. */
chime_timer_options probe_options(probe *p);
/** The same with registration and cancel handlers. */
chime_timer_options probe_full_options(probe *p);
/** An idle timer. */
probe *probe_idle(csuite *t, chime_queue_t queue, const char *name);
/** A running timer. */
probe *probe_start(csuite *t, chime_queue_t queue, const char *name, const chime_schedule *schedule);
/** A running timer with registration and cancel handlers; an idle one, where there is no schedule. */
probe *probe_start_full(csuite *t, chime_queue_t queue, const char *name, const chime_schedule *schedule);
/** Starts a one-shot. */
probe *probe_after(csuite *t, chime_queue_t queue, const char *name, int64_t delay_ns);
/** Starts a repeating timer. */
probe *probe_every(csuite *t, chime_queue_t queue, const char *name, int64_t interval_ns);
/** The same, quiet from its first tick. */
probe *probe_every_quietly(csuite *t, chime_queue_t queue, int64_t interval_ns);
/** Starts a quiet timer that has this action from its first tick; NULL: none. */
probe *probe_quiet(csuite *t, chime_queue_t queue, int64_t first_ns, int64_t interval_ns, probe_action on_tick);
void probe_handler(const chime_tick *tick, void *context);
void probe_function(void *context);
void probe_finalizer(void *context);

/** The object of a new target, of a new value. */
probe *probe_target(csuite *t, const char *name);
probe *probe_value(csuite *t, chime_queue_t queue, const char *name, int64_t lifetime_ns);
void expect_vanished(const probe *value);
/** For a named handler of that timer, or the handler of that value's expiry; as quiet as it is. */
probe *probe_of_owner(probe *owner, const char *name);
/** chime_timer_add_handler, and chime_expiring_on_expiry. */
chime_status probe_add(probe *p, const char *key);
chime_status probe_expects(probe *p);

/** An action: tells that the handler has begun (flag 1), and stays in it until the gate is opened (gate 1). */
void stay_until_gate_opens(csuite *t, probe *p, const chime_tick *tick);
void open_gate(probe *p);
/** Starts a quiet timer that is due at once, and returns when its handler has begun; it stays until open_gate. */
probe *probe_held(csuite *t, chime_queue_t queue, int64_t interval_ns);

/* What a repeating timer of an exact first deadline is checked against; the probe's user. */
typedef struct grid {
  int64_t first_ns;
  int64_t interval_ns;
  int64_t due_times; /* delivered and missed so far */
} grid;

/** An action, in real time: the tick names a point of the grid, and no due time is counted before it came. */
void check_grid(csuite *t, probe *p, const chime_tick *tick);

/** Waits until the timer is finished and its last handler has returned. Returns 0 after PATIENCE. */
int await_finished(csuite *t, chime_timer_t timer);

/** Waits until no handler of the timer runs, or it is stale. */
void come_to_rest(csuite *t, chime_timer_t timer);

#endif /* CSUITE_HARNESS_H */
