/*
 * fuzz.c - sequences of calls of every function of chime.h and chime_run_loop.h, for libFuzzer.
 *
 * Where Model compares one virtual queue with a model, this tries whatever the headers allow: queues of every kind side by side,
 * ids that are stale, foreign or invented, structures of odd sizes, callbacks that call, allocations that fail. What must hold:
 *
 *   - nothing crashes, and no assertion of the core's own fails (the library is built with TARGET=fuzz)
 *   - each status is one that the function's comment names; what an id that names nothing gets is INVALID_HANDLE, unless
 *     another argument is wrong; NO_MEMORY only where allocations are refused
 *   - out-parameters are untouched by a failure, and written as far as they reach
 *   - callbacks get their context alive, never two at once for a timer, and none once the timer or the queue has ended
 *   - finalizers are called once, for what was accepted only; all of them have been when the queues have ended
 *   - an input that is repeated does not take more memory or descriptors each time
 *
 * Forks, callbacks that end their threads, and a host's dispatch queues are not tried here. CHIME_MODEL_TRACE=1 prints the calls.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "../input.h"
#include "chime_run_loop.h"

/* clang-format off */
/* The statuses, by a letter each. */
enum {
  O = STATUS(CHIME_OK), I = STATUS(CHIME_IGNORED), R = STATUS(CHIME_RUNNING), S = STATUS(CHIME_STOPPED),
  T = STATUS(CHIME_TIMED_OUT), Z = STATUS(CHIME_ERROR_TIMED_OUT), A = STATUS(CHIME_ERROR_INVALID_ARGUMENT), H = STATUS(CHIME_ERROR_INVALID_HANDLE),
  L = STATUS(CHIME_ERROR_LIMIT), M = STATUS(CHIME_ERROR_NO_MEMORY), D = STATUS(CHIME_ERROR_WOULD_DEADLOCK),
  B = STATUS(CHIME_ERROR_BUSY), W = STATUS(CHIME_ERROR_WRONG_THREAD), G = STATUS(CHIME_ERROR_TARGET_GONE),
  E = STATUS(CHIME_ERROR_SHUT_DOWN), U = STATUS(CHIME_ERROR_UNSUPPORTED), P = STATUS(CHIME_ERROR_PERMISSION),
  X = STATUS(CHIME_ERROR_RESOURCE)
};
/* clang-format on */

/* ---- What an input has ------------------------------------------------------------------------------------------------- */

typedef enum kind { QUEUE, TIMER, TARGET, VALUE, WEAK, LOOP, KINDS } kind;
enum {
  MOST_SLOTS = 32,
  MOST_CONTEXTS = 200,
  MOST_CALLS = 300,
  MOST_CALLBACKS = 400,
  MOST_CALLBACKS_OF_ONE = 30,
  DEEPEST = 4
};

/* Who may still use a context. */
enum { UNUSED, LENT, FINALIZED, RETURNED };

typedef struct slot slot;
typedef struct context {
  _Atomic int state, runs, inside;
  int is_awaited;        /* it has a finalizer, which must come */
  _Atomic int is_silent; /* no further tick may start */
  slot *queue;           /* whose end ends its callbacks; NULL: none's */
  bytes script;          /* the calls that its callbacks make */
} context;

struct slot {
  _Atomic uint64_t id;
  _Atomic int is_stale, held; /* held: references of a target, acquisitions of a value */
  _Atomic int has_ended;      /* of a queue: no callback runs or will run */
  int gives_records;
  context *context;
};

static struct world {
  slot slots[KINDS][MOST_SLOTS];
  _Atomic int used[KINDS];
  context contexts[MOST_CONTEXTS];
  _Atomic int contexts_used, calls, callbacks, inside;
  _Atomic int refuses, has_threads;
  bytes trace_script;
} world;
static atomic_flag tracing = ATOMIC_FLAG_INIT;
static atomic_long refusals_from, refusals_until; /* which allocations from now on fail */
static pthread_t main_thread;
static _Thread_local int depth;

static void perform(bytes *input);

static int is_main(void) { return pthread_equal(pthread_self(), main_thread); }

static context *new_context(bytes *input, slot *queue) {
  int number = atomic_fetch_add(&world.contexts_used, 1);
  context *c = &world.contexts[number < MOST_CONTEXTS ? number : 0];
  size_t length = take_byte(input) % 32;
  if (number >= MOST_CONTEXTS) return NULL;
  if (length > input->left) length = input->left;
  c->script = (bytes){input->next, length};
  input->next += length;
  input->left -= length;
  c->queue = queue;
  atomic_store(&c->state, LENT);
  return c;
}

static slot *new_slot(kind k) {
  int number = atomic_fetch_add(&world.used[k], 1);
  return number < MOST_SLOTS ? &world.slots[k][number] : NULL;
}

typedef struct chosen {
  uint64_t id;
  slot *slot;   /* NULL: there is none with that id */
  int is_stale; /* the id names nothing of the kind */
} chosen;

static slot *slot_of(kind k, uint8_t code) {
  int count = atomic_load(&world.used[k]);
  return count == 0 ? NULL : &world.slots[k][code % (count < MOST_SLOTS ? count : MOST_SLOTS)];
}

static chosen choose(bytes *input, kind k) {
  uint8_t code = take_byte(input);
  slot *s = slot_of(k, code % 208);
  uint64_t id;
  if (code < 208 && s != NULL && (id = atomic_load(&s->id)) != 0) return (chosen){id, s, atomic_load(&s->is_stale)};
  if (code < 220) return (chosen){0, NULL, 1};
  if (code < 232 && s != NULL && (id = atomic_load(&s->id)) != 0)
    return (chosen){id ^ (UINT64_C(1) << (code % 2 == 0 ? 49 : 53 + code % 11)), NULL,
                    1}; /* a version that is far off; no id */
  s = slot_of((kind)((k + 1 + code % (KINDS - 1)) % KINDS), code);
  id = s != NULL ? atomic_load(&s->id) : 0;
  return (chosen){id != 0 ? id : code * UINT64_C(0x9E3779B97F4A7C15), NULL, 1};
}

/* ---- What is given to the library, and what it gives --------------------------------------------------------------------- */

static int64_t now_of(uint64_t queue) {
  int64_t now = 0;
  chime_queue_now(queue, &now);
  return now;
}

static int64_t deadline_on(bytes *input, uint64_t queue) {
  int is_relative;
  int64_t time = take_deadline(input, &is_relative);
  return is_relative ? saturating_sum(now_of(queue), time * 16) : time;
}

/* For ever only where whatever is waited for cannot wait in turn for this. */
static int64_t take_timeout(bytes *input) {
  uint8_t code = take_byte(input);
  if (code >= 250) return -code;
  if (code >= 240 && depth == 0 && !atomic_load(&world.has_threads)) return CHIME_FOREVER;
  return code % 4 * code * INT64_C(200);
}

/* Labels, keys and modes. */
static char longest[300];
static const char *const texts[] = {NULL,
                                    "",
                                    "a",
                                    "a label",
                                    "\xc3\xa9t\xc3\xa9",
                                    "\xff\xfe",
                                    "\xe2\x82",
                                    "tab\t\"quoted\"\x1b[0m",
                                    CHIME_RUN_LOOP_DEFAULT_MODE,
                                    CHIME_RUN_LOOP_COMMON_MODES,
                                    "a mode",
                                    longest};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static const char *take_text(bytes *input) { return texts[take_byte(input) % TEXTS]; }

/* A copy of a structure with as many bytes as its `size` says, so that the sanitizer sees each that is read beyond. */
static void *sized(bytes *input, const void *structure, size_t size) {
  uint8_t how = take_byte(input);
  size_t has = size;
  uint32_t says;
  uint8_t *copy;
  memcpy(&says, structure, sizeof says);
  if (says < size) has = says;
  else if (how >= 250) return NULL;
  else if (how >= 240) has = says = how % 2 * 4;
  else if (how >= 220) has = says = (uint32_t)(how * 4) % (uint32_t)size;
  else if (how >= 200) has = says = (uint32_t)size + 4 * (how % 8);
  copy = calloc(1, has < 4 ? 4 : has);
  memcpy(copy, structure, has < size ? has : size);
  memcpy(copy, &says, sizeof says);
  if (has > size && how >= 216) copy[has - 1] = 1;
  return copy;
}

static void *sized_schedule(bytes *input, uint64_t queue) {
  int is_relative;
  chime_schedule s = take_any_schedule(input, &is_relative);
  if (is_relative) s.first_ns = saturating_sum(now_of(queue), s.first_ns * 16);
  return sized(input, &s, sizeof s);
}

#define CANARY UINT64_C(0xA5A5A5A5A5A5A5A5)

/* Where a function writes up to eight bytes. */
typedef struct out {
  uint64_t written, beyond;
  void *pointer;
} out;
#define OUT(name) \
  out name = {CANARY, CANARY, NULL}; \
  name.pointer = take_byte(input) % 16 != 15 ? &name.written : NULL

static chime_status expect(const char *call, chime_status status, statuses permitted, const out *o) {
  if (!atomic_load(&world.refuses)) permitted &= ~(statuses)M;
  else if (permitted & M) permitted |= L; /* the limit of memory */
  expect_status(call, status, permitted);
  if (o != NULL && (o->beyond != CANARY || (CHIME_FAILED(status) && o->written != CANARY)))
    fail("%s answers %s, and has written", call, chime_status_name(status));
  if (CHIME_FAILED(status) && strlen(chime_last_error_detail()) > 1000) fail("%s: the detail", call);
  return status;
}

/* The same, of a call on one id. RELEASES: what a call that releases may say of one that was released. */
static chime_status expect_of(const chosen *c, const char *call, chime_status status, statuses permitted,
                              const out *o) {
  return expect(call, status, c->is_stale ? permitted & (statuses)(H | A | M) : permitted, o);
}
static statuses of_release(const chosen *c, statuses permitted) {
  return c->id == 0 ? O | A : c->is_stale ? H | A : permitted;
}

#define CALL(permitted, o, call) (trace("%*s%s", depth * 2, "", #call), expect(#call, call, permitted, o))
#define CALL_OF(c, permitted, o, call) \
  (trace("%*s%s %" PRIx64, depth * 2, "", #call, (c).id), expect_of(&(c), #call, call, permitted, o))
#define RELEASE(c, permitted, call) \
  (trace("%*s%s %" PRIx64, depth * 2, "", #call, (c).id), expect(#call, call, of_release(&(c), permitted), NULL))

/* The context is Chime's now, or the caller's still. */
static void settle(context *c, int is_accepted) {
  int lent = LENT;
  if (is_accepted) return;
  c->is_awaited = 0;
  if (!atomic_compare_exchange_strong(&c->state, &lent, RETURNED))
    fail("a context was finalized that had not been accepted");
  if (atomic_load(&c->runs) != 0) fail("a callback of a refused context ran");
}

/* The id may be there later than the first callback. */
static void keep(slot *s, const out *o, chime_status status, context *c) {
  s->context = c;
  atomic_store(&s->held, 1);
  if (CHIME_FAILED(status) || o->pointer == NULL) return;
  if (o->written == 0 || o->written >> 53 != 0) fail("an id of %" PRIx64, o->written);
  atomic_store(&s->id, o->written);
}

static void end_slot(const chosen *c, chime_status status) {
  if (c->slot == NULL || CHIME_FAILED(status)) return;
  if (!(status & CHIME_RUNNING) && c->slot->context != NULL) atomic_store(&c->slot->context->is_silent, 1);
  atomic_store(&c->slot->is_stale, 1);
}

/* ---- Callbacks ------------------------------------------------------------------------------------------------------------ */

static int is_alone(context *c) { return atomic_fetch_add(&c->inside, 1) == 0; }

static void begin(context *c) {
  atomic_fetch_add(&world.inside, 1);
  atomic_fetch_add(&world.callbacks, 1);
  atomic_fetch_add(&c->runs, 1);
  if (atomic_load(&c->state) != LENT) fail("a callback with a context in state %d", atomic_load(&c->state));
  if (c->queue != NULL && atomic_load(&c->queue->has_ended)) fail("a callback after its queue's end");
  if (!is_alone(c)) fail("two callbacks at once");
}

static void make_calls(context *c, int most) {
  depth += 1;
  while (depth < DEEPEST && c->script.left > 0 && most-- > 0) perform(&c->script);
  depth -= 1;
}

static void end(context *c) {
  atomic_fetch_sub(&c->inside, 1);
  if (atomic_load(&c->state) != LENT) fail("a context was finalized during its callback");
  atomic_fetch_sub(&world.inside, 1);
}

static int has_enough(const context *c) {
  return atomic_load(&world.callbacks) > MOST_CALLBACKS || atomic_load(&c->runs) > MOST_CALLBACKS_OF_ONE;
}

static void on_tick_of_kind(const chime_tick *tick, context *c, int fits) {
  trace("%*s-- kind %d of %" PRIx64 " #%" PRIu64, depth * 2, "", tick->kind, tick->timer, tick->sequence);
  begin(c);
  if (!fits || tick->context != c) fail("kind %d, context %p", tick->kind, tick->context);
  if (tick->actual_ns < tick->scheduled_ns) fail("early");
  if (tick->target != NULL && atomic_load(&((context *)tick->target)->state) != LENT) fail("the target is dead");
  make_calls(c, 2);
  end(c);
}

static int is_a_tick(const chime_tick *tick, context *c) {
  if (atomic_load(&c->is_silent)) fail("a tick after the end of its timer");
  return tick->kind == CHIME_TICK_DUE || tick->kind == CHIME_TICK_FIRED;
}

static void on_tick(const chime_tick *tick, void *c) {
  on_tick_of_kind(tick, c, is_a_tick(tick, c));
  if (has_enough(c) && tick->timer != 0) chime_timer_cancel(tick->timer);
}
static void on_named(const chime_tick *tick, void *c) { on_tick_of_kind(tick, c, is_a_tick(tick, c)); }
static void on_armed(const chime_tick *tick, void *c) { on_tick_of_kind(tick, c, tick->kind == CHIME_TICK_ARMED); }
static void on_cancelled(const chime_tick *tick, void *c) {
  on_tick_of_kind(tick, c, tick->kind == CHIME_TICK_CANCELLED);
}
static void on_weak(const chime_tick *tick, void *c) {
  on_tick_of_kind(tick, c, is_a_tick(tick, c));
  if (has_enough(c)) chime_weak_timer_invalidate(tick->timer);
}
static void on_expiry(const chime_tick *tick, void *c) {
  if (tick->timer != 0 || tick->target == NULL || atomic_load(&((context *)c)->runs) > 0) fail("an expiry");
  on_tick_of_kind(tick, c, tick->kind == CHIME_TICK_DUE);
}
static void on_function(void *c) {
  begin(c);
  make_calls(c, 3);
  end(c);
}

static void finalize(void *pointer) {
  context *c = pointer;
  atomic_fetch_add(&world.inside, 1);
  if (atomic_exchange(&c->state, FINALIZED) != LENT) fail("a context was finalized twice, or never accepted");
  if (atomic_load(&c->inside) != 0) fail("a context was finalized during its callback");
  make_calls(c, 1);
  atomic_fetch_sub(&world.inside, 1);
}

/* Only one thread at a time makes the calls of the trace function. */
static void on_trace(const chime_tick *tick, void *none) {
  chime_tick_kind_name(tick->kind);
  if (depth >= DEEPEST || atomic_flag_test_and_set(&tracing)) return;
  depth += 1;
  if (world.trace_script.left > 0) perform(&world.trace_script);
  depth -= 1;
  atomic_flag_clear(&tracing);
}

/* On one thread, in turn. */
static _Thread_local int hooked;
static int hook_context;
static void on_enter(void *c) {
  if (c != NULL && hooked++ != 0) fail("entered twice");
}
static void on_leave(void *c) {
  if (c != NULL && hooked-- != 1) fail("left twice");
}

/* ---- The host's allocator --------------------------------------------------------------------------------------------------- */

static void *allocate(size_t alignment, size_t size, void *none) {
  void *memory = NULL;
  if (atomic_load(&refusals_until) > 0 && atomic_fetch_sub(&refusals_until, 1) > 0 &&
      atomic_fetch_sub(&refusals_from, 1) <= 0)
    return NULL;
  return posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size) == 0 ? memory : NULL;
}

static void deallocate(void *memory, void *none) { free(memory); }

static void refuse(bytes *input) {
  uint8_t code = take_byte(input);
  atomic_store(&world.refuses, 1);
  atomic_store(&refusals_from, code % 32);
  atomic_store(&refusals_until, code % 32 + (code < 224 ? 1 + code / 32 : 1000));
}

static void grant(bytes *input) { atomic_store(&refusals_until, 0); }

static void limit_memory(bytes *input) {
  uint8_t code = take_byte(input);
  uint64_t bytes = code % 2 == 0 ? 0 : chime_memory_used() + (code < 128 ? code * UINT64_C(64) : 0);
  atomic_store(&world.refuses, 1);
  CALL(O, NULL, chime_set_memory_limit(bytes));
}

/* ---- Queues ------------------------------------------------------------------------------------------------------------------- */

/* Options, or NULL. */
static void *sized_options(bytes *input, int is_virtual, int is_host, int is_precise, int *gives_records) {
  static const int clocks[] = {0, 0, 0, 0, 0, 1, 2, 2};
  chime_queue_options q = CHIME_QUEUE_OPTIONS_INIT;
  uint8_t form = take_byte(input), oddity;
  void *options;
  if (form < 64) return NULL;
  if (is_host) q.flags = (form & 2 ? CHIME_QUEUE_FLAG_BOUND : 0) | (form & 4 ? CHIME_QUEUE_FLAG_RECORDS : 0);
  if (is_virtual && form & 1) q.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY;
  q.clock = is_virtual ? 0 : clocks[form / 8 % 8];
  q.label = take_text(input);
  oddity = take_byte(input);
  if (oddity & 1) q.timer_limit = oddity / 2;
  if (is_virtual && oddity & 2) q.start_ns = take_duration(input), q.seed = oddity;
  if (!is_virtual && !is_host && oddity & 4) q.enter = on_enter, q.leave = on_leave, q.hook_context = &hook_context;
  if (!is_virtual && !is_host && !is_precise && oddity & 8) q.qos = oddity / 16 % 6;
  switch (oddity >= 240 ? oddity : 0) {
    case 240: q.realtime_priority = 100; break;
    case 241: q.realtime_priority = -1; break;
    case 242: q.reserved = 1; break;
    case 243: q.flags = 8; break;
    case 244: q.qos = -1; break;
    case 245: q.clock = 4; break;
    case 246: q.seed = 1; break;
    case 247: q.start_ns = INT64_MIN; break;
    case 249:
      q.enter = on_enter;
      q.leave = on_leave;
      q.hook_context = &hook_context;
      break;
    case 250: q.flags = CHIME_QUEUE_FLAG_BOUND | CHIME_QUEUE_FLAG_HONOUR_LEEWAY; break;
    default: break;
  }
  options = sized(input, &q, sizeof q);
  *gives_records = options != NULL && (q.flags & CHIME_QUEUE_FLAG_RECORDS) != 0;
  return options;
}

static void create_queue(bytes *input) {
  static const chime_queue_kind kinds[] = {4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 0, 1, 3, 5, 6, -1};
  uint8_t code = take_byte(input) % 18;
  chime_queue_kind k = code < 16 ? kinds[code] : CHIME_QUEUE_DISPATCH; /* 16: the main queue, 17: a run loop's */
  slot *s = new_slot(QUEUE);
  statuses permitted = O | A | L | M | X | U | P;
  chosen loop = {0};
  void *options;
  chime_status status;
  if (s == NULL) return;
  if (code == 17) loop = choose(input, LOOP);
  options = sized_options(input, k == CHIME_QUEUE_VIRTUAL, k == CHIME_QUEUE_HOST, k == CHIME_QUEUE_PRECISE,
                          &s->gives_records);
  OUT(id);
  if (k != CHIME_QUEUE_VIRTUAL && k != CHIME_QUEUE_HOST) atomic_store(&world.has_threads, 1);
  if (code < 16) status = CALL(permitted, &id, chime_queue_create(k, options, id.pointer));
  else if (code == 16) status = CALL(permitted, &id, chime_queue_create_main(options, id.pointer));
  else
    status = CALL_OF(loop, permitted | H, &id,
                     chime_queue_create_on_run_loop(loop.id, take_text(input), options, id.pointer));
  keep(s, &id, status, NULL);
  free(options);
}

static void end_queue(bytes *input) {
  chosen q = choose(input, QUEUE);
  uint8_t how = take_byte(input);
  chime_status status;
  if (how % 4 == 0) {
    status = q.is_stale && q.id != 0 ? CALL(I | H, NULL, chime_queue_release(q.id))
                                     : RELEASE(q, O | R | I | H, chime_queue_release(q.id));
  } else {
    int64_t timeout = depth == 0 && how % 4 == 1 ? 30 * CHIME_SECOND : take_timeout(input);
    /* One that was released, and may not have ended, is waited for as well. */
    statuses waits = q.slot != NULL && !atomic_load(&q.slot->has_ended) ? Z | D : 0;
    status = q.is_stale ? CALL(O | I | H | A | waits, NULL, chime_queue_shutdown(q.id, timeout))
                        : CALL_OF(q, O | I | Z | D | H | A, NULL, chime_queue_shutdown(q.id, timeout));
    if (q.slot != NULL && (status == CHIME_OK || status == CHIME_IGNORED)) atomic_store(&q.slot->has_ended, 1);
  }
  if (q.slot != NULL && (!CHIME_FAILED(status) || status == CHIME_ERROR_WOULD_DEADLOCK))
    atomic_store(&q.slot->is_stale, 1);
}

static void drive(bytes *input) {
  chosen q = choose(input, QUEUE);
  uint8_t how = take_byte(input);
  uint32_t flags =
      CHIME_QUEUE_RUN_NO_WAIT | (how & 8 ? CHIME_QUEUE_RUN_UNTIL_STOPPED : 0) | (how & 16 ? CHIME_QUEUE_RUN_ONCE : 0);
  OUT(count);
  switch (how % 7) {
    case 0:
    case 1:
    case 2: CALL_OF(q, O | W | B | D | E | U | H, &count, chime_queue_process(q.id, how / 16, count.pointer)); break;
    case 3: CALL_OF(q, O | I | U | H, NULL, chime_queue_stop(q.id)); break;
    case 4:
      if (how >= 240) flags |= 4u << (how % 16);
      CALL_OF(q, O | I | S | T | W | B | D | E | U | H | A, NULL, chime_queue_run(q.id, flags));
      break;
    case 5:
      /* One that would wait, where nobody but this thread takes the stop. */
      if (depth > 0 || atomic_load(&world.has_threads)) return;
      if (chime_queue_stop(q.id) == CHIME_OK)
        CALL_OF(q, O | I | S | W | B | D | E | U | H, NULL,
                chime_queue_run(q.id, how & 8    ? CHIME_QUEUE_RUN_UNTIL_STOPPED
                                      : how & 16 ? CHIME_QUEUE_RUN_ONCE
                                                 : 0));
      break;
    default: CALL(A | U, &count, chime_queue_create_on_dispatch(NULL, NULL, count.pointer)); break;
  }
}

static void hold_queue(bytes *input) {
  chosen q = choose(input, QUEUE);
  if (take_byte(input) % 3 == 0) CALL_OF(q, O | R | H | L, NULL, chime_queue_suspend(q.id));
  else CALL_OF(q, O | I | H, NULL, chime_queue_resume(q.id));
}

static void take_records(bytes *input) {
  chosen q = choose(input, QUEUE);
  uint8_t code = take_byte(input);
  size_t capacity = code % 16, size = code >= 240 ? code : sizeof(chime_tick);
  chime_tick *ticks = code == 239 ? NULL : malloc(capacity * sizeof *ticks);
  OUT(count);
  if (CALL_OF(q, O | W | B | D | E | U | H | A, &count,
              chime_queue_take_ticks(q.id, ticks, size, capacity, count.pointer)) == CHIME_OK) {
    uint32_t got = (uint32_t)count.written;
    if (got > capacity) fail("%u records of %u", (unsigned)got, (unsigned)capacity);
    for (uint32_t i = 0; i < got; i++) {
      context *c = ticks[i].context;
      if (c == NULL) continue;
      if (atomic_load(&c->state) != LENT) fail("a record of kind %d after the last one", ticks[i].kind);
      if (ticks[i].kind == CHIME_TICK_FINALIZE) atomic_store(&c->state, FINALIZED);
    }
  }
  free(ticks);
}

static void move_time(bytes *input) {
  chosen q = choose(input, QUEUE);
  uint8_t how = take_byte(input);
  int64_t amount = take_duration(input);
  if (how % 4 == 3) CALL_OF(q, O | U | H | A, NULL, chime_queue_jump(q.id, amount));
  else CALL_OF(q, O | L | D | B | U | E | H | A, NULL, chime_queue_advance(q.id, amount));
}

static void put_function(bytes *input) {
  chosen q = choose(input, QUEUE);
  uint8_t how = take_byte(input);
  int records = q.slot != NULL && q.slot->gives_records;
  context *c = new_context(input, how & 1 ? q.slot : NULL);
  chime_function function = records != (how >= 240) ? NULL : on_function;
  chime_status status;
  if (c == NULL) return;
  if (how & 1) {
    c->is_awaited = !records;
    status = CALL_OF(q, O | H | A | U | M, NULL,
                     chime_queue_async(q.id, function, c, records && how < 224 ? NULL : finalize));
    settle(c, status == CHIME_OK);
    return;
  }
  status = CALL_OF(q, O | Z | D | U | E | H | A | M, NULL, chime_queue_sync(q.id, function, c, take_timeout(input)));
  if (atomic_load(&c->runs) != (status == CHIME_OK))
    fail("sync answers %d, and ran %d times", status, atomic_load(&c->runs));
  atomic_store(&c->state, RETURNED);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------------------- */

static void create_timer(bytes *input) {
  chosen q = choose(input, QUEUE), target = {0};
  uint8_t how = take_byte(input), form = take_byte(input);
  int records = q.slot != NULL && q.slot->gives_records;
  slot *s = new_slot(TIMER);
  context *c = s != NULL ? new_context(input, q.slot) : NULL;
  chime_timer_options t = CHIME_TIMER_OPTIONS_INIT;
  statuses permitted = O | A | U | H | L | M;
  void *options, *schedule;
  chime_status status;
  if (c == NULL) return;
  OUT(id);
  t.context = c;
  if (records == (form >= 250)) {
    t.handler = on_tick;
    if (form & 2) t.finalizer = finalize;
    /* Whose end is awaited: these may come late. */
    if (t.finalizer != NULL && form & 1) t.registration_handler = on_armed;
    if (t.finalizer != NULL && form & 4) t.cancel_handler = on_cancelled;
  } else {
    if (form & 1) t.flags |= CHIME_TIMER_RECORD_ARMED;
    if (form & 2) t.flags |= CHIME_TIMER_RECORD_FINALIZE;
    if (form & 4) t.flags |= CHIME_TIMER_RECORD_CANCELLED;
  }
  c->is_awaited = t.finalizer != NULL;
  if (how < 64) {
    int64_t delay = take_duration(input);
    if (how & 1)
      status = CALL_OF(q, permitted, &id, chime_timer_after(q.id, delay, t.handler, c, t.finalizer, id.pointer));
    else status = CALL_OF(q, permitted, &id, chime_timer_every(q.id, delay, t.handler, c, t.finalizer, id.pointer));
    settle(c, status == CHIME_OK);
    keep(s, &id, status, c);
    return;
  }
  if (form & 16) t.flags |= CHIME_TIMER_SELF_RELEASE;
  if (form & 32) t.flags |= CHIME_TIMER_BACKGROUND;
  if (form >= 248) t.flags |= 32;
  if (form & 64) target = choose(input, TARGET), t.target = target.id;
  if (t.target != 0) permitted |= G;
  t.label = take_text(input);
  options = sized(input, &t, sizeof t);
  schedule = how < 96 ? NULL : sized_schedule(input, q.id);
  /* A shorter structure has no finalizer, or no target. */
  if (options == NULL || *(uint32_t *)options < sizeof t) c->is_awaited = 0;
  if (how < 128) status = CALL_OF(q, permitted, &id, chime_timer_create(q.id, options, id.pointer));
  else status = CALL_OF(q, permitted, &id, chime_timer_start(q.id, options, schedule, id.pointer));
  settle(c, status == CHIME_OK);
  keep(s, &id, status, c);
  free(options);
  free(schedule);
}

static void change_timer(bytes *input) {
  chosen t = choose(input, TIMER);
  switch (take_byte(input) % 6) {
    case 0: CALL_OF(t, O | R | I | H, NULL, chime_timer_suspend(t.id)); break;
    case 1: CALL_OF(t, O | I | H, NULL, chime_timer_resume(t.id)); break;
    case 2: CALL_OF(t, O | I | H | G | M, NULL, chime_timer_fire(t.id)); break;
    case 3: CALL_OF(t, O | R | I | A | H | M, NULL, chime_timer_set_interval(t.id, take_duration(input))); break;
    case 4: CALL_OF(t, O | A | H | M, NULL, chime_timer_set_background(t.id, take_byte(input) % 9 / 4)); break;
    default: CALL_OF(t, O | R | I | H, NULL, chime_timer_cancel(t.id)); break;
  }
}

static void time_timer(bytes *input) {
  chosen t = choose(input, TIMER);
  uint8_t how = take_byte(input);
  slot *s = t.slot != NULL && t.slot->context != NULL ? t.slot->context->queue : NULL;
  uint64_t queue = s != NULL ? atomic_load(&s->id) : 0;
  void *schedule = how % 8 < 3 && how < 200 ? sized_schedule(input, queue) : NULL;
  switch (how % 8) {
    case 0: CALL_OF(t, O | R | I | H | A | G | M, NULL, chime_timer_activate(t.id, schedule)); break;
    case 1: CALL_OF(t, O | R | H | A | G | M, NULL, chime_timer_restart(t.id, schedule)); break;
    case 2: CALL_OF(t, O | R | H | A | M, NULL, chime_timer_reschedule(t.id, schedule)); break;
    case 3: CALL_OF(t, O | R | H | A | G | M, NULL, chime_timer_restart_after(t.id, take_duration(input))); break;
    case 4: CALL_OF(t, O | R | H | A | G | M, NULL, chime_timer_restart_until(t.id, deadline_on(input, queue))); break;
    case 5: CALL_OF(t, O | R | I | H | A, NULL, chime_timer_postpone(t.id, take_duration(input))); break;
    case 6: CALL_OF(t, O | R | I | H | A | M, NULL, chime_timer_postpone_until(t.id, deadline_on(input, queue))); break;
    default: CALL_OF(t, O | I | Z | D | H | A, NULL, chime_timer_cancel_and_wait(t.id, take_timeout(input))); break;
  }
  free(schedule);
}

static void release_timer(bytes *input) {
  chosen t = choose(input, TIMER);
  chime_status status;
  /* A timer that ended with its queue says so again, until its slot is reused. */
  if (t.slot != NULL) t.is_stale = 0;
  if (take_byte(input) & 1) status = RELEASE(t, O | R | I | H, chime_timer_release(t.id));
  else status = RELEASE(t, O | I | Z | D | H | A, chime_timer_release_and_wait(t.id, take_timeout(input)));
  if (status == CHIME_ERROR_TIMED_OUT || status == CHIME_ERROR_WOULD_DEADLOCK) status = CHIME_RUNNING;
  end_slot(&t, status);
}

static void name_handler(bytes *input) {
  chosen t = choose(input, TIMER);
  uint8_t how = take_byte(input);
  const char *key = take_text(input);
  context *c;
  chime_status status;
  if (how & 1) {
    CALL_OF(t, O | R | I | H | A | M, NULL, chime_timer_remove_handler(t.id, key));
    return;
  }
  c = new_context(input, NULL);
  if (c == NULL) return;
  c->is_awaited = 1;
  status = CALL_OF(t, O | R | H | A | U | M, NULL,
                   chime_timer_add_handler(t.id, key, how < 240 ? on_named : NULL, c, finalize));
  settle(c, status == CHIME_OK || status == CHIME_RUNNING);
}

/* ---- Questions ---------------------------------------------------------------------------------------------------------------- */

static void ask(bytes *input) {
  uint8_t which = take_byte(input) % 16;
  chosen c = choose(input, which < 5 ? TIMER : which < 9 ? QUEUE : WEAK);
  statuses usual = O | H | A;
  OUT(o);
  switch (which) {
    case 0: CALL_OF(c, usual, &o, chime_timer_generation(c.id, o.pointer)); break;
    case 1: CALL_OF(c, usual, &o, chime_timer_state(c.id, o.pointer)); break;
    case 2: CALL_OF(c, usual, &o, chime_timer_next_deadline(c.id, o.pointer)); break;
    case 3: CALL_OF(c, usual, &o, chime_timer_remaining(c.id, o.pointer)); break;
    case 4: CALL_OF(c, O | I | H, NULL, chime_timer_check_generation(c.id, take_byte(input))); break;
    case 5: CALL_OF(c, usual, &o, chime_queue_now(c.id, o.pointer)); break;
    case 6: CALL_OF(c, usual | U, &o, chime_queue_next_deadline(c.id, o.pointer)); break;
    case 7: CALL_OF(c, usual | U, &o, chime_queue_poll_timeout(c.id, o.pointer)); break;
    case 8: CALL_OF(c, usual | U, &o, chime_queue_fd(c.id, o.pointer)); break;
    case 9: CALL_OF(c, usual, &o, chime_weak_timer_is_valid(c.id, o.pointer)); break;
    case 10: CALL_OF(c, usual, &o, chime_weak_timer_tolerance(c.id, o.pointer)); break;
    case 11: CALL_OF(c, usual, &o, chime_weak_timer_fire_date(c.id, o.pointer)); break;
    case 12:
    case 13: CALL(O | A | U, &o, chime_now(take_byte(input) % 6 - 1, o.pointer)); break;
    default:
      chime_status_name(take_byte(input) - 128);
      chime_status_message(take_byte(input) - 128);
      if (chime_version() != CHIME_VERSION) fail("the version");
      CALL(I, NULL, chime_reinitialize());
      CALL(A | B, NULL,
           chime_set_allocator(take_byte(input) & 1
                                   ? NULL
                                   : &(chime_allocator){sizeof(chime_allocator), 0, allocate, deallocate, NULL}));
      break;
  }
}

static void ask_for_text(bytes *input) {
  uint8_t which = take_byte(input), capacity = take_byte(input);
  chosen c = choose(input, which & 1 ? TIMER : QUEUE);
  char *text = which >= 240 ? NULL : malloc(capacity);
  OUT(length);
  chime_status status = which & 1
                            ? CALL_OF(c, O | H | A, &length, chime_timer_explain(c.id, text, capacity, length.pointer))
                            : CALL_OF(c, O | H | A, &length, chime_queue_dump(c.id, text, capacity, length.pointer));
  if (status == CHIME_OK && text != NULL && capacity > 0 && memchr(text, 0, capacity) == NULL)
    fail("a text without an end");
  free(text);
}

static void ask_for_structure(bytes *input) {
  uint8_t which = take_byte(input);
  chosen c = choose(input, which & 1 ? TIMER : QUEUE);
  if (which & 2) {
    chime_schedule schedule = CHIME_SCHEDULE_INIT;
    void *read = sized(input, &schedule, sizeof schedule);
    CALL_OF(c, O | I | H | A, NULL, chime_timer_get_schedule(c.id, read));
    free(read);
    return;
  }
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  void *structure = which & 1 ? sized(input, &info, sizeof info) : sized(input, &stats, sizeof stats);
  chime_status status = which & 1 ? CALL_OF(c, O | H | A, NULL, chime_timer_get_info(c.id, structure))
                                  : CALL_OF(c, O | H | A | M, NULL, chime_queue_get_stats(c.id, structure));
  if (status == CHIME_OK && which & 1 && *(uint32_t *)structure >= 8) {
    memcpy(&info, structure, 8);
    if (info.state > CHIME_STATE_CANCELLED) fail("state %u", info.state);
  }
  free(structure);
}

static void list(bytes *input) {
  uint8_t how = take_byte(input), capacity = how % 16;
  uint64_t *ids = malloc(capacity * sizeof *ids);
  chosen q = how & 16 ? choose(input, QUEUE) : (chosen){0};
  OUT(count);
  if (how & 16)
    CALL_OF(q, O | H | A, &count, chime_queue_list_timers(q.id, capacity > 0 ? ids : NULL, capacity, count.pointer));
  else CALL(O | A, &count, chime_queue_list(capacity > 0 ? ids : NULL, capacity, count.pointer));
  free(ids);
}

/* ---- Targets and values that expire ------------------------------------------------------------------------------------------- */

static void use_target(bytes *input) {
  uint8_t how = take_byte(input) % 4;
  chosen g;
  if (how == 0) {
    slot *s = new_slot(TARGET);
    context *c = s != NULL ? new_context(input, NULL) : NULL;
    chime_status status;
    if (c == NULL) return;
    OUT(id);
    c->is_awaited = 1;
    status = CALL(O | A | L | M, &id, chime_target_create(c, finalize, id.pointer));
    settle(c, status == CHIME_OK);
    keep(s, &id, status, c);
    return;
  }
  g = choose(input, TARGET);
  if (how == 1) {
    OUT(object);
    if (CALL_OF(g, O | H | L, &object, chime_target_retain(g.id, object.pointer)) == CHIME_OK) {
      atomic_fetch_add(&g.slot->held, 1);
      if (object.pointer != NULL && object.written != (uintptr_t)g.slot->context) fail("a target's object");
      if (atomic_load(&g.slot->context->state) != LENT) fail("a target's object is dead");
    }
    return;
  }
  /* Only what this input holds. */
  if (g.slot != NULL && atomic_fetch_sub(&g.slot->held, 1) <= 0) {
    atomic_fetch_add(&g.slot->held, 1);
    return;
  }
  RELEASE(g, O | R | H, chime_target_release(g.id));
}

static void use_value(bytes *input) {
  uint8_t how = take_byte(input) % 8;
  chosen v;
  context *c;
  chime_status status;
  if (how < 2) {
    chosen q = choose(input, QUEUE);
    slot *s = new_slot(VALUE);
    uint8_t form = take_byte(input);
    void *options = NULL;
    c = s != NULL ? new_context(input, NULL) : NULL;
    if (c == NULL) return;
    OUT(id);
    c->is_awaited = 1;
    if (form & 1) {
      chime_expiring_options o = CHIME_EXPIRING_OPTIONS_INIT;
      if (form & 2) o.flags = form >= 240 ? CHIME_TIMER_SELF_RELEASE : CHIME_TIMER_BACKGROUND;
      if (form & 4) o.leeway_ns = take_duration(input);
      o.label = take_text(input);
      options = sized(input, &o, sizeof o);
    }
    status = CALL_OF(q, O | H | A | U | L | M, &id,
                     chime_expiring_create(q.id, take_duration(input), c, finalize, options, id.pointer));
    free(options);
    settle(c, status == CHIME_OK);
    keep(s, &id, status, c);
    atomic_store(&s->held, 0);
    return;
  }
  v = choose(input, VALUE);
  if (how == 2) {
    uint8_t oddity = take_byte(input);
    c = new_context(input, NULL);
    if (c == NULL) return;
    c->is_awaited = 1;
    status =
        CALL_OF(v, O | I | H | A | M, NULL,
                chime_expiring_on_expiry(v.id, oddity < 240 ? on_expiry : NULL, c, oddity % 16 == 0 ? NULL : finalize));
    if (oddity % 16 == 0) c->is_awaited = 0;
    settle(c, status == CHIME_OK);
  } else if (how < 5) {
    OUT(value);
    if (CALL_OF(v, O | I | H | A, &value, chime_expiring_acquire(v.id, (void **)value.pointer)) == CHIME_OK) {
      if (value.written != (uintptr_t)v.slot->context || atomic_load(&v.slot->context->state) != LENT)
        fail("a value is dead");
      atomic_fetch_add(&v.slot->held, 1);
    }
  } else if (how == 5) {
    if (v.slot != NULL && atomic_fetch_sub(&v.slot->held, 1) <= 0) atomic_fetch_add(&v.slot->held, 1);
    else if (v.slot != NULL) CALL(O, NULL, chime_expiring_yield(v.id));
    else CALL_OF(v, O | I | H, NULL, chime_expiring_yield(v.id));
  } else if (how == 6) {
    CALL_OF(v, O | I | H | A | M, NULL, chime_expiring_reset(v.id, take_duration(input)));
  } else {
    status = RELEASE(v, O | R | H, chime_expiring_release(v.id));
    if (v.slot != NULL && !CHIME_FAILED(status)) atomic_store(&v.slot->is_stale, 1);
  }
}

/* ---- Run loops, weak timers, the main queue, traces ---------------------------------------------------------------------------- */

static void use_loop(bytes *input) {
  uint8_t how = take_byte(input) % 8;
  chosen c;
  if (how < 3) {
    slot *s = new_slot(LOOP);
    chime_status status;
    if (s == NULL) return;
    OUT(id);
    atomic_store(&world.has_threads, 1);
    chime_run_loop_options o = CHIME_RUN_LOOP_OPTIONS_INIT;
    o.label = take_text(input);
    void *options = sized(input, &o, sizeof o);
    status = how == 0   ? CALL(O | A | L | X | M, &id, chime_run_loop_main(id.pointer))
             : how == 1 ? CALL(O | A | L | X | M, &id, chime_run_loop_current(id.pointer))
                        : CALL(O | A | L | X | M, &id, chime_run_loop_create(options, id.pointer));
    free(options);
    keep(s, &id, status, NULL);
    return;
  }
  if (how < 6) {
    int64_t timeout = take_byte(input) - INT64_C(2);
    CALL(O | S | T | A | X | L | M | D, NULL,
         chime_run_loop_run(take_text(input), timeout, take_byte(input) % 17 == 16 ? 2 : how == 5));
    return;
  }
  c = choose(input, LOOP);
  if (how == 7) {
    CALL_OF(c, O | A | H | M, NULL, chime_run_loop_add_common_mode(c.id, take_text(input)));
  } else if (take_byte(input) & 1) {
    CALL_OF(c, O | I | H, NULL, chime_run_loop_stop(c.id));
  } else {
    chime_status status = RELEASE(c, O | I | H, chime_run_loop_release(c.id));
    if (c.slot != NULL && status == CHIME_OK) atomic_store(&c.slot->is_stale, 1);
  }
}

static void use_weak(bytes *input) {
  uint8_t how = take_byte(input) % 8;
  chosen w, other;
  chime_status status;
  if (how < 2) {
    slot *s = new_slot(WEAK);
    context *c = s != NULL ? new_context(input, NULL) : NULL;
    int64_t interval = take_duration(input);
    int32_t repeats = take_byte(input) % 8;
    if (c == NULL) return;
    other = take_byte(input) & 1 ? choose(input, TARGET) : (chosen){0};
    OUT(id);
    if (repeats > 2) repeats &= 1;
    c->is_awaited = 1;
    atomic_store(&world.has_threads, 1);
    chime_weak_timer_options o = CHIME_WEAK_TIMER_OPTIONS_INIT;
    o.tolerance_ns = take_duration(input) / 2;
    o.label = take_text(input);
    void *options = take_byte(input) & 1 ? sized(input, &o, sizeof o) : NULL;
    status =
        how == 0
            ? CALL(O | A | H | G | L | M, &id,
                   chime_weak_timer_create(interval, repeats, other.id, on_weak, c, finalize, options, id.pointer))
            : CALL(O | A | H | G | L | M | X, &id,
                   chime_weak_timer_schedule(interval, repeats, other.id, on_weak, c, finalize, options, id.pointer));
    free(options);
    settle(c, status == CHIME_OK);
    keep(s, &id, status, c);
    return;
  }
  w = choose(input, WEAK);
  switch (how) {
    case 2:
      other = choose(input, LOOP);
      CALL_OF(w, O | I | A | H | G | L | M | X, NULL, chime_weak_timer_add(w.id, other.id, take_text(input)));
      break;
    case 3: CALL_OF(w, O | I | H, NULL, chime_weak_timer_fire(w.id)); break;
    case 4: CALL_OF(w, O | R | I | H, NULL, chime_weak_timer_invalidate(w.id)); break;
    case 5: CALL_OF(w, O | I | H | A, NULL, chime_weak_timer_set_tolerance(w.id, take_duration(input))); break;
    case 6: CALL_OF(w, O | I | H, NULL, chime_weak_timer_set_fire_date(w.id, take_duration(input))); break;
    default: status = RELEASE(w, O | R | H, chime_weak_timer_release(w.id)); end_slot(&w, status);
  }
}

static void use_main(bytes *input) {
  int64_t now = 0;
  uint8_t how = take_byte(input);
  chime_clock clock = how / 8 % 6 - 1;
  switch (how % 4) {
    case 0:
      if (!is_main()) CALL(W, NULL, chime_main_run());
      break;
    case 1:
      if (is_main()) chime_main_stop(), CALL(S | D | U | X | M, NULL, chime_main_run());
      break;
    case 2: CALL(O | I, NULL, chime_main_stop()); break;
    default:
      chime_now(clock, &now);
      CALL(O | A | U, NULL, chime_sleep_until(clock, how & 4 ? now + how * 64 : INT64_MIN + how));
  }
}

static void use_trace(bytes *input) {
  static const char *const paths[] = {NULL, "/dev/null", "/nowhere/%p", ""};
  uint8_t how = take_byte(input);
  if (how < 16) CALL(O | I | P | X | M | L, NULL, chime_trace_to_file(paths[how % 4]));
  else CALL(O, NULL, chime_set_trace(how & 1 ? on_trace : NULL, NULL, NULL));
}

/* ---- An input ------------------------------------------------------------------------------------------------------------------ */

static void perform(bytes *input) {
  static const struct {
    int weight;
    void (*make)(bytes *input);
  } table[] = {{6, create_queue}, {2, end_queue},    {4, drive},        {3, take_records},      {6, move_time},
               {3, put_function}, {8, create_timer}, {6, change_timer}, {6, time_timer},        {3, release_timer},
               {3, name_handler}, {3, ask},          {1, ask_for_text}, {1, ask_for_structure}, {1, list},
               {4, use_target},   {4, use_value},    {4, use_loop},     {4, use_weak},          {1, use_main},
               {1, use_trace},    {1, refuse},       {1, grant},        {1, limit_memory},      {3, hold_queue}};
  int code, i = 0;
  if (atomic_fetch_add(&world.calls, 1) >= MOST_CALLS) {
    input->left = 0;
    return;
  }
  code = take_byte(input) % 80;
  while (code >= table[i].weight) code -= table[i++].weight;
  table[i].make(input);
}

#define EACH(k) (int i = 0; i < MOST_SLOTS && i < atomic_load(&world.used[k]); i++)
#define ID(k) atomic_load(&world.slots[k][i].id)

/* An id says that its queue has ended until its index is given to another queue. */
static int queue_is_over(int number, uint64_t id) {
  chime_status status = chime_queue_shutdown(id, 30 * CHIME_SECOND);
  if (status == CHIME_OK || status == CHIME_IGNORED) return 1;
  for
    EACH(QUEUE) {
      if (i != number && ((ID(QUEUE) ^ id) & ((1 << 26) - 1)) == 0) return 1;
    }
  return 0;
}

static int is_over(int seconds) {
  /* Or to a queue of a run loop's own, which is not looked for. */
  for
    EACH(QUEUE) {
      if (ID(QUEUE) != 0 && !queue_is_over(i, ID(QUEUE)) && seconds < 2) return 0;
    }
  for (int i = 0; i < MOST_CONTEXTS && i < world.contexts_used; i++) {
    if (world.contexts[i].is_awaited && atomic_load(&world.contexts[i].state) == LENT) return 0;
  }
  return atomic_load(&world.inside) == 0;
}

/* Whatever has been made so far. */
static void release_all(void) {
  chime_queue_t queues[256];
  size_t count = 0;
  for
    EACH(QUEUE) {
      if (ID(QUEUE) != 0) chime_queue_release(ID(QUEUE));
    }
  for
    EACH(WEAK) chime_weak_timer_release(ID(WEAK));
  for
    EACH(VALUE) {
      while (atomic_fetch_sub(&world.slots[VALUE][i].held, 1) > 0) chime_expiring_yield(ID(VALUE));
      chime_expiring_release(ID(VALUE));
    }
  for
    EACH(TARGET) {
      while (atomic_fetch_sub(&world.slots[TARGET][i].held, 1) > 0) chime_target_release(ID(TARGET));
    }
  for
    EACH(LOOP) chime_run_loop_release(ID(LOOP));
  /* The main thread's queues have their turn. */
  chime_main_stop();
  chime_main_run();
  for (int i = 0; i < (atomic_load(&world.used[LOOP]) > 0 ? TEXTS : 1); i++) {
    while (chime_run_loop_run(texts[i], 0, 0) == CHIME_STOPPED) {}
  }
  if (chime_queue_list(queues, 256, &count) != CHIME_OK || count > 256) fail("%d queues", (int)count);
  for (uint64_t i = 0; i < count; i++) chime_queue_shutdown(queues[i], 30 * CHIME_SECOND);
}

static void set_nothing(void) {
  atomic_store(&refusals_until, 0);
  chime_set_memory_limit(0);
  chime_set_trace(NULL, NULL, NULL);
  chime_trace_to_file(NULL);
}

static void end_all(void) {
  struct timespec since, now, pause = {0, 20000};
  int seconds = 0;
  clock_gettime(CLOCK_MONOTONIC, &since);
  set_nothing();
  for (release_all(); !is_over(seconds); release_all()) {
    atomic_store(&world.calls, MOST_CALLS);
    set_nothing();
    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (int)(now.tv_sec - since.tv_sec);
    if (seconds < 30) {
      nanosleep(&pause, NULL);
      continue;
    }
    for (int i = 0; i < MOST_CONTEXTS; i++) {
      if (world.contexts[i].is_awaited && atomic_load(&world.contexts[i].state) == LENT)
        fail("context %d was never finalized", i);
    }
    fail("%d callbacks run still", world.inside);
  }
  set_nothing();
  for
    EACH(TIMER) {
      chime_state state;
      if (chime_timer_state(ID(TIMER), &state) != CHIME_ERROR_INVALID_HANDLE) fail("timer %d outlives its queue", i);
    }
}

static void try_once(const uint8_t *data, size_t size) {
  bytes input = {data, size};
  size_t traced = size / 8;
  memset(&world, 0, sizeof world);
  world.trace_script = (bytes){data + size - traced, traced};
  input.left -= traced;
  while (input.left > 0) perform(&input);
  end_all();
}

/* Of several threads the first one ends the process: another one's abort would end it before libFuzzer has kept the input. */
static void report(const char *difference) {
  static atomic_flag is_reported = ATOMIC_FLAG_INIT;
  fprintf(stderr, "FAILED: %s\n", difference);
  while (atomic_flag_test_and_set(&is_reported)) pause();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  chime_allocator allocator = {sizeof allocator, 0, allocate, deallocate, NULL};
  main_thread = pthread_self();
  memset(longest, 'x', sizeof longest - 1);
  on_difference = report;
  if (chime_set_allocator(&allocator) != CHIME_OK) fail("the allocator");
  return 0;
}

static int lowest_descriptor(void) {
  int descriptor = dup(2);
  close(descriptor);
  return descriptor;
}

/* What an input takes is kept for the next one: it may take more than those before it, but not longer with each repetition
 * than it takes to give each slot of a slab its side record. Where threads are left to give things back, there is only a bound. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { MOST_BYTES = 64 << 20, MOST_DESCRIPTORS = 200 };
  const struct timespec pause = {0, 1000000};
  uint64_t used = chime_memory_used(), before;
  int descriptor = lowest_descriptor(), descriptor_before, repetition = 0;
  do {
    before = used, descriptor_before = descriptor;
    try_once(data, size);
    used = chime_memory_used(), descriptor = lowest_descriptor();
    trace("%" PRIu64 " bytes, descriptor %d", used, descriptor);
    if (++repetition == 600) fail("more with each repetition: %" PRIu64 " bytes, descriptor %d", used, descriptor);
  } while (!world.has_threads && (used > before || descriptor > descriptor_before));
  for (int waited = 0; chime_memory_used() > MOST_BYTES || lowest_descriptor() > MOST_DESCRIPTORS; waited++) {
    if (waited == 30000) fail("%" PRIu64 " bytes and descriptor %d are held", chime_memory_used(), lowest_descriptor());
    nanosleep(&pause, NULL);
  }
  return 0;
}
