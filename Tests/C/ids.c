/*
 * ids.c - [10] what names nothing is refused by every function with CHIME_ERROR_INVALID_HANDLE: 0, numbers that are no id, ids
 * of another kind, ids with a bit changed, ids of what was released, however often its place is used again. Only a release
 * of 0, or of what has ended with its queue, does nothing instead. (With other threads at once: storm.c; queues that end:
 * Tests/Threads/Interleavings.)
 */
#include "arguments.h"

static const char *const types[KINDS] = {"chime_queue_t",    "chime_timer_t",    "chime_target_t",
                                         "chime_expiring_t", "chime_run_loop_t", "chime_weak_timer_t"};

/* What is to be refused. A target that has gone may still be known to have been one. */
typedef struct nothing {
  int kind;
  uint64_t id;
  enum { NAMES_NOTHING, HAS_ENDED, MAY_HAVE_GONE } how;
} nothing;

static int releases(const function_of_chime *f) {
  return strstr(f->name, "release") != NULL || strcmp(f->name, "queue_shutdown") == 0;
}

/* How the sentence on an id begins. The one of chime_queue_stop has no number, as signal handlers may call that. */
static void begin_sentence(const world *w, const place *p, uint64_t id, char text[100]) {
  static const char *const kinds[] = {"a queue",           "a timer",    "a target",
                                      "an expiring value", "a run loop", "a weak timer"};
  const char *options = p->member != NULL ? "options.target" : p->parameter->name;
  int kind = 0;
  while (kind < KINDS && w->alive[kind] >> 50 != id >> 50) kind++;
  if (strcmp(p->function->name, "queue_stop") == 0) snprintf(text, 100, "queue names no queue, or was released");
  else if (id == 0) snprintf(text, 100, "%s is 0, which is no id: it was not made, or has ended", options);
  else if (kind == KINDS) snprintf(text, 100, "%s (%" PRIu64 ") names nothing", options, id);
  else if (strcmp(types[kind], last_of(p)->type) == 0)
    snprintf(text, 100, "%s (%" PRIu64 ") was released", options, id);
  else snprintf(text, 100, "%s (%" PRIu64 ") is the id of %s", options, id, kinds[kind]);
}

static void try_id(world *w, const place *p, void *context) {
  const nothing *n = context;
  chime_status answer, expected = CHIME_ERROR_INVALID_HANDLE;
  char sentence[100];
  if (strcmp(last_of(p)->type, types[n->kind]) != 0) return;
  if (n->id == 0 && n->kind == TARGET && p->parameter != p->function->parameters) return; /* no target */
  if (n->id == 0 && releases(p->function)) expected = CHIME_OK;
  if (n->how == HAS_ENDED && releases(p->function)) expected = CHIME_IGNORED;
  answer = call_with(w, p, (value){.number = (int64_t)n->id}, w->alive[QUEUE]);
  if (n->how == MAY_HAVE_GONE && answer == CHIME_ERROR_TARGET_GONE) {
    expected = answer;
    snprintf(sentence, sizeof sentence, "target (%" PRIu64 ") is gone: its last reference was released", n->id);
  } else {
    begin_sentence(w, p, n->id, sentence);
  }
  expect_refusal(w, p, answer, expected, sentence);
}

/* With what a call may do without left out. */
static void expect_nothing_without(world *w, int kind, uint64_t id) {
  csuite *t = w->t;
  if (kind == QUEUE) EXPECT_STATUS(chime_timer_start(id, &w->options, AFTER(0), NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == TIMER) EXPECT_STATUS(chime_timer_activate(id, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == TARGET) EXPECT_STATUS(chime_target_retain(id, NULL), CHIME_ERROR_INVALID_HANDLE);
  if (kind == VALUE) EXPECT_STATUS(chime_expiring_on_expiry(id, NULL, NULL, NULL), CHIME_ERROR_INVALID_HANDLE);
}

static void expect_nothing(world *w, nothing n) {
  each_place(w, AN_ID, try_id, &n);
  expect_nothing_without(w, n.kind, n.id);
  expect_same_picture(w, types[n.kind]);
}

/* An id is 3 bits of kind, 24 of life, 26 of index: it is below 2^53. */
OWN_THREAD_TEST_ALONE(numbers_that_are_no_ids_name_nothing) {
  world *w = world_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    uint64_t alive = w->alive[kind];
    const uint64_t ids[] = {0, 1, UINT64_C(1) << 53, UINT64_MAX, alive + (UINT64_C(1) << 26)};
    EXPECT(alive > 0 && alive < UINT64_C(1) << 53);
    for (int i = 0; i < 5; i++) expect_nothing(w, (nothing){kind, ids[i], NAMES_NOTHING});
  }
  world_end(w);
}

/* Whether a number differs from a queue's id so that an earlier queue had it in the same place. */
static int was_a_queues(uint64_t id, uint64_t alive) {
  return id < alive && id >> 50 == alive >> 50 && id << 14 >> 40 > 0;
}

/* With one of the low bits changed an id may be that of a neighbour. */
static void change_bits(world *w, int kind) {
  for (int bit = 26; bit < 64; bit++) {
    nothing n = {kind, w->alive[kind] ^ UINT64_C(1) << bit, NAMES_NOTHING};
    if (kind == QUEUE && was_a_queues(n.id, w->alive[kind])) n.how = HAS_ENDED;
    if (kind == TARGET && bit < 50) n.how = MAY_HAVE_GONE;
    expect_nothing(w, n);
  }
}

/* Of timers in several forms: the flags of what a timer has lie beside its version, and no bit of an id passes for one. */
OWN_THREAD_TEST_ALONE(an_id_with_a_high_bit_changed_names_nothing) {
  world *w = world_new(t);
  const uint64_t repeating = w->alive[TIMER];
  const chime_schedule schedules[] = {SCHEDULE(.first_ns = CHIME_HOUR),
                                      SCHEDULE(.first_ns = 5, .interval_ns = CHIME_HOUR, .tick_limit = 9)};
  for (int kind = 0; kind < KINDS; kind++) change_bits(w, kind);
  for (int i = 0; i < 2; i++) {
    chime_timer_t timer = 0;
    EXPECT_OK(chime_timer_start(w->alive[QUEUE], &TIMER_OPTIONS(.handler = never), &schedules[i], &timer));
    world_sees(w, timer);
    change_bits(w, TIMER);
    EXPECT_OK(chime_timer_release(timer));
    world_sees(w, repeating);
  }
  world_end(w);
}

OWN_THREAD_TEST_ALONE(ids_of_one_kind_are_refused_by_the_functions_of_another) {
  world *w = world_new(t);
  for (int kind = 0; kind < KINDS; kind++) {
    for (int other = 0; other < KINDS; other++) {
      if (other != kind) expect_nothing(w, (nothing){kind, w->alive[other], NAMES_NOTHING});
    }
  }
  world_end(w);
}

OWN_THREAD_TEST_ALONE(ids_of_what_was_released_name_nothing) {
  static const where places[] = {VIRTUAL, HOST, SERIAL};
  world *gone = world_new(t), *w;
  world_end(gone);
  w = world_new(t);
  for (int kind = TIMER; kind < KINDS; kind++) {
    if (kind == LOOP) continue;
    expect_nothing(w, (nothing){kind, gone->alive[kind], kind == TARGET ? MAY_HAVE_GONE : NAMES_NOTHING});
  }
  for (int i = 0; i < 3; i++) {
    chime_timer_t released = 0, left = 0;
    QUEUE_OR_RETURN(queue, places[i]);
    EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, never, t, NULL, &released));
    EXPECT_OK(chime_timer_after(queue, CHIME_HOUR, never, t, NULL, &left));
    EXPECT_OK(chime_timer_release(released));
    EXPECT_OK(i == 0 ? chime_queue_release(queue) : chime_queue_shutdown(queue, PATIENCE));
    expect_nothing(w, (nothing){QUEUE, queue, HAS_ENDED});
    expect_nothing(w, (nothing){TIMER, left, HAS_ENDED});
    expect_nothing(w, (nothing){TIMER, released, NAMES_NOTHING});
  }
  world_end(w);
}

/* Queues follow each other in the same place: each one's id says for ever that it has ended, and the next one's that it
   has not been given out. Of a timer that is known until its place is used again, and never said of another. */
OWN_THREAD_TEST_ALONE(what_has_ended_with_its_queue_is_known_until_its_place_is_used_again) {
  enum { QUEUES = 300, TIMERS = 40 };
  const uint64_t version = UINT64_C(1) << 26, place = version - 1;
  uint64_t *queues = csuite_memory(t, QUEUES * sizeof *queues), last = 0;
  uint64_t(*timers)[TIMERS] = csuite_memory(t, QUEUES * sizeof *timers);
  int same = 0, known = 0, used_again = 0, ended = 0;
  for (int q = 0; q < QUEUES; q++) {
    REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queues[q]));
    for (int j = 0; j < TIMERS; j++) {
      uint64_t *timer = &timers[q][j];
      REQUIRE_OK(chime_timer_after(queues[q], j, never, &ended, j % 8 < 4 ? NULL : count_call, timer));
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
  EXPECT_EQ(ended, QUEUES * TIMERS / 2);
}

/* Makes a timer, a target or a value. */
static chime_status begin(int kind, chime_queue_t queue, int *ended, uint64_t *id) {
  const chime_timer_options options = TIMER_OPTIONS(.handler = never, .context = ended, .finalizer = count_call);
  if (kind == TARGET) return chime_target_create(ended, count_call, id);
  if (kind == VALUE) return chime_expiring_create(queue, CHIME_HOUR, ended, count_call, NULL, id);
  return chime_timer_create(queue, &options, id);
}

/* tokio's remove_after_compact, remove_after_compact_poll: a key that was removed stays stale, through as many lives of
   its place as a generation of 16 bits would count, and no call with it reaches who lives there: its owner would see
   another answer, or another state. So do targets and values. */
OWN_THREAD_TEST_ALONE(a_released_timers_id_never_names_the_one_that_took_its_place) {
  enum { STALE = 64, PLACE = (1 << 26) - 1 };
  static chime_status (*const releases[])(uint64_t id) = {
      [TIMER] = chime_timer_release, [TARGET] = chime_target_release, [VALUE] = chime_expiring_release};
  world *w = world_new(t);
  int life, lives = csuite_scaled(70000);
  if (lives < 5000) lives = 5000; /* the first 4,096 have places of their own */
  for (int kind = TIMER; kind <= VALUE; kind++) {
    uint64_t stale[STALE] = {0};
    int ended = 0, reused = 0;
    for (life = 0; life < lives && !csuite_failed(t); life++) {
      uint64_t id = 0, *key = &stale[life % STALE];
      EXPECT_OK(begin(kind, w->alive[QUEUE], &ended, &id));
      EXPECT(id != *key);
      each_place(w, AN_ID, try_id, &(nothing){kind, *key, kind == TARGET ? MAY_HAVE_GONE : NAMES_NOTHING});
      reused += ((id ^ *key) & PLACE) == 0;
      /* Half of the keys are kept to the end; the others follow each other. */
      if (life < STALE || life % STALE >= STALE / 2) *key = id;
      EXPECT_EQ(ended, life);
      if (kind == TIMER) EXPECT_EQ(state_of(t, id), CHIME_STATE_IDLE);
      EXPECT_OK(releases[kind](id));
    }
    EXPECT_EQ(ended, life);
    EXPECT(reused > 0);
    world_sees(w, w->alive[TIMER]);
  }
  world_end(w);
}
