/*
 * dispatch_functions.h - libdispatch by its C functions. Every object is a `void *` here: the union that C takes for all
 * of them, and the types that Swift's overlay has for them, are not the same in all of Chime's builds.
 *
 * Built without libdispatch (CHIME_WITHOUT_DISPATCH), chime_has_dispatch answers 0 and nothing else may be called.
 */
#ifndef CHIME_DISPATCH_FUNCTIONS_H
#define CHIME_DISPATCH_FUNCTIONS_H

#include <stdint.h>

#include "dispatch_main_queue.h"

#pragma GCC visibility push(hidden)

typedef void (*chime_dispatch_function)(void *);

/* Addresses that nothing else has: what a queue's own value is stored under, and the mark of the main queue. */
const void *chime_queue_key(void);
const void *chime_main_queue_key(void);

#ifdef CHIME_WITHOUT_DISPATCH

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
static inline void *chime_dispatch_merge_source(void *queue) { return (void)queue, (void *)0; }
static inline void chime_dispatch_source_merge(void *source) { (void)source; }
static inline void chime_dispatch_source_set_handler(void *source, chime_dispatch_function function) {
  (void)source, (void)function;
}
static inline void chime_dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
  (void)source, (void)start, (void)interval, (void)leeway;
}
static inline void chime_dispatch_source_cancel(void *source) { (void)source; }

#else

#if defined(__APPLE__)
/* Swift reads headers as Objective-C there, in which libdispatch's objects are Objective-C's: so its header is read, and
   these are functions, in a file of C. */
int chime_has_dispatch(void);
void chime_dispatch_retain(void *object);
void chime_dispatch_release(void *object);
void chime_dispatch_activate(void *object);
void chime_dispatch_suspend(void *object);
void chime_dispatch_resume(void *object);
void chime_dispatch_set_context(void *object, void *context, chime_dispatch_function finalizer);
void *chime_dispatch_main_queue(void);
void *chime_dispatch_global_queue(unsigned qos);
void *chime_dispatch_queue_create(const char *label, int is_concurrent, unsigned qos, int priority);
void *chime_dispatch_queue_create_on(const char *label, void *target);
void chime_dispatch_async(void *queue, void *context, chime_dispatch_function function);
void chime_dispatch_sync(void *queue, void *context, chime_dispatch_function function);
void chime_dispatch_set_specific(void *queue, const void *key, void *value);
void *chime_dispatch_specific(const void *key);
void *chime_dispatch_timer_source(void *queue);
void *chime_dispatch_merge_source(void *queue);
void chime_dispatch_source_merge(void *source);
void chime_dispatch_source_set_handler(void *source, chime_dispatch_function function);
void chime_dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway);
void chime_dispatch_source_cancel(void *source);
#else
#define CHIME_DISPATCH_CALL static inline
#include "dispatch_calls.h"
#undef CHIME_DISPATCH_CALL
#endif

#endif

#pragma GCC visibility pop

#endif
