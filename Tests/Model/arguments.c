/*
 * arguments.c - the second fuzz target: every function of chime.h with arguments from the bytes, in no sensible order.
 *
 * Nothing may crash or hang; each answer is one that the function's comment names; a call that fails leaves its
 * out-parameters, errno and everything else as they were; what is not valid is refused; each context is finalized once
 * if it was accepted, and never if it was not. Exempt: pointers to nowhere, and waits without end: timeouts are cut to
 * a millisecond, a stop is asked for before every chime_queue_run and chime_main_run, and a sleep ends soon.
 */
#include "functions.h"
#include "world.h"

#include <errno.h>

/* Its answers; HANDLE and ARGUMENT are what most functions have. */
#define DONE STATUS(CHIME_OK)
#define RUNNING STATUS(CHIME_RUNNING)
#define IGNORED STATUS(CHIME_IGNORED)
#define TIMED_OUT STATUS(CHIME_TIMED_OUT)
#define STOPPED STATUS(CHIME_STOPPED)
#define HANDLE STATUS(CHIME_ERROR_INVALID_HANDLE)
#define ARGUMENT STATUS(CHIME_ERROR_INVALID_ARGUMENT)
#define UNSUPPORTED STATUS(CHIME_ERROR_UNSUPPORTED)
#define SHUT_DOWN STATUS(CHIME_ERROR_SHUT_DOWN)
#define DEADLOCK STATUS(CHIME_ERROR_WOULD_DEADLOCK)
#define GONE STATUS(CHIME_ERROR_TARGET_GONE)
#define LIMIT STATUS(CHIME_ERROR_LIMIT)
#define MEMORY STATUS(CHIME_ERROR_NO_MEMORY)
#define CREATION (DONE | ARGUMENT | HANDLE | LIMIT | MEMORY | GONE | UNSUPPORTED)
#define MADE_QUEUE \
  (DONE | ARGUMENT | UNSUPPORTED | STATUS(CHIME_ERROR_PERMISSION) | LIMIT | MEMORY | STATUS(CHIME_ERROR_RESOURCE))

/* What is drawn for a call beside an id and where to put an answer, and what it must be to be valid. What its parameters tell,
   the rows leave out (told_by_parameters). */
enum {
  AMOUNT = 1,
  FROM_0 = 2, /* an amount that must not be negative, */
  FROM_1 = 4, /* or must be more than 0 */
  TIMEOUT = 8,
  SCHEDULE = 16, /* or none, */
  NEEDS_SCHEDULE = 32,
  TIMER_OPTIONS = 64,
  QUEUE_OPTIONS = 128,
  TEXT = 256,
  HANDLER = 512,           /* there must be one, */
  MAYBE_HANDLER = 1024,    /* or neither that nor a finalizer, which some calls or queues take */
  TAKES = 2048,            /* a context, when it is accepted */
  GIVES = 4096,            /* an id */
  ASKS = 8192,             /* and must have a place for the answer */
  RELEASES = 16384,        /* does nothing with 0, and says OK */
  MAKES_THREADS = 1 << 15, /* which is slow: once in an input */
  ENDS_BY_ITSELF = 1 << 16 /* a timeout may be endless where there are no threads */
};

typedef struct function {
  const char *name;
  statuses permitted;
  int flags;
  chime_status (*call)(given *g);
} function;

#define EITHER(function) (g->handler == NULL ? NULL : function) /* an object, too */
#define OUT(member) (g->out == NULL ? NULL : &g->out->member)

/* ---- Calls that take more than one line ------------------------------------------------------------------------- */

static chime_status create_queue(given *g) {
  g->kind = (g->form & 64) != 0 ? CHIME_QUEUE_VIRTUAL : (g->form & 128) != 0 ? CHIME_QUEUE_HOST : g->number % 9 - 2;
  g->is_skipped = g->kind != CHIME_QUEUE_VIRTUAL && g->kind != CHIME_QUEUE_HOST && w.threads_made++ > 0;
  if (g->is_skipped) return CHIME_IGNORED;
  return chime_queue_create(g->kind, g->queue_options, OUT(id));
}

static void count_call(void *context) { *(int *)context += 1; }

static chime_status sync(given *g) {
  int calls = 0;
  chime_status status = chime_queue_sync(g->id, EITHER(count_call), &calls, g->timeout);
  expect_number("calls of sync's function", calls, status == CHIME_OK);
  return status;
}

/* LIMIT is an advance cut short: much has changed. */
static chime_status advanced(chime_status status) {
  if (status == CHIME_ERROR_LIMIT) w.changes = 1;
  return status;
}

/* Not by more than a few timers bear, so that no repeating timer ticks a million times. */
static int64_t bearable(int64_t amount) { return amount > 0 ? amount % 2000 : amount; }

static chime_status process(given *g) {
  uint32_t most = g->form % 32;
  chime_status status = chime_queue_process(g->id, most, OUT(count));
  if (status == CHIME_OK && g->out != NULL && most > 0 && g->out->count > most) fail("more ran than was asked for");
  return status;
}

static chime_status take_ticks(given *g) {
  char *ticks = buffer_of(16 * 256, 0x5a);
  uint32_t capacity = g->form % 16, size = (uint32_t)sizeof(chime_tick);
  chime_status status;
  if ((g->form & 32) != 0) size = g->number < 0 ? UINT32_MAX + (uint32_t)g->number : (uint32_t)g->number;
  if (size > 256) capacity = capacity > 0; /* the array must be as large as is said */
  status = chime_queue_take_ticks(g->id, EITHER((chime_tick *)(void *)ticks), size, capacity, OUT(count));
  if (status == CHIME_OK && g->out != NULL) note_records(ticks, size, g->out->count, capacity);
  return status;
}

/* With a stop pending it returns; where the stop is refused, so is the run. */
static chime_status run(given *g) {
  expect_status("stop", chime_queue_stop(g->id), DONE | HANDLE | UNSUPPORTED | IGNORED);
  return chime_queue_run(g->id, (uint32_t)(g->form >> 6));
}

static chime_status run_main(void) {
  expect_status("main_stop", chime_main_stop(), DONE | IGNORED);
  return chime_main_run();
}

/* Not into the future by more than a microsecond. */
static chime_status sleep_until(given *g) {
  int64_t now = 0;
  if (chime_now(g->number, &now) != CHIME_OK) now = 0;
  return chime_sleep_until(g->number, g->amount > 0 ? saturating_sum(now, g->amount % 1000) : g->amount);
}

/* That answer comes after the cancel: here for a tick that this thread has taken as a record. */
static chime_status after_all(chime_status status) {
  if (status == CHIME_ERROR_WOULD_DEADLOCK) w.changes = 1;
  return status;
}

static chime_status acquire(given *g) {
  chime_status status = chime_expiring_acquire(g->id, OUT(object));
  if (status == CHIME_IGNORED && g->out != NULL && g->out->object != NULL) fail("a value that has vanished");
  if (status == CHIME_OK && w.acquired_count < MOST_IDS) w.acquired[w.acquired_count++] = g->id;
  return status;
}

static chime_status names(given *g) {
  if (chime_version() != CHIME_VERSION) fail("version");
  if (strlen(chime_status_name(g->number)) < 5 || strlen(chime_status_message(g->number)) < 5) fail("a status's name");
  if (strlen(chime_tick_kind_name(g->number)) < 10) fail("name of kind %d", g->number);
  (void)chime_memory_used();
  if (chime_last_error_detail() == NULL) fail("no detail");
  return CHIME_OK;
}

/* ---- All calls -------------------------------------------------------------------------------------------------- */

/* What the functions marked F are called with. */
static arguments of(const given *g) {
  arguments a = {.queue = g->id,
                 .timer = g->id,
                 .target = g->id,
                 .expiring = g->id,
                 .out = g->out,
                 .generation = (uint64_t)g->amount,
                 .timeout_ns = g->timeout,
                 .schedule = g->schedule,
                 .timer_options = g->timer_options,
                 .queue_options = g->queue_options,
                 .key = g->text,
                 .handler = g->handler,
                 .function = EITHER(ignore_context),
                 .object = EITHER(g->context),
                 .context = g->context,
                 .finalizer = g->finalizer,
                 .capacity = g->form >> 7,
                 .clock = g->number};
  a.delay_ns = a.duration_ns = a.interval_ns = a.lifetime_ns = a.deadline_ns = g->amount;
  return a;
}

/* F: the function of that name; G: that call of it. C does not compile it where a function of chime.h is missing. */
/* clang-format off */
#define CALLS(F, G) \
  G(queue_create, MADE_QUEUE, ASKS, create_queue(g)) \
  G(queue_main, MADE_QUEUE, ASKS | MAKES_THREADS, (g->kind = MAIN, chime_queue_main(g->queue_options, OUT(id)))) \
  F(queue_wrap_dispatch, MADE_QUEUE, MAKES_THREADS) \
  F(queue_release, DONE | RUNNING | IGNORED | HANDLE, RELEASES) \
  F(queue_shutdown, DONE | IGNORED | TIMED_OUT | HANDLE | ARGUMENT, ENDS_BY_ITSELF) \
  G(queue_sync, DONE | TIMED_OUT | HANDLE | ARGUMENT | UNSUPPORTED | SHUT_DOWN, HANDLER, sync(g)) \
  F(queue_async, DONE | HANDLE | ARGUMENT | UNSUPPORTED | MEMORY, MAYBE_HANDLER | TAKES) \
  G(queue_advance, DONE | HANDLE | ARGUMENT | UNSUPPORTED | LIMIT, FROM_0, \
    advanced(chime_queue_advance(g->id, bearable(g->amount)))) \
  F(queue_jump, DONE | HANDLE | ARGUMENT | UNSUPPORTED, FROM_0) \
  F(queue_now, DONE | HANDLE | ARGUMENT, ASKS) \
  F(queue_next_deadline, DONE | HANDLE | ARGUMENT | UNSUPPORTED, ASKS) \
  F(queue_fd, DONE | HANDLE | ARGUMENT | UNSUPPORTED, ASKS) \
  F(queue_poll_timeout, DONE | HANDLE | ARGUMENT | UNSUPPORTED, ASKS) \
  G(queue_get_stats, DONE | HANDLE | ARGUMENT, 0, ask_stats(g)) \
  G(queue_dump, DONE | HANDLE | ARGUMENT, 0, ask_text(g, chime_queue_dump)) \
  F(queue_list, DONE | ARGUMENT, ASKS) \
  G(queue_process, DONE | HANDLE | UNSUPPORTED, 0, process(g)) \
  G(queue_take_ticks, DONE | HANDLE | UNSUPPORTED | ARGUMENT, ASKS, take_ticks(g)) \
  G(queue_run, DONE | HANDLE | UNSUPPORTED | ARGUMENT | STOPPED, 0, run(g)) \
  F(queue_stop, DONE | HANDLE | UNSUPPORTED | IGNORED, 0) \
  \
  F(timer_create, CREATION, TAKES | ASKS) \
  F(timer_start, CREATION, NEEDS_SCHEDULE | TAKES) \
  F(timer_after, CREATION, FROM_0 | MAYBE_HANDLER | TAKES) \
  F(timer_every, CREATION, FROM_1 | MAYBE_HANDLER | TAKES) \
  F(timer_activate, DONE | IGNORED | HANDLE | ARGUMENT | GONE | MEMORY, 0) \
  F(timer_restart, DONE | RUNNING | HANDLE | ARGUMENT | GONE | MEMORY, 0) \
  F(timer_restart_after, DONE | RUNNING | HANDLE | ARGUMENT | GONE | MEMORY, FROM_0) \
  F(timer_restart_until, DONE | RUNNING | HANDLE | ARGUMENT | GONE | MEMORY, 0) \
  F(timer_reschedule, DONE | RUNNING | HANDLE | ARGUMENT | MEMORY, 0) \
  F(timer_suspend, DONE | RUNNING | IGNORED | HANDLE, 0) \
  F(timer_resume, DONE | IGNORED | HANDLE, 0) \
  F(timer_postpone, DONE | IGNORED | HANDLE | ARGUMENT, FROM_0) \
  F(timer_postpone_until, DONE | IGNORED | HANDLE, 0) \
  F(timer_fire, DONE | IGNORED | HANDLE | GONE | MEMORY, 0) \
  F(timer_cancel, DONE | RUNNING | IGNORED | HANDLE, 0) \
  G(timer_cancel_and_wait, DONE | IGNORED | TIMED_OUT | HANDLE | ARGUMENT | DEADLOCK, ENDS_BY_ITSELF, \
    after_all(chime_timer_cancel_and_wait(g->id, g->timeout))) \
  F(timer_release, DONE | RUNNING | IGNORED | HANDLE, RELEASES) \
  G(timer_release_and_wait, DONE | IGNORED | TIMED_OUT | HANDLE | ARGUMENT | DEADLOCK, ENDS_BY_ITSELF, \
    after_all(chime_timer_release_and_wait(g->id, g->timeout))) \
  F(timer_generation, DONE | HANDLE | ARGUMENT, ASKS) \
  F(timer_check_generation, DONE | IGNORED | HANDLE, 0) \
  F(timer_state, DONE | HANDLE | ARGUMENT, ASKS) \
  F(timer_next_deadline, DONE | HANDLE | ARGUMENT, ASKS) \
  F(timer_remaining, DONE | HANDLE | ARGUMENT, ASKS) \
  G(timer_get_info, DONE | HANDLE | ARGUMENT, 0, ask_info(g)) \
  G(timer_explain, DONE | HANDLE | ARGUMENT, 0, ask_text(g, chime_timer_explain)) \
  F(timer_add_handler, DONE | RUNNING | HANDLE | ARGUMENT | UNSUPPORTED | MEMORY, HANDLER | TAKES) \
  F(timer_remove_handler, DONE | RUNNING | IGNORED | HANDLE | ARGUMENT, 0) \
  \
  F(target_create, DONE | ARGUMENT, HANDLER | TAKES | ASKS) \
  F(target_retain, DONE | HANDLE, 0) \
  F(target_release, DONE | HANDLE, RELEASES) \
  F(expiring_create, DONE | HANDLE | ARGUMENT | UNSUPPORTED | LIMIT | MEMORY, HANDLER | TAKES | ASKS) \
  F(expiring_on_expiry, DONE | IGNORED | HANDLE | ARGUMENT | MEMORY, MAYBE_HANDLER | TAKES) \
  G(expiring_acquire, DONE | IGNORED | HANDLE | ARGUMENT, ASKS, acquire(g)) \
  F(expiring_yield, DONE | IGNORED | HANDLE, 0) \
  F(expiring_reset, DONE | IGNORED | HANDLE | ARGUMENT, 0) \
  F(expiring_release, DONE | RUNNING | HANDLE, RELEASES) \
  \
  G(names, DONE, 0, names(g)) \
  F(now, DONE | ARGUMENT | UNSUPPORTED, ASKS) \
  G(sleep_until, DONE | ARGUMENT | UNSUPPORTED, 0, sleep_until(g)) \
  G(main_run, STOPPED, MAKES_THREADS, run_main()) \
  G(set_trace, DONE, 0, chime_set_trace(EITHER(trace_call), &w)) \
  F(trace_to_file, DONE | IGNORED, 0) \
  F(set_allocator, ARGUMENT | STATUS(CHIME_ERROR_BUSY) | UNSUPPORTED, 0) \
  F(set_memory_limit, DONE | UNSUPPORTED, 0) \
  F(reinitialize, IGNORED, 0)
/* clang-format on */

#define DEFINE_F(name, permitted, flags) \
  static chime_status do_##name(given *g) { \
    const arguments a = of(g); \
    return call_##name(&a); \
  }
#define DEFINE_G(name, permitted, flags, call) \
  static chime_status do_##name(given *g) { return call; }
CALLS(DEFINE_F, DEFINE_G)
#define ROW(name, permitted, flags) {"chime_" #name, permitted, flags, do_##name},
#define ROW_G(name, permitted, flags, call) ROW(name, permitted, flags)
static function rows[] = {CALLS(ROW, ROW_G)};
enum { ROWS = sizeof rows / sizeof rows[0] };

#define HAS(name, permitted, flags) extern char has_##name;
#define HAS_G(name, permitted, flags, call) HAS(name, permitted, flags)
CALLS(HAS, HAS_G)
/* Those of `names`, and the stop that comes before each run of the main queue. */
extern char has_version, has_status_name, has_status_message, has_last_error_detail, has_tick_kind_name,
    has_memory_used, has_main_stop;
#define IS_THERE(name) +sizeof has_##name
enum { ALL_ARE_THERE = 0 FUNCTIONS_OF_CHIME(IS_THERE) };

static int told_by(const parameter *p) {
  if (p->kind == A_TEXT && strcmp(p->name, "key") == 0) return TEXT;
  /* A length, of a text, is an amount, too. */
  if (p->kind == A_POINT_IN_TIME || strcmp(p->name, "generation") == 0 || strcmp(p->name, "text") == 0) return AMOUNT;
  if (p->kind == A_DURATION) return strcmp(p->name, "timeout_ns") == 0 ? TIMEOUT : AMOUNT;
  if (p->kind == AN_ANSWER) return strstr(p->type, "_t *") != NULL && strncmp(p->type, "chime_", 6) == 0 ? GIVES : 0;
  if (p->kind != A_STRUCTURE) return 0;
  if (strstr(p->type, "schedule") != NULL) return SCHEDULE;
  return strstr(p->type, "queue_options") != NULL ? QUEUE_OPTIONS
         : strstr(p->type, "timer_options")       ? TIMER_OPTIONS
                                                  : 0;
}

static void told_by_parameters(void) {
  for (const function_of_chime *f = functions; f < functions + FUNCTIONS; f++) {
    for (int i = 0; i < ROWS; i++) {
      if (strcmp(rows[i].name + strlen("chime_"), f->name) != 0) continue;
      for (size_t j = 0; j < f->count; j++) rows[i].flags |= told_by(&f->parameters[j]);
    }
  }
}

/* ---- One call --------------------------------------------------------------------------------------------------- */

static void draw(bytes *input, const function *f, given *g, outs *out) {
  memset(g, 0, sizeof *g);
  g->id = id_from(input);
  g->form = take_byte(input);
  g->number = (int32_t)take_byte(input) - 16;
  g->kind = CHIME_QUEUE_CONCURRENT; /* a queue with threads, unless the call says otherwise */
  g->context = (f->flags & TAKES) != 0 ? new_owned() : NULL;
  g->handler = (g->form & 24) == 24 ? NULL : ignore_tick;
  g->finalizer = (g->form & 32) != 0 ? NULL : finalize;
  g->input = input;
  g->out = (g->form & 7) == 7 ? NULL : out;
  if (f->flags & AMOUNT) g->amount = take_duration(input);
  if (f->flags & TIMEOUT) g->timeout = short_duration(input, f->flags & ENDS_BY_ITSELF);
  if (f->flags & SCHEDULE) g->schedule = schedule_from(input);
  if (f->flags & QUEUE_OPTIONS) g->queue_options = queue_options_from(input);
  if (f->flags & TEXT) g->text = text_from(input);
  if ((f->flags & TIMER_OPTIONS) == 0) return;
  g->timer_options = timer_options_from(input, g->context);
  g->handler = g->timer_options != NULL ? g->timer_options->handler : NULL;
  g->finalizer = g->timer_options != NULL ? g->timer_options->finalizer : NULL;
}

static int is_valid(const function *f, const given *g) {
  if ((f->flags & ASKS) && g->out == NULL) return 0;
  if ((f->flags & FROM_0) && g->amount < 0) return 0;
  if ((f->flags & FROM_1) && g->amount < 1) return 0;
  if ((f->flags & TIMEOUT) && g->timeout < 0) return 0;
  if ((f->flags & NEEDS_SCHEDULE) && g->schedule == NULL) return 0;
  if (g->schedule != NULL && !schedule_bytes_are_valid(g->schedule)) return 0;
  if ((f->flags & TIMER_OPTIONS) && !timer_options_are_valid(g->timer_options)) return 0;
  if ((f->flags & HANDLER) && g->handler == NULL) return 0;
  if ((f->flags & MAYBE_HANDLER) && g->handler == NULL && g->finalizer != NULL) return 0;
  return (f->flags & TEXT) == 0 || (g->text != NULL && is_utf8(g->text));
}

static void call(bytes *input) {
  const function *f = &rows[take_byte(input) % ROWS];
  given g;
  outs out, untouched;
  chime_status status;
  memset(&out, 0x5a, sizeof out);
  untouched = out;
  draw(input, f, &g, &out);
  trace("%s", f->name);
  if ((f->flags & MAKES_THREADS) && w.threads_made++ > 0) return;
  errno = 4711;
  status = f->call(&g);
  if (g.is_skipped) return;
  if (errno != 4711) fail("errno is %d", errno);
  expect_status(f->name, status, f->permitted);
  if (status >= 0 && status != CHIME_IGNORED && !is_valid(f, &g)) fail("what is not valid was accepted");
  if (g.kind == CHIME_QUEUE_VIRTUAL && g.out != NULL && status != CHIME_ERROR_UNSUPPORTED &&
      (status == CHIME_OK) != virtual_options_are_valid(g.queue_options)) {
    fail("options of a virtual queue");
  }
  if ((f->flags & RELEASES) && g.id == 0) expect_number("release of 0", status, CHIME_OK);
  if (status < 0 && memcmp(&out, &untouched, sizeof out) != 0) fail("an out-parameter was touched");
  /* Where ticks are taken as records, so is the end. */
  if (f->flags & TAKES) g.context->accepted += status >= 0 && status != CHIME_IGNORED && g.handler && g.finalizer;
  if ((f->flags & GIVES) == 0 || status != CHIME_OK || memcmp(&out, &untouched, sizeof out) == 0) return;
  if (f->flags & QUEUE_OPTIONS) remember_queue(out.id, g.kind);
  else remember_id(out.id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bytes input = {data, size};
  if ((rows[0].flags & QUEUE_OPTIONS) == 0) told_by_parameters();
  begin_world();
  while (input.left > 0 && w.owned_count < MOST_OWNED) {
    picture before, after;
    w.changes = 0;
    last_status = CHIME_OK;
    take_picture(&before);
    call(&input);
    take_picture(&after);
    if ((last_status < 0 || last_status == CHIME_IGNORED) && !w.changes) expect_same_picture(&before, &after);
    free_buffers();
  }
  end_world();
  return 0;
}
