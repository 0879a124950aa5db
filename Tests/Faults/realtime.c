/*
 * realtime.c - a thread with real-time priority asks about a timer that an ordinary thread of the same processor restarts
 * all the time, and whose queue it drives. Whatever that thread was doing when it lost the processor, it does not get it
 * back before the answer: so an answer that had to wait for it would never come (the kernel gives ordinary threads a
 * twentieth of each second). A lock that lends its owner the priority is no such wait.
 */
#include "places.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { QUESTIONS = 10000, PATIENCE_MS = 60000 };

static const char *const question_names[] = {"state",   "get_info",  "next_deadline", "generation",
                                             "explain", "get_stats", "dump",          "next_deadline of the queue"};

static chime_queue_t queue;
static chime_timer_t timer;
static int restarts; /* by the ordinary thread alone */
static int asked;
static int waited; /* questions during which the ordinary thread came on */
static int over;

static void *restart_all_the_time(void *context) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  (void)context;
  schedule.first_ns = CHIME_HOUR;
  while (load(&over) == 0) {
    schedule.leeway_ns = restarts % 1000;
    EXPECT_EQ(chime_timer_restart(timer, &schedule), CHIME_OK);
    if (restarts % 4 == 0) EXPECT_OK(chime_queue_process(queue, 0, NULL));
    add(&restarts, 1);
  }
  return NULL;
}

static chime_status ask(int question) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_state state;
  uint64_t number;
  int64_t time;
  char text[512];
  switch (question) {
    case 0: return chime_timer_state(timer, &state);
    case 1: return chime_timer_get_info(timer, &info);
    case 2: return chime_timer_next_deadline(timer, &time);
    case 3: return chime_timer_generation(timer, &number);
    case 4: return chime_timer_explain(timer, text, sizeof text, NULL);
    case 5: return chime_queue_get_stats(queue, &stats);
    case 6: return chime_queue_dump(queue, text, sizeof text, NULL);
    default: return chime_queue_next_deadline(queue, &time);
  }
}

static void *ask_with_priority(void *context) {
  int question = *(int *)context;
  while (load(&asked) < QUESTIONS && load(&over) == 0) {
    const struct timespec moment = {0, 20000 + load(&asked) % 7 * 1000};
    int before;
    nanosleep(&moment, NULL); /* the ordinary thread's time */
    before = load(&restarts);
    EXPECT_OK(ask(question));
    if (load(&restarts) != before) add(&waited, 1);
    add(&asked, 1);
  }
  return NULL;
}

static int spawn_with_priority(pthread_t *thread, int priority, void *(*body)(void *), void *context) {
  pthread_attr_t attributes;
  struct sched_param parameter;
  int error;
  parameter.sched_priority = priority;
  pthread_attr_init(&attributes);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
  pthread_attr_setschedparam(&attributes, &parameter);
  error = pthread_create(thread, &attributes, body, context);
  pthread_attr_destroy(&attributes);
  return error;
}

/* Above the thread that asks, so that it comes to its turn on the same processor. */
static void *watch(void *context) {
  int64_t end = monotonic_ns() + PATIENCE_MS * INT64_C(1000000);
  (void)context;
  while (monotonic_ns() < end && load(&asked) < QUESTIONS) sleep_ms(10);
  if (load(&asked) < QUESTIONS) {
    fault_seen("%d of %d questions were answered in %d ms, %d by waiting", load(&asked), QUESTIONS, PATIENCE_MS,
               load(&waited));
    fflush(stdout);
    _exit(1);
  }
  return NULL;
}

static void answers_wait_for_no_ordinary_thread(int question) {
  cpu_set_t allowed, one;
  pthread_t ordinary, asker, watchdog;
  int i;
  REQUIRE_OK(sched_getaffinity(0, sizeof allowed, &allowed));
  for (i = 0; !CPU_ISSET(i, &allowed); i++) continue;
  CPU_ZERO(&one);
  CPU_SET(i, &one);
  REQUIRE_OK(sched_setaffinity(0, sizeof one, &one));
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR, count_tick, &restarts, NULL, &timer));
  if (spawn_with_priority(&watchdog, 20, watch, NULL) != 0) fault_skip("SCHED_FIFO is not permitted here");
  REQUIRE_OK(pthread_create(&ordinary, NULL, restart_all_the_time, NULL));
  REQUIRE_OK(spawn_with_priority(&asker, 10, ask_with_priority, &question));
  pthread_join(asker, NULL);
  pthread_join(watchdog, NULL);
  store(&over, 1);
  pthread_join(ordinary, NULL);
  EXPECT_EQ(load(&asked), QUESTIONS);
  EXPECT_BETWEEN(load(&waited), 0, QUESTIONS / 1000); /* a page of memory may have to be found */
  fault_seen("%s: %d answers, %d by waiting", question_names[question], load(&asked), load(&waited));
  EXPECT_OK(chime_queue_shutdown(queue, 5 * CHIME_SECOND));
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"answers-wait-for-no-ordinary-thread", answers_wait_for_no_ordinary_thread, 0, 7, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
