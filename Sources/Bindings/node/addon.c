/*
 * chime.h for index.js, whose calls it trusts: numbers are checked there, and queues come as the externals of queueCreate.
 *
 * A queue calls one JavaScript function, `deliver`, with what its ticks say; which timer's handler that is, index.js knows.
 * So nothing is kept for a timer here, and no context has to be freed. The reference to `deliver` is weak: while anything is
 * to come, index.js holds the queue, and the queue holds `deliver`.
 *
 * A host-driven queue is bound to the thread of its environment and watched by that thread's loop. When the environment
 * ends (a worker does so at any time), its clean-up hook ends its queues and waits until the loop has let go of them.
 *
 * Calls that change a timer give their status, a failure below 0; RUNS, COMES and its state say what came of the timer.
 */
#define NAPI_VERSION 8
#include <chime.h>
#include <math.h>
#include <node_api.h>
#include <stdlib.h>
#include <uv.h>

/* Bits that no status has: the timer is running; it has a deadline; from that one on, its state. */
enum { RUNS = 0x100, COMES = 0x200, STATE = 12 };

/** What an environment has: a main thread's, a worker's. */
typedef struct instance {
  struct queue *first;                   /* its queues that have not ended */
  int closing;                           /* handles that the loop has not let go of */
  napi_async_cleanup_hook_handle ending; /* set once the environment ends */
} instance;

typedef struct queue {
  chime_queue_t id; /* 0 once it has ended */
  napi_env env;
  instance *of;
  struct queue *before, *after;
  napi_ref deliver;
  napi_ref thrown; /* what handlers have thrown inside advance: an array; NULL: nothing */
  bool is_watched; /* by the loop; such a queue's exceptions are uncaught ones */
  int holders;     /* JavaScript's external, the open handle, a call that is under way */
  uv_poll_t poll;
} queue;

/* ---- Values ---- */

static int64_t integer(napi_env env, napi_value value) {
  int64_t result = INT64_MIN;
  double number;
  bool lossless = true;
  int sign = 0;
  size_t words = 1;
  uint64_t low;
  if (napi_get_value_bigint_int64(env, value, &result, &lossless) == napi_ok) {
    if (lossless) return result;
    napi_get_value_bigint_words(env, value, &sign, &words, &low);
    return sign == 0 ? CHIME_FOREVER : INT64_MIN;
  }
  if (napi_get_value_double(env, value, &number) != napi_ok || isnan(number)) return INT64_MIN;
  if (number >= 0x1p63) return CHIME_FOREVER;
  return number < -0x1p63 ? INT64_MIN : (int64_t)number;
}

static napi_value number(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_int64(env, value, &result);
  return result;
}

static napi_value bigint(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_bigint_int64(env, value, &result);
  return result;
}

static napi_value string(napi_env env, const char *text, size_t length) {
  napi_value result = NULL;
  napi_create_string_utf8(env, text, length, &result);
  return result;
}

/** A copy, to be freed; NULL: the value is undefined, or there is no memory. */
static char *copy_of(napi_env env, napi_value value) {
  size_t length = 0;
  char *text;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok) return NULL;
  text = malloc(length + 1);
  if (text != NULL) napi_get_value_string_utf8(env, value, text, length + 1, &length);
  return text;
}

static queue *queue_of(napi_env env, napi_value value) {
  void *data = NULL;
  napi_get_value_external(env, value, &data);
  return data;
}

static napi_value member(napi_env env, napi_value object, const char *name, napi_value value) {
  napi_set_named_property(env, object, name, value);
  return object;
}

/* ---- Callbacks ---- */

static void let_go(queue *of) {
  if (--of->holders == 0) free(of);
}

/** Puts an exception with those that takeThrown gives. */
static bool keep(queue *of, napi_value exception) {
  napi_value all = NULL;
  uint32_t count = 0;
  if (of->thrown == NULL) {
    if (napi_create_array(of->env, &all) != napi_ok) return false;
    if (napi_create_reference(of->env, all, 1, &of->thrown) != napi_ok) return false;
  } else if (napi_get_reference_value(of->env, of->thrown, &all) != napi_ok) {
    return false;
  }
  napi_get_array_length(of->env, all, &count);
  return napi_set_element(of->env, all, count, exception) == napi_ok;
}

/** Deals with what `deliver` has thrown, so that the other ticks of the pass come. False: JavaScript cannot run any more. */
static bool caught(queue *of) {
  napi_value exception;
  bool pending = false;
  if (napi_is_exception_pending(of->env, &pending) != napi_ok || !pending) return false;
  if (napi_get_and_clear_last_exception(of->env, &exception) != napi_ok) return false;
  if (!of->is_watched) return keep(of, exception);
  return napi_fatal_exception(of->env, exception) == napi_ok; /* to process.on('uncaughtException'), or the end */
}

static chime_status end(queue *old);

/**
 * Calls `deliver`. Once JavaScript cannot run any more (the worker or the process is ending), the queue ends, and with it
 * the pass, which may be an advance without end: a thread inside it could never be joined.
 */
static void call(queue *of, size_t count, const napi_value *arguments) {
  napi_env env = of->env;
  napi_value function = NULL, result; /* without `result`, a call that was not made may be napi_ok */
  napi_status status;
  if (of->deliver == NULL) return;
  napi_get_reference_value(env, of->deliver, &function);
  if (function == NULL) return;
  /* The receiver is not the global object, whose `domain`, where the REPL has one, Node would enter. */
  status = of->is_watched ? napi_make_callback(env, NULL, function, function, count, arguments, &result)
                          : napi_call_function(env, function, function, count, arguments, &result);
  if (status != napi_ok && !caught(of)) end(of);
}

static void on_tick(const chime_tick *tick, void *context) {
  queue *of = context;
  napi_handle_scope scope;
  chime_state state = CHIME_STATE_CANCELLED;
  if (napi_open_handle_scope(of->env, &scope) != napi_ok) return;
  chime_timer_state(tick->timer, &state);
  {
    const napi_value arguments[] = {number(of->env, (int64_t)tick->timer),
                                    number(of->env, tick->kind),
                                    number(of->env, state),
                                    number(of->env, (int64_t)tick->generation),
                                    number(of->env, (int64_t)tick->sequence),
                                    number(of->env, (int64_t)tick->missed),
                                    bigint(of->env, tick->scheduled_ns),
                                    bigint(of->env, tick->actual_ns)};
    call(of, sizeof arguments / sizeof *arguments, arguments);
  }
  napi_close_handle_scope(of->env, scope);
}

static void on_function(void *context) {
  queue *of = context;
  napi_handle_scope scope;
  if (napi_open_handle_scope(of->env, &scope) != napi_ok) return;
  call(of, 0, NULL);
  napi_close_handle_scope(of->env, scope);
}

/* ---- Queues ---- */

static void on_readable(uv_poll_t *poll, int error, int events) {
  queue *of = poll->data;
  (void)events;
  if (error < 0) {
    uv_poll_stop(poll);
    return;
  }
  of->holders++; /* a handler may end the queue */
  chime_queue_process(of->id, 0, NULL);
  let_go(of);
}

static void on_closed(uv_handle_t *handle) {
  queue *old = handle->data;
  instance *of = old->of;
  if (--of->closing == 0 && of->ending != NULL) napi_remove_async_cleanup_hook(of->ending);
  let_go(old);
}

/** Ends a queue: the loop lets go of its descriptor, then Chime of the queue. No callback of it comes from then on. */
static chime_status end(queue *old) {
  const chime_queue_t id = old->id;
  if (id == 0) return CHIME_IGNORED;
  old->id = 0;
  if (old->before != NULL) old->before->after = old->after;
  else old->of->first = old->after;
  if (old->after != NULL) old->after->before = old->before;
  if (old->is_watched) {
    old->of->closing++;
    uv_close((uv_handle_t *)&old->poll, on_closed);
  }
  napi_delete_reference(old->env, old->deliver);
  old->deliver = NULL;
  return chime_queue_shutdown(id, CHIME_FOREVER);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env, (void)hint;
  end(data);
  let_go(data);
}

/** When the environment ends. JavaScript does not run any more. */
static void on_end(napi_async_cleanup_hook_handle hook, void *data) {
  instance *of = data;
  while (of->first != NULL) end(of->first);
  of->ending = hook;
  if (of->closing == 0) napi_remove_async_cleanup_hook(hook);
}

static void on_ended(napi_env env, void *data, void *hint) {
  (void)env, (void)hint;
  free(data);
}

/** Has the loop watch the queue, but not stay for it. */
static chime_status watch(queue *new) {
  uv_loop_t *loop;
  int32_t fd = -1;
  const chime_status status = chime_queue_fd(new->id, &fd);
  if (CHIME_FAILED(status)) return status;
  if (napi_get_uv_event_loop(new->env, &loop) != napi_ok || uv_poll_init(loop, &new->poll, fd) != 0) {
    return CHIME_ERROR_RESOURCE;
  }
  new->poll.data = new;
  new->is_watched = true;
  new->holders++;
  uv_unref((uv_handle_t *)&new->poll);
  return uv_poll_start(&new->poll, UV_READABLE, on_readable) == 0 ? CHIME_OK : CHIME_ERROR_RESOURCE;
}

/** kind, label or undefined, flags, clock, timer limit, start, seed, deliver. Gives an external, or a status. */
static napi_value queueCreate(napi_env env, napi_value *values) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  void *data = NULL;
  napi_value result = NULL;
  chime_status status;
  char *const label = copy_of(env, values[1]);
  queue *new = calloc(1, sizeof *new);
  if (new == NULL || napi_get_instance_data(env, &data) != napi_ok) {
    free(new);
    free(label);
    return number(env, CHIME_ERROR_NO_MEMORY);
  }
  options.label = label;
  options.flags = (uint32_t)integer(env, values[2]);
  options.clock = (chime_clock)integer(env, values[3]);
  options.timer_limit = (uint64_t)integer(env, values[4]);
  options.start_ns = integer(env, values[5]);
  napi_get_value_bigint_uint64(env, values[6], &options.seed, &(bool){false});
  status = chime_queue_create((chime_queue_kind)integer(env, values[0]), &options, &new->id);
  free(label);
  if (CHIME_FAILED(status)) {
    free(new);
    return number(env, status);
  }
  new->env = env;
  new->of = data;
  new->after = new->of->first;
  if (new->after != NULL) new->after->before = new;
  new->of->first = new;
  new->holders = 1;
  napi_create_reference(env, values[7], 0, &new->deliver);
  if (integer(env, values[0]) == CHIME_QUEUE_HOST) status = watch(new);
  if (!CHIME_FAILED(status) && napi_create_external(env, new, on_collected, NULL, &result) == napi_ok) return result;
  end(new);
  let_go(new);
  return number(env, CHIME_FAILED(status) ? status : CHIME_ERROR_NO_MEMORY);
}

static napi_value queueClose(napi_env env, napi_value *values) { return number(env, end(queue_of(env, values[0]))); }

/** queue, whether the loop stays for it */
static napi_value queueStay(napi_env env, napi_value *values) {
  queue *of = queue_of(env, values[0]);
  bool stays = false;
  napi_get_value_bool(env, values[1], &stays);
  if (of->id == 0 || !of->is_watched) return NULL;
  if (stays) uv_ref((uv_handle_t *)&of->poll);
  else uv_unref((uv_handle_t *)&of->poll);
  return NULL;
}

static napi_value queueRunSoon(napi_env env, napi_value *values) {
  queue *of = queue_of(env, values[0]);
  return number(env, chime_queue_async(of->id, on_function, of, NULL));
}

static napi_value queueAdvance(napi_env env, napi_value *values) {
  queue *of = queue_of(env, values[0]);
  chime_status status;
  of->holders++;
  status = chime_queue_advance(of->id, integer(env, values[1]));
  let_go(of);
  return number(env, status);
}

static napi_value queueSuspend(napi_env env, napi_value *values) {
  return number(env, chime_queue_suspend(queue_of(env, values[0])->id));
}

static napi_value queueResume(napi_env env, napi_value *values) {
  return number(env, chime_queue_resume(queue_of(env, values[0])->id));
}

/** What handlers have thrown in the advance that has just ended: an array, or undefined. */
static napi_value queueTakeThrown(napi_env env, napi_value *values) {
  queue *of = queue_of(env, values[0]);
  napi_value all = NULL;
  if (of->thrown == NULL) return NULL;
  napi_get_reference_value(env, of->thrown, &all);
  napi_delete_reference(env, of->thrown);
  of->thrown = NULL;
  return all;
}

static napi_value queueJump(napi_env env, napi_value *values) {
  return number(env, chime_queue_jump(queue_of(env, values[0])->id, integer(env, values[1])));
}

/** A time as a BigInt, or a status. */
static napi_value time_or(napi_env env, chime_status status, int64_t time_ns) {
  return CHIME_FAILED(status) ? number(env, status) : bigint(env, time_ns);
}

static napi_value queueNow(napi_env env, napi_value *values) {
  int64_t now_ns = 0;
  const chime_status status = chime_queue_now(queue_of(env, values[0])->id, &now_ns);
  return time_or(env, status, now_ns);
}

static napi_value queueNextDeadline(napi_env env, napi_value *values) {
  int64_t deadline_ns = 0;
  const chime_status status = chime_queue_next_deadline(queue_of(env, values[0])->id, &deadline_ns);
  return time_or(env, status, deadline_ns);
}

static napi_value queueStats(napi_env env, napi_value *values) {
  chime_queue_stats now = CHIME_QUEUE_STATS_INIT;
  napi_value result = NULL, lateness = NULL;
  const chime_status status = chime_queue_get_stats(queue_of(env, values[0])->id, &now);
  if (CHIME_FAILED(status)) return number(env, status);
  napi_create_object(env, &result);
  napi_create_array_with_length(env, 32, &lateness);
  for (uint32_t index = 0; index < 32; index++) {
    napi_set_element(env, lateness, index, number(env, (int64_t)now.lateness[index]));
  }
#define COUNT(name) member(env, result, #name, number(env, (int64_t)now.name))
  COUNT(timers), COUNT(running), COUNT(entries), COUNT(passes), COUNT(ticks), COUNT(missed), COUNT(stale),
      COUNT(merged);
#undef COUNT
  member(env, result, "emptyPasses", number(env, (int64_t)now.empty_passes));
  return member(env, result, "lateness", lateness);
}

/** What a function writes as text, or a status. */
static napi_value text_of(napi_env env, chime_status (*function)(uint64_t, char *, size_t, size_t *), uint64_t id) {
  size_t length = 0;
  napi_value result;
  char *text;
  chime_status status = function(id, NULL, 0, &length);
  if (CHIME_FAILED(status)) return number(env, status);
  text = malloc(length + 1);
  if (text == NULL) return number(env, CHIME_ERROR_NO_MEMORY);
  status = function(id, text, length + 1, &length);
  result = CHIME_FAILED(status) ? number(env, status) : string(env, text, NAPI_AUTO_LENGTH);
  free(text);
  return result;
}

static napi_value queueDump(napi_env env, napi_value *values) {
  return text_of(env, chime_queue_dump, queue_of(env, values[0])->id);
}

/* ---- Timers ---- */

/** first, interval, leeway, jitter, limit, missed policy, resume policy, flags; NULL when the first is undefined. */
static const chime_schedule *schedule_of(napi_env env, const napi_value *values, chime_schedule *schedule) {
  napi_valuetype type;
  if (napi_typeof(env, values[0], &type) != napi_ok || type == napi_undefined) return NULL;
  schedule->first_ns = integer(env, values[0]);
  schedule->interval_ns = integer(env, values[1]);
  schedule->leeway_ns = integer(env, values[2]);
  schedule->jitter_ns = integer(env, values[3]);
  schedule->tick_limit = (uint64_t)integer(env, values[4]);
  schedule->missed_policy = (chime_missed_policy)integer(env, values[5]);
  schedule->resume_policy = (chime_resume_policy)integer(env, values[6]);
  schedule->flags = (uint32_t)integer(env, values[7]);
  return schedule;
}

/** queue, label or undefined, flags, schedule: an id, or a status. Without a schedule the timer is idle. */
static napi_value timerCreate(napi_env env, napi_value *values) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer = 0;
  chime_status status;
  queue *of = queue_of(env, values[0]);
  char *const label = copy_of(env, values[1]);
  const chime_schedule *given = schedule_of(env, &values[3], &schedule);
  options.flags = (uint32_t)integer(env, values[2]);
  options.handler = on_tick;
  options.context = of;
  options.label = label;
  status =
      given == NULL ? chime_timer_create(of->id, &options, &timer) : chime_timer_start(of->id, &options, given, &timer);
  free(label);
  return number(env, CHIME_FAILED(status) ? status : (int64_t)timer);
}

/** queue, delay: a one-shot's id, or a status */
static napi_value timerAfter(napi_env env, napi_value *values) {
  chime_timer_t timer = 0;
  queue *of = queue_of(env, values[0]);
  const chime_status status = chime_timer_after(of->id, integer(env, values[1]), on_tick, of, NULL, &timer);
  return number(env, CHIME_FAILED(status) ? status : (int64_t)timer);
}

/** queue, interval: a repeating timer's id, or a status */
static napi_value timerEvery(napi_env env, napi_value *values) {
  chime_timer_t timer = 0;
  queue *of = queue_of(env, values[0]);
  const chime_status status = chime_timer_every(of->id, integer(env, values[1]), on_tick, of, NULL, &timer);
  return number(env, CHIME_FAILED(status) ? status : (int64_t)timer);
}

static napi_value settled(napi_env env, chime_status status, chime_timer_t timer) {
  chime_state state = CHIME_STATE_CANCELLED;
  int64_t deadline_ns = CHIME_FOREVER;
  if (CHIME_FAILED(status)) return number(env, status);
  chime_timer_state(timer, &state);
  chime_timer_next_deadline(timer, &deadline_ns);
  return number(env, status | (state == CHIME_STATE_RUNNING ? RUNS : 0) | (deadline_ns != CHIME_FOREVER ? COMES : 0) |
                         (int64_t)state << STATE);
}

#define TIMER (chime_timer_t) integer(env, values[0])
/* clang-format off */
#define CHANGES(C) \
  C(timerSettled, CHIME_OK) \
  C(timerActivate, chime_timer_activate(timer, schedule_of(env, &values[1], &schedule))) \
  C(timerRestart, chime_timer_restart(timer, schedule_of(env, &values[1], &schedule))) \
  C(timerReschedule, chime_timer_reschedule(timer, schedule_of(env, &values[1], &schedule))) \
  C(timerRestartAfter, chime_timer_restart_after(timer, integer(env, values[1]))) \
  C(timerRestartUntil, chime_timer_restart_until(timer, integer(env, values[1]))) \
  C(timerPostpone, chime_timer_postpone(timer, integer(env, values[1]))) \
  C(timerPostponeUntil, chime_timer_postpone_until(timer, integer(env, values[1]))) \
  C(timerSetInterval, chime_timer_set_interval(timer, integer(env, values[1]))) \
  C(timerSuspend, chime_timer_suspend(timer)) \
  C(timerResume, chime_timer_resume(timer)) \
  C(timerFire, chime_timer_fire(timer)) \
  C(timerCancel, chime_timer_cancel(timer)) \
  C(timerRelease, chime_timer_release(timer))
/* clang-format on */

#define CHANGE(name, call) \
  static napi_value name(napi_env env, napi_value *values) { \
    chime_schedule schedule = CHIME_SCHEDULE_INIT; \
    const chime_timer_t timer = TIMER; \
    (void)schedule; \
    return settled(env, call, timer); \
  }
CHANGES(CHANGE)

static napi_value timerState(napi_env env, napi_value *values) {
  chime_state state = 0;
  const chime_status status = chime_timer_state(TIMER, &state);
  return number(env, CHIME_FAILED(status) ? status : (int64_t)state);
}

static napi_value timerGeneration(napi_env env, napi_value *values) {
  uint64_t generation = 0;
  const chime_status status = chime_timer_generation(TIMER, &generation);
  return number(env, CHIME_FAILED(status) ? status : (int64_t)generation);
}

static napi_value timerNextDeadline(napi_env env, napi_value *values) {
  int64_t deadline_ns = 0;
  const chime_status status = chime_timer_next_deadline(TIMER, &deadline_ns);
  return time_or(env, status, deadline_ns);
}

static napi_value timerRemaining(napi_env env, napi_value *values) {
  int64_t remaining_ns = 0;
  const chime_status status = chime_timer_remaining(TIMER, &remaining_ns);
  return time_or(env, status, remaining_ns);
}

static napi_value timerInfo(napi_env env, napi_value *values) {
  chime_timer_info now = CHIME_TIMER_INFO_INIT;
  napi_value result = NULL;
  const chime_status status = chime_timer_get_info(TIMER, &now);
  if (CHIME_FAILED(status)) return number(env, status);
  napi_create_object(env, &result);
#define COUNT(name, member_of) member(env, result, name, number(env, (int64_t)now.member_of))
#define TIME(name, member_of) member(env, result, name, bigint(env, now.member_of))
  COUNT("state", state), COUNT("generation", generation), COUNT("sequence", sequence), COUNT("missed", missed);
  COUNT("limit", tick_limit), COUNT("dueCount", due_count), COUNT("busy", busy), COUNT("hasSchedule", has_schedule);
  TIME("nextDeadline", next_deadline_ns), TIME("interval", interval_ns), TIME("leeway", leeway_ns);
  TIME("jitter", jitter_ns);
#undef COUNT
#undef TIME
  return result;
}

/** As schedule_of takes it: an array; a status; undefined: the timer has none. */
static napi_value timerSchedule(napi_env env, napi_value *values) {
  chime_schedule now = CHIME_SCHEDULE_INIT;
  napi_value result = NULL;
  const chime_status status = chime_timer_get_schedule(TIMER, &now);
  if (CHIME_FAILED(status)) return number(env, status);
  if ((status & CHIME_IGNORED) != 0) return NULL;
  const napi_value members[] = {bigint(env, now.first_ns),
                                bigint(env, now.interval_ns),
                                bigint(env, now.leeway_ns),
                                bigint(env, now.jitter_ns),
                                number(env, (int64_t)now.tick_limit),
                                number(env, now.missed_policy),
                                number(env, now.resume_policy),
                                number(env, now.flags & CHIME_SCHEDULE_DEADLINE)};
  napi_create_array(env, &result);
  for (uint32_t index = 0; index < sizeof members / sizeof *members; index++) {
    napi_set_element(env, result, index, members[index]);
  }
  return result;
}

static napi_value timerExplain(napi_env env, napi_value *values) { return text_of(env, chime_timer_explain, TIMER); }

/* ---- The process ---- */

/** Inside the scope of the handler that has thrown it. */
static napi_value uncaught(napi_env env, napi_value *values) {
  napi_fatal_exception(env, values[0]);
  return NULL;
}

static napi_value statusName(napi_env env, napi_value *values) {
  return string(env, chime_status_name((chime_status)integer(env, values[0])), NAPI_AUTO_LENGTH);
}

/** Of the call that has just failed. */
static napi_value statusText(napi_env env, napi_value *values) {
  const char *const detail = chime_last_error_detail();
  return string(env, *detail != 0 ? detail : chime_status_message((chime_status)integer(env, values[0])),
                NAPI_AUTO_LENGTH);
}

static napi_value version(napi_env env, napi_value *values) {
  (void)values;
  return number(env, chime_version());
}

static napi_value memoryUsed(napi_env env, napi_value *values) {
  (void)values;
  return number(env, (int64_t)chime_memory_used());
}

static napi_value traceToFile(napi_env env, napi_value *values) {
  char *const path = copy_of(env, values[0]);
  const chime_status status = chime_trace_to_file(path);
  free(path);
  return number(env, status);
}

/* ---- The module ---- */

/* clang-format off */
#define OTHERS(F) \
  F(queueCreate) F(queueClose) F(queueStay) F(queueRunSoon) F(queueSuspend) F(queueResume) F(queueAdvance) F(queueTakeThrown) F(queueJump) F(queueNow) \
  F(queueNextDeadline) F(queueStats) F(queueDump) F(timerCreate) F(timerAfter) F(timerEvery) F(timerState) \
  F(timerGeneration) F(timerNextDeadline) F(timerRemaining) F(timerInfo) F(timerSchedule) F(timerExplain) F(uncaught) F(statusName) \
  F(statusText) F(version) F(memoryUsed) F(traceToFile)
/* clang-format on */

/* What index.js needs of chime.h. */
/* clang-format off */
#define NUMBERS(N) \
  N(IGNORED) N(RUNNING) N(ERROR_INVALID_ARGUMENT) N(ERROR_INVALID_HANDLE) N(ERROR_LIMIT) N(ERROR_WOULD_DEADLOCK) N(ERROR_SHUT_DOWN) N(QUEUE_HOST) \
  N(QUEUE_VIRTUAL) N(QUEUE_FLAG_BOUND) N(QUEUE_FLAG_HONOUR_LEEWAY) N(SCHEDULE_DEADLINE)
/* clang-format on */

typedef struct function {
  const char *name;
  napi_value (*call)(napi_env env, napi_value *values);
} function;

static napi_value called(napi_env env, napi_callback_info info) {
  napi_value values[11];
  size_t count = 11; /* those that are not there are undefined */
  void *data = NULL;
  napi_get_cb_info(env, info, &count, values, NULL, &data);
  return ((const function *)data)->call(env, values);
}

NAPI_MODULE_INIT() {
#define EXPORT(name, ...) {#name, name},
  static function functions[] = {CHANGES(EXPORT) OTHERS(EXPORT)};
  instance *new = calloc(1, sizeof *new);
  if (new == NULL || napi_set_instance_data(env, new, on_ended, NULL) != napi_ok ||
      napi_add_async_cleanup_hook(env, on_end, new, NULL) != napi_ok) {
    napi_throw_error(env, "CHIME_ERROR_NO_MEMORY", "chime-timers: the environment is ending");
    return NULL;
  }
  if (!CHIME_VERSION_MATCHES()) {
    napi_throw_error(env, "CHIME_ERROR_UNSUPPORTED", "chime-timers: libchime is older than the chime.h of this addon");
    return NULL;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value value = NULL;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, called, &functions[i], &value);
    napi_set_named_property(env, exports, functions[i].name, value);
  }
  {
    napi_value numbers = NULL;
    napi_create_object(env, &numbers);
#define OF_CHIME(name) member(env, numbers, #name, number(env, CHIME_##name));
    NUMBERS(OF_CHIME)
#undef OF_CHIME
    member(env, numbers, "RUNS", number(env, RUNS));
    member(env, numbers, "COMES", number(env, COMES));
    member(env, numbers, "STATE", number(env, STATE));
    member(env, exports, "numbers", numbers);
  }
  return exports;
}
