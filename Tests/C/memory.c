/*
 * memory.c - [14] what is made again and again leaves no memory behind, and no descriptor. Each test looks at the whole
 * process, and so needs it to itself.
 */
#include "run_loop.h"

static void count_action(const chime_tick *tick, void *user_info) { add(user_info, 1); }

/* In rounds of 100: made, ticked, and dropped in each way. One in four has no id, and releases itself. Gives what libchime
   holds when all have gone, by its own count: what the process has depends on the system's mood. */
static uint64_t target_rounds(csuite *t, chime_queue_t queue) {
  int ticks = 0;
  int64_t object = 0;
  for (int i = 0; i < csuite_scaled(50000); i += 100) {
    chime_timer_options options = TIMER_OPTIONS(.handler = count_action, .context = &ticks);
    chime_timer_t ids[100];
    int before = load(&ticks);
    EXPECT_OK(chime_target_create(&object, NULL, &options.target));
    for (int j = 0; j < 100; j++) EXPECT_OK(chime_timer_start(queue, &options, AFTER(0), j % 4 == 0 ? NULL : &ids[j]));
    EXPECT(await(&ticks, before + 100));
    EXPECT_TOOK_EFFECT(chime_target_release(options.target));
    for (int j = 0; j < 100; j++) {
      if (j % 4 != 0) EXPECT_TOOK_EFFECT(chime_timer_release(ids[j]));
    }
  }
  for (int i = 0; i < 2; i++)
    EXPECT_OK(chime_queue_sync(queue, count_call, &ticks, PATIENCE)); /* behind what is left */
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  return chime_memory_used();
}

OWN_THREAD_TEST_ALONE(timers_with_targets_leave_no_memory_behind) {
  QUEUE_OR_RETURN(queue, SERIAL);
  uint64_t half = target_rounds(t, queue);
  EXPECT(target_rounds(t, queue) <= half + 256 * 1024); /* two chunks of slots, which a busy machine may want at once */
}

static int threads_made, threads_ended;

/* Weak timers, with a target and without: two end by a release, two with the target or the loop. */
THREAD_OF_TEST(loop_of_a_thread) {
  chime_queue_t queue = 0;
  chime_target_t target = 0;
  chime_weak_timer_t weak[2];
  int64_t object = 0;
  int ticks = 0;
  EXPECT_OK(chime_queue_create_on_run_loop(current_loop(t), TRACKING, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 0, count_action, &ticks, NULL, NULL));
  EXPECT_OK(chime_target_create(&object, NULL, &target));
  for (int i = 0; i < 4; i++) {
    EXPECT_OK(chime_weak_timer_schedule(CHIME_HOUR, 1, i % 2 ? target : 0, count_action, &ticks, NULL, NULL,
                                        i < 2 ? &weak[i] : NULL));
  }
  EXPECT_OK(chime_run_loop_run(TRACKING, PATIENCE, CHIME_RUN_LOOP_UNTIL_TICK));
  EXPECT_EQ(ticks, 1);
  EXPECT_TOOK_EFFECT(chime_weak_timer_release(weak[0]));
  EXPECT_TOOK_EFFECT(chime_weak_timer_release(weak[1]));
  EXPECT_TOOK_EFFECT(chime_target_release(target));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* Loops of the host's threads and of Chime's by turns, and queues in every kind of mode on one that stays. */
static void loop_rounds(csuite *t, chime_run_loop_t stays, int loops) {
  int made = load(&threads_made);
  for (int i = 0; i < loops; i++) {
    static const char *const modes[] = {NULL, TRACKING, CHIME_RUN_LOOP_COMMON_MODES};
    chime_run_loop_t loop = 0;
    chime_queue_t queue = 0, other = 0;
    EXPECT_OK(chime_queue_create_on_run_loop(stays, modes[i % 3], NULL, &other));
    if (i % 2 == 0) {
      run_on_a_thread(t, loop_of_a_thread, t);
    } else {
      made += EXPECT_OK(chime_run_loop_create(NULL, &loop));
      REQUIRE_OK(chime_queue_create_on_run_loop(loop, NULL, NULL, &queue));
      EXPECT_OK(chime_queue_async(queue, count_my_end, &threads_ended, NULL));
      EXPECT_OK(chime_queue_async(queue, count_call, &threads_made, NULL));
      EXPECT(await(&threads_made, made));
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
      EXPECT_OK(chime_queue_create_on_run_loop(loop, modes[i % 3], NULL, &queue));
      EXPECT_OK(chime_run_loop_release(loop));
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
    EXPECT_OK(chime_queue_shutdown(other, PATIENCE));
  }
  EXPECT(await(&threads_ended, made));
}

OWN_THREAD_TEST_ALONE(run_loops_and_their_queues_leave_nothing_behind) { /* [14] */
  int loops = csuite_scaled(10000), files;
  chime_run_loop_t stays = 0;
  REQUIRE_OK(chime_run_loop_current(&stays));
  loop_rounds(t, stays, loops / 4);
  files = system_open_files();
  int64_t resident = resident_kib();
  int64_t allocated = system_allocated_bytes();
  loop_rounds(t, stays, loops);
  EXPECT(system_open_files() <= files); /* the pool's of a test before may have gone meanwhile */
  EXPECT_BETWEEN(system_allocated_bytes() - allocated, -256 * 1024 * 1024, 64 * 1024);
  /* Fewer rounds do not outweigh what a checker of memory needs for itself. */
  if (resident > 0 && loops >= 10000) EXPECT_BETWEEN(resident_kib() - resident, -256 * 1024, 2 * 1024);
}

typedef struct timer_queue {
  int kind;
  uint64_t limit;
} timer_queue;

static int ended_timers[2];
static void count_end(void *context) { add(&ended_timers[0], 1); }
static void count_other_end(void *context) { add(&ended_timers[1], 1); }

static int compare_ids(const void *one, const void *other) {
  chime_timer_t a = *(const chime_timer_t *)one, b = *(const chime_timer_t *)other;
  return (a > b) - (a < b);
}

/* Whether what was given back shows at once in what is resident: not in an emulator, nor where the system takes it later; and
   under checkers of memory, which have the fewest rounds, more comes than goes. */
static int loss_shows(void) {
#if defined(__linux__) && defined(__x86_64__)
  return csuite_scaled(100) >= 5;
#else
  return 0;
#endif
}

/* Whether the count of what is held goes down by what the system has again: it must have whole pages of it. */
static int loss_is_counted(void) {
#if defined(__linux__) && defined(__x86_64__)
  return chime_memory_used() > 0;
#else
  return 0;
#endif
}

/* Timers of which every second has one of two finalizers, and so a side record; one in four was released before its queue. */
static void fill_and_end(csuite *t, const timer_queue *kind, chime_timer_t *ids, int count) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  int64_t resident, used;
  int before[2] = {load(&ended_timers[0]), load(&ended_timers[1])};
  options.timer_limit = kind->limit;
  REQUIRE_OK(chime_queue_create(kind->kind, &options, &queue));
  for (int i = 0; i < count; i++)
    REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR + i, count_action, NULL,
                                 i % 4 == 1   ? count_end
                                 : i % 4 == 3 ? count_other_end
                                              : NULL,
                                 &ids[i]));
  for (int i = 3; i < count; i += 4) EXPECT_OK(chime_timer_release(ids[i]));
  resident = resident_kib();
  used = (int64_t)chime_memory_used();
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  if (loss_is_counted()) EXPECT(used - (int64_t)chime_memory_used() >= (int64_t)count * 120);
  for (int i = 0; i < 2; i++) EXPECT_EQ(load(&ended_timers[i]) - before[i], count / 4);
  /* Most of a timer's 80 bytes go; what ids need stays. */
  if (resident > 0 && loss_shows()) EXPECT(resident - resident_kib() >= (int64_t)count * 40 / 1024);
  for (int i = 0; i < count; i++) {
    EXPECT_STATUS(chime_timer_cancel(ids[i]), CHIME_ERROR_INVALID_HANDLE);
    EXPECT_STATUS(chime_timer_release(ids[i]), i % 4 == 3 ? CHIME_ERROR_INVALID_HANDLE : CHIME_IGNORED);
  }
}

/* [14], [10]: What a queue has used is the system's again when it has ended; its timers' ids name nothing, then or when their
   places are used again, and are known to have ended with it until then. */
OWN_THREAD_TEST_ALONE(the_memory_of_a_queue_that_has_ended_goes_back_and_its_ids_stay_stale) {
  static const timer_queue kinds[] = {{CHIME_QUEUE_SERIAL, 0},  {CHIME_QUEUE_CONCURRENT, 0}, {CHIME_QUEUE_HOST, 0},
                                      {CHIME_QUEUE_VIRTUAL, 0}, {CHIME_QUEUE_PRECISE, 0},    {CHIME_QUEUE_HOST, 20000}};
  enum { TIMERS = 20000, ROUNDS = 2, ALL = TIMERS * ROUNDS * (int)(sizeof kinds / sizeof *kinds) };
  chime_timer_t *ids = csuite_memory(t, ALL * sizeof *ids);
  int made = 0;
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    for (int round = 0; round < ROUNDS; round++, made += TIMERS) fill_and_end(t, &kinds[kind], ids + made, TIMERS);
  }
  qsort(ids, ALL, sizeof *ids, compare_ids);
  for (int i = 1; i < ALL; i++) EXPECT(ids[i - 1] != ids[i]);
}

/* [14]: What the system has again counts neither as held nor against the limit: queues of another kind can have as much. */
OWN_THREAD_TEST_ALONE(what_a_queue_that_has_ended_gave_back_is_not_held_against_the_limit) {
  enum { TIMERS = 100000 };
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  for (int round = 0; round < 3; round++) {
    int made = 0;
    options.timer_limit = round % 2 == 0 ? 0 : TIMERS;
    EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
    while (made < TIMERS && chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, NULL) == CHIME_OK) made++;
    EXPECT_EQ(made, TIMERS);
    EXPECT(!loss_is_counted() || chime_memory_used() >= TIMERS * 100);
    /* From here on there is no room for as much again: a timer holds twice as much, and a queue that grows for a moment more. */
    if (round == 0 && loss_is_counted()) EXPECT_OK(chime_set_memory_limit(chime_memory_used() + TIMERS * 100));
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
  EXPECT_OK(chime_set_memory_limit(0));
}

/* [14]: What a thread keeps for the next timers of a queue keeps no memory of one that it has ended. */
OWN_THREAD_TEST_ALONE(the_memory_of_many_small_queues_goes_back_with_them) {
  static const int kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_HOST, CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT,
                              CHIME_QUEUE_DISPATCH};
  enum { QUEUES = 200, TIMERS = 256 };
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    chime_queue_t queues[QUEUES];
    if (kinds[kind] == CHIME_QUEUE_DISPATCH && !csuite_has_dispatch()) continue;
    for (int i = 0; i < QUEUES; i++) {
      REQUIRE_OK(chime_queue_create(kinds[kind], NULL, &queues[i]));
      for (int j = 0; j < TIMERS; j++)
        REQUIRE_OK(chime_timer_after(queues[i], CHIME_HOUR, ignore_tick, NULL, NULL, NULL));
    }
    int64_t resident = resident_kib();
    for (int i = 0; i < QUEUES; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
    /* Of 256 x 64 bytes all but a page, but for the queues whose memory is kept. */
    if (resident > 0 && loss_shows()) EXPECT(resident - resident_kib() >= (QUEUES - 64) * (TIMERS * 64 / 1024 - 4));
  }
}

/* [14]: The pages of its wheel come with a queue's first timer. */
OWN_THREAD_TEST_ALONE(a_queue_that_has_no_timer_yet_holds_less_than_48_kib) {
  static const int kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_HOST, CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT};
  enum { QUEUES = 300 }; /* more than there were before at once: memory of those is not counted again */
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    chime_queue_t queues[4 * QUEUES];
    int made = (int)(kind + 1) * QUEUES;
    for (int i = 0; i < made - QUEUES; i++) REQUIRE_OK(chime_queue_create(kinds[kind], NULL, &queues[i]));
    uint64_t before = chime_memory_used();
    for (int i = made - QUEUES; i < made; i++) REQUIRE_OK(chime_queue_create(kinds[kind], NULL, &queues[i]));
    EXPECT(chime_memory_used() - before < QUEUES * 48 * 1024);
    for (int i = 0; i < made; i++) EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
  }
}

/* [1], [10]: One thread starts and ends timers on more queues in turn than it keeps free places for: each call does what it
   does on one queue, and each timer is known to its queue's end. */
OWN_THREAD_TEST(a_thread_that_uses_many_queues_in_turn_has_timers_like_any_other) {
  static const int kinds[] = {CHIME_QUEUE_VIRTUAL, CHIME_QUEUE_HOST, CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT};
  enum { QUEUES = 12, ROUNDS = 100, LAST = (ROUNDS - 1) * QUEUES, ALL = ROUNDS * QUEUES };
  chime_timer_options options = {.size = sizeof options, .handler = ignore_tick};
  chime_schedule schedule = {.size = sizeof schedule, .flags = CHIME_SCHEDULE_DEADLINE};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    chime_queue_t queues[QUEUES];
    chime_timer_t ids[ALL];
    int64_t next;
    for (int i = 0; i < QUEUES; i++) REQUIRE_OK(chime_queue_create(kinds[kind], NULL, &queues[i]));
    for (int i = 0; i < ALL; i++) {
      REQUIRE_OK(chime_queue_now(queues[i % QUEUES], &schedule.first_ns));
      schedule.first_ns += CHIME_HOUR;
      if (i % 3) REQUIRE_OK(chime_timer_start(queues[i % QUEUES], &options, &schedule, &ids[i]));
      else REQUIRE_OK(chime_timer_after(queues[i % QUEUES], CHIME_HOUR, ignore_tick, NULL, NULL, &ids[i]));
      EXPECT_OK(chime_timer_next_deadline(ids[i], &next));
      EXPECT_BETWEEN(next - schedule.first_ns, 0, i % 3 ? 0 : CHIME_HOUR);
      EXPECT_EQ(info_of(t, ids[i]).queue, queues[i % QUEUES]);
      if (i >= LAST) continue;
      if (i % 2) EXPECT_OK(chime_timer_cancel(ids[i]));
      EXPECT_OK(chime_timer_release(ids[i]));
      EXPECT_STATUS(chime_timer_cancel(ids[i]), CHIME_ERROR_INVALID_HANDLE);
    }
    for (int i = 0; i < QUEUES; i++) {
      EXPECT_EQ(stats_of(t, queues[i]).timers, 1);
      EXPECT_OK(chime_queue_shutdown(queues[i], PATIENCE));
      EXPECT_STATUS(chime_timer_cancel(ids[LAST + i]), CHIME_ERROR_INVALID_HANDLE);
    }
    qsort(ids, ALL, sizeof *ids, compare_ids);
    for (int i = 1; i < ALL; i++) EXPECT(ids[i - 1] != ids[i]);
  }
}
