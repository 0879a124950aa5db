/*
 * ids.c - [10] what names nothing is refused by every function, with CHIME_ERROR_INVALID_HANDLE and its out-parameters
 * untouched: 0, numbers that are no id, ids of another kind, ids with a bit changed, ids of what was released, however
 * often its place is used again. Only a release of what has ended with its queue is ignored instead. Which functions take ids, functions.h says, which is made from the headers. (With other
 * threads at once: storm.c; queues that end: Tests/Interleavings.)
 */
#include "arguments.h"
#include "functions.h"

enum { QUEUE, TIMER, TARGET, VALUE, LOOP, WEAK_TIMER, KINDS };

/* Where calls put their answers. */
typedef struct outs {
  union {
    uint64_t number;
    chime_queue_stats stats;
    chime_timer_info info;
  } answer;
  char text[8];
  chime_tick tick;
} outs;

/* One living thing of each kind, and what the functions are given beside an id that is bad. */
typedef struct ids {
  csuite *t;
  uint64_t alive[KINDS];
  const char *what; /* a bad id is */
  int has_ended;    /* with its queue */
  chime_timer_options options;
  chime_schedule schedule;
  outs out;
  arguments given;
} ids;

static const size_t ids_of[KINDS] = {
    [QUEUE] = offsetof(arguments, queue),   [TIMER] = offsetof(arguments, timer),
    [TARGET] = offsetof(arguments, target), [VALUE] = offsetof(arguments, expiring),
    [LOOP] = offsetof(arguments, run_loop), [WEAK_TIMER] = offsetof(arguments, weak_timer)};

static arguments what_is_right(ids *i) {
  csuite *t = i->t;
  i->options = refused_options(t);
  i->schedule = *AFTER(0);
  arguments a = {.queue = i->alive[QUEUE],
                 .timer = i->alive[TIMER],
                 .target = i->alive[TARGET],
                 .expiring = i->alive[VALUE],
                 .run_loop = i->alive[LOOP],
                 .weak_timer = i->alive[WEAK_TIMER],
                 .timer_options = &i->options,
                 .schedule = &i->schedule,
                 .handler = never,
                 .function = never_function,
                 .context = t,
                 .finalizer = never_function,
                 .object = t,
                 .key = "x",
                 .mode = TRACKING,
                 .out = &i->out.answer,
                 .text = i->out.text,
                 .ticks = &i->out.tick,
                 .tick_size = sizeof i->out.tick,
                 .capacity = 1,
                 .repeats = 1};
  a.delay_ns = a.deadline_ns = a.interval_ns = a.lifetime_ns = a.wall_deadline_ns = 1;
  return a;
}

static int takes(const function_of_chime *f, size_t number, int kind) {
  return number < f->count && f->parameters[number].kind == AN_ID && f->parameters[number].member == ids_of[kind];
}

static int ends_it(const function_of_chime *f) {
  return strstr(f->name, "release") != NULL || strcmp(f->name, "queue_shutdown") == 0;
}

static void refuses(const ids *i, const function_of_chime *f, chime_status answer) {
  chime_status expected = i->has_ended && ends_it(f) ? CHIME_IGNORED : CHIME_ERROR_INVALID_HANDLE;
  char text[200];
  if (answer == expected) return;
  snprintf(text, sizeof text, "chime_%s, where id is %s,", f->name, i->what);
  csuite_expect_status(i->t, answer, expected, __FILE__, __LINE__, text);
}

/* A release of 0 does nothing, and no target is none that has gone. */
static int means_something(const function_of_chime *f, int kind, uint64_t id) {
  return id != 0 || !(ends_it(f) || (kind == TARGET && !takes(f, 0, TARGET)));
}

/* What takes an id in that place, first or later: only the functions themselves say which these are. */
static void expect_refused_at(ids *i, int kind, uint64_t id, size_t number) {
  csuite *t = i->t;
  for (const function_of_chime *f = functions; f < functions + FUNCTIONS; f++) {
    arguments given = i->given;
    if (!takes(f, number, kind) || !means_something(f, kind, id)) continue;
    memcpy((char *)&given + ids_of[kind], &id, sizeof id);
    outs before;
    memset(&i->out, 0x5a, sizeof i->out);
    if (strcmp(f->name, "queue_get_stats") == 0) i->out.answer.stats.size = sizeof i->out.answer.stats;
    if (strcmp(f->name, "timer_get_info") == 0) i->out.answer.info.size = sizeof i->out.answer.info;
    memcpy(&before, &i->out, sizeof before);
    refuses(i, f, f->call(&given));
    EXPECT(memcmp(&i->out, &before, sizeof before) == 0);
  }
}

/* With what a call may do without left out. */
static void expect_refused_without(ids *i, int kind, uint64_t id) {
  csuite *t = i->t;
  if (kind == QUEUE) EXPECT_STATUS(chime_timer_start(id, &i->options, AFTER(0), NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == TIMER) EXPECT_STATUS(chime_timer_activate(id, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == VALUE) EXPECT_STATUS(chime_expiring_on_expiry(id, NULL, NULL, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == TARGET && id != 0) {
    chime_timer_options options = i->options;
    options.target = id;
    EXPECT_STATUS(chime_timer_create(i->alive[QUEUE], &options, &i->out.answer.number), CHIME_ERROR_INVALID_HANDLE);
  }
}

/* What was a target's id may still name one that has gone, for timers: CHIME_ERROR_TARGET_GONE. */
static void expect_no_target_to_hold(ids *i, uint64_t id) {
  csuite *t = i->t;
  expect_refused_at(i, TARGET, id, 0);
  EXPECT_STATUS(chime_target_retain(id, NULL), CHIME_ERROR_INVALID_HANDLE);
}

static void expect_nothing(ids *i, int kind, uint64_t id, const char *what) {
  i->what = what;
  for (size_t number = 0; number < MOST_PARAMETERS; number++) expect_refused_at(i, kind, id, number);
  expect_refused_without(i, kind, id);
}

/* The same of a queue that has ended, or a timer that ended with it. */
static void expect_ended(ids *i, int kind, uint64_t id, const char *what) {
  i->has_ended = 1;
  expect_nothing(i, kind, id, what);
  i->has_ended = 0;
}

/* Of what lives and is not touched by any of it. */
static ids *ids_new(csuite *t) {
  static int object;
  ids *i = csuite_memory(t, sizeof *i);
  i->t = t;
  i->alive[LOOP] = current_loop(t);
  i->alive[QUEUE] = csuite_queue(t, VIRTUAL);
  EXPECT_OK(chime_timer_after(i->alive[QUEUE], CHIME_HOUR, never, t, NULL, &i->alive[TIMER]));
  EXPECT_OK(chime_target_create(&object, NULL, &i->alive[TARGET]));
  EXPECT_OK(chime_expiring_create(i->alive[QUEUE], &object, NULL, CHIME_HOUR, &i->alive[VALUE]));
  EXPECT_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, never, t, NULL, &i->alive[WEAK_TIMER]));
  i->given = what_is_right(i);
  return i;
}

static void ids_end(ids *i) {
  csuite *t = i->t;
  void *found = NULL;
  int32_t valid = 0;
  EXPECT_EQ(state_of(t, i->alive[TIMER]), CHIME_STATE_RUNNING);
  EXPECT_OK(chime_expiring_acquire(i->alive[VALUE], &found));
  EXPECT_OK(chime_expiring_yield(i->alive[VALUE]));
  EXPECT_OK(chime_weak_timer_is_valid(i->alive[WEAK_TIMER], &valid));
  EXPECT_EQ(valid, 1);
  EXPECT_EQ(now_of(t, i->alive[QUEUE]), 0);
  EXPECT_EQ(stats_of(t, i->alive[QUEUE]).timers, 2);
  EXPECT_OK(chime_weak_timer_release(i->alive[WEAK_TIMER]));
  EXPECT_OK(chime_expiring_release(i->alive[VALUE]));
  EXPECT_OK(chime_target_release(i->alive[TARGET]));
  EXPECT_OK(chime_timer_release(i->alive[TIMER]));
}

/* An id is 3 bits of kind, 24 of life, 26 of index: it is below 2^53. */
OWN_THREAD_TEST(numbers_that_are_no_ids_name_nothing) {
  ids *i = ids_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    uint64_t alive = i->alive[kind];
    EXPECT(alive > 0 && alive < UINT64_C(1) << 53);
    expect_nothing(i, kind, 0, "0");
    expect_nothing(i, kind, 1, "1");
    expect_nothing(i, kind, UINT64_C(1) << 53, "2^53");
    expect_nothing(i, kind, UINT64_MAX, "2^64 - 1");
    expect_nothing(i, kind, alive + (UINT64_C(1) << 26), "the next one in the place of an id");
  }
  ids_end(i);
}

/* Whether a number differs from a queue's id so that an earlier queue had it in the same place. */
static int was_a_queues(uint64_t id, uint64_t alive) {
  return id < alive && id >> 50 == alive >> 50 && id << 14 >> 40 > 0;
}

/* With one of the low bits changed an id may be that of a neighbour, and a target's be of one that has gone. */
OWN_THREAD_TEST(an_id_with_a_high_bit_changed_names_nothing) {
  ids *i = ids_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int bit = 26; bit < 64; bit++) {
      uint64_t id = i->alive[kind] ^ UINT64_C(1) << bit;
      if (kind == QUEUE && was_a_queues(id, i->alive[kind])) expect_ended(i, kind, id, "an earlier queue's");
      else if (kind != TARGET || bit >= 50) expect_nothing(i, kind, id, "an id with a bit changed");
      else expect_no_target_to_hold(i, id);
    }
  }
  ids_end(i);
}

/* The flags of what a timer has lie beside its version: no bit of an id passes for one. */
OWN_THREAD_TEST(an_id_with_a_high_bit_changed_names_no_repeating_timer_either) {
  ids *i = ids_new(t);
  uint64_t plain = i->alive[TIMER];
  const chime_schedule schedules[] = {SCHEDULE(.first_ns = CHIME_HOUR, .interval_ns = CHIME_HOUR),
                                      SCHEDULE(.first_ns = 5, .interval_ns = CHIME_HOUR, .tick_limit = 9)};
  for (int j = 0; j < 2; j++) {
    chime_timer_info before = CHIME_TIMER_INFO_INIT, after = CHIME_TIMER_INFO_INIT;
    EXPECT_OK(chime_timer_start(i->alive[QUEUE], &TIMER_OPTIONS(.handler = never), &schedules[j], &i->alive[TIMER]));
    EXPECT_OK(chime_timer_get_info(i->alive[TIMER], &before));
    for (int bit = 26; bit < 64; bit++) {
      expect_nothing(i, TIMER, i->alive[TIMER] ^ UINT64_C(1) << bit, "a repeating timer's with a bit changed");
    }
    EXPECT_OK(chime_timer_get_info(i->alive[TIMER], &after));
    EXPECT(memcmp(&before, &after, sizeof before) == 0);
    EXPECT_OK(chime_timer_release(i->alive[TIMER]));
  }
  i->alive[TIMER] = plain;
  ids_end(i);
}

OWN_THREAD_TEST(ids_of_one_kind_are_refused_by_the_functions_of_another) {
  static const char *const kinds[] = {"a queue's", "a timer's", "a target's",
                                      "a value's", "a loop's",  "a weak timer's"};
  ids *i = ids_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int other = 0; other < KINDS; other++) {
      if (other != kind) expect_nothing(i, kind, i->alive[other], kinds[other]);
    }
  }
  ids_end(i);
}

OWN_THREAD_TEST(ids_of_what_was_released_name_nothing) {
  ids *i = ids_new(t), *gone = ids_new(t);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  uint64_t timer_of_queue = probe_idle(t, queue, "b")->timer, released_before = probe_idle(t, queue, "d")->timer;
  ids_end(gone);
  EXPECT_OK(chime_timer_release(released_before));
  EXPECT_OK(chime_queue_release(queue));
  expect_ended(i, QUEUE, queue, "a released queue's");
  chime_queue_t host = host_queue(t, 0);
  EXPECT_OK(chime_queue_shutdown(host, CHIME_FOREVER));
  expect_ended(i, QUEUE, host, "that of a host-driven queue that was shut down");
  expect_nothing(i, TIMER, gone->alive[TIMER], "a released timer's");
  expect_nothing(i, TIMER, released_before, "that of a timer that was released before its queue");
  expect_ended(i, TIMER, timer_of_queue, "that of a released queue's timer");
  expect_nothing(i, VALUE, gone->alive[VALUE], "a released value's");
  expect_nothing(i, WEAK_TIMER, gone->alive[WEAK_TIMER], "a released weak timer's");
  QUEUE_OR_RETURN(serial, SERIAL);
  probe *p = probe_after(t, serial, "c", CHIME_HOUR);
  EXPECT_OK(chime_queue_shutdown(serial, PATIENCE));
  expect_ended(i, QUEUE, serial, "that of a queue that was shut down");
  expect_ended(i, TIMER, p->timer, "that of a timer of a queue that was shut down");
  ids_end(i);
}

/* Queues follow each other in the same place: each one's id says for ever that it has ended, and the next one's that it
   has not been given out. Of a timer that is known until its place is used again, and never said of another. */
OWN_THREAD_TEST(what_has_ended_with_its_queue_is_known_until_its_place_is_used_again) {
  enum { QUEUES = 300, TIMERS = 40 };
  const uint64_t version = UINT64_C(1) << 26, place = version - 1;
  uint64_t *queues = csuite_memory(t, QUEUES * sizeof *queues), last = 0;
  uint64_t(*timers)[TIMERS] = csuite_memory(t, QUEUES * sizeof *timers);
  int same = 0, known = 0, used_again = 0;
  for (int q = 0; q < QUEUES; q++) {
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queues[q]));
    for (int j = 0; j < TIMERS; j++) {
      uint64_t *timer = &timers[q][j];
      REQUIRE_OK(chime_timer_after(queues[q], j, never, t, NULL, timer));
      if (j % 4 == 3) EXPECT_OK(chime_timer_release(*timer));
    }
    EXPECT_OK(q % 2 == 0 ? chime_queue_release(queues[q]) : chime_queue_shutdown(queues[q], CHIME_FOREVER));
    for (int j = 0; j < TIMERS; j++) {
      chime_status expected = j % 4 == 3 ? CHIME_ERROR_INVALID_HANDLE : CHIME_IGNORED;
      EXPECT_STATUS(chime_timer_release(timers[q][j]), expected);
      EXPECT_STATUS(chime_timer_release_and_wait(timers[q][j], 0), expected);
      EXPECT_STATUS(chime_timer_release(timers[q][j] + version), CHIME_ERROR_INVALID_HANDLE);
      EXPECT_STATUS(chime_timer_cancel(timers[q][j]), CHIME_ERROR_INVALID_HANDLE);
    }
  }
  for (int q = 0; q < QUEUES; q++) {
    EXPECT_STATUS(chime_queue_release(queues[q]), CHIME_IGNORED);
    EXPECT_STATUS(chime_queue_shutdown(queues[q], 0), CHIME_IGNORED);
    same += (queues[q] & place) == (last & place);
    last = queues[q];
    for (int j = 0; j < TIMERS; j++) {
      chime_status status = chime_timer_release(timers[q][j]);
      EXPECT(status == CHIME_ERROR_INVALID_HANDLE || (status == CHIME_IGNORED && j % 4 != 3));
      known += status == CHIME_IGNORED;
      used_again += status != CHIME_IGNORED && j % 4 != 3;
    }
  }
  EXPECT_STATUS(chime_queue_release(last + version), CHIME_ERROR_INVALID_HANDLE);
  /* Version 0 was nobody's. */
  EXPECT_STATUS(chime_queue_release(last & ~((version << 24) - version)), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(same > 0 && known > 0 && used_again > 0);
}

/* Makes a timer, a target or a value. */
static chime_status begin(int kind, chime_queue_t queue, int *ended, uint64_t *id) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = never, .context = ended, .finalizer = count_call);
  if (kind == TARGET) return chime_target_create(ended, count_call, id);
  if (kind == VALUE) return chime_expiring_create(queue, ended, count_call, CHIME_HOUR, id);
  return chime_timer_create(queue, &options, id);
}

/* tokio's remove_after_compact, remove_after_compact_poll: a key that was removed stays stale, through as many lives of
   its place as a generation of 16 bits would count, and no call with it reaches who lives there: its owner would see
   another answer, or another state. So do targets and values. */
OWN_THREAD_TEST(a_released_timers_id_never_names_the_one_that_took_its_place) {
  enum { STALE = 64, PLACE = (1 << 26) - 1 };
  static chime_status (*const releases[])(uint64_t id) = {
      [TIMER] = chime_timer_release, [TARGET] = chime_target_release, [VALUE] = chime_expiring_release};
  ids *i = ids_new(t);
  int life, lives = csuite_scaled(70000);
  if (lives < 5000) lives = 5000; /* the first 4,096 have places of their own */
  for (int kind = TIMER; kind <= VALUE; kind++) {
    uint64_t stale[STALE] = {0};
    int ended = 0, reused = 0;
    for (life = 0; life < lives && !csuite_failed(t); life++) {
      uint64_t id = 0, *key = &stale[life % STALE];
      EXPECT_OK(begin(kind, i->alive[QUEUE], &ended, &id));
      EXPECT(id != *key);
      if (kind == TARGET) expect_no_target_to_hold(i, *key);
      else expect_nothing(i, kind, *key, "that of one that is gone");
      reused += ((id ^ *key) & PLACE) == 0;
      /* Half of the keys are kept to the end; the others follow each other. */
      if (life < STALE || life % STALE >= STALE / 2) *key = id;
      EXPECT_EQ(ended, life);
      if (kind == TIMER) EXPECT_EQ(state_of(t, id), CHIME_STATE_IDLE);
      EXPECT_OK(releases[kind](id));
    }
    EXPECT_EQ(ended, life);
    EXPECT(reused > 0);
  }
  ids_end(i);
}
