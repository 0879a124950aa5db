/*
 * pool.c - the threads that serial and concurrent queues share: handlers that never return on all threads but one,
 * thousands of queues made and ended, a host with real-time priority, a class that others leave no time.
 */
#include "places.h"

#include <dirent.h>
#include <sched.h>

static int entries(const char *path) {
  DIR *directory = opendir(path);
  int count = 0;
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count - 2;
}

static int threads(void) { return entries("/proc/self/task"); }

/* ---- Handlers that stay ----------------------------------------------------------------------------------------- */

static int staying, may_go;

static void stay(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  add(&staying, 1);
  await(&may_go, 1);
}

/* However many stay, the next queue's ticks come: on a thread more than there are such handlers. */
CASES(handlers_that_never_return, where, SERIAL, CONCURRENT) {
  enum { STAYING = 12 };
  static int ticks;
  chime_queue_t queues[STAYING], queue = place_tick(where, &ticks, NULL);
  int i;
  for (i = 0; i < STAYING; i++) {
    if (i == 0 || where == SERIAL) queues[i] = place_queue(where, NULL);
    else queues[i] = queues[0];
    EXPECT_OK(chime_timer_after(queues[i], 0, stay, NULL, NULL, NULL));
  }
  EXPECT(await(&staying, STAYING));
  i = load(&ticks);
  EXPECT(await(&ticks, i + 20));
  store(&may_go, 1);
  for (i = 0; i < (where == SERIAL ? STAYING : 1); i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* ---- Many queues, and none -------------------------------------------------------------------------------------- */

/* They share threads and descriptors; when the last one has ended, the threads end. */
CASE(thousands_of_queues_made_and_ended) {
  enum { QUEUES = 3000, ROUNDS = 3 };
  static chime_queue_t queues[QUEUES];
  static int ticks;
  int i, round, most = 0, files;
  place_expect_works(SERIAL);
  files = entries("/proc/self/fd");
  for (round = 0; round < ROUNDS && fault_failures() == 0; round++) {
    store(&ticks, 0);
    for (i = 0; i < QUEUES; i++) {
      REQUIRE_OK(chime_queue_create(i % 2, NULL, &queues[i]));
      EXPECT_OK(chime_timer_after(queues[i], (i % 10) * CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL));
    }
    EXPECT(await(&ticks, QUEUES));
    if (threads() > most) most = threads();
    for (i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
    EXPECT_EQ(entries("/proc/self/fd"), files);
  }
  for (i = 0; i < 30000 && threads() > 1; i++) sleep_ns(CHIME_MILLISECOND);
  EXPECT_EQ(threads(), 1);
  place_expect_works(CONCURRENT); /* and they begin again */
  fault_seen("%d threads at most", most);
}

/* ---- Scheduling ------------------------------------------------------------------------------------------------- */

static int policy = -1;

static void note_policy(const chime_tick *tick, void *context) {
  store(&policy, sched_getscheduler(0));
  count_tick(tick, context);
}

/* The pool's threads have the usual scheduling, whoever makes them. */
CASES(a_host_with_real_time_priority, where, SERIAL, CONCURRENT) {
  const struct sched_param priority = {.sched_priority = 10};
  static int ticks;
  chime_queue_t queue;
  if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) fault_skip("SCHED_FIFO is not permitted here");
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, note_policy, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 20));
  EXPECT_EQ(load(&policy), SCHED_OTHER);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void again(const chime_tick *tick, void *context) {
  int64_t end = monotonic_ns() + 20 * CHIME_MICROSECOND;
  while (monotonic_ns() < end) continue;
  count_tick(tick, context);
  chime_timer_restart(tick->timer, NULL);
}

/*
 * On one processor, which many queues of the highest class want all the time: those of the lowest have their turns, too.
 * The handlers are short, so that no thread more begins, in which the lowest would have its turn in any order.
 */
CASE(a_lower_class_beside_busy_ones) {
  enum { BUSY = 64 };
  const chime_queue_options high = {.size = sizeof high, .qos = CHIME_QOS_USER_INTERACTIVE},
                            low = {.size = sizeof low, .qos = CHIME_QOS_BACKGROUND};
  static int busy_ticks, ticks;
  chime_queue_t queues[BUSY + 1];
  cpu_set_t allowed, one;
  int i;
  REQUIRE_OK(sched_getaffinity(0, sizeof allowed, &allowed));
  for (i = 0; !CPU_ISSET(i, &allowed); i++) continue;
  CPU_ZERO(&one);
  CPU_SET(i, &one);
  REQUIRE_OK(sched_setaffinity(0, sizeof one, &one));
  for (i = 0; i <= BUSY; i++) {
    const chime_queue_options *options = i < BUSY ? &high : &low;
    const chime_timer_options timer = {
        .size = sizeof timer, .handler = i < BUSY ? again : count_tick, .context = i < BUSY ? &busy_ticks : &ticks};
    const chime_schedule schedule = schedule_of(0, i < BUSY ? 0 : CHIME_MILLISECOND);
    chime_timer_t made;
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, options, &queues[i]));
    REQUIRE_OK(chime_timer_create(queues[i], &timer, &made));
    REQUIRE_OK(chime_timer_activate(made, &schedule));
  }
  EXPECT(await(&ticks, 3));
  fault_seen("%d ticks of the busy queues beside %d", load(&busy_ticks), load(&ticks));
  for (i = 0; i <= BUSY; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}
