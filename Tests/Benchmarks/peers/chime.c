/*
 * Chime, on the kind of queue that the Makefile names: QUEUE_KIND, and QUEUE_FLAGS of the queue's options. By deadline,
 * which reads no clock in a call, and by delay, which reads it in each. Serial, concurrent and precise queues work on
 * threads of their own beside the calls; host-driven ones when the load lets them.
 */
#include "../harness.h"

#include <chime.h>
#include <semaphore.h>
#include <sys/epoll.h>

const int peer_traits = PEER_THREAD_SAFE;

static void on_tick(const chime_tick *tick, void *context) { bench_tick((size_t)context); }
static const chime_timer_options ticking = {.size = sizeof ticking, .handler = on_tick};
static const chime_schedule by_delay = CHIME_SCHEDULE_INIT;
static const chime_schedule by_deadline = {.size = sizeof by_deadline, .flags = CHIME_SCHEDULE_DEADLINE};

static chime_queue_t queues[2];
static chime_timer_t *timers;
static int loop; /* epoll; host-driven queues */

static void on_beat(const chime_tick *tick, void *context) { bench_beat(tick->missed + 1); }
static void on_pass(const chime_tick *tick, void *context) { REQUIRE(sem_post(context) == 0); }

void peer_print_version(void) {
  uint32_t packed = chime_version();
  printf("%u.%u.%u", packed >> 16, packed >> 8 & 0xff, packed & 0xff);
}

void peer_open(size_t count) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.flags = QUEUE_FLAGS;
  for (size_t i = 0; i < count; i++) REQUIRE(chime_queue_create(QUEUE_KIND, &options, &queues[i]) == CHIME_OK);
  if (QUEUE_KIND == CHIME_QUEUE_HOST) {
    struct epoll_event event = {.events = EPOLLIN};
    int32_t file;
    loop = epoll_create1(0);
    REQUIRE(chime_queue_fd(queues[0], &file) == CHIME_OK);
    REQUIRE(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, file, &event) == 0);
  }
}

void peer_fill(const bench_offset *offsets, size_t count) {
  chime_timer_options options = ticking;
  chime_schedule schedule = by_deadline;
  schedule.leeway_ns = bench.leeway_ns;
  timers = bench_array(count, sizeof *timers);
  for (size_t i = 0; i < count; i++) {
    options.context = (void *)i;
    schedule.first_ns = bench.base_ns + offsets[i].ns;
    REQUIRE(chime_timer_start(queues[0], &options, &schedule, &timers[i]) == CHIME_OK);
  }
}

static inline void create_in_order(chime_queue_t queue, const bench_offset *offsets, size_t count,
                                   chime_schedule schedule, int64_t origin_ns) {
  chime_timer_options options = ticking;
  chime_timer_t timer;
  for (size_t i = 0; i < count; i++) {
    schedule.first_ns = origin_ns + offsets[i].ns;
    REQUIRE(chime_timer_start(queue, &options, &schedule, &timer) == CHIME_OK);
    REQUIRE(chime_timer_cancel(timer) == CHIME_OK);
    REQUIRE(chime_timer_release(timer) == CHIME_OK);
  }
}

void peer_create(size_t queue, const bench_offset *offsets, size_t count) {
  create_in_order(queues[queue], offsets, count, by_delay, 0);
}

void peer_create_until(size_t queue, const bench_offset *offsets, size_t count) {
  create_in_order(queues[queue], offsets, count, by_deadline, bench.base_ns);
}

/* A timer that has fired meanwhile answers IGNORED. */
void peer_postpone(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++) REQUIRE(chime_timer_postpone(timers[which[i]], offsets[i].ns) >= 0);
}

void peer_postpone_until(const uint32_t *which, const bench_offset *offsets, size_t count) {
  for (size_t i = 0; i < count; i++)
    REQUIRE(chime_timer_postpone_until(timers[which[i]], bench.base_ns + offsets[i].ns) >= 0);
}

void peer_reschedule(const uint32_t *which, const bench_offset *offsets, size_t count) {
  chime_schedule schedule = by_deadline;
  for (size_t i = 0; i < count; i++) {
    schedule.first_ns = bench.base_ns + offsets[i].ns;
    REQUIRE(chime_timer_reschedule(timers[which[i]], &schedule) >= 0);
  }
}

static void poll_host(void) {
  if (QUEUE_KIND == CHIME_QUEUE_HOST) REQUIRE(chime_queue_process(queues[0], 0, NULL) == CHIME_OK);
}

void peer_settle(void) {
  /* A timer that is due at once brings a pass; the pass takes over all that was handed to the queue before. */
  sem_t passed;
  if (QUEUE_KIND == CHIME_QUEUE_HOST) {
    poll_host();
    return;
  }
  REQUIRE(sem_init(&passed, 0, 0) == 0);
  REQUIRE(chime_timer_after(queues[0], 0, on_pass, &passed, NULL, NULL) == CHIME_OK);
  while (sem_wait(&passed) != 0) continue; /* a signal ended it */
  REQUIRE(sem_destroy(&passed) == 0);
}

int64_t peer_due_ns(size_t i) {
  int64_t deadline_ns;
  REQUIRE(chime_timer_next_deadline(timers[i], &deadline_ns) == CHIME_OK);
  return deadline_ns - bench.base_ns;
}

void peer_run(void) {
  struct epoll_event event;
  if (QUEUE_KIND != CHIME_QUEUE_HOST) bench_wait();
  while (!bench.done) {
    REQUIRE(epoll_wait(loop, &event, 1, -1) == 1);
    poll_host();
  }
}

void peer_repeat(int64_t interval_ns) {
  chime_timer_options options = ticking;
  chime_schedule schedule = by_deadline;
  chime_timer_t timer;
  options.handler = on_beat;
  schedule.first_ns = bench.base_ns + interval_ns;
  schedule.interval_ns = interval_ns;
  REQUIRE(chime_timer_start(queues[0], &options, &schedule, &timer) == CHIME_OK);
}
