/*
 * priorities.c - hosts with real-time threads, with one processor, and such as give up their privileges.
 */
#include "guest.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A case in a process that is bound to one processor from its beginning, whatever Chime's threads inherit. */
static void on_one_processor(const char *name, int argument) {
  fault_end end;
  guest_bind_to_one_processor();
  end = fault_run_case(name, argument, 120000);
  fault_seen("%s", end.output);
  if (end.status == 77) fault_skip("");
  EXPECT_EQ(end.status, 0);
}

static int become_realtime(int priority) {
  const struct sched_param parameters = {.sched_priority = priority};
  return sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

/* ---- Calls of a real-time thread -------------------------------------------------------------------------------------- */

enum { BURST = 4 * CHIME_MILLISECOND, CALLS = 400, BUSY = 8 };

static sem_t burst;
static int over, busy_ticks;

/* Works at a priority between the caller's and the pool's, each time just before the caller calls. */
static void *burst_in_between(void *unused) {
  (void)unused;
  if (!become_realtime(10)) return NULL;
  while (sem_wait(&burst) == 0 && !load(&over)) {
    int64_t end = monotonic_ns() + BURST;
    while (monotonic_ns() < end) continue;
  }
  return NULL;
}

static void again(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_timer_restart(tick->timer, NULL);
}

static int slow;
static int64_t worst;

static void *call_at_high_priority(void *pointer) {
  const chime_queue_t queue = *(chime_queue_t *)pointer;
  unsigned seed = 1;
  int i;
  if (!become_realtime(50)) fault_skip("SCHED_FIFO is not permitted here");
  for (i = 0; i < CALLS; i++) {
    chime_timer_t timer;
    int64_t begun, taken;
    sleep_ns(BURST + CHIME_MILLISECOND + rand_r(&seed) % 500 * CHIME_MICROSECOND);
    sem_post(&burst);
    begun = monotonic_ns();
    EXPECT_OK(chime_timer_after(queue, CHIME_MILLISECOND, count_tick, &busy_ticks, NULL, &timer));
    taken = monotonic_ns() - begun;
    if (taken > worst) worst = taken;
    slow += taken > CHIME_MILLISECOND;
    EXPECT(chime_timer_release(timer) >= 0);
  }
  return NULL;
}

/* Only other cases run it. */
CASES(a_real_time_call_on_this_processor, where, 1, 0) {
  const struct sched_param usual = {0};
  chime_queue_t queues[BUSY + 1];
  pthread_t between, caller;
  int i;
  REQUIRE_OK(sched_setscheduler(0, SCHED_OTHER, &usual));
  REQUIRE_OK(sem_init(&burst, 0, 0));
  for (i = 0; i <= BUSY; i++) {
    chime_timer_t timer;
    queues[i] = place_queue(i == BUSY ? where : SERIAL, NULL);
    if (i == BUSY) break;
    REQUIRE_OK(chime_timer_create(queues[i], &TIMER_OPTIONS(.handler = again, .context = &busy_ticks), &timer));
    REQUIRE_OK(chime_timer_activate(timer, AFTER(0)));
  }
  between = spawn(burst_in_between, NULL);
  caller = spawn(call_at_high_priority, &queues[BUSY]);
  join(caller);
  store(&over, 1);
  sem_post(&burst);
  join(between);
  fault_seen("%d of %d calls above 1 ms, at worst %lld us", slow, CALLS, (long long)worst / 1000);
  /* A machine that is not ours alone takes the processor away now and then. */
  EXPECT_BETWEEN(slow, 0, CALLS / 50);
  for (i = 0; i <= BUSY; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}

/*
 * A call that does not wait is not held up by a thread of a lower priority that works on the processor of a pool thread.
 */
CASES(a_real_time_call_beside_busy_queues, where, SERIAL, CONCURRENT) {
  if (!become_realtime(1)) fault_skip("SCHED_FIFO is not permitted here");
  on_one_processor("a_real_time_call_on_this_processor", where);
}

/* ---- Classes ------------------------------------------------------------------------------------------------------------- */

enum { INTERACTIVE = 64, TICKS = 9, NOBODY = 65534, PERIOD = 5 * CHIME_MILLISECOND, ROUNDS = 3 };
/* A tenth of a second, a handler, and what a machine that is not ours alone adds; in the best of some rounds. */
enum { MOST_LATE = 400 * CHIME_MILLISECOND };

static int64_t late[TICKS];
static int late_count = TICKS;

static void note_lateness(const chime_tick *tick, void *context) {
  (void)context;
  if (load(&late_count) == TICKS) return;
  late[late_count] =
      tick->actual_ns - tick->scheduled_ns + (int64_t)tick->missed * PERIOD; /* of the first that it stands for */
  add(&late_count, 1);
}

static void again_for_a_while(const chime_tick *tick, void *context) {
  int64_t end = monotonic_ns() + CHIME_MILLISECOND;
  while (monotonic_ns() < end) continue;
  again(tick, context);
}

/* The worst of so many ticks. */
static int64_t worst_lateness(void) {
  int64_t found = 0;
  int i;
  store(&late_count, 0);
  EXPECT(await(&late_count, TICKS));
  for (i = 0; i < TICKS; i++) {
    if (late[i] > found) found = late[i];
  }
  return found;
}

CASES(a_background_tick_on_this_processor, is_root, 1, 0) {
  const chime_queue_options high = {.size = sizeof high, .qos = CHIME_QOS_USER_INTERACTIVE},
                            low = {.size = sizeof low, .qos = CHIME_QOS_BACKGROUND};
  chime_queue_t queues[INTERACTIVE + 1];
  int64_t best = INT64_MAX;
  int i;
  if (!is_root && setuid(NOBODY) != 0) fault_skip("it is not root's process");
  for (i = 0; i < INTERACTIVE; i++) {
    chime_timer_t timer;
    REQUIRE_OK(place_make(SERIAL, &high, &queues[i]));
    REQUIRE_OK(
        chime_timer_create(queues[i], &TIMER_OPTIONS(.handler = again_for_a_while, .context = &busy_ticks), &timer));
    REQUIRE_OK(chime_timer_activate(timer, AFTER(0)));
  }
  REQUIRE_OK(place_make(SERIAL, &low, &queues[INTERACTIVE]));
  EXPECT_OK(chime_timer_every(queues[INTERACTIVE], PERIOD, note_lateness, NULL, NULL, NULL));
  for (i = 0; i < ROUNDS && best > MOST_LATE; i++) {
    int64_t found = worst_lateness();
    if (found < best) best = found;
  }
  EXPECT_BETWEEN(best, 0, MOST_LATE);
  fault_seen("%s: %lld ms at worst", is_root ? "root" : "nobody", (long long)best / 1000000);
  for (i = 0; i <= INTERACTIVE; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}

/* On one processor, which 64 queues of the highest class keep busy: the lowest waits a tenth of a second at most. */
CASES(a_background_tick_beside_busy_queues, is_root, 0, 1) {
  if (geteuid() != 0 && is_root) fault_skip("it is not root's process");
  on_one_processor("a_background_tick_on_this_processor", is_root);
}

/* ---- Privileges that are given up ------------------------------------------------------------------------------------------ */

static int nice_seen, classes_seen;

static void note_nice(const chime_tick *tick, void *context) {
  (void)tick;
  store(&nice_seen, getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)));
  add(context, 1);
}

static void expect_usual_nice(const chime_queue_t *queues) {
  int i, usual = getpriority(PRIO_PROCESS, 0), round;
  for (round = 0; round < 3; round++) {
    for (i = CHIME_QOS_DEFAULT; i <= CHIME_QOS_USER_INTERACTIVE; i++) {
      store(&classes_seen, 0);
      EXPECT_OK(chime_timer_after(queues[i], CHIME_MILLISECOND, note_nice, &classes_seen, NULL, NULL));
      REQUIRE(await(&classes_seen, 1));
      EXPECT_EQ(load(&nice_seen), usual);
    }
  }
}

/* Whatever a class means, no queue's handlers stay behind for good. */
CASES(root_is_dropped_after_the_first_tick, is_dropped, 0, 1) {
  chime_queue_t queues[CHIME_QOS_USER_INTERACTIVE + 1];
  int i;
  for (i = CHIME_QOS_DEFAULT; i <= CHIME_QOS_USER_INTERACTIVE; i++)
    REQUIRE_OK(place_make(SERIAL, &QUEUE_OPTIONS(.qos = i), &queues[i]));
  EXPECT_OK(chime_timer_after(queues[CHIME_QOS_BACKGROUND], 0, note_nice, &classes_seen, NULL, NULL));
  REQUIRE(await(&classes_seen, 1));
  if (is_dropped && setuid(NOBODY) != 0) fault_skip("it is not root's process");
  expect_usual_nice(queues);
  for (i = CHIME_QOS_DEFAULT; i <= CHIME_QOS_USER_INTERACTIVE; i++)
    EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}
