/*
 * fork.c - a process with armed timers forks: promise 15. In the child every call answers FORKED until
 * chime_reinitialize; then every kind of queue works but libdispatch's, which says that it does not. The parent's timers notice nothing, whatever the child does with its copies.
 */
#include "calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK = 5 * CHIME_MILLISECOND };

/* What the parent has, on every kind of queue. The main queue is drained only while somebody waits for its ticks. */
static world worlds[PLACES];
static int ticks[PLACES];
static chime_run_loop_t loop; /* of the thread that forks */

static void *stop_main_at(void *least) {
  await(&ticks[MAIN], *(int *)least);
  chime_main_stop();
  return NULL;
}

static void await_more_ticks(int more) {
  int where, least = load(&ticks[MAIN]) + more;
  pthread_t stopper;
  for (where = 0; where < PLACES; where++) {
    if (where != VIRTUAL && where != MAIN && place_is_there(where))
      EXPECT(await(&ticks[where], load(&ticks[where]) + more));
  }
  /* A thread says when it is enough: a timer on the main queue would wake it, and hide that it stood still. */
  stopper = spawn(stop_main_at, &least);
  EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  pthread_join(stopper, NULL);
  EXPECT(load(&ticks[MAIN]) >= least);
}

static void make_everything(void) {
  int where;
  for (where = 0; where < PLACES; where++) {
    if (!place_is_there(where)) continue;
    worlds[where] = (world){.where = where, .made = UNTOUCHED};
    world_make(&worlds[where]);
    EXPECT_OK(chime_timer_every(worlds[where].queue, TICK, count_tick, &ticks[where], NULL, NULL));
  }
  EXPECT_OK(chime_run_loop_current(&loop));
  await_more_ticks(1);
}

/* Each kind's timer ticks on, none early or twice, the virtual clock is where it was, and nothing is finalized twice. */
static void expect_parent_unharmed(void) {
  int where, before;
  await_more_ticks(3);
  before = ticks[VIRTUAL];
  EXPECT_OK(chime_queue_advance(worlds[VIRTUAL].queue, 10 * TICK));
  EXPECT_EQ(ticks[VIRTUAL], before + 10);
  EXPECT_EQ(finalized_contexts, 0);
  for (where = 0; where < PLACES; where++) {
    if (place_is_there(where)) world_end(&worlds[where], 1);
  }
  expect_all_finalized();
}

/* Every function but those of these flags, with arguments that were right in the parent. */
static void every_call_says(chime_status expected, int but) {
  int where, i, accepted = accepted_contexts;
  for (where = 0; where < PLACES; where++) {
    if (worlds[where].queue == 0) continue;
    for (i = 0; i < subject_count; i++) {
      if (subjects[i].flags & but) continue;
      if (EXPECT_EQ(subjects[i].call(&worlds[where]), expected)) continue;
      fprintf(stderr, "  of %s on %s\n", subjects[i].name, place_name(where));
    }
    EXPECT_EQ(worlds[where].made, UNTOUCHED);
  }
  EXPECT_EQ(accepted_contexts, accepted);
  EXPECT_EQ(finalized_contexts, 0);
}

static void every_call_says_forked(void) { every_call_says(CHIME_ERROR_FORKED, NEVER_FAILS); }

CASE(a_child_that_does_nothing) {
  make_everything();
  fault_in_a_child(every_call_says_forked);
  expect_parent_unharmed();
}

/* The loop of the child's only thread is another one, and is its main thread's. */
static void loops_begin_anew(void) {
  chime_run_loop_t mine = 0, main_loop = 0;
  int on_mine = 0;
  if (loop != 0) EXPECT_EQ(chime_run_loop_stop(loop), CHIME_ERROR_INVALID_HANDLE);
  REQUIRE_OK(chime_run_loop_current(&mine));
  REQUIRE_OK(chime_run_loop_main(&main_loop));
  EXPECT(mine == main_loop && mine != loop);
  REQUIRE_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 0, 0, count_tick, &on_mine, NULL, NULL, NULL));
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(on_mine, 1);
  place_expect_works(RUN_LOOP);
}

static void begin_anew(void) {
  const chime_queue_options wall = {.size = sizeof wall, .clock = CHIME_CLOCK_WALL};
  const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_HOST, CHIME_QUEUE_PRECISE};
  chime_queue_t none;
  int where;
  size_t i;
  EXPECT_OK(chime_reinitialize());
  EXPECT_EQ(chime_reinitialize(), CHIME_IGNORED);
  every_call_says(CHIME_ERROR_INVALID_HANDLE, ALONE | NEVER_FAILS); /* everything from before is stale */
  /* What is libdispatch's says so. */
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_DISPATCH, NULL, &none), CHIME_ERROR_UNSUPPORTED);
  /* The rest works as in any process, the main queue on the run loop of the child's main thread. */
  for (where = 0; where < PLACES; where++) {
    if (where != DISPATCH) place_expect_works(where);
  }
  for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    chime_queue_t queue;
    int ticked = 0;
    REQUIRE_OK(chime_queue_create(kinds[i], &wall, &queue));
    EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &ticked, NULL, NULL));
    if (kinds[i] == CHIME_QUEUE_HOST) EXPECT_OK(chime_queue_run(queue, 0));
    EXPECT(await(&ticked, 1));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
  loops_begin_anew();
  every_call_says(CHIME_ERROR_INVALID_HANDLE, ALONE | NEVER_FAILS); /* nothing of the child's has an id of before */
  EXPECT_EQ(finalized_contexts, 0);
}

CASE(a_child_that_begins_anew) {
  make_everything();
  fault_in_a_child(begin_anew);
  expect_parent_unharmed();
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------ */

static int files_before;

static void close_what_was_inherited(void) {
  EXPECT(fault_timer_descriptors() > 5 && system_open_files() > files_before + 5);
  EXPECT_OK(chime_reinitialize());
  EXPECT_EQ(fault_timer_descriptors(), 0);
  EXPECT_EQ(system_open_files(), files_before);
}

/* The child's copies of those of queues and of loops are closed. (Its own files stay: fork_files.c.) */
CASE(descriptors) {
  const chime_queue_options wall = QUEUE_OPTIONS(.clock = CHIME_CLOCK_WALL);
  chime_run_loop_t loops[4] = {0};
  int i, timers;
  if (fault_timer_descriptors() < 0) fault_skip("a child of fork has none of the parent's kqueues");
  files_before = system_open_files();
  for (i = 0; i < 2; i++) EXPECT_OK(place_make(HOST, NULL, &(chime_queue_t){0}));
  EXPECT_OK(chime_run_loop_current(&loops[0]));
  for (i = 1; i < 4; i++) EXPECT_OK(chime_run_loop_create(NULL, &loops[i]));
  EXPECT_OK(chime_run_loop_release(loops[3])); /* its descriptor is closed with it, and its place taken again */
  for (i = 0; i < 30000 && fault_timer_descriptors() != 5; i++) sleep_ns(CHIME_MILLISECOND);
  EXPECT_EQ(fault_timer_descriptors(), 5);
  EXPECT_OK(place_make(HOST, &wall, &(chime_queue_t){0}));
  place_expect_works(SERIAL); /* the pool has some, too */
  EXPECT_OK(place_make(SERIAL, &wall, &(chime_queue_t){0}));
  timers = fault_timer_descriptors();
  fault_in_a_child(close_what_was_inherited);
  EXPECT_EQ(fault_timer_descriptors(), timers);
}

/* Wherever Chime's files lie, all are closed in the child, the one with the highest number, too, and none of the program's.
   The last number is one more than are noted apart (own_files.c). */
enum { FILES = 1 << 15 };
static char was_open[FILES];

static int is_open(int file) { return fcntl(file, F_GETFD) >= 0; }

static void expect_only_those_before(void) {
  int file;
  EXPECT_OK(chime_reinitialize());
  for (file = 0; file < FILES; file++) {
    if (!EXPECT_EQ(is_open(file), was_open[file])) fprintf(stderr, "  of file %d\n", file);
  }
}

CASES(files_wherever_they_lie, argument, 0, 11) {
  static const int wheres[] = {HOST, HOST, SERIAL, RUN_LOOP}, numbers[] = {0, 100, 1 << 14};
  const int kind = argument / 3, number = numbers[argument % 3];
  const chime_queue_options options = QUEUE_OPTIONS(.clock = kind == 1 ? CHIME_CLOCK_WALL : CHIME_CLOCK_MONOTONIC);
  struct rlimit limit;
  int file, last, own = 0;
  if (fault_timer_descriptors() < 0) fault_skip("a child of fork has none of the parent's kqueues");
  EXPECT_OK(getrlimit(RLIMIT_NOFILE, &limit));
  limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
  EXPECT_OK(setrlimit(RLIMIT_NOFILE, &limit));
  if (limit.rlim_cur < (rlim_t)number + 20) fault_skip("a process may not have as many files");
  for (file = 0; file < FILES; file++) was_open[file] = (char)is_open(file);
  while ((last = dup(STDERR_FILENO)) < number) REQUIRE(last >= 0);
  EXPECT_OK(place_make(wheres[kind], &options, &(chime_queue_t){0}));
  /* Chime has had none with a higher number before. Every other one of the program's is closed. */
  for (file = last + 1; file < FILES; file++) own += is_open(file);
  EXPECT(own > 0);
  for (file = 0; file <= last; file++) {
    if (!was_open[file]) was_open[file] = (char)(file % 2 == 0 || close(file) != 0);
  }
  fault_in_a_child(expect_only_those_before);
}

/* ---- In a handler ----------------------------------------------------------------------------------------------- */

static pid_t forked = -1;
static int forks;

static void fork_in_handler(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  forked = fork();
}

static chime_status run_handlers(int where, chime_queue_t queue, uint32_t *count) {
  if (where == VIRTUAL) return chime_queue_advance(queue, 0);
  if (where == RUN_LOOP) return chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK);
  EXPECT(place_is_readable(queue, (int)(PATIENCE / CHIME_MILLISECOND)));
  return chime_queue_process(queue, 0, count);
}

/* The child returns from the handler; the pass has ended there. */
CASES(in_a_handler, argument, 0, 2) {
  const int where = argument == 0 ? HOST : argument == 1 ? VIRTUAL : RUN_LOOP; /* of the thread that forks */
  chime_queue_t queue = 0;
  chime_status status;
  uint32_t count = 7;
  int finalized = 0, after = 0, end = -1;
  if (where == RUN_LOOP) EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(create_queue(where, NULL, &queue, &loop));
  EXPECT_OK(chime_timer_after(queue, 0, fork_in_handler, &finalized, count_call, NULL));
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &after, NULL, NULL));
  status = run_handlers(where, queue, &count);
  if (forked == 0) {
    EXPECT_EQ(status, CHIME_ERROR_FORKED);
    EXPECT_EQ(count, 7);
    EXPECT_EQ(after, 0);
    EXPECT_EQ(finalized, 0);
    EXPECT_EQ(chime_queue_release(queue), CHIME_ERROR_FORKED);
    begin_anew();
    fault_leave();
  }
  EXPECT_OK(status);
  EXPECT_EQ(finalized, 1); /* it has released itself */
  while (load(&after) == 0) EXPECT_OK(run_handlers(where, queue, &count));
  EXPECT_EQ(waitpid(forked, &end, 0), forked);
  EXPECT_EQ(end, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* The end of a queue calls what forks: the child returns from there, and the parent's queue ends. (The release of a run
   loop's queue leaves that to the loop.) */
static void fork_in_call(void *context) {
  (void)context;
  if (forked != 0 && load(&forks) == 0) {
    store(&forks, 1);
    forked = fork();
  }
}

static void fork_in_last_callback(const chime_tick *tick, void *context) {
  (void)tick;
  fork_in_call(context);
}

static void fork_in_trace(const chime_tick *tick, void *context) {
  if (tick->kind == CHIME_TRACE_RELEASED) fork_in_call(context);
}

CASES(at_the_end_of_a_queue, argument, 0, 14) {
  const int wheres[] = {HOST, VIRTUAL, RUN_LOOP}, where = wheres[argument / 6];
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_status status;
  int i, end = -1;
  if (where == RUN_LOOP) EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(create_queue(where, NULL, &queue, &loop));
  options.handler = fork_in_handler;
  if (argument % 3 == 0) options.cancel_handler = fork_in_last_callback;
  if (argument % 3 == 1) options.finalizer = fork_in_call;
  for (i = 0; i < 3; i++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR), NULL));
  if (argument % 3 == 2) EXPECT_OK(chime_set_trace(fork_in_trace, NULL, NULL));
  status = argument / 3 % 2 ? chime_queue_release(queue) : chime_queue_shutdown(queue, PATIENCE);
  if (forked == 0) {
    EXPECT_EQ(status, CHIME_ERROR_FORKED);
    begin_anew();
    fault_leave();
  }
  EXPECT_OK(status);
  EXPECT_OK(chime_set_trace(NULL, NULL, NULL));
  EXPECT_EQ(waitpid(forked, &end, 0), forked);
  EXPECT_EQ(end, 0);
  EXPECT_EQ(chime_queue_shutdown(queue, PATIENCE), CHIME_IGNORED);
}

/*
 * Many forks beside threads that make and release timers, targets and run loops, and others that begin and end threads of
 * Chime's: whatever lock they hold at that moment, the child has a copy of it, answers, and works anew.
 */
static int over, loops_made, threads_ended;

static void *begin_threads(void *unused) {
  while (!load(&over)) {
    chime_queue_t precise;
    if (chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &precise) != CHIME_OK) abort();
    if (chime_queue_shutdown(precise, PATIENCE) != CHIME_OK) abort();
  }
  return unused;
}

typedef struct ending {
  chime_run_loop_t loop;
  chime_queue_t queue;
} ending;

static void end_the_loop(void *context) {
  ending *e = context;
  count_my_end(&threads_ended);
  if (chime_run_loop_release(e->loop) != CHIME_OK || chime_queue_release(e->queue) < 0) abort();
}

/* A run loop whose thread ends itself. */
static void make_and_end_a_loop(void) {
  ending *e = malloc(sizeof *e);
  if (chime_run_loop_create(NULL, &e->loop) != CHIME_OK) abort();
  if (chime_queue_create_on_run_loop(e->loop, NULL, NULL, &e->queue) != CHIME_OK) abort();
  add(&loops_made, 1);
  if (chime_queue_async(e->queue, end_the_loop, e, free) != CHIME_OK) abort();
}

static void *churn(void *argument) {
  chime_queue_t queue = *(chime_queue_t *)argument;
  static int counted;
  int rounds = 0;
  while (!load(&over)) {
    chime_timer_t timer;
    chime_target_t one;
    /* No more threads than leave some to the children. */
    if (rounds++ % 64 == 0 && load(&loops_made) - load(&threads_ended) < 16) make_and_end_a_loop();
    if (chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &counted, count_call, &timer) != CHIME_OK) abort();
    if (chime_target_create(&counted, NULL, &one) != CHIME_OK || chime_target_release(one) != CHIME_OK) abort();
    chime_timer_release(timer);
  }
  return NULL;
}

static void be_refused_and_work(void) {
  chime_queue_t made = 5;
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &made), CHIME_ERROR_FORKED);
  EXPECT_EQ(chime_queue_release(5), CHIME_ERROR_FORKED);
  EXPECT_EQ(made, 5);
  EXPECT_OK(chime_reinitialize());
  place_expect_works(VIRTUAL);
  place_expect_works(SERIAL);
  place_expect_works(CONCURRENT);
  loops_begin_anew();
}

CASE(beside_busy_threads) {
  enum { FORKS = 200, THREADS = 22 };
  pthread_t threads[THREADS];
  chime_queue_t queue = place_queue(SERIAL, NULL);
  int i;
  for (i = 0; i < THREADS; i++) threads[i] = spawn(i < 2 ? churn : begin_threads, &queue);
  for (i = 0; i < FORKS && fault_failures() == 0; i++) fault_in_a_child(be_refused_and_work);
  store(&over, 1);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%d forks beside %d run loops", FORKS, loops_made);
}
