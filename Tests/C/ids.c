/*
 * ids.c - [10] what names nothing is refused by every function, with CHIME_ERROR_INVALID_HANDLE and its out-parameters
 * untouched: 0, numbers that are no id, ids of another kind, ids with a bit changed, ids of what was released, however
 * often its place is used again. (With other threads at once: storm.c; queues that end: Tests/Interleavings.)
 */
#include "arguments.h"

enum { QUEUE, TIMER, TARGET, VALUE, LOOP, WEAK_TIMER, KINDS };

/* Where calls put their answers. */
typedef struct outs {
  uint64_t id, number;
  int64_t time;
  int32_t integer;
  uint32_t count;
  void *object;
  char text[8];
  chime_tick tick;
  chime_queue_stats stats;
  chime_timer_info info;
} outs;

/* One living thing of each kind. */
typedef struct ids {
  csuite *t;
  uint64_t alive[KINDS];
  const char *what; /* a bad id is */
} ids;

static void refuses(const ids *i, const chime_status *answers, size_t count, const char *function, int line) {
  for (size_t n = 0; n < count; n++) {
    char text[200];
    if (answers[n] == CHIME_ERROR_INVALID_HANDLE) continue;
    snprintf(text, sizeof text, "%s, call %zu, where id is %s,", function, n, i->what);
    csuite_expect_status(i->t, answers[n], CHIME_ERROR_INVALID_HANDLE, __FILE__, line, text);
  }
}

/* REFUSES(call, ...): all of them, counted from 0. */
#define REFUSES(...) \
  do { \
    const chime_status answers[] = {__VA_ARGS__}; \
    refuses(i, answers, sizeof answers / sizeof answers[0], __func__, __LINE__); \
  } while (0)

/* A release of 0 does nothing. */
static chime_status release(uint64_t id, chime_status (*call)(uint64_t id)) {
  chime_status status = call(id);
  return id == 0 && status == CHIME_OK ? CHIME_ERROR_INVALID_HANDLE : status;
}

static void expect_no_queue(const ids *i, uint64_t id, outs *out) {
  csuite *t = i->t;
  const chime_timer_options options = refused_options(t);
  REFUSES(release(id, chime_queue_release), chime_queue_sync(id, never_function, t, 0),
          chime_queue_async(id, never_function, t, never_function), chime_queue_now(id, &out->time),
          chime_queue_advance(id, 0), chime_queue_advance_to(id, 0), chime_queue_jump(id, 0),
          chime_queue_fd(id, &out->integer), chime_queue_next_deadline(id, &out->time),
          chime_queue_poll_timeout(id, &out->integer), chime_queue_wait(id, 0), chime_queue_process(id, 0, &out->count),
          chime_queue_take_ticks(id, &out->tick, sizeof out->tick, 1, &out->count), chime_queue_run(id, 0),
          chime_queue_stop(id), chime_queue_get_stats(id, &out->stats),
          chime_queue_dump(id, out->text, sizeof out->text, &out->number));
  REFUSES(chime_timer_create(id, &options, &out->id), chime_timer_start(id, &options, AFTER(0), &out->id),
          chime_timer_start(id, &options, AFTER(0), NULL), chime_timer_after(id, 0, NEVER, &out->id),
          chime_timer_every(id, 1, NEVER, &out->id), chime_timer_after_every(id, 0, 1, NEVER, &out->id),
          chime_expiring_create(id, t, never_function, 1, &out->id));
  if (id != 0) REFUSES(chime_queue_shutdown(id, 0));
}

static void expect_no_timer(const ids *i, uint64_t id, outs *out) {
  csuite *t = i->t;
  REFUSES(chime_timer_activate(id, AFTER(0)), chime_timer_activate(id, NULL), chime_timer_restart(id, AFTER(0)),
          chime_timer_restart_after(id, 1), chime_timer_restart_until(id, 1), chime_timer_suspend(id),
          chime_timer_resume(id), chime_timer_reschedule(id, AFTER(0)), chime_timer_postpone(id, 1),
          chime_timer_postpone_until(id, 1), chime_timer_fire(id), chime_timer_cancel(id),
          chime_timer_cancel_and_wait(id, 0), release(id, chime_timer_release),
          chime_timer_generation(id, &out->number), chime_timer_check_generation(id, 0),
          chime_timer_state(id, &out->integer), chime_timer_next_deadline(id, &out->time),
          chime_timer_get_info(id, &out->info), chime_timer_explain(id, out->text, sizeof out->text, &out->number),
          chime_timer_add_handler(id, "x", NEVER), chime_timer_remove_handler(id, "x"));
}

/* What was a target's id may still name one that has gone, for timers: CHIME_ERROR_TARGET_GONE. */
static void expect_no_target_to_hold(const ids *i, uint64_t id) {
  REFUSES(chime_target_retain(id, NULL), release(id, chime_target_release));
}

static void expect_no_target(const ids *i, uint64_t id, outs *out) {
  csuite *t = i->t;
  chime_timer_options options = refused_options(t);
  options.target = id;
  REFUSES(chime_target_retain(id, &out->object));
  expect_no_target_to_hold(i, id);
  if (id != 0) {
    REFUSES(chime_timer_create(i->alive[QUEUE], &options, &out->id),
            chime_weak_timer_create(1, 1, id, NEVER, &out->id));
  }
}

static void expect_no_value(const ids *i, uint64_t id, outs *out) {
  csuite *t = i->t;
  REFUSES(chime_expiring_on_expiry(id, NEVER), chime_expiring_on_expiry(id, NULL, NULL, NULL),
          chime_expiring_acquire(id, &out->object), chime_expiring_yield(id), chime_expiring_reset(id, 1),
          release(id, chime_expiring_release));
}

static void expect_no_loop(const ids *i, uint64_t id, outs *out) {
  REFUSES(chime_run_loop_stop(id), release(id, chime_run_loop_release), chime_run_loop_add_common_mode(id, "a"),
          chime_run_loop_queue_create(id, NULL, NULL, &out->id), chime_weak_timer_add(i->alive[WEAK_TIMER], id, NULL));
}

static void expect_no_weak_timer(const ids *i, uint64_t id, outs *out) {
  REFUSES(chime_weak_timer_add(id, i->alive[LOOP], NULL), chime_weak_timer_fire(id), chime_weak_timer_invalidate(id),
          chime_weak_timer_is_valid(id, &out->integer), chime_weak_timer_set_tolerance(id, 0),
          chime_weak_timer_tolerance(id, &out->time), chime_weak_timer_set_fire_date(id, 0),
          chime_weak_timer_fire_date(id, &out->time), chime_weak_timer_interval(id, &out->time),
          release(id, chime_weak_timer_release));
}

static void expect_nothing(ids *i, int kind, uint64_t id, const char *what) {
  static void (*const expect_none[KINDS])(const ids *i, uint64_t id, outs *out) = {
      expect_no_queue, expect_no_timer, expect_no_target, expect_no_value, expect_no_loop, expect_no_weak_timer};
  csuite *t = i->t;
  outs out, untouched;
  memset(&out, 0x5a, sizeof out);
  out.stats.size = sizeof out.stats;
  out.info.size = sizeof out.info;
  memcpy(&untouched, &out, sizeof out);
  i->what = what;
  expect_none[kind](i, id, &out);
  EXPECT(memcmp(&out, &untouched, sizeof out) == 0);
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

/* With one of the low bits changed an id may be that of a neighbour, and a target's be of one that has gone. */
OWN_THREAD_TEST(an_id_with_a_high_bit_changed_names_nothing) {
  ids *i = ids_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int bit = 26; bit < 64; bit++) {
      uint64_t id = i->alive[kind] ^ UINT64_C(1) << bit;
      if (kind != TARGET || bit >= 50) expect_nothing(i, kind, id, "an id with a bit changed");
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
  uint64_t timer_of_queue = probe_idle(t, queue, "b")->timer;
  ids_end(gone);
  EXPECT_OK(chime_queue_release(queue));
  expect_nothing(i, QUEUE, queue, "a released queue's");
  chime_queue_t host = host_queue(t, 0);
  EXPECT_OK(chime_queue_shutdown(host, CHIME_FOREVER));
  expect_nothing(i, QUEUE, host, "that of a host-driven queue that was shut down");
  expect_nothing(i, TIMER, gone->alive[TIMER], "a released timer's");
  expect_nothing(i, TIMER, timer_of_queue, "that of a released queue's timer");
  expect_nothing(i, VALUE, gone->alive[VALUE], "a released value's");
  expect_nothing(i, WEAK_TIMER, gone->alive[WEAK_TIMER], "a released weak timer's");
  QUEUE_OR_RETURN(serial, SERIAL);
  probe *p = probe_after(t, serial, "c", CHIME_HOUR);
  EXPECT_OK(chime_queue_shutdown(serial, PATIENCE));
  expect_nothing(i, QUEUE, serial, "that of a queue that was shut down");
  expect_nothing(i, TIMER, p->timer, "that of a timer of a queue that was shut down");
  ids_end(i);
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
