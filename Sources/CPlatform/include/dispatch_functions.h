/*
 * dispatch_functions.h - libdispatch by its C functions. Every object is a `void *` here: the union that C takes for all
 * of them, and the types that Swift's overlay has for them, are not the same in all of Chime's builds.
 *
 * Built without libdispatch (CHIME_WITHOUT_DISPATCH), chime_has_dispatch answers 0 and nothing else may be called.
 */
#ifndef CHIME_DISPATCH_FUNCTIONS_H
#define CHIME_DISPATCH_FUNCTIONS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef void (*chime_dispatch_function)(void *);

/* Addresses that nothing else has: what a queue's own value is stored under, and the mark of the main queue. */
const void *chime_queue_key(void);
const void *chime_main_queue_key(void);

#ifndef CHIME_WITHOUT_DISPATCH
#pragma GCC visibility push(default)
#include <dispatch/dispatch.h>

/* Declared in headers of libdispatch that are not installed; CoreFoundation uses them, too. */
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);
#pragma GCC visibility pop

#define CHIME_OBJECT(object) ((dispatch_object_t){._do = (struct dispatch_object_s *)(object)})

static inline int chime_has_dispatch(void) { return 1; }

static inline void chime_dispatch_retain(void *object) { (dispatch_retain)(CHIME_OBJECT(object)); }
static inline void chime_dispatch_release(void *object) { (dispatch_release)(CHIME_OBJECT(object)); }
static inline void chime_dispatch_activate(void *object) { dispatch_activate(CHIME_OBJECT(object)); }
static inline void chime_dispatch_suspend(void *object) { dispatch_suspend(CHIME_OBJECT(object)); }
static inline void chime_dispatch_resume(void *object) { dispatch_resume(CHIME_OBJECT(object)); }

/* A context and what frees it with the object. */
static inline void chime_dispatch_set_context(void *object, void *context, chime_dispatch_function finalizer) {
  dispatch_set_context(CHIME_OBJECT(object), context);
  dispatch_set_finalizer_f(CHIME_OBJECT(object), finalizer);
}

static inline void *chime_dispatch_main_queue(void) { return dispatch_get_main_queue(); }
static inline void *chime_dispatch_global_queue(unsigned qos) { return dispatch_get_global_queue((intptr_t)qos, 0); }

/* qos: a class of libdispatch's and a priority in it, -15 to 0; 0: unspecified. */
static inline void *chime_dispatch_queue_create(const char *label, int is_concurrent, unsigned qos, int priority) {
  dispatch_queue_attr_t attributes = is_concurrent ? DISPATCH_QUEUE_CONCURRENT : DISPATCH_QUEUE_SERIAL;
  if (qos != 0) attributes = dispatch_queue_attr_make_with_qos_class(attributes, (dispatch_qos_class_t)qos, priority);
  return dispatch_queue_create(label, attributes);
}

static inline void *chime_dispatch_queue_create_on(const char *label, void *target) {
  return dispatch_queue_create_with_target(label, DISPATCH_QUEUE_SERIAL, (dispatch_queue_t)target);
}

static inline void chime_dispatch_async(void *queue, void *context, chime_dispatch_function function) {
  dispatch_async_f((dispatch_queue_t)queue, context, function);
}

static inline void chime_dispatch_sync(void *queue, void *context, chime_dispatch_function function) {
  dispatch_sync_f((dispatch_queue_t)queue, context, function);
}

static inline void chime_dispatch_set_specific(void *queue, const void *key, void *value) {
  dispatch_queue_set_specific((dispatch_queue_t)queue, key, value, 0);
}
static inline void *chime_dispatch_specific(const void *key) { return dispatch_get_specific(key); }

/* queue: NULL for a global one. */
static inline void *chime_dispatch_timer_source(void *queue) {
  return dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, (dispatch_queue_t)queue);
}
static inline void *chime_dispatch_read_source(int file, void *queue) {
  return dispatch_source_create(DISPATCH_SOURCE_TYPE_READ, (uintptr_t)file, 0, (dispatch_queue_t)queue);
}
/* One that is due once it is merged, however often. */
static inline void *chime_dispatch_merge_source(void *queue) {
  return dispatch_source_create(DISPATCH_SOURCE_TYPE_DATA_OR, 0, 0, (dispatch_queue_t)queue);
}
static inline void chime_dispatch_source_merge(void *source) {
  dispatch_source_merge_data((dispatch_source_t)source, 1);
}
/* What the source calls, with its context. */
static inline void chime_dispatch_source_set_handler(void *source, chime_dispatch_function function) {
  dispatch_source_set_event_handler_f((dispatch_source_t)source, function);
}
/* On libdispatch's clock, nanoseconds; UINT64_MAX is never, an interval of UINT64_MAX none. */
static inline void chime_dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
  dispatch_source_set_timer((dispatch_source_t)source, start, interval, leeway);
}
static inline void chime_dispatch_source_cancel(void *source) { dispatch_source_cancel((dispatch_source_t)source); }

/* The descriptor that is readable while the main queue has work; what does that work, on the thread that libdispatch was
   loaded by, else it traps. */
static inline int chime_dispatch_main_queue_file(void) { return _dispatch_get_main_queue_handle_4CF(); }
static inline void chime_dispatch_drain_main_queue(void) { _dispatch_main_queue_callback_4CF(0); }

#undef CHIME_OBJECT

#else

static inline int chime_has_dispatch(void) { return 0; }
static inline void chime_dispatch_retain(void *object) { (void)object; }
static inline void chime_dispatch_release(void *object) { (void)object; }
static inline void chime_dispatch_activate(void *object) { (void)object; }
static inline void chime_dispatch_suspend(void *object) { (void)object; }
static inline void chime_dispatch_resume(void *object) { (void)object; }
static inline void chime_dispatch_set_context(void *object, void *context, chime_dispatch_function finalizer) {
  (void)object, (void)context, (void)finalizer;
}
static inline void *chime_dispatch_main_queue(void) { return 0; }
static inline void *chime_dispatch_global_queue(unsigned qos) { return (void)qos, (void *)0; }
static inline void *chime_dispatch_queue_create(const char *label, int is_concurrent, unsigned qos, int priority) {
  return (void)label, (void)is_concurrent, (void)qos, (void)priority, (void *)0;
}
static inline void *chime_dispatch_queue_create_on(const char *label, void *target) {
  return (void)label, (void)target, (void *)0;
}
static inline void chime_dispatch_async(void *queue, void *context, chime_dispatch_function function) {
  (void)queue, (void)context, (void)function;
}
static inline void chime_dispatch_sync(void *queue, void *context, chime_dispatch_function function) {
  (void)queue, (void)context, (void)function;
}
static inline void chime_dispatch_set_specific(void *queue, const void *key, void *value) {
  (void)queue, (void)key, (void)value;
}
static inline void *chime_dispatch_specific(const void *key) { return (void)key, (void *)0; }
static inline void *chime_dispatch_timer_source(void *queue) { return (void)queue, (void *)0; }
static inline void *chime_dispatch_read_source(int file, void *queue) { return (void)file, (void)queue, (void *)0; }
static inline void *chime_dispatch_merge_source(void *queue) { return (void)queue, (void *)0; }
static inline void chime_dispatch_source_merge(void *source) { (void)source; }
static inline void chime_dispatch_source_set_handler(void *source, chime_dispatch_function function) {
  (void)source, (void)function;
}
static inline void chime_dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
  (void)source, (void)start, (void)interval, (void)leeway;
}
static inline void chime_dispatch_source_cancel(void *source) { (void)source; }
static inline int chime_dispatch_main_queue_file(void) { return -1; }
static inline void chime_dispatch_drain_main_queue(void) {}

#endif

#pragma GCC visibility pop

#endif
