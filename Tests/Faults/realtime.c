/*
 * realtime.c - a thread with real-time priority asks about a timer that an ordinary thread of the same processor restarts
 * all the time, and whose queue it drives. Whatever that thread was doing when it lost the processor, it does not get it
 * back before the answer: so an answer that had to wait for it would never come (the kernel gives ordinary threads a
 * twentieth of each second). A lock that lends its owner the priority is no such wait.
 */
#include "calls.h"

#include <sched.h>
#include <unistd.h>

/* A page of memory may have to be found; and each wait may take a second. */
enum { QUESTIONS = 10000, MOST_WAITS = QUESTIONS / 1000 };

static world asked_about;
static int restarts; /* by the ordinary thread alone */
static int waited;   /* questions during which the ordinary thread came on */
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

static void *ask_with_priority(void *query) {
  const struct sched_param priority = {.sched_priority = 10};
  int asked;
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) fault_skip("SCHED_FIFO is not permitted here");
  for (asked = 0; asked < QUESTIONS && waited <= MOST_WAITS; asked++) {
    int before;
    sleep_ns((20 + asked % 7) * CHIME_MICROSECOND); /* the ordinary thread's time */
    before = load(&restarts);
    EXPECT(((const subject *)query)->call(&asked_about) >= 0);
    waited += load(&restarts) != before;
  }
  return NULL;
}

CASES(answers_wait_for_no_ordinary_thread, number, 0, subject_count - 1) {
  const subject *query = &subjects[number];
  cpu_set_t allowed, one;
  pthread_t ordinary;
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
  ordinary = spawn(restart_all_the_time, NULL);
  run_on_a_thread(ask_with_priority, (void *)query);
  store(&over, 1);
  pthread_join(ordinary, NULL);
  EXPECT_BETWEEN(waited, 0, MOST_WAITS);
  fault_seen("%s: %d by waiting", query->name, waited);
  EXPECT_OK(chime_queue_shutdown(asked_about.queue, PATIENCE));
}
