/*
 * ids.c - [10] what names nothing is refused by every function, with CHIME_ERROR_INVALID_HANDLE and its out-parameters
 * untouched: 0, numbers that are no id, ids of another kind, ids with a bit changed, ids of what was released, however
 * often its place is used again. (With other threads at once: storm.c; queues that end: Tests/Interleavings.)
 */
#include "arguments.h"

enum { QUEUE, TIMER, TARGET, VALUE, LOOP, WEAK_TIMER, KINDS };

/* One living thing of each kind, and a bad id. */
typedef struct ids {
  csuite *t;
  uint64_t alive[KINDS];
  uint64_t id;
  const char *what; /* the bad id is */
} ids;

static void refuses(const ids *i, chime_status status, int line, const char *call) {
  char text[200];
  snprintf(text, sizeof text, "%s where id is %s", call, i->what);
  csuite_expect_status(i->t, status, CHIME_ERROR_INVALID_HANDLE, __FILE__, line, text);
}
#define REFUSES(call) refuses(i, (csuite_outdate_detail(), (call)), __LINE__, #call)

/* A release of 0 does nothing. */
#define REFUSES_BUT_0(call) \
  do { \
    if (id != 0) REFUSES(call); \
    else EXPECT(!CHIME_FAILED(call)); \
  } while (0)

static void expect_no_queue(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id, timer = UNTOUCHED, value = UNTOUCHED, length = UNTOUCHED;
  const chime_timer_options options = refused_options(t);
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT, before = stats;
  int64_t now = 77;
  int32_t number = 77;
  uint32_t count = 77;
  chime_tick ticks[1];
  char text[9] = "as it is";
  REFUSES_BUT_0(chime_queue_release(id));
  if (id != 0) REFUSES(chime_queue_shutdown(id, 0));
  REFUSES(chime_queue_sync(id, never_function, t, 0));
  REFUSES(chime_queue_async(id, never_function, t, never_function));
  REFUSES(chime_queue_now(id, &now));
  REFUSES(chime_queue_advance(id, 0));
  REFUSES(chime_queue_advance_to(id, 0));
  REFUSES(chime_queue_jump(id, 0));
  REFUSES(chime_queue_fd(id, &number));
  REFUSES(chime_queue_next_deadline(id, &now));
  REFUSES(chime_queue_poll_timeout(id, &number));
  REFUSES(chime_queue_wait(id, 0));
  REFUSES(chime_queue_process(id, 0, &count));
  REFUSES(chime_queue_take_ticks(id, ticks, sizeof ticks[0], 1, &count));
  REFUSES(chime_queue_run(id, 0));
  REFUSES(chime_queue_stop(id));
  REFUSES(chime_queue_get_stats(id, &stats));
  REFUSES(chime_queue_dump(id, text, sizeof text, &length));
  REFUSES(chime_timer_create(id, &options, &timer));
  REFUSES(chime_timer_start(id, &options, AFTER(0), &timer));
  REFUSES(chime_timer_start(id, &options, AFTER(0), NULL));
  REFUSES(chime_timer_after(id, 0, never, t, never_function, &timer));
  REFUSES(chime_timer_every(id, 1, never, t, never_function, &timer));
  REFUSES(chime_expiring_create(id, t, never_function, 1, &value));
  EXPECT(timer == UNTOUCHED && value == UNTOUCHED && length == UNTOUCHED);
  EXPECT(now == 77 && number == 77 && count == 77);
  EXPECT(memcmp(&stats, &before, sizeof stats) == 0);
  EXPECT_TEXT(text, "as it is");
}

static void expect_no_timer(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id, generation = UNTOUCHED;
  chime_timer_info info = CHIME_TIMER_INFO_INIT, before = info;
  chime_state state = 77;
  int64_t deadline = 77;
  REFUSES(chime_timer_activate(id, AFTER(0)));
  REFUSES(chime_timer_activate(id, NULL));
  REFUSES(chime_timer_restart(id, AFTER(0)));
  REFUSES(chime_timer_suspend(id));
  REFUSES(chime_timer_resume(id));
  REFUSES(chime_timer_reschedule(id, AFTER(0)));
  REFUSES(chime_timer_postpone(id, 1));
  REFUSES(chime_timer_postpone_until(id, 1));
  REFUSES(chime_timer_fire(id));
  REFUSES(chime_timer_cancel(id));
  REFUSES(chime_timer_cancel_and_wait(id, 0));
  REFUSES_BUT_0(chime_timer_release(id));
  REFUSES(chime_timer_generation(id, &generation));
  REFUSES(chime_timer_check_generation(id, 0));
  REFUSES(chime_timer_state(id, &state));
  REFUSES(chime_timer_next_deadline(id, &deadline));
  REFUSES(chime_timer_get_info(id, &info));
  REFUSES(chime_timer_add_handler(id, "x", never, t, never_function));
  REFUSES(chime_timer_remove_handler(id, "x"));
  EXPECT(generation == UNTOUCHED && state == 77 && deadline == 77);
  EXPECT(memcmp(&info, &before, sizeof info) == 0);
}

static void expect_no_target(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id, timer = UNTOUCHED;
  chime_timer_options options = refused_options(t);
  void *found = t;
  REFUSES(chime_target_retain(id, &found));
  REFUSES(chime_target_retain(id, NULL));
  REFUSES_BUT_0(chime_target_release(id));
  options.target = id;
  if (id != 0) REFUSES(chime_timer_create(i->alive[QUEUE], &options, &timer));
  if (id != 0) REFUSES(chime_weak_timer_create(1, 1, id, never, t, never_function, &timer));
  EXPECT(timer == UNTOUCHED && found == t);
}

static void expect_no_value(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id;
  void *found = t;
  REFUSES(chime_expiring_on_expiry(id, never, t, never_function));
  REFUSES(chime_expiring_on_expiry(id, NULL, NULL, NULL));
  REFUSES(chime_expiring_acquire(id, &found));
  REFUSES(chime_expiring_yield(id));
  REFUSES(chime_expiring_reset(id, 1));
  REFUSES_BUT_0(chime_expiring_release(id));
  EXPECT(found == t);
}

static void expect_no_loop(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id, queue = UNTOUCHED;
  REFUSES(chime_run_loop_stop(id));
  REFUSES_BUT_0(chime_run_loop_release(id));
  REFUSES(chime_run_loop_add_common_mode(id, "a"));
  REFUSES(chime_run_loop_queue_create(id, NULL, NULL, &queue));
  REFUSES(chime_weak_timer_add(i->alive[WEAK_TIMER], id, NULL));
  EXPECT(queue == UNTOUCHED);
}

static void expect_no_weak_timer(ids *i) {
  csuite *t = i->t;
  uint64_t id = i->id;
  int64_t number = 77;
  int32_t valid = 77;
  REFUSES(chime_weak_timer_add(id, i->alive[LOOP], NULL));
  REFUSES(chime_weak_timer_fire(id));
  REFUSES(chime_weak_timer_invalidate(id));
  REFUSES(chime_weak_timer_is_valid(id, &valid));
  REFUSES(chime_weak_timer_set_tolerance(id, 0));
  REFUSES(chime_weak_timer_tolerance(id, &number));
  REFUSES(chime_weak_timer_set_fire_date(id, 0));
  REFUSES(chime_weak_timer_fire_date(id, &number));
  REFUSES(chime_weak_timer_interval(id, &number));
  REFUSES_BUT_0(chime_weak_timer_release(id));
  EXPECT(number == 77 && valid == 77);
}

static void (*const expect_none[KINDS])(ids *i) = {expect_no_queue, expect_no_timer, expect_no_target,
                                                   expect_no_value, expect_no_loop,  expect_no_weak_timer};

static void expect_nothing(ids *i, int kind, uint64_t id, const char *what) {
  i->id = id;
  i->what = what;
  expect_none[kind](i);
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
  int kind;
  for (kind = 0; kind < KINDS; kind++) {
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
      else EXPECT_STATUS(chime_target_retain(id, NULL), CHIME_ERROR_INVALID_HANDLE);
    }
  }
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
  {
    chime_queue_t host = host_queue(t, 0);
    EXPECT_OK(chime_queue_shutdown(host, CHIME_FOREVER));
    expect_nothing(i, QUEUE, host, "that of a host-driven queue that was shut down");
  }
  expect_nothing(i, TIMER, gone->alive[TIMER], "a released timer's");
  expect_nothing(i, TIMER, timer_of_queue, "that of a released queue's timer");
  expect_nothing(i, VALUE, gone->alive[VALUE], "a released value's");
  expect_nothing(i, WEAK_TIMER, gone->alive[WEAK_TIMER], "a released weak timer's");
  if (csuite_has_dispatch()) {
    QUEUE_OR_RETURN(serial, SERIAL);
    probe *p = probe_after(t, serial, "c", CHIME_HOUR);
    EXPECT_OK(chime_queue_shutdown(serial, PATIENCE));
    expect_nothing(i, QUEUE, serial, "that of a queue that was shut down");
    expect_nothing(i, TIMER, p->timer, "that of a timer of a queue that was shut down");
  }
  ids_end(i);
}

/* Makes a timer, a target or a value; then releases what has that id. */
static chime_status begin(int kind, chime_queue_t queue, int *ended, uint64_t *id) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = never, .context = ended, .finalizer = count_call);
  if (kind == TARGET) return chime_target_create(ended, count_call, id);
  if (kind == VALUE) return chime_expiring_create(queue, ended, count_call, CHIME_HOUR, id);
  return chime_timer_create(queue, &options, id);
}

static chime_status end(int kind, uint64_t id) {
  return kind == TARGET  ? chime_target_release(id)
         : kind == VALUE ? chime_expiring_release(id)
                         : chime_timer_release(id);
}

/* What a call with a stale id would do to what lives, its owner would see: another answer, or another state. */
static int refuses_all(int kind, uint64_t id) {
  void *found;
  if (id != 0 && end(kind, id) != CHIME_ERROR_INVALID_HANDLE) return 0;
  if (kind == TARGET) return chime_target_retain(id, &found) == CHIME_ERROR_INVALID_HANDLE;
  if (kind == VALUE) return chime_expiring_reset(id, 1) == CHIME_ERROR_INVALID_HANDLE;
  return chime_timer_cancel(id) == CHIME_ERROR_INVALID_HANDLE &&
         chime_timer_suspend(id) == CHIME_ERROR_INVALID_HANDLE &&
         chime_timer_restart(id, AFTER(0)) == CHIME_ERROR_INVALID_HANDLE;
}

/* tokio's remove_after_compact, remove_after_compact_poll: a key that was removed stays stale, through as many lives of
   its place as a generation of 16 bits would count, and no call with it reaches who lives there. So do targets and
   values. */
VIRTUAL_TEST(a_released_timers_id_never_names_the_one_that_took_its_place) {
  enum { STALE = 64, PLACE = (1 << 26) - 1 };
  int kind, life, lives = csuite_scaled(70000);
  if (lives < 5000) lives = 5000; /* the first 4,096 have places of their own */
  for (kind = TIMER; kind <= VALUE; kind++) {
    uint64_t stale[STALE] = {0};
    int ended = 0, reused = 0;
    for (life = 0; life < lives && !csuite_failed(t); life++) {
      uint64_t id = 0, *key = &stale[life % STALE];
      EXPECT_OK(begin(kind, queue, &ended, &id));
      EXPECT(id != *key && refuses_all(kind, *key));
      reused += ((id ^ *key) & PLACE) == 0;
      /* Half of the keys are kept to the end; the others follow each other. */
      if (life < STALE || life % STALE >= STALE / 2) *key = id;
      EXPECT_EQ(ended, life);
      if (kind == TIMER) EXPECT_EQ(state_of(t, id), CHIME_STATE_IDLE);
      EXPECT_OK(end(kind, id));
    }
    EXPECT_EQ(ended, life);
    EXPECT(reused > 0);
  }
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}
