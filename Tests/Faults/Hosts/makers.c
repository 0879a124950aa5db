/*
 * makers.c - the thread that makes the first queue, or any other, has scheduling of its own: what Chime's threads have is that
 * of the process's beginning, not that of the thread.
 */
#include "guest.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct scheduling {
  int policy, priority, nice, slack, processors;
} scheduling;

static scheduling own_scheduling(void) {
  struct sched_param parameters = {0};
  cpu_set_t set;
  scheduling found;
  CPU_ZERO(&set);
  found.policy = (int)syscall(SYS_sched_getscheduler, 0);
  syscall(SYS_sched_getparam, 0, &parameters);
  found.priority = parameters.sched_priority;
  found.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
  found.slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  sched_getaffinity(0, sizeof set, &set);
  found.processors = CPU_COUNT(&set);
  return found;
}

enum { IDLE, BATCH, FIFO, ROUND_ROBIN, ONE_PROCESSOR, SLACK, NICE, MANNERS };

static const char *const manners[] = {"SCHED_IDLE",    "SCHED_BATCH", "SCHED_FIFO", "SCHED_RR",
                                      "one processor", "slack",       "nice"};

static int have_manner(int manner) {
  const int policies[] = {SCHED_IDLE, SCHED_BATCH, SCHED_FIFO, SCHED_RR};
  const struct sched_param parameters = {.sched_priority = manner == FIFO || manner == ROUND_ROBIN ? 5 : 0};
  switch (manner) {
    case ONE_PROCESSOR: guest_bind_to_one_processor(); return 1;
    case SLACK: return prctl(PR_SET_TIMERSLACK, 500000000, 0, 0, 0) == 0;
    case NICE: return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10) == 0;
    default: return syscall(SYS_sched_setscheduler, 0, policies[manner], &parameters) == 0;
  }
}

static int place, manner, ticks;
static chime_queue_t queue;
static scheduling usual, seen;

static void note(const chime_tick *tick, void *context) {
  seen = own_scheduling();
  count_tick(tick, context);
}

static void *make(void *unused) {
  (void)unused;
  if (!have_manner(manner)) fault_skip("that is not permitted here");
  REQUIRE_OK(place_make(place, NULL, &queue));
  return NULL;
}

/* One argument for each manner, of each kind of queue. */
static void expect_usual(int argument, int makes_first) {
  chime_queue_t first = 0;
  place = argument / MANNERS;
  manner = argument % MANNERS;
  if (!guest_is_own(place)) fault_skip("its threads are libdispatch's");
  usual = own_scheduling();
  if (manner == ONE_PROCESSOR && usual.processors == 1) fault_skip("there is one processor");
  if (!makes_first) first = place_queue(SERIAL, NULL);
  run_on_a_thread(make, NULL);
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, note, &ticks, NULL, NULL));
  REQUIRE(await(&ticks, 1));
  EXPECT_EQ(seen.policy, usual.policy);
  EXPECT_EQ(seen.priority, usual.priority);
  EXPECT_EQ(seen.nice, usual.nice);
  EXPECT_EQ(seen.processors, usual.processors);
  if (place != PRECISE) EXPECT_EQ(seen.slack, usual.slack); /* 1 ns there */
  if (fault_failures() > 0) fault_seen("%s, %s", place_name(place), manners[manner]);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (!makes_first) EXPECT_OK(chime_queue_shutdown(first, PATIENCE));
}

CASES(who_makes_the_first_queue, argument, 0, (RUN_LOOP + 1) * MANNERS - 1) { expect_usual(argument, 1); }
CASES(who_makes_another_queue, argument, 0, (RUN_LOOP + 1) * MANNERS - 1) { expect_usual(argument, 0); }

static int staying, may_go;

static void stay(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  have_manner(manner);
  add(&staying, 1);
  await(&may_go, 1);
}

/* A handler has changed its thread's, and makes others begin: they do not have it from there. */
CASES(a_handler_changes_its_threads, argument, 0, MANNERS - 1) {
  chime_queue_t other;
  manner = argument;
  usual = own_scheduling();
  if (manner == ONE_PROCESSOR && usual.processors == 1) fault_skip("there is one processor");
  queue = place_queue(SERIAL, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, stay, NULL, NULL, NULL));
  REQUIRE(await(&staying, 1));
  other = place_queue(SERIAL, NULL);
  EXPECT_OK(chime_timer_after(other, 0, note, &ticks, NULL, NULL));
  REQUIRE(await(&ticks, 1));
  EXPECT_EQ(seen.policy, usual.policy);
  EXPECT_EQ(seen.nice, usual.nice);
  EXPECT_EQ(seen.processors, usual.processors);
  EXPECT_EQ(seen.slack, usual.slack);
  if (fault_failures() > 0) fault_seen("%s", manners[manner]);
  store(&may_go, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
}
