/*
 * forking.c - children that no handler of pthread_atfork announces, or that look before Chime's does: all are noticed,
 * answer FORKED, and work once they are reinitialised. Promises 15 and 21.
 */
#include "places.h"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static chime_queue_t queue;
static chime_timer_t timer;
static int ticks;

/* ---- Ways to fork ---------------------------------------------------------------------------------------------------- */

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
static pid_t by_underscore_fork(void) { return _Fork(); }
#else
static pid_t by_underscore_fork(void) {
  fault_skip("this libc has no _Fork"), (void)0;
  return -1;
}
#endif

/* The order of the arguments differs among processors; all but the first are 0. */
static pid_t by_clone(void) {
#if defined(__s390x__)
  return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t (*const ways[])(void) = {fork, by_underscore_fork, by_clone};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* The pool rests: no thread of it is in the allocator, whose locks a child without handlers does not free. */
static void make_queue(void) {
  queue = place_tick(SERIAL, &ticks, &timer);
  REQUIRE(await(&ticks, 3));
  EXPECT(chime_timer_suspend(timer) >= 0);
  sleep_ns(20 * CHIME_MILLISECOND);
}

static void expect_parent_unharmed(void) {
  EXPECT_EQ(chime_reinitialize(), CHIME_IGNORED);
  EXPECT_OK(chime_timer_resume(timer));
  EXPECT(await(&ticks, load(&ticks) + 3));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void expect_forked(void) {
  chime_queue_t none = 0;
  EXPECT_EQ(chime_timer_cancel(timer), CHIME_ERROR_FORKED);
  EXPECT_EQ(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL), CHIME_ERROR_FORKED);
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &none), CHIME_ERROR_FORKED);
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_HOST, NULL, &none), CHIME_ERROR_FORKED);
}

static void expect_works_anew(void) {
  EXPECT_OK(chime_reinitialize());
  EXPECT_EQ(chime_reinitialize(), CHIME_IGNORED);
  EXPECT_EQ(chime_timer_cancel(timer), CHIME_ERROR_INVALID_HANDLE);
  place_expect_works(VIRTUAL);
  place_expect_works(SERIAL);
  place_expect_works(CONCURRENT);
  place_expect_works(PRECISE);
  place_expect_works(HOST);
}

static void child(void) {
  expect_forked();
  expect_works_anew();
}

/* Also where the first call that the child makes is the reinitialisation. */
CASES(a_child_is_noticed, argument, 0, 2 * WAYS - 1) {
  make_queue();
  fault_in_a_child_by(ways[argument / 2], argument % 2 ? expect_works_anew : child);
  expect_parent_unharmed();
}

/* ---- Children of children ----------------------------------------------------------------------------------------------- */

static int way_again;

static void child_that_forks(void) {
  fault_in_a_child_by(ways[way_again], child);
  expect_works_anew();
}

static void child_that_works_and_forks(void) {
  expect_works_anew();
  make_queue();
  fault_in_a_child_by(ways[way_again], child);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

CASES(a_childs_child_is_noticed, argument, 0, 2 * WAYS - 1) {
  way_again = argument / 2;
  make_queue();
  fault_in_a_child_by(ways[way_again], argument % 2 ? child_that_works_and_forks : child_that_forks);
  expect_parent_unharmed();
}

/* ---- Handlers of the host's ---------------------------------------------------------------------------------------------- */

static int is_in_handler;
static void (*handlers_work)(void);

static void host_child_handler(void) {
  is_in_handler = 1;
  if (handlers_work != NULL) handlers_work();
}

static void child_after_its_handler(void) {
  EXPECT_EQ(is_in_handler, 1);
  EXPECT_EQ(chime_reinitialize(), CHIME_IGNORED);
  place_expect_works(SERIAL);
  place_expect_works(CONCURRENT);
}

/* It was registered before anything of Chime's, so its child handler comes first. */
CASES(a_handler_before_chimes_looks, argument, 0, 1) {
  REQUIRE_OK(pthread_atfork(NULL, NULL, host_child_handler));
  make_queue();
  handlers_work = argument ? child : expect_forked;
  fault_in_a_child(argument ? child_after_its_handler : child);
  expect_parent_unharmed();
}

/* ---- What is no fork -------------------------------------------------------------------------------------------------------- */

/* A program that is started shares the memory until its image is replaced: the parent stays what it was. */
CASE(a_program_that_is_started_is_no_fork) {
  char *const arguments[] = {"true", NULL};
  int i, status = -1;
  pid_t pid;
  make_queue();
  for (i = 0; i < 20; i++) {
    REQUIRE_OK(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ));
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_OK(chime_timer_restart(timer, NULL));
    EXPECT_OK(chime_timer_suspend(timer) >= 0 ? 0 : -1);
  }
  expect_parent_unharmed();
}

/* ---- In a hook ---------------------------------------------------------------------------------------------------------- */

enum { ENTER, HANDLER, LEAVE, POINTS };

static int point, child_id, is_child;

/* Nothing more is called in the child, whose only thread is the queue's, and ends. */
static void fork_at(int here) {
  pid_t pid;
  if (load(&is_child)) _exit(10 + here);
  if (point != here || load(&child_id) != 0) return;
  pid = fork();
  store(pid == 0 ? &is_child : &child_id, pid == 0 ? 1 : (int)pid);
}
static void fork_in_enter(void *context) { (void)context, fork_at(ENTER); }
static void fork_in_leave(void *context) { (void)context, fork_at(LEAVE); }
static void fork_in_a_handler(const chime_tick *tick, void *context) {
  fork_at(HANDLER);
  count_tick(tick, context);
}

/* `enter` comes before the pass looks at the timer, which is new. */
CASES(in_a_hook, argument, 0, 4 * POINTS - 1) {
  static const where kinds[] = {SERIAL, CONCURRENT, PRECISE, RUN_LOOP};
  int status = -1;
  point = argument % POINTS;
  queue = place_queue(kinds[argument / POINTS], &QUEUE_OPTIONS(.enter = fork_in_enter, .leave = fork_in_leave));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, fork_in_a_handler, &ticks, NULL, &timer));
  REQUIRE(await(&child_id, 1));
  EXPECT_EQ(waitpid(load(&child_id), &status, 0), load(&child_id));
  EXPECT_EQ(status, 0);
  EXPECT(await(&ticks, load(&ticks) + 3));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}
