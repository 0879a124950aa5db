/*
 * fork.c - a process with armed timers forks: promise 15. In the child every call answers FORKED until
 * chime_reinitialize; then host-driven, precise and virtual queues and run loops work, and what stands on libdispatch says
 * that it does not. The parent's timers notice nothing, whatever the child does with its copies.
 */
#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK = 5 * CHIME_MILLISECOND };

/* What the parent has, of every kind. The main queue is drained only while somebody waits for its ticks. */
static chime_queue_t queues[PLACES];
static chime_timer_t timers[PLACES];
static int ticks[PLACES];
static int finalized;
static chime_target_t target;
static chime_expiring_t expiring;
static chime_run_loop_t loop;
static chime_weak_timer_t weak;

static void destroy(void *object) { count_call(object); }

static void *stop_main_at(void *least) {
  await(&ticks[MAIN], *(int *)least);
  chime_main_stop();
  return NULL;
}

static void await_more_ticks(int more) {
  int where, least = load(&ticks[MAIN]) + more;
  pthread_t thread;
  for (where = 0; where < PLACES; where++) {
    if (timers[where] == 0 || where == VIRTUAL || where == MAIN) continue;
    EXPECT(await(&ticks[where], load(&ticks[where]) + more));
  }
  /* A thread says when it is enough: a timer on the main queue would wake it, and hide that it stood still. */
  REQUIRE(pthread_create(&thread, NULL, stop_main_at, &least) == 0);
  EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
  EXPECT(load(&ticks[MAIN]) >= least);
}

static void make_everything(void) {
  int where;
  for (where = 0; where < PLACES; where++) {
    EXPECT_OK(place_make((place)where, NULL, &queues[where]));
    EXPECT_OK(chime_timer_every(queues[where], TICK, count_tick, &ticks[where], NULL, &timers[where]));
    place_drive((place)where, queues[where]);
  }
  /* What a finalizer or destructor in the child would be seen by. */
  EXPECT_OK(chime_timer_after(queues[VIRTUAL], CHIME_HOUR, count_tick, &finalized, destroy, NULL));
  EXPECT_OK(chime_target_create(&finalized, destroy, &target));
  EXPECT_OK(chime_expiring_create(queues[VIRTUAL], &finalized, destroy, CHIME_HOUR, &expiring));
  EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, 0, count_tick, &finalized, destroy, &weak));
  await_more_ticks(1);
}

/* Each kind's timer ticks on, none early or twice, and the virtual clock is where it was. */
static void expect_parent_unharmed(void) {
  int where, before[PLACES];
  memcpy(before, ticks, sizeof before);
  await_more_ticks(3);
  EXPECT_OK(chime_queue_advance(queues[VIRTUAL], 10 * TICK));
  EXPECT_EQ(ticks[VIRTUAL], before[VIRTUAL] + 10);
  EXPECT_EQ(finalized, 0);
  for (where = 0; where < PLACES; where++) {
    if (queues[where] == 0) continue;
    EXPECT_OK(chime_queue_shutdown(queues[where], where == MAIN ? 0 : PATIENCE)); /* nobody drains it now */
  }
  EXPECT_OK(chime_target_release(target));
  EXPECT_OK(chime_weak_timer_release(weak));
  EXPECT_EQ(finalized, 4); /* the timer's context, the target, the value, the weak timer's */
}

/* Runs `child` in a forked process, under a timeout, and expects it to end well. */
static void in_a_child(void (*child)(void)) {
  int status = -1, waited = 0;
  pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(fault_failures() == 0 ? 0 : 1);
  }
  REQUIRE(pid > 0);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (++waited > 30000) {
      kill(pid, SIGKILL);
      EXPECT(!"the child ended");
    }
    sleep_ms(1);
  }
  EXPECT_EQ(status, 0);
}

/* Every function that returns a status, with arguments that were right in the parent, on every kind of queue. */
static void every_call_says_forked(void) {
  int where, i;
  for (where = 0; where < PLACES; where++) {
    world w;
    memset(&w, 0, sizeof w);
    w.where = (place)where;
    w.queue = w.empty = queues[where];
    w.timer = w.tied = w.bare[0] = w.bare[1] = timers[where];
    w.target = target;
    w.expiring = expiring;
    w.loop = loop;
    w.weak = weak;
    w.made = UNTOUCHED;
    for (i = 0; i < subject_count; i++) {
      if (subjects[i].flags & NEVER_FAILS) continue;
      if (!EXPECT_EQ(subjects[i].call(&w), CHIME_ERROR_FORKED)) fprintf(stderr, "  of %s\n", subjects[i].name);
    }
    EXPECT_EQ(w.made, UNTOUCHED);
  }
  EXPECT_EQ(finalized + finalized_contexts + accepted_contexts, 0);
  fault_seen("FORKED from every function, ");
}

static void a_child_that_does_nothing(int argument) {
  (void)argument;
  make_everything();
  in_a_child(every_call_says_forked);
  expect_parent_unharmed();
  fault_seen("the parent ticks on");
}

static int is_open(int fd) { return write(fd, "", 0) == 0 || errno != EBADF; }

static void loops_begin_anew(void) {
  chime_run_loop_t mine = 0, main_loop = 0, own = 0;
  chime_queue_t queue = 0;
  int on_mine = 0, on_own = 0, freed = 0;
  if (loop != 0) EXPECT_EQ(chime_run_loop_stop(loop), CHIME_ERROR_INVALID_HANDLE);
  if (weak != 0) EXPECT_EQ(chime_weak_timer_release(weak), CHIME_ERROR_INVALID_HANDLE);
  REQUIRE_OK(chime_run_loop_current(&mine));
  REQUIRE_OK(chime_run_loop_main(&main_loop));
  EXPECT(mine == main_loop && mine != loop); /* a child's only thread is its main thread */
  REQUIRE_OK(chime_weak_timer_schedule(CHIME_MILLISECOND, 0, 0, count_tick, &on_mine, NULL, NULL));
  EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(on_mine, 1);
  REQUIRE_OK(chime_run_loop_create(NULL, &own));
  REQUIRE_OK(chime_run_loop_queue_create(own, NULL, NULL, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &on_own, NULL, NULL));
  EXPECT(await(&on_own, 3));
  EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &freed, count_call, NULL));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(freed, 1);
  EXPECT_OK(chime_run_loop_release(own));
}

static void begin_anew(void) {
  static const chime_queue_kind unsupported[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT};
  chime_queue_options wall = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t host, precise, virtual_queue, none;
  chime_timer_t timer;
  chime_state state;
  struct pollfd entry = {-1, POLLIN, 0};
  int counts[3] = {0, 0, 0}, ended = 0;
  size_t i;
  EXPECT_OK(chime_reinitialize());
  EXPECT_EQ(chime_reinitialize(), CHIME_IGNORED);
  /* Everything from before is stale. */
  for (i = 0; i < PLACES; i++) {
    if (timers[i] == 0) continue;
    EXPECT_EQ(chime_timer_state(timers[i], &state), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_EQ(chime_timer_release(timers[i]), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_EQ(chime_queue_release(queues[i]), CHIME_ERROR_INVALID_HANDLE);
  }
  if (target != 0) EXPECT_EQ(chime_target_release(target), CHIME_ERROR_INVALID_HANDLE);
  if (expiring != 0) EXPECT_EQ(chime_expiring_release(expiring), CHIME_ERROR_INVALID_HANDLE);
  /* What stands on libdispatch says so. */
  for (i = 0; i < 2; i++) EXPECT_EQ(chime_queue_create(unsupported[i], NULL, &none), CHIME_ERROR_UNSUPPORTED);
  wall.clock = CHIME_CLOCK_WALL;
  EXPECT_EQ(chime_queue_create(CHIME_QUEUE_HOST, &wall, &none), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(chime_queue_main(NULL, &none), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(chime_queue_global(CHIME_QOS_DEFAULT, NULL, &none), CHIME_ERROR_UNSUPPORTED);
  EXPECT_EQ(chime_main_run(), CHIME_ERROR_UNSUPPORTED);
  /* The rest works as in any process. */
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &host));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &precise));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &virtual_queue));
  EXPECT_OK(chime_timer_every(host, CHIME_MILLISECOND, count_tick, &counts[0], count_call, &timer));
  for (i = 0; i < PLACES; i++) EXPECT(timer != timers[i]);
  EXPECT_OK(chime_timer_every(precise, CHIME_MILLISECOND, count_tick, &counts[1], NULL, NULL));
  EXPECT_OK(chime_timer_after(virtual_queue, CHIME_HOUR, count_tick, &counts[2], NULL, NULL));
  EXPECT_OK(chime_queue_advance(virtual_queue, CHIME_HOUR));
  EXPECT_EQ(counts[2], 1);
  EXPECT_OK(chime_queue_fd(host, &entry.fd));
  while (counts[0] < 5) {
    EXPECT_EQ(poll(&entry, 1, 5000), 1);
    EXPECT_OK(chime_queue_process(host, 0, NULL));
  }
  EXPECT(await(&counts[1], 5));
  EXPECT_OK(chime_queue_async(precise, count_call, &ended, NULL));
  EXPECT(await(&ended, 1));
  EXPECT_OK(chime_queue_shutdown(host, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(precise, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(virtual_queue, PATIENCE));
  loops_begin_anew();
  EXPECT_EQ(finalized, 0);
}

static void a_child_that_begins_anew(int argument) {
  (void)argument;
  make_everything();
  in_a_child(begin_anew);
  expect_parent_unharmed();
  fault_seen("host-driven, precise and virtual queues and run loops work in the child, the parent ticks on");
}

static chime_queue_t made_by_the_child;

static void see_a_stale_queue(void) {
  int64_t now;
  EXPECT_EQ(chime_queue_now(made_by_the_child, &now), CHIME_ERROR_FORKED);
  begin_anew();
  EXPECT_EQ(chime_queue_now(made_by_the_child, &now), CHIME_ERROR_INVALID_HANDLE);
}

static void have_a_child_of_its_own(void) {
  int64_t now;
  begin_anew();
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &made_by_the_child));
  in_a_child(see_a_stale_queue);
  EXPECT_OK(chime_queue_now(made_by_the_child, &now));
}

static void a_childs_child(int argument) {
  (void)argument;
  make_everything();
  in_a_child(have_a_child_of_its_own);
  expect_parent_unharmed();
  fault_seen("begins anew, too");
}

static int32_t first_fd, second_fd;

/* The descriptors of host-driven queues are closed, but not what the child has put in their place. */
static void close_one_and_reuse_it(void) {
  int file;
  EXPECT(is_open(first_fd) && is_open(second_fd));
  close(first_fd);
  file = dup(STDERR_FILENO);
  if (file != first_fd) EXPECT_EQ(dup2(file, first_fd), first_fd);
  EXPECT_OK(chime_reinitialize());
  EXPECT(is_open(first_fd));
  EXPECT(!is_open(second_fd));
}

static void descriptors(int argument) {
  chime_queue_t first, second;
  (void)argument;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &first));
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &second));
  EXPECT_OK(chime_queue_fd(first, &first_fd));
  EXPECT_OK(chime_queue_fd(second, &second_fd));
  in_a_child(close_one_and_reuse_it);
  EXPECT(is_open(first_fd) && is_open(second_fd));
  fault_seen("the child's are closed, but one that it has reused; the parent's are open");
}

/* Forks inside a handler; the child returns from it. */
static pid_t forked = -1;

static void fork_in_handler(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  forked = fork();
}

/* The descriptors of loops, of which nobody else knows the numbers. */
static int timer_descriptors(void) {
  DIR *files = opendir("/proc/self/fd");
  struct dirent *entry;
  int count = 0;
  if (files == NULL) return -1;
  while ((entry = readdir(files)) != NULL) {
    char name[300], target_name[64] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%s", entry->d_name);
    if (readlink(name, target_name, sizeof target_name - 1) > 0) count += strstr(target_name, "[timerfd]") != NULL;
  }
  closedir(files);
  return count;
}

static void close_those_of_loops(void) {
  EXPECT_EQ(timer_descriptors(), 3);
  EXPECT_OK(chime_reinitialize());
  EXPECT_EQ(timer_descriptors(), 0);
  loops_begin_anew();
}

static void descriptors_of_loops(int argument) {
  chime_run_loop_t loops[4] = {0};
  int i;
  (void)argument;
  EXPECT_OK(chime_run_loop_current(&loops[0]));
  for (i = 1; i < 4; i++) EXPECT_OK(chime_run_loop_create(NULL, &loops[i]));
  EXPECT_OK(chime_run_loop_release(loops[3])); /* its descriptor is closed with it, and its place taken again */
  for (i = 0; i < 30000 && timer_descriptors() != 3; i++) sleep_ms(1);
  in_a_child(close_those_of_loops);
  EXPECT_EQ(timer_descriptors(), 3);
  fault_seen("the child's are closed, the parent's are open");
}

/* In a handler on the loop of a thread of the host's. */
static void in_a_run_loops_handler(int argument) {
  chime_queue_t queue = 0;
  chime_status status;
  int after = 0, end = -1;
  (void)argument;
  EXPECT_OK(chime_run_loop_current(&loop));
  EXPECT_OK(chime_run_loop_queue_create(loop, NULL, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, fork_in_handler, &finalized, destroy, NULL));
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &after, NULL, NULL));
  status = chime_run_loop_run(NULL, CHIME_FOREVER, CHIME_RUN_LOOP_UNTIL_TICK);
  if (forked == 0) {
    EXPECT_EQ(status, CHIME_ERROR_FORKED);
    EXPECT_EQ(after, 0);
    EXPECT_EQ(finalized, 0);
    begin_anew();
    _exit(fault_failures() == 0 ? 0 : 1);
  }
  EXPECT_OK(status);
  EXPECT_EQ(finalized, 1);
  while (load(&after) == 0) EXPECT_OK(chime_run_loop_run(NULL, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(waitpid(forked, &end, 0), forked);
  EXPECT_EQ(end, 0);
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  fault_seen("FORKED in the child");
}

static void in_a_handler(int is_virtual) {
  chime_queue_t queue = 0;
  chime_status status;
  uint32_t count = 7;
  int after = 0, end = -1;
  EXPECT_OK(chime_queue_create(is_virtual ? CHIME_QUEUE_VIRTUAL : CHIME_QUEUE_HOST, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, fork_in_handler, &finalized, destroy, NULL));
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &after, NULL, NULL));
  if (!is_virtual) EXPECT_OK(chime_queue_wait(queue, CHIME_FOREVER));
  status = is_virtual ? chime_queue_advance(queue, 0) : chime_queue_process(queue, 0, &count);
  if (forked == 0) {
    EXPECT_EQ(status, CHIME_ERROR_FORKED);
    EXPECT_EQ(count, 7);
    EXPECT_EQ(after, 0); /* the pass has ended */
    EXPECT_EQ(finalized, 0);
    EXPECT_EQ(chime_queue_release(queue), CHIME_ERROR_FORKED);
    begin_anew();
    _exit(fault_failures() == 0 ? 0 : 1);
  }
  EXPECT_OK(status);
  EXPECT_EQ(after, 1);
  EXPECT_EQ(finalized, 1); /* it has released itself */
  EXPECT_EQ(waitpid(forked, &end, 0), forked);
  EXPECT_EQ(end, 0);
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_FOREVER));
  fault_seen("%s: FORKED in the child", is_virtual ? "virtual" : "host-driven");
}

/* Many forks beside threads that make and release timers, targets and run loops: whatever lock they hold at that moment. */
static int over;

static void *churn(void *argument) {
  chime_queue_t queue = *(chime_queue_t *)argument;
  static int counted;
  int rounds = 0;
  while (!load(&over)) {
    chime_timer_t timer;
    chime_target_t one;
    chime_run_loop_t other;
    /* RESOURCE: the threads of earlier ones have not ended yet. */
    if (rounds++ % 64 == 0 && chime_run_loop_create(NULL, &other) == CHIME_OK) chime_run_loop_release(other);
    if (chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &counted, count_call, &timer) != CHIME_OK) abort();
    if (chime_target_create(&counted, NULL, &one) != CHIME_OK || chime_target_release(one) != CHIME_OK) abort();
    chime_timer_release(timer);
  }
  return NULL;
}

static void work_a_little(void) {
  chime_queue_t queue;
  int count = 0;
  EXPECT_OK(chime_reinitialize());
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 5, count_tick, &count, NULL, NULL));
  EXPECT_OK(chime_target_create(&count, NULL, &target));
  EXPECT_OK(chime_queue_advance(queue, 5));
  EXPECT_EQ(count, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  loops_begin_anew();
}

static void beside_busy_threads(int argument) {
  enum { FORKS = 100 };
  pthread_t threads[2];
  int i;
  (void)argument;
  EXPECT_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queues[SERIAL]));
  for (i = 0; i < 2; i++) REQUIRE(pthread_create(&threads[i], NULL, churn, &queues[SERIAL]) == 0);
  for (i = 0; i < FORKS && fault_failures() == 0; i++) in_a_child(work_a_little);
  store(&over, 1);
  for (i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  EXPECT_OK(chime_queue_shutdown(queues[SERIAL], PATIENCE));
  fault_seen("%d children began anew", i == 2 ? FORKS : 0);
}

static const fault_case cases[] = {
    {"a-child-that-does-nothing", a_child_that_does_nothing, 0, 0, 0, 0},
    {"a-child-that-begins-anew", a_child_that_begins_anew, 0, 0, 0, 0},
    {"a-childs-child", a_childs_child, 0, 0, 0, 0},
    {"descriptors", descriptors, 0, 0, 0, 0},
    {"descriptors-of-loops", descriptors_of_loops, 0, 0, 0, 0},
    {"in-a-handler", in_a_handler, 0, 1, 0, 0},
    {"in-a-run-loops-handler", in_a_run_loops_handler, 0, 0, 0, 0},
    {"beside-busy-threads", beside_busy_threads, 0, 0, 0, 0},
    {NULL, NULL, 0, 0, 0, 0},
};

int main(int argc, char **argv) { return fault_main(argc, argv, cases); }
