/*
 * realtime.c - a thread with real-time priority calls Chime on a processor that threads of less priority have lost to it.
 * Whatever they were doing then, they do not get it back before the call returns, unless a lock lends its owner the
 * priority. So a call that had to wait for one of them would let others run, or never return (the kernel gives ordinary
 * threads a twentieth of each second). Promises 18 and 21.
 */
#include "calls.h"
#include "guest.h"

#include <semaphore.h>
#include <stdlib.h>

static int over;

/* Calls during which a thread came on that should not have. */
static int waited;

/* ---- Queries ------------------------------------------------------------------------------------------------------ */

/* A page of memory may have to be found; and each wait may take a second. */
enum { QUESTIONS = 10000, MOST_WAITS = QUESTIONS / 1000 };

static world asked_about;
static int restarts; /* by the ordinary thread alone, which drives the queue */

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
  int asked;
  guest_become_realtime(10);
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
  pthread_t ordinary;
  if ((query->flags & IS_QUERY) == 0) fault_skip("not a query");
  guest_bind_to_one_processor();
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

/* ---- Calls that change something ---------------------------------------------------------------------------------- */

enum { BURST = 4 * CHIME_MILLISECOND, CALLS = 400, BUSY = 8 };

static sem_t burst;
static int bursts, busy_ticks;

/* Works at a priority between the caller's and the pool's: each time it may begin just before the caller calls. */
static void *burst_in_between(void *unused) {
  guest_become_realtime(10);
  while (sem_wait(&burst) == 0 && !load(&over)) {
    int64_t end = monotonic_ns() + BURST;
    add(&bursts, 1);
    while (monotonic_ns() < end) continue;
  }
  return unused;
}

static void *call_at_high_priority(void *queue) {
  unsigned seed = 1;
  int i;
  guest_become_realtime(50);
  for (i = 0; i < CALLS; i++) {
    chime_timer_t timer;
    int before;
    sleep_ns(BURST + CHIME_MILLISECOND + rand_r(&seed) % 500 * CHIME_MICROSECOND);
    before = load(&bursts);
    sem_post(&burst);
    EXPECT_OK(chime_timer_after(*(chime_queue_t *)queue, CHIME_MILLISECOND, count_tick, &busy_ticks, NULL, &timer));
    waited += load(&bursts) != before;
    EXPECT(chime_timer_release(timer) >= 0);
  }
  return NULL;
}

/* Only the next case runs it. */
CASES(a_call_on_this_processor, where, 1, 0) {
  chime_queue_t queues[BUSY + 1];
  pthread_t between;
  int i;
  REQUIRE_OK(sem_init(&burst, 0, 0));
  for (i = 0; i <= BUSY; i++) {
    chime_timer_t timer;
    queues[i] = place_queue(i == BUSY ? where : SERIAL, NULL);
    if (i == BUSY) break;
    REQUIRE_OK(
        chime_timer_create(queues[i], &TIMER_OPTIONS(.handler = guest_tick_again, .context = &busy_ticks), &timer));
    REQUIRE_OK(chime_timer_activate(timer, AFTER(0)));
  }
  between = spawn(burst_in_between, NULL);
  join(spawn(call_at_high_priority, &queues[BUSY]));
  store(&over, 1);
  sem_post(&burst);
  join(between);
  fault_seen("%d of %d by waiting", waited, CALLS);
  EXPECT_BETWEEN(waited, 0, CALLS / 50);
  for (i = 0; i <= BUSY; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
}

/* A call that does not wait is not held up by a thread of a lower priority that works on the processor of a pool thread. */
CASES(a_call_beside_busy_queues, where, SERIAL, CONCURRENT) {
  guest_run_on_one_processor("a_call_on_this_processor", where);
}
