/*
 * chime.h for Node: host-driven and virtual queues, whose callbacks run inside the loop's own calls, so on the one
 * thread where JavaScript may run. Other queues would call on threads that Node-API must not be used on; for the same
 * reason a worker must not use the ids of another.
 *
 * A function that has a result returns it and throws when the call fails, an Error with the status name as its code;
 * one that has none returns the status. Ids are numbers. What a tick counts, and its times, are BigInts: a clock's
 * nanoseconds pass 2^53 after 104 days of uptime. Durations may be either; Infinity is CHIME_FOREVER.
 *
 * The context of a timer that calls back is an object with the methods tick(tick) and finalize(), that of a function
 * one with run() and finalize(), a target's one with destroy(). An exception thrown by one comes out of the call that
 * called back; until then nothing else is delivered to JavaScript.
 */
#define NAPI_VERSION 8
#include <chime.h>
#include <math.h>
#include <node_api.h>
#include <stdlib.h>
#include <uv.h>

/* ---- Values ---- */

static int64_t integer(napi_env env, napi_value value) {
  int64_t result = INT64_MIN; /* no id and no duration: Chime refuses it too */
  double number;
  bool lossless;
  if (napi_get_value_bigint_int64(env, value, &result, &lossless) == napi_ok) return result;
  if (napi_get_value_double(env, value, &number) != napi_ok) napi_throw_type_error(env, NULL, "a number is wanted");
  else if (isinf(number)) result = number > 0 ? CHIME_FOREVER : INT64_MIN;
  else napi_get_value_int64(env, value, &result);
  return result;
}

static napi_value property(napi_env env, napi_value object, const char *name, napi_valuetype *type) {
  napi_value value = NULL;
  *type = napi_undefined;
  if (napi_get_named_property(env, object, name, &value) == napi_ok) napi_typeof(env, value, type);
  return value;
}

/** A member of options or of a schedule; 0 when it is not there. */
static int64_t member(napi_env env, napi_value object, const char *name) {
  napi_valuetype type;
  napi_value value = property(env, object, name, &type);
  return type == napi_undefined ? 0 : integer(env, value);
}

static napi_value number(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_int64(env, value, &result);
  return result;
}

static napi_value bigint(napi_env env, uint64_t value) {
  napi_value result = NULL;
  napi_create_bigint_uint64(env, value, &result);
  return result;
}

/** The result, or an exception. */
static napi_value made(napi_env env, chime_status status, napi_value result) {
  if (!CHIME_FAILED(status)) return result;
  napi_throw_error(env, chime_status_name(status), chime_status_message(status));
  return NULL;
}

/* ---- Callbacks ---- */

/** What Chime's contexts, and the objects of targets, point to. */
typedef struct holder {
  napi_env env;
  napi_ref object;
} holder;

static holder *hold(napi_env env, napi_value object) {
  holder *new = malloc(sizeof *new);
  if (new == NULL) abort();
  new->env = env;
  if (napi_create_reference(env, object, 1, &new->object) != napi_ok) {
    napi_throw_type_error(env, NULL, "an object is wanted");
    free(new);
    return NULL;
  }
  return new;
}

static void drop(holder *old) {
  napi_delete_reference(old->env, old->object);
  free(old);
}

static napi_value held(const holder *from) {
  napi_value object = NULL;
  napi_get_reference_value(from->env, from->object, &object);
  return object;
}

/** `holders`: context and target point to such; otherwise the context is a number. */
static napi_value tick_object(napi_env env, const chime_tick *tick, bool holders) {
  napi_value result = NULL;
  napi_create_object(env, &result);
  napi_set_named_property(env, result, "timer", number(env, (int64_t)tick->timer));
  napi_set_named_property(env, result, "generation", bigint(env, tick->generation));
  napi_set_named_property(env, result, "sequence", bigint(env, tick->sequence));
  napi_set_named_property(env, result, "missed", bigint(env, tick->missed));
  napi_set_named_property(env, result, "scheduled", bigint(env, (uint64_t)tick->scheduled_ns));
  napi_set_named_property(env, result, "actual", bigint(env, (uint64_t)tick->actual_ns));
  napi_set_named_property(env, result, "kind", number(env, tick->kind));
  napi_set_named_property(env, result, "context", holders ? held(tick->context) : number(env, (intptr_t)tick->context));
  if (holders && tick->target != NULL) napi_set_named_property(env, result, "target", held(tick->target));
  return result;
}

static void call(holder *on, const char *method, const chime_tick *tick) {
  napi_handle_scope scope;
  napi_valuetype type;
  napi_value object, function, argument;
  napi_open_handle_scope(on->env, &scope);
  object = held(on);
  function = property(on->env, object, method, &type);
  argument = tick == NULL ? NULL : tick_object(on->env, tick, true);
  if (type == napi_function) napi_call_function(on->env, object, function, tick != NULL, &argument, NULL);
  napi_close_handle_scope(on->env, scope);
}

static void on_tick(const chime_tick *tick, void *context) { call(context, "tick", tick); }
static void on_function(void *context) { call(context, "run", NULL); }
static void on_finalize(void *context) {
  call(context, "finalize", NULL);
  drop(context);
}
static void on_destroy(void *object) {
  call(object, "destroy", NULL);
  drop(object);
}

/* ---- Calls that give a number: all but the first give a status ---- */

#define INTEGER(index) integer(env, values[index])
#define ID (uint64_t) INTEGER(0)
/* clang-format off */
#define CALLS(C) \
  C(version, chime_version()) \
  C(queueShutdown, chime_queue_shutdown(ID, INTEGER(1))) \
  C(queueAdvance, chime_queue_advance(ID, INTEGER(1))) \
  C(queueJump, chime_queue_jump(ID, INTEGER(1))) \
  C(queueProcess, chime_queue_process(ID, (uint32_t)INTEGER(1), NULL)) \
  C(queueAsyncRecord, chime_queue_async(ID, NULL, (void *)(intptr_t)INTEGER(1), NULL)) \
  C(timerActivate, chime_timer_activate(ID, NULL)) \
  C(timerSuspend, chime_timer_suspend(ID)) \
  C(timerResume, chime_timer_resume(ID)) \
  C(timerPostpone, chime_timer_postpone(ID, INTEGER(1))) \
  C(timerCancel, chime_timer_cancel(ID)) \
  C(timerRelease, chime_timer_release(ID)) \
  C(timerCheckGeneration, chime_timer_check_generation(ID, (uint64_t)INTEGER(1))) \
  C(targetRelease, chime_target_release(ID))
/* clang-format on */

#define DEFINE(name, call) \
  static napi_value name(napi_env env, napi_value *values) { \
    (void)values; \
    return number(env, call); \
  }
CALLS(DEFINE)

static napi_value queueAsync(napi_env env, napi_value *values) {
  holder *context = hold(env, values[1]);
  chime_status status;
  if (context == NULL) return NULL;
  status = chime_queue_async(ID, on_function, context, on_finalize);
  if (CHIME_FAILED(status)) drop(context);
  return number(env, status);
}

/* ---- Calls that have a result ---- */

static napi_value statusName(napi_env env, napi_value *values) {
  napi_value result = NULL;
  napi_create_string_utf8(env, chime_status_name((chime_status)INTEGER(0)), NAPI_AUTO_LENGTH, &result);
  return result;
}

/** kind, flags */
static napi_value queueCreate(napi_env env, napi_value *values) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue = 0;
  chime_queue_kind kind = (chime_queue_kind)INTEGER(0);
  chime_status status;
  options.flags = (uint32_t)INTEGER(1);
  if (kind != CHIME_QUEUE_HOST && kind != CHIME_QUEUE_VIRTUAL) return made(env, CHIME_ERROR_UNSUPPORTED, NULL);
  status = chime_queue_create(kind, &options, &queue);
  return made(env, status, number(env, (int64_t)queue));
}

static napi_value queueNow(napi_env env, napi_value *values) {
  int64_t now_ns = 0;
  chime_status status = chime_queue_now(ID, &now_ns);
  return made(env, status, bigint(env, (uint64_t)now_ns));
}

/** queue, capacity (16 at most); an array of records */
static napi_value queueTakeTicks(napi_env env, napi_value *values) {
  napi_value result = NULL;
  chime_tick records[16];
  uint32_t capacity = (uint32_t)INTEGER(1), count = 0;
  chime_status status = chime_queue_take_ticks(ID, records, sizeof *records, capacity < 16 ? capacity : 16, &count);
  napi_create_array_with_length(env, count, &result);
  for (uint32_t index = 0; index < count; index++) {
    napi_set_element(env, result, index, tick_object(env, &records[index], false));
  }
  return made(env, status, result);
}

/** queue, options, schedule or undefined, whether to return the id. Options: flags, context, target; armed, cancelled:
 *  whether the context's tick gets ticks of these kinds too. The context is an object, or a number for records. */
static napi_value timerStart(napi_env env, napi_value *values) {
  napi_value value;
  napi_valuetype type;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer = 0;
  chime_status status;
  bool wanted = false;
  holder *context = NULL;
  options.flags = (uint32_t)member(env, values[1], "flags");
  options.target = (chime_target_t)member(env, values[1], "target");
  value = property(env, values[1], "context", &type);
  if (type == napi_number) {
    options.context = (void *)(intptr_t)integer(env, value);
  } else {
    options.context = context = hold(env, value);
    if (context == NULL) return NULL;
    options.handler = on_tick;
    options.finalizer = on_finalize;
    if (member(env, values[1], "armed")) options.registration_handler = on_tick;
    if (member(env, values[1], "cancelled")) options.cancel_handler = on_tick;
  }
  schedule.flags = (uint32_t)member(env, values[2], "flags");
  schedule.first_ns = member(env, values[2], "first");
  schedule.interval_ns = member(env, values[2], "interval");
  schedule.tick_limit = (uint64_t)member(env, values[2], "tickLimit");
  schedule.resume_policy = (chime_resume_policy)member(env, values[2], "resumePolicy");
  napi_get_value_bool(env, values[3], &wanted);
  status = chime_timer_start(INTEGER(0), &options, &schedule, wanted ? &timer : NULL);
  if (CHIME_FAILED(status) && context != NULL) drop(context);
  return made(env, status, number(env, (int64_t)timer));
}

static napi_value timerState(napi_env env, napi_value *values) {
  chime_state state = 0;
  chime_status status = chime_timer_state(ID, &state);
  return made(env, status, number(env, state));
}

static napi_value timerInfo(napi_env env, napi_value *values) {
  napi_value result = NULL;
  chime_timer_info now = CHIME_TIMER_INFO_INIT;
  chime_status status = chime_timer_get_info(ID, &now);
  napi_create_object(env, &result);
  napi_set_named_property(env, result, "state", number(env, now.state));
  napi_set_named_property(env, result, "remaining", number(env, now.remaining_ns));
  return made(env, status, result);
}

static napi_value targetCreate(napi_env env, napi_value *values) {
  chime_target_t target = 0;
  holder *object = hold(env, values[0]);
  chime_status status;
  if (object == NULL) return NULL;
  status = chime_target_create(object, on_destroy, &target);
  if (CHIME_FAILED(status)) drop(object);
  return made(env, status, number(env, (int64_t)target));
}

static napi_value targetRetain(napi_env env, napi_value *values) {
  void *object = NULL;
  chime_status status = chime_target_retain(ID, &object);
  return made(env, status, object == NULL ? NULL : held(object));
}

/* ---- The loop ---- */

/** A queue's descriptor in Node's own loop. */
typedef struct watcher {
  uv_poll_t poll;
  napi_async_context async;
  holder *callback;
} watcher;

static void on_readable(uv_poll_t *poll, int error, int events) {
  watcher *on = poll->data;
  napi_env env = on->callback->env;
  napi_handle_scope scope;
  napi_value global, exception;
  (void)error, (void)events;
  napi_open_handle_scope(env, &scope);
  napi_get_global(env, &global);
  if (napi_make_callback(env, on->async, global, held(on->callback), 0, NULL, NULL) == napi_pending_exception) {
    napi_get_and_clear_last_exception(env, &exception);
    napi_fatal_exception(env, exception);
  }
  napi_close_handle_scope(env, scope);
}

static void on_closed(uv_handle_t *handle) { free(handle->data); }

/** queue, function: calls the function, again and again, while the queue wants to be processed. Ends with unwatch. */
static napi_value watch(napi_env env, napi_value *values) {
  napi_value name, result = NULL;
  int32_t fd = -1;
  uv_loop_t *loop;
  watcher *new;
  chime_status status = chime_queue_fd(ID, &fd);
  if (CHIME_FAILED(status)) return made(env, status, NULL);
  new = calloc(1, sizeof *new);
  if (new == NULL || (new->callback = hold(env, values[1])) == NULL) {
    free(new);
    return made(env, CHIME_ERROR_NO_MEMORY, NULL);
  }
  napi_create_string_utf8(env, "chime", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, NULL, name, &new->async);
  napi_get_uv_event_loop(env, &loop);
  new->poll.data = new;
  if (uv_poll_init(loop, &new->poll, fd) != 0 || uv_poll_start(&new->poll, UV_READABLE, on_readable) != 0) abort();
  napi_create_external(env, new, NULL, NULL, &result);
  return result;
}

/** What watch returned. Before the queue is shut down; once. */
static napi_value unwatch(napi_env env, napi_value *values) {
  void *data = NULL;
  watcher *old;
  if (napi_get_value_external(env, values[0], &data) != napi_ok) return made(env, CHIME_ERROR_INVALID_ARGUMENT, NULL);
  old = data;
  napi_async_destroy(env, old->async);
  drop(old->callback);
  uv_close((uv_handle_t *)&old->poll, on_closed);
  return NULL;
}

/* ---- The module ---- */

/* clang-format off */
#define OTHERS(F) \
  F(statusName) F(queueCreate) F(queueNow) F(queueTakeTicks) F(queueAsync) F(timerStart) F(timerState) \
  F(timerInfo) F(targetCreate) F(targetRetain) F(watch) F(unwatch)
/* clang-format on */

typedef struct function {
  const char *name;
  napi_value (*call)(napi_env env, napi_value *values);
} function;

static napi_value called(napi_env env, napi_callback_info info) {
  napi_value values[4];
  size_t count = 4; /* those that are not there are undefined */
  void *data = NULL;
  napi_get_cb_info(env, info, &count, values, NULL, &data);
  return ((const function *)data)->call(env, values);
}

NAPI_MODULE_INIT() {
#define EXPORT(name, ...) {#name, name},
  static function functions[] = {CALLS(EXPORT) OTHERS(EXPORT)};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value value = NULL;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, called, &functions[i], &value);
    napi_set_named_property(env, exports, functions[i].name, value);
  }
  return exports;
}
