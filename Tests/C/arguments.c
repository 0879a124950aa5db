/*
 * arguments.c - each function of the headers with each kind of value that makes no sense, made from the headers
 * (functions.h). The answer is CHIME_ERROR_INVALID_ARGUMENT, and for an id CHIME_ERROR_INVALID_HANDLE (ids.c); it is one
 * that the function's comment names; chime_last_error_detail names the argument; nothing has changed, nothing was written,
 * and contexts are the caller's. Promise 1. And no function writes beyond the room that it is given. (Values that make no
 * sense beside each other, or on a kind of queue: refusals.c.)
 */
#include "arguments.h"
#include "status_set.h"

/* ---- Places --------------------------------------------------------------------------------------------- */

static void add_place(world *w, const function_of_chime *f, const parameter *p, const parameter *member) {
  csuite *t = w->t;
  place *here = &w->places[w->place_count++];
  REQUIRE(w->place_count < MOST_PLACES);
  *here = (place){f, p, member, ""};
  snprintf(here->name, sizeof here->name, "%s(%s%s%s)", f->name, p->name, member ? "." : "",
           member ? member->name : "");
}

static void list_places(world *w) {
  for (const function_of_chime *f = functions; f < functions + FUNCTIONS; f++) {
    for (const parameter *p = f->parameters; p < f->parameters + f->count; p++) {
      add_place(w, f, p, NULL);
      for (size_t i = 0; p->structure != NULL && i < p->structure->count; i++) {
        /* What is filled in has a size, and nothing else that is read. */
        const parameter *member = &p->structure->members[i];
        if (p->kind != AN_ANSWER || member->kind == A_SIZE) add_place(w, f, p, member);
      }
    }
  }
}

const parameter *last_of(const place *p) { return p->member != NULL ? p->member : p->parameter; }

int each_place(world *w, int kind, void (*visit)(world *w, const place *p, void *context), void *context) {
  int visited = 0;
  for (const place *p = w->places; p < w->places + w->place_count; p++) {
    if (last_of(p)->kind != kind) continue;
    visit(w, p, context);
    visited++;
  }
  return visited;
}

/* ---- What lives ---------------------------------------------------------------------------------------------------- */

static void take_picture(world *w, picture *p) {
  csuite *t = w->t;
  memset(p, 0, sizeof *p);
  EXPECT_OK(chime_queue_dump(w->queues[0], p->dump, sizeof p->dump, NULL));
  for (int i = 0; i < 3; i++) p->stats[i] = stats_of(t, w->queues[i]);
  p->info = info_of(t, w->alive[TIMER]);
  p->generation = generation_of(t, w->alive[TIMER]);
  p->now = now_of(t, w->queues[0]);
  EXPECT_OK(chime_queue_list(NULL, 0, &p->queues));
  EXPECT_OK(chime_weak_timer_is_valid(w->alive[WEAK_TIMER], &p->valid));
  EXPECT_OK(chime_weak_timer_tolerance(w->alive[WEAK_TIMER], &p->tolerance));
}

void expect_same_picture(world *w, const char *where) {
  picture now;
  take_picture(w, &now);
  csuite_expect(w->t, memcmp(&now, &w->before, sizeof now) == 0, __FILE__, __LINE__, where);
}

void world_sees(world *w, chime_timer_t timer) {
  w->alive[TIMER] = w->given.timer = timer;
  take_picture(w, &w->before);
}

world *world_new(csuite *t) {
  world *w = csuite_memory(t, sizeof *w);
  uint64_t *alive = w->alive;
  w->t = t;
  w->queues[0] = csuite_queue(t, VIRTUAL);
  w->queues[1] = host_queue(t, 0);
  w->queues[2] = host_queue(t, CHIME_QUEUE_FLAG_RECORDS);
  w->options = refused_options(t);
  w->queue_options = QUEUE_OPTIONS(.flags = 0);
  w->expiring_options = EXPIRING_OPTIONS(.flags = 0);
  w->run_loop_options = RUN_LOOP_OPTIONS(.flags = 0);
  w->weak_timer_options = WEAK_TIMER_OPTIONS(.flags = 0);
  w->schedule = *AFTER(CHIME_HOUR);
  alive[QUEUE] = w->queues[0];
  alive[LOOP] = current_loop(t);
  EXPECT_OK(
      chime_timer_start(alive[QUEUE], &TIMER_OPTIONS(.handler = never), EVERY(CHIME_HOUR, CHIME_HOUR), &alive[TIMER]));
  EXPECT_OK(chime_target_create(&w->destroyed, count_call, &alive[TARGET]));
  EXPECT_OK(chime_expiring_create(alive[QUEUE], CHIME_HOUR, w, NULL, NULL, &alive[VALUE]));
  EXPECT_OK(chime_weak_timer_create(CHIME_HOUR, 1, 0, never, t, NULL, NULL, &alive[WEAK_TIMER]));
  w->given = (arguments){.queue = alive[QUEUE],
                         .timer = alive[TIMER],
                         .target = alive[TARGET],
                         .expiring = alive[VALUE],
                         .run_loop = alive[LOOP],
                         .weak_timer = alive[WEAK_TIMER],
                         .kind = CHIME_QUEUE_VIRTUAL,
                         .out = &w->out.answer,
                         .timer_options = &w->options,
                         .queue_options = &w->queue_options,
                         .expiring_options = &w->expiring_options,
                         .run_loop_options = &w->run_loop_options,
                         .weak_timer_options = &w->weak_timer_options,
                         .schedule = &w->schedule,
                         .handler = never,
                         .function = never_function,
                         .context = t,
                         .object = w,
                         .dispatch_queue = w,
                         .finalizer = never_function,
                         .key = "x",
                         .mode = TRACKING,
                         .text = w->out.text,
                         .ticks = &w->out.tick,
                         .queues = &w->out.queue,
                         .timers = &w->out.timer,
                         .tick_size = sizeof w->out.tick,
                         .capacity = 1,
                         .repeats = 1};
  w->given.interval_ns = w->given.lifetime_ns = w->given.delay_ns = 1;
  list_places(w);
  EXPECT_BETWEEN(w->place_count, 250, MOST_PLACES); /* the headers were understood */
  take_picture(w, &w->before);
  return w;
}

void world_end(world *w) {
  csuite *t = w->t;
  void *found = NULL;
  expect_same_picture(w, "the end");
  EXPECT_OK(chime_expiring_acquire(w->alive[VALUE], &found));
  EXPECT_OK(chime_expiring_yield(w->alive[VALUE]));
  EXPECT_OK(chime_weak_timer_release(w->alive[WEAK_TIMER]));
  EXPECT_OK(chime_expiring_release(w->alive[VALUE]));
  EXPECT_EQ(w->destroyed, 0);
  EXPECT_TOOK_EFFECT(chime_target_release(w->alive[TARGET]));
  EXPECT_EQ(w->destroyed, 1);
  EXPECT_OK(chime_timer_release(w->alive[TIMER]));
}

/* ---- Calls --------------------------------------------------------------------------------------------------------- */

static void put(void *into, const parameter *p, value v) {
  const int32_t half = (int32_t)v.number;
  char *at = (char *)into + p->place;
  if (v.pointer != NULL || strchr(p->type, '*') != NULL || p->kind == A_CALLBACK) memcpy(at, &v.pointer, p->size);
  else memcpy(at, p->size == sizeof half ? (const void *)&half : (const void *)&v.number, p->size);
}

chime_status call_with(world *w, const place *p, value v, chime_queue_t queue) {
  csuite *t = w->t;
  arguments given = w->given;
  uint64_t memory[64] = {0}, before[64];
  void *structure = memory;
  chime_status answer;
  given.queue = queue;
  memset(&w->out, 0x5a, sizeof w->out);
  for (const parameter *q = p->function->parameters; q < p->function->parameters + p->function->count; q++) {
    if (q->kind == AN_ANSWER && q->structure != NULL) w->out.answer.size = (uint32_t)q->structure->size;
  }
  if (p->parameter->kind == AN_ANSWER) {
    structure = &w->out.answer;
  } else if (p->member != NULL) {
    const void *right;
    memcpy(&right, (char *)&given + p->parameter->place, sizeof right);
    memcpy(memory, right, p->parameter->structure->size);
    put(&given, p->parameter, (value){.pointer = memory});
  }
  if (v.not_zero != 0) ((char *)structure)[v.not_zero] = 1;
  if (p->member != NULL) put(structure, p->member, v);
  else put(&given, p->parameter, v);
  memcpy(before, memory, sizeof memory);
  char out[sizeof w->out];
  memcpy(out, &w->out, sizeof out);
  csuite_outdate_detail();
  answer = p->function->call(&given);
  if (CHIME_FAILED(answer)) {
    csuite_expect(t, memcmp(&w->out, out, sizeof out) == 0, __FILE__, __LINE__, p->name);
    csuite_expect(t, memcmp(memory, before, sizeof memory) == 0, __FILE__, __LINE__, p->name);
  }
  return answer;
}

void expect_refusal(world *w, const place *p, chime_status answer, chime_status expected, const char *beginning) {
  const char *sentence = chime_last_error_detail();
  csuite_expect(w->t, status_set_has(p->function->statuses, answer), __FILE__, __LINE__, p->name);
  if (!csuite_expect_status(w->t, answer, expected, __FILE__, __LINE__, p->name) || !CHIME_FAILED(expected)) return;
  if (strncmp(sentence, beginning, strlen(beginning)) != 0 || strstr(sentence, last_of(p)->name) == NULL) {
    csuite_expect_text(w->t, sentence, beginning, __FILE__, __LINE__, p->name);
  }
}

/* ---- The suite ----------------------------------------------------------------------------------------------------- */

static const struct {
  int kind;
  value value;
  const char *says; /* of a parameter; the sentence on a member may begin with others */
} senseless[] = {
    {A_DURATION, {.number = -1}, " (-1 ns) is "},
    {A_DURATION, {.number = INT64_MIN}, " (-9223372036.854775808 s) is "},
    {A_CONSTANT, {.number = -1}, " (4294967295) is none of the constants that it may be"},
    {A_CONSTANT, {.number = 1000}, " (1000) is none of the constants that it may be"},
    {FLAGS, {.number = INT64_C(1) << 31}, " (2147483648) has a bit that is no flag"},
    {A_TRUTH, {.number = 2}, ""},
    {A_TRUTH, {.number = -1}, ""},
    {A_ZERO, {.number = 1}, ""},
    {A_SIZE, {.number = 0}, ""},
    {A_SIZE, {.number = 4}, ""},
    {A_SIZE, {.number = 12}, ""},
    {A_SIZE, {.number = 4097}, ""},
    {A_SIZE, {.number = UINT32_MAX}, ""},
    {A_TEXT, {.pointer = "\xff"}, " is not UTF-8"},             /* no such byte */
    {A_TEXT, {.pointer = "a\x80"}, " is not UTF-8"},            /* a continuation byte on its own */
    {A_TEXT, {.pointer = "\xc3"}, " is not UTF-8"},             /* cut short */
    {A_TEXT, {.pointer = "\xe2\x82 "}, " is not UTF-8"},        /* cut short in the middle */
    {A_TEXT, {.pointer = "\xc0\xaf"}, " is not UTF-8"},         /* overlong */
    {A_TEXT, {.pointer = "\xe0\x9f\xbf"}, " is not UTF-8"},     /* overlong, of three bytes */
    {A_TEXT, {.pointer = "\xed\xa0\x80"}, " is not UTF-8"},     /* a surrogate */
    {A_TEXT, {.pointer = "\xf4\x90\x80\x80"}, " is not UTF-8"}, /* beyond U+10FFFF */
    {A_TEXT, {.pointer = NULL}, " is NULL"},
    {AN_ANSWER, {.pointer = NULL}, " is NULL"},
    {A_STRUCTURE, {.pointer = NULL}, " is NULL"},
    {AN_ARRAY, {.pointer = NULL}, " is NULL"},
    {A_CALLBACK, {.pointer = NULL}, " is NULL"},
    {A_POINTER, {.pointer = NULL}, " is NULL"},
};

/* Where a value makes sense that does not elsewhere, or something else is the matter. */
static const struct {
  const char *name, *why;
} exceptions[] = {
    {"weak_timer_create(interval_ns)", "0 or less is a tenth of a millisecond"},
    {"weak_timer_schedule(interval_ns)", "0 or less is a tenth of a millisecond"},
    {"set_trace(trace)", "NULL ends the trace"},
    {"trace_to_file(path)", "a file's name is whatever bytes the system takes, and NULL ends the file"},
    {"set_allocator(allocator", "it is too late for any"},
    {"queue_create_on_dispatch(options)", "NULL stands for the defaults, and what is given is no dispatch queue"},
};

static int is_excepted(const place *p) {
  for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
    if (strncmp(exceptions[i].name, p->name, strlen(exceptions[i].name)) == 0) return 1;
  }
  return 0;
}

/* On the first of the queues whose kind is not what is refused. */
static void expect_invalid(world *w, const place *p, value v, const char *says) {
  char beginning[100];
  snprintf(beginning, sizeof beginning, "%s%s", p->parameter->name, says);
  for (int i = 0; i < 3; i++) {
    chime_status answer = call_with(w, p, v, w->queues[i]);
    if (answer == CHIME_ERROR_UNSUPPORTED && i < 2) continue;
    expect_refusal(w, p, answer, CHIME_ERROR_INVALID_ARGUMENT, beginning);
    expect_same_picture(w, p->name);
    return;
  }
}

static void try_row(world *w, const place *p, void *number) {
  size_t row = *(size_t *)number;
  const parameter *last = last_of(p);
  int is_null = senseless[row].value.pointer == NULL && (strchr(last->type, '*') || last->kind == A_CALLBACK);
  if (is_excepted(p) || (is_null && last->may_be_null)) return;
  expect_invalid(w, p, senseless[row].value, p->member != NULL ? "" : senseless[row].says);
}

/* A longer structure is one of a later version, and what lies beyond must be zero. No version had a shorter one. */
static void try_sizes(world *w, const place *p, void *context) {
  if (p->member == NULL || is_excepted(p)) return;
  const size_t size = p->parameter->structure->size, longer = size + 16;
  const value values[] = {{.number = (int64_t)size - 1},
                          {.number = (int64_t)size - 4},
                          {.number = (int64_t)longer, .not_zero = size},
                          {.number = (int64_t)longer, .not_zero = longer - 1}};
  for (int i = 0; i < 4; i++) expect_invalid(w, p, values[i], "");
  expect_invalid(w, p, (value){.number = 4104}, ".size (4104) is beyond 4096, the most that a structure may have");
}

/* Members that do not go with each other. */
#define A_SCHEDULE(...) &structures[OF_chime_schedule], &SCHEDULE(__VA_ARGS__)
#define OPTIONS(...) &structures[OF_chime_timer_options], &TIMER_OPTIONS(__VA_ARGS__)
static const struct pair {
  const structure *structure;
  const void *right_but_for_a_pair;
  const char *says;
} pairs[] = {
    {A_SCHEDULE(.interval_ns = 10, .leeway_ns = 10), ".leeway_ns (10 ns) is not below interval_ns (10 ns)"},
    {A_SCHEDULE(.interval_ns = 1000001, .leeway_ns = 5000000),
     ".leeway_ns (5 ms) is not below interval_ns (1.000001 ms)"},
    {A_SCHEDULE(.interval_ns = CHIME_FOREVER, .leeway_ns = CHIME_FOREVER),
     ".leeway_ns (CHIME_FOREVER) is not below interval_ns (CHIME_FOREVER)"},
    {A_SCHEDULE(.interval_ns = 10, .jitter_ns = 11), ".jitter_ns (11 ns) is beyond interval_ns (10 ns)"},
    {A_SCHEDULE(.jitter_ns = 1), ".jitter_ns is 1 ns, and interval_ns is 0: jitter is for repeating timers"},
    {A_SCHEDULE(.flags = CHIME_SCHEDULE_DEADLINE, .interval_ns = 10, .resume_policy = CHIME_RESUME_REMAINING),
     ".resume_policy is CHIME_RESUME_REMAINING, which does not go with CHIME_SCHEDULE_DEADLINE"},
    {A_SCHEDULE(.flags = 6), ".flags (6) has a bit that is no flag"},
    {A_SCHEDULE(.interval_ns = 10, .missed_policy = 2), ".missed_policy (2) is none of the constants that it may be"},
    {A_SCHEDULE(.interval_ns = 10, .resume_policy = 2), ".resume_policy (2) is none of the constants that it may be"},
    {OPTIONS(.handler = never, .flags = CHIME_TIMER_BACKGROUND << 1), ".flags (33554432) has a bit that is no flag"},
    {OPTIONS(.handler = never, .flags = CHIME_TIMER_RECORD_ARMED),
     ".flags has CHIME_TIMER_RECORD_ARMED, which is for timers of queues with CHIME_QUEUE_FLAG_RECORDS"},
    {OPTIONS(.handler = never, .flags = CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE),
     ".flags has CHIME_TIMER_RECORD_CANCELLED, which is for timers of queues with CHIME_QUEUE_FLAG_RECORDS"},
    {OPTIONS(.handler = never, .flags = CHIME_TIMER_RECORD_FINALIZE),
     ".flags has CHIME_TIMER_RECORD_FINALIZE, which is for timers of queues with CHIME_QUEUE_FLAG_RECORDS"},
    {OPTIONS(.cancel_handler = never), ".handler is NULL, and another function of options is not"},
    {OPTIONS(.registration_handler = never), ".handler is NULL, and another function of options is not"},
    {OPTIONS(.finalizer = never_function), ".handler is NULL, and another function of options is not"},
};

static void try_pair(world *w, const place *p, void *context) {
  const struct pair *pair = context;
  if (p->parameter->structure != pair->structure) return;
  expect_invalid(w, p, (value){.pointer = pair->right_but_for_a_pair}, pair->says);
}

static void try_all(world *w) {
  csuite *t = w->t;
  for (size_t i = 0; i < sizeof senseless / sizeof senseless[0]; i++) {
    EXPECT(each_place(w, senseless[i].kind, try_row, &i) > 0);
  }
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) each_place(w, A_STRUCTURE, try_pair, (void *)&pairs[i]);
  each_place(w, A_SIZE, try_sizes, NULL);
}

/* With queues of each kind, where a call makes one; then with a timer in other states, and options that have a handler alone. */
OWN_THREAD_TEST_ALONE(each_function_refuses_each_senseless_value) {
  static const chime_queue_kind kinds[] = {CHIME_QUEUE_VIRTUAL,    CHIME_QUEUE_HOST,    CHIME_QUEUE_SERIAL,
                                           CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE, CHIME_QUEUE_DISPATCH};
  world *w = world_new(t);
  const chime_timer_t running = w->alive[TIMER];
  chime_timer_t other = 0;
  for (int i = 0; i < (csuite_has_dispatch() ? 6 : 5); i++) {
    w->given.kind = kinds[i];
    try_all(w);
  }
  w->options.finalizer = NULL;
  for (int state = CHIME_STATE_IDLE; state <= CHIME_STATE_CANCELLED; state++) {
    if (state == CHIME_STATE_FINISHED) continue;
    EXPECT_OK(chime_timer_create(w->alive[QUEUE], &TIMER_OPTIONS(.handler = never), &other));
    if (state != CHIME_STATE_IDLE) EXPECT_OK(chime_timer_activate(other, AFTER(CHIME_HOUR)));
    if (state == CHIME_STATE_SUSPENDED) EXPECT_OK(chime_timer_suspend(other));
    if (state == CHIME_STATE_CANCELLED) EXPECT_OK(chime_timer_cancel(other));
    world_sees(w, other);
    try_all(w);
    EXPECT_OK(chime_timer_release(other));
  }
  world_sees(w, running);
  world_end(w);
}

/* ---- Room that is too small ---------------------------------------------------------------------------------------- */

enum { ROOM = 4096, BEHIND = 256, CANARY = 0xa5, MANY = 5 };

typedef struct room {
  char before[BEHIND], memory[ROOM + BEHIND];
} room;

/* How many elements were written, without a gap; in nothing before and behind them is a canary missing. */
static uint64_t written(csuite *t, const place *p, const room *r, size_t element) {
  uint64_t first = 0, all = 0;
  char untouched[sizeof(room)];
  memset(untouched, CANARY, sizeof untouched);
  for (size_t i = 0; i + element <= sizeof r->memory; i += element) {
    int is_written = memcmp(r->memory + i, untouched, element) != 0;
    all += (uint64_t)is_written;
    if (is_written && first == i / element) first++;
  }
  csuite_expect(t, first == all && memcmp(r->before, untouched, BEHIND) == 0, __FILE__, __LINE__, p->name);
  return all;
}

/* There are as many records to take, again. */
static void record_many(csuite *t, chime_queue_t records) {
  static chime_tick taken[2 * MANY];
  size_t count = 1;
  while (count > 0 && !csuite_failed(t)) {
    EXPECT_OK(chime_queue_take_ticks(records, taken, sizeof taken[0], 2 * MANY, &count));
  }
  for (int i = 0; i < MANY; i++) EXPECT_OK(chime_queue_async(records, NULL, NULL, NULL));
}

/* Whatever the capacity, so many elements are written as fit. */
static void try_capacities(world *w, const place *p, void *context) {
  csuite *t = w->t;
  static const struct {
    const char *type;
    size_t size;
  } elements[] = {{"char *", 1},
                  {"chime_queue_t *", sizeof(chime_queue_t)},
                  {"chime_timer_t *", sizeof(chime_timer_t)},
                  {"chime_tick *", sizeof(chime_tick)}};
  static room r;
  size_t kind = 0;
  while (kind < 4 && strcmp(elements[kind].type, p->parameter->type) != 0) kind++;
  if (!csuite_expect(t, kind < 4, __FILE__, __LINE__, p->name)) return;
  const size_t element = elements[kind].size;
  const int gives_records = kind == 3;
  uint64_t there = ROOM / element, capacities[] = {there, 0, 1, 2, 0, 0, 0}, whole = 0;
  for (size_t i = 0; i < sizeof capacities / sizeof capacities[0] && !csuite_failed(t); i++) {
    arguments given = w->given;
    const int is_refused = gives_records && capacities[i] == 0;
    uint64_t fit;
    given.queue = gives_records ? w->queues[2] : w->queues[0];
    given.capacity = capacities[i];
    put(&given, p->parameter, (value){.pointer = r.memory});
    if (gives_records) record_many(t, given.queue);
    memset(&r, CANARY, sizeof r);
    memset(&w->out, 0, sizeof w->out);
    csuite_expect_status(t, p->function->call(&given), is_refused ? CHIME_ERROR_INVALID_ARGUMENT : CHIME_OK, __FILE__,
                         __LINE__, p->name);
    fit = written(t, p, &r, element);
    if (i == 0) { /* all of it */
      there = fit;
      EXPECT_BETWEEN(there, 3, ROOM / (int64_t)element - 1);
      memcpy(&whole, &w->out.answer, sizeof whole);
      for (int k = -1; k <= 1; k++) capacities[5 + k] = there + (uint64_t)k;
    }
    csuite_expect_equal(t, (int64_t)fit, (int64_t)(capacities[i] < there ? capacities[i] : there), __FILE__, __LINE__,
                        p->name);
    const uint64_t answer = gives_records ? fit : whole;
    csuite_expect(t, memcmp(&answer, &w->out.answer, sizeof answer) == 0, __FILE__, __LINE__, p->name);
  }
}

/* An answer that is a structure is as long as its size says; what lies behind is not written. */
static void try_answers(world *w, const place *p, void *context) {
  csuite *t = w->t;
  static room r;
  const structure *answer = p->parameter->structure;
  if (answer == NULL) return;
  const uint32_t size = (uint32_t)answer->size;
  arguments given = w->given;
  put(&given, p->parameter, (value){.pointer = r.memory});
  memset(&r, CANARY, sizeof r);
  memcpy(r.memory, &size, sizeof size);
  csuite_expect_status(t, p->function->call(&given), CHIME_OK, __FILE__, __LINE__, p->name);
  csuite_expect(t, memcmp(r.memory, &size, sizeof size) == 0, __FILE__, __LINE__, p->name);
  memset(r.memory, CANARY, size); /* its own bytes may be any */
  csuite_expect_equal(t, (int64_t)written(t, p, &r, 1), 0, __FILE__, __LINE__, p->name);
}

OWN_THREAD_TEST(each_function_writes_as_much_as_fits_and_nothing_behind) {
  world *w = world_new(t);
  chime_timer_t more[MANY];
  for (int i = 0; i < MANY; i++) {
    EXPECT_OK(chime_timer_create(w->queues[0], &TIMER_OPTIONS(.handler = never), &more[i]));
  }
  EXPECT(each_place(w, AN_ARRAY, try_capacities, NULL) > 0);
  EXPECT(each_place(w, AN_ANSWER, try_answers, NULL) > 0);
  for (int i = 0; i < MANY; i++) EXPECT_OK(chime_timer_release(more[i]));
  world_sees(w, w->alive[TIMER]);
  world_end(w);
}

/* ---- What a kind of queue cannot do ------------------------------------------------------------------------------------ */

enum { RECORDS = WRAPPED_CONCURRENT + 1, PLACES };
#define ON(place) (1u << (place))
#define ON_ALL (ON(PLACES) - 1)

/* Where each function is supported that the headers say is not everywhere. */
static const struct {
  const char *name;
  unsigned places;
} supported[] = {
    {"queue_fd", ON(HOST) | ON(RECORDS)},
    {"queue_poll_timeout", ON(HOST) | ON(RECORDS)},
    {"queue_next_deadline", ON(HOST) | ON(RECORDS) | ON(VIRTUAL)},
    {"queue_process", ON(HOST)},
    {"queue_take_ticks", ON(RECORDS)},
    {"queue_run", ON(HOST)},
    {"queue_stop", ON(HOST) | ON(RECORDS)},
    {"queue_advance", ON(VIRTUAL)},
    {"queue_jump", ON(VIRTUAL)},
    {"queue_sync", ON(SERIAL) | ON(DISPATCH) | ON(PRECISE)},
    {"queue_async", ON_ALL & ~ON(RECORDS)},
    {"timer_create", ON_ALL & ~ON(RECORDS)},
    {"timer_start", ON_ALL & ~ON(RECORDS)},
    {"timer_after", ON_ALL & ~ON(RECORDS)},
    {"timer_every", ON_ALL & ~ON(RECORDS)},
    {"expiring_create", ON_ALL & ~ON(RECORDS)},
};

static unsigned support_of(csuite *t, const function_of_chime *f) {
  for (size_t i = 0; i < sizeof supported / sizeof supported[0]; i++) {
    if (strcmp(supported[i].name, f->name) == 0) return supported[i].places;
  }
  csuite_expect(t, !status_set_has(f->statuses, CHIME_ERROR_UNSUPPORTED), __FILE__, __LINE__, f->name);
  return ON_ALL;
}

static void try_queue(world *w, const place *p, void *where) {
  const int place = *(int *)where;
  if (strcmp(p->parameter->type, "chime_queue_t") != 0 || (support_of(w->t, p->function) & ON(place)) != 0) return;
  const value queue = {.number = (int64_t)w->alive[QUEUE]};
  expect_refusal(w, p, call_with(w, p, queue, w->alive[QUEUE]), CHIME_ERROR_UNSUPPORTED, "queue ");
  expect_same_picture(w, p->name);
}

OWN_THREAD_TEST_ALONE(each_function_tells_which_queues_it_is_not_for) {
  static const int places[] = {VIRTUAL, HOST, RECORDS, PRECISE, SERIAL, CONCURRENT, DISPATCH};
  world *w = world_new(t);
  for (int i = 0; i < (csuite_has_dispatch() ? 7 : 6); i++) {
    int place = places[i];
    w->alive[QUEUE] = place == RECORDS ? w->queues[2] : place == HOST ? w->queues[1] : csuite_queue(t, (where)place);
    world_sees(w, w->alive[TIMER]);
    EXPECT(each_place(w, AN_ID, try_queue, &place) > 0);
  }
  w->alive[QUEUE] = w->queues[0];
  world_end(w);
}
