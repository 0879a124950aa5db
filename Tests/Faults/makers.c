/*
 * makers.c - the thread that makes the first queue, or any other, has scheduling of its own: what Chime's threads have is that
 * of the process's beginning, not that of the thread. Promise 21.
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

static void change_and_stay(const chime_tick *tick, void *unused) {
  have_manner(manner);
  stay(tick, unused);
}

enum { A_THREAD_MAKES_THE_FIRST, A_THREAD_MAKES_ANOTHER, A_HANDLER_CHANGES_ITS_OWN };

static void expect_usual(int who) {
  chime_queue_t first = 0;
  guest_needs_own_threads(place);
  usual = own_scheduling();
  if (manner == ONE_PROCESSOR && usual.processors == 1) fault_skip("there is one processor");
  if (who != A_THREAD_MAKES_THE_FIRST) first = place_queue(SERIAL, NULL);
  if (who == A_HANDLER_CHANGES_ITS_OWN) {
    EXPECT_OK(chime_timer_after(first, 0, change_and_stay, NULL, NULL, NULL));
    REQUIRE(await(&staying, 1));
    queue = place_queue(place, NULL);
  } else {
    run_on_a_thread(make, NULL);
  }
  EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, note, &ticks, NULL, NULL));
  REQUIRE(await(&ticks, 1));
  EXPECT_EQ(seen.policy, usual.policy);
  EXPECT_EQ(seen.priority, usual.priority);
  EXPECT_EQ(seen.nice, usual.nice);
  EXPECT_EQ(seen.processors, usual.processors);
  EXPECT_EQ(seen.slack, place == PRECISE ? 1 : usual.slack);
  if (fault_failures() > 0) fault_seen("%s, %s", place_name(place), manners[manner]);
  store(&may_go, 1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (first != 0) EXPECT_OK(chime_queue_shutdown(first, PATIENCE));
}

/* argument: each manner, of each kind of queue. */
#define MAKER(name, who) \
  CASES(name, argument, 0, (RUN_LOOP + 1) * MANNERS - 1) { \
    place = argument / MANNERS; \
    manner = argument % MANNERS; \
    expect_usual(who); \
  }
MAKER(who_makes_the_first_queue, A_THREAD_MAKES_THE_FIRST)
MAKER(who_makes_another_queue, A_THREAD_MAKES_ANOTHER)
MAKER(a_handler_changes_its_threads, A_HANDLER_CHANGES_ITS_OWN)
