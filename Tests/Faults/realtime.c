/*
 * realtime.c - a thread with real-time priority asks about a timer that an ordinary thread of the same processor restarts
 * all the time, and whose queue it drives. Whatever that thread was doing when it lost the processor, it does not get it
 * back before the answer: so an answer that had to wait for it would never come (the kernel gives ordinary threads a
 * twentieth of each second). A lock that lends its owner the priority is no such wait.
 */
#include "calls.h"

#include <sched.h>
#include <unistd.h>

enum { QUESTIONS = 10000, PATIENCE_S = 60 };

static world asked_about;
static int restarts; /* by the ordinary thread alone */
static int asked;
static int waited; /* questions during which the ordinary thread came on */
static int over;

static void *restart_all_the_time(void *context) {
  chime_schedule schedule = schedule_of(CHIME_HOUR, 0);
  (void)context;
  while (load(&over) == 0) {
    schedule.leeway_ns = restarts % 1000;
    EXPECT_OK(chime_timer_restart(asked_about.timer, &schedule));
    if (restarts % 4 == 0) EXPECT_OK(chime_queue_process(asked_about.queue, 0, NULL));
    add(&restarts, 1);
  }
  return NULL;
}

static int take_priority(int priority) {
  const struct sched_param parameter = {.sched_priority = priority};
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

static void *ask_with_priority(void *query) {
  EXPECT_OK(take_priority(10));
  while (load(&asked) < QUESTIONS) {
    const struct timespec moment = {0, 20000 + load(&asked) % 7 * 1000};
    int before;
    nanosleep(&moment, NULL); /* the ordinary thread's time */
    before = load(&restarts);
    EXPECT(((const subject *)query)->call(&asked_about) >= 0);
    if (load(&restarts) != before) add(&waited, 1);
    add(&asked, 1);
  }
  return NULL;
}

/* Above the thread that asks, so that it comes to its turn on the same processor. */
static void *watch(void *context) {
  int64_t end = monotonic_ns() + PATIENCE_S * CHIME_SECOND;
  (void)context;
  if (take_priority(20) != 0) fault_skip("SCHED_FIFO is not permitted here");
  while (load(&asked) < QUESTIONS) {
    sleep_ns(10 * CHIME_MILLISECOND);
    if (monotonic_ns() < end) continue;
    fault_seen("%d of %d questions were answered, %d by waiting", load(&asked), QUESTIONS, load(&waited));
    _exit(1);
  }
  return NULL;
}

CASES(answers_wait_for_no_ordinary_thread, number, 0, subject_count - 1) {
  const subject *query = &subjects[number];
  cpu_set_t allowed, one;
  pthread_t ordinary, watchdog;
  int i;
  if ((query->flags & IS_QUERY) == 0) fault_skip("not a query");
  REQUIRE_OK(sched_getaffinity(0, sizeof allowed, &allowed));
  for (i = 0; !CPU_ISSET(i, &allowed); i++) continue;
  CPU_ZERO(&one);
  CPU_SET(i, &one);
  REQUIRE_OK(sched_setaffinity(0, sizeof one, &one));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &asked_about.queue));
  REQUIRE_OK(chime_timer_after(asked_about.queue, CHIME_HOUR, ignore_tick, NULL, NULL, &asked_about.timer));
  asked_about.tied = asked_about.timer;
  watchdog = spawn(watch, NULL);
  ordinary = spawn(restart_all_the_time, NULL);
  run_on_a_thread(ask_with_priority, (void *)query);
  pthread_join(watchdog, NULL);
  store(&over, 1);
  pthread_join(ordinary, NULL);
  EXPECT_BETWEEN(load(&waited), 0, QUESTIONS / 1000); /* a page of memory may have to be found */
  fault_seen("%s: %d by waiting", query->name, load(&waited));
  EXPECT_OK(chime_queue_shutdown(asked_about.queue, PATIENCE));
}
