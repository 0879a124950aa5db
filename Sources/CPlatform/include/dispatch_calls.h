/*
 * dispatch_calls.h - the functions of dispatch_functions.h, as the system's file has them: before it, the macro
 * CHIME_DISPATCH_CALL says how they are defined, CHIME_DISPATCH_TIMER_FLAGS what a timer's source is made with, and
 * CHIME_DISPATCH_TIME what libdispatch's time is for nanoseconds on the monotonic clock.
 */
#pragma GCC visibility push(default)
#include <dispatch/dispatch.h>
#pragma GCC visibility pop

#ifndef CHIME_DISPATCH_TIMER_FLAGS
#define CHIME_DISPATCH_TIMER_FLAGS 0
#endif
#ifndef CHIME_DISPATCH_TIME
#define CHIME_DISPATCH_TIME(nanoseconds) (nanoseconds)
#endif
#define CHIME_OBJECT(object) ((dispatch_object_t){._do = (struct dispatch_object_s *)(object)})

CHIME_DISPATCH_CALL int chime_has_dispatch(void) { return 1; }

CHIME_DISPATCH_CALL void chime_dispatch_retain(void *object) { (dispatch_retain)(CHIME_OBJECT(object)); }
CHIME_DISPATCH_CALL void chime_dispatch_release(void *object) { (dispatch_release)(CHIME_OBJECT(object)); }
CHIME_DISPATCH_CALL void chime_dispatch_activate(void *object) { dispatch_activate(CHIME_OBJECT(object)); }
CHIME_DISPATCH_CALL void chime_dispatch_suspend(void *object) { dispatch_suspend(CHIME_OBJECT(object)); }
CHIME_DISPATCH_CALL void chime_dispatch_resume(void *object) { dispatch_resume(CHIME_OBJECT(object)); }

/* A context and what frees it with the object. */
CHIME_DISPATCH_CALL void chime_dispatch_set_context(void *object, void *context, chime_dispatch_function finalizer) {
  dispatch_set_context(CHIME_OBJECT(object), context);
  dispatch_set_finalizer_f(CHIME_OBJECT(object), finalizer);
}

CHIME_DISPATCH_CALL void *chime_dispatch_main_queue(void) { return dispatch_get_main_queue(); }
CHIME_DISPATCH_CALL void *chime_dispatch_global_queue(unsigned qos) {
  return dispatch_get_global_queue((intptr_t)qos, 0);
}

/* qos: a class of libdispatch's and a priority in it, -15 to 0; 0: unspecified. */
CHIME_DISPATCH_CALL void *chime_dispatch_queue_create(const char *label, int is_concurrent, unsigned qos,
                                                      int priority) {
  dispatch_queue_attr_t attributes = is_concurrent ? DISPATCH_QUEUE_CONCURRENT : DISPATCH_QUEUE_SERIAL;
  if (qos != 0) attributes = dispatch_queue_attr_make_with_qos_class(attributes, (dispatch_qos_class_t)qos, priority);
  return dispatch_queue_create(label, attributes);
}

CHIME_DISPATCH_CALL void *chime_dispatch_queue_create_on(const char *label, void *target) {
  return dispatch_queue_create_with_target(label, DISPATCH_QUEUE_SERIAL, (dispatch_queue_t)target);
}

CHIME_DISPATCH_CALL void chime_dispatch_async(void *queue, void *context, chime_dispatch_function function) {
  dispatch_async_f((dispatch_queue_t)queue, context, function);
}

CHIME_DISPATCH_CALL void chime_dispatch_sync(void *queue, void *context, chime_dispatch_function function) {
  dispatch_sync_f((dispatch_queue_t)queue, context, function);
}

CHIME_DISPATCH_CALL void chime_dispatch_set_specific(void *queue, const void *key, void *value) {
  dispatch_queue_set_specific((dispatch_queue_t)queue, key, value, 0);
}
CHIME_DISPATCH_CALL void *chime_dispatch_specific(const void *key) { return dispatch_get_specific(key); }

CHIME_DISPATCH_CALL void *chime_dispatch_timer_source(void *queue) {
  return dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, CHIME_DISPATCH_TIMER_FLAGS, (dispatch_queue_t)queue);
}
/* One that is due once it is merged, however often. */
CHIME_DISPATCH_CALL void *chime_dispatch_merge_source(void *queue) {
  return dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_OR, 0, 0, (dispatch_queue_t)queue);
}
CHIME_DISPATCH_CALL void chime_dispatch_source_merge(void *source) {
  dispatch_source_merge_data((dispatch_source_t)source, 1);
}
/* What the source calls, with its context. */
CHIME_DISPATCH_CALL void chime_dispatch_source_set_handler(void *source, chime_dispatch_function function) {
  dispatch_source_set_event_handler_f((dispatch_source_t)source, function);
}
/* On libdispatch's clock, nanoseconds; UINT64_MAX is never, an interval of UINT64_MAX none. */
CHIME_DISPATCH_CALL void chime_dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval,
                                                         uint64_t leeway) {
  dispatch_source_set_timer((dispatch_source_t)source, start == UINT64_MAX ? start : CHIME_DISPATCH_TIME(start),
                            interval, leeway);
}
CHIME_DISPATCH_CALL void chime_dispatch_source_cancel(void *source) {
  dispatch_source_cancel((dispatch_source_t)source);
}

#undef CHIME_OBJECT
