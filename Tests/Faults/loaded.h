/*
 * loaded.h - the few functions of Chime that programs need which load it themselves, by dlopen.
 *
 * FAULTS_LIBRARIES in the environment names the directory of libchime.so.1.
 */
#ifndef FAULTS_LOADED_H
#define FAULTS_LOADED_H

#include "fault.h"

#include "chime_run_loop.h"

typedef struct loaded {
  void *handle;
  chime_status (*queue_create)(chime_queue_kind, const chime_queue_options *, chime_queue_t *);
  chime_status (*queue_global)(chime_qos, const chime_queue_options *, chime_queue_t *);
  chime_status (*queue_shutdown)(chime_queue_t, int64_t);
  chime_status (*queue_run)(chime_queue_t, uint32_t);
  chime_status (*timer_every)(chime_queue_t, int64_t, chime_handler, void *, chime_finalizer, chime_timer_t *);
  chime_status (*timer_state)(chime_timer_t, chime_state *);
  chime_status (*timer_cancel)(chime_timer_t);
  chime_status (*queue_advance)(chime_queue_t, int64_t);
  chime_status (*run_loop_create)(const char *, chime_run_loop_t *);
  chime_status (*run_loop_queue_create)(chime_run_loop_t, const char *, const chime_queue_options *, chime_queue_t *);
} loaded;

typedef enum loaded_place { SERIAL, CONCURRENT, GLOBAL, HOST, PRECISE, VIRTUAL, RUN_LOOP, LOADED_PLACES } loaded_place;

const char *loaded_place_name(int where);

/** The path of a file in a directory; static. */
const char *path_in(const char *directory, const char *file);
/** Where the libraries are; where the build puts its own files. */
const char *libraries(void);
const char *own_files(void);

/** Loads a library; its handle is NULL, and the failure recorded, when that fails. In a namespace of its own: dlmopen. */
loaded load_library(const char *path, int flags, int in_own_namespace);

/** A queue whose timers tick by themselves (but for a virtual one). */
chime_status loaded_make(const loaded *l, int where, chime_queue_t *queue);

/** Makes queues and a timer on each, sees them tick, ends them. */
void loaded_expect_works(const loaded *l);

void count_loaded_tick(const chime_tick *tick, void *context);

#endif
