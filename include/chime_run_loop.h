/*
 * chime_run_loop.h - Chime's timers on run loops.
 *
 * Part of libchime. These run loops are Chime's own, modelled on Foundation's RunLoop. They are not Foundation's:
 * running one does not run the other. What chime.h says at its top about threads, time, ownership and structures holds
 * here, too.
 *
 * A run loop belongs to a thread and works while that thread runs it, in one mode at a time. Timers wait while their
 * loop runs in another mode, or does not run; the ticks they miss come as one tick that says how many.
 *
 * Two kinds of timers live on run loops:
 *   - chime_timer_* on a queue from chime_queue_create_on_run_loop: everything that chime.h offers;
 *   - chime_weak_timer_*: a timer like Foundation's Timer that does not keep its target alive.
 *
 * What is not in this file is not API.
 */
#ifndef CHIME_RUN_LOOP_H
#define CHIME_RUN_LOOP_H

#include "chime.h"

#if defined(__clang__) && !defined(CHIME_CDEF)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-extension"
#endif

#if defined(__cplusplus) && !defined(CHIME_CDEF)
extern "C" {
#endif

/* ---- Ids and modes -------------------------------------------------------------------------------------------- */

typedef uint64_t chime_run_loop_t;   /* the run loop of a thread; stale once the thread has ended */
typedef uint64_t chime_weak_timer_t; /* a timer that holds its target weakly */

/*
 * A mode is named by a UTF-8 string; NULL is the default mode. CHIME_RUN_LOOP_COMMON_MODES names a set of modes: the
 * default mode, and those that chime_run_loop_add_common_mode adds. Every other string is a mode of the caller's own.
 *
 * The two names have the values that Foundation gives its own.
 */
#define CHIME_RUN_LOOP_DEFAULT_MODE "kCFRunLoopDefaultMode"
#define CHIME_RUN_LOOP_COMMON_MODES "kCFRunLoopCommonModes"

/* ---- Run loops ------------------------------------------------------------------------------------------------ */

/**
 * The calling thread's run loop. It is the same id each time, must not be released, and is stale once the thread has
 * ended.
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: run_loop is NULL; CHIME_ERROR_LIMIT; CHIME_ERROR_RESOURCE: no file
 *         descriptors; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_current(chime_run_loop_t *CHIME_NULLABLE run_loop);

/**
 * The run loop of the process's main thread. Running it in a common mode also runs the main queue.
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: run_loop is NULL; CHIME_ERROR_LIMIT; CHIME_ERROR_RESOURCE: no file
 *         descriptors; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_main(chime_run_loop_t *CHIME_NULLABLE run_loop);

typedef struct chime_run_loop_options {
  uint32_t size;
  uint32_t flags;                   /* 0 */
  const char *CHIME_NULLABLE label; /* UTF-8, copied; its first 15 bytes, of whole characters, are the thread's name */
} chime_run_loop_options;

#define CHIME_RUN_LOOP_OPTIONS_INIT \
  { sizeof(chime_run_loop_options), 0, NULL }

/**
 * Starts a thread that runs its run loop in the default mode.
 *
 * @param options   may be NULL for the defaults
 * @param run_loop  receives the id; chime_run_loop_release ends the thread, and so does chime_run_loop_stop
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_RESOURCE: no
 *         thread; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * The thread is one of Chime's own, as chime.h describes them.
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_create(const chime_run_loop_options *CHIME_NULLABLE options,
                                             chime_run_loop_t *CHIME_NULLABLE run_loop);

/* chime_run_loop_run, flags */
enum {
  CHIME_RUN_LOOP_UNTIL_TICK = 0x8000 /* return after the first pass of a queue that delivered a tick */
};

/**
 * Runs the calling thread's run loop in a mode: the handlers of timers in that mode run inside this call. It waits even
 * if no timer is in the mode yet. It may be called inside a handler; that handler's queue delivers nothing until it
 * returns, and inside a handler of a main queue, no main queue may.
 *
 * @param mode        not the common modes; NULL is the default mode
 * @param timeout_ns  0 runs what is due now
 * @param flags       0 or CHIME_RUN_LOOP_UNTIL_TICK
 * @return CHIME_TIMED_OUT: the timeout ended; CHIME_STOPPED: by chime_run_loop_stop; CHIME_OK: after a tick, with
 *         CHIME_RUN_LOOP_UNTIL_TICK; CHIME_ERROR_INVALID_ARGUMENT: a negative timeout, an unknown flag, the common
 *         modes, or a mode that nothing was ever added to on this loop; CHIME_ERROR_RESOURCE: no file descriptors, in a
 *         thread's first call on run loops or the main thread's first run; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes. Waits: for time.
 */
CHIME_API chime_status chime_run_loop_run(const char *CHIME_NULLABLE mode, int64_t timeout_ns, uint32_t flags);

/**
 * Makes the innermost chime_run_loop_run on that loop return, as chime_queue_stop does; one that the callback begins
 * afterwards goes on. If none is under way, the next one returns at once.
 * @return CHIME_OK; CHIME_IGNORED: a stop of that one is pending already; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_stop(chime_run_loop_t run_loop);

/**
 * Ends a loop that chime_run_loop_create has made: its id is stale at once, and its thread ends after the callback that
 * is running. Queues on it do not tick any more; end each with chime_queue_shutdown, which runs their last callbacks on
 * the thread that calls it.
 *
 * @return CHIME_OK; CHIME_IGNORED: the loop belongs to a thread of the host's, which Chime does not end;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_release(chime_run_loop_t run_loop);

/**
 * Makes a mode one of the loop's common modes: timers in the common modes, present and future, tick in it, too.
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: mode is NULL, empty, not UTF-8, or the common modes;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_run_loop_add_common_mode(chime_run_loop_t run_loop, const char *CHIME_NULLABLE mode);

/**
 * Creates a queue whose handlers run on the thread of a run loop, while it runs in that mode. A queue that has ended
 * leaves nothing behind. A loop looks at every queue of its mode between two waits: make few queues with many timers.
 *
 * @param mode     NULL: the default mode; CHIME_RUN_LOOP_COMMON_MODES for all common modes
 * @param options  as for chime_queue_create; qos is not used
 * @return as chime_queue_create; CHIME_ERROR_INVALID_HANDLE: not a run loop, or its thread has ended;
 *         CHIME_ERROR_INVALID_ARGUMENT: also if mode is empty or not UTF-8
 *
 * chime_queue_sync on such a queue returns CHIME_ERROR_UNSUPPORTED, except on the loop's own thread.
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_create_on_run_loop(chime_run_loop_t run_loop, const char *CHIME_NULLABLE mode,
                                                      const chime_queue_options *CHIME_NULLABLE options,
                                                      chime_queue_t *CHIME_NULLABLE queue);

/* ---- Weak timers ---------------------------------------------------------------------------------------------- */

/*
 * A weak timer is valid until it is invalidated or released, its target goes, its loop's thread or its queue ends or, if it
 * does not repeat, its action has returned. (The queue is the run loop's own; chime_queue_list gives it, too, and whoever
 * ends it ends its timers.) Its action gets a tick whose `timer` is the chime_weak_timer_t, whose `target` is the live
 * object, and whose `context` is user_info. Actions of one timer never overlap and never nest.
 */

typedef struct chime_weak_timer_options {
  uint32_t size;
  uint32_t flags;                   /* 0 */
  int64_t tolerance_ns;             /* as chime_weak_timer_set_tolerance sets it */
  const char *CHIME_NULLABLE label; /* UTF-8, copied; for debuggers and chime_queue_dump */
} chime_weak_timer_options;

#define CHIME_WEAK_TIMER_OPTIONS_INIT \
  { sizeof(chime_weak_timer_options), 0, 0, NULL }

/**
 * Creates a timer that ticks once it has been added to a run loop. The first tick is due one interval from now.
 *
 * @param interval_ns  0 or less means 100,000 (0.1 ms), as in Foundation
 * @param repeats      0 or 1
 * @param target       held weakly; 0: none
 * @param finalizer    frees user_info; called once, when the timer becomes invalid: in the call that invalidates it, or
 *                     after the action that is running; if the target goes, on the run loop, or, of a timer on none, in
 *                     the next chime_weak_timer_fire, _invalidate or _release; if the loop's thread ends, on that thread
 * @param options      may be NULL for the defaults
 * @param timer        receives the id; release it with chime_weak_timer_release
 * @return CHIME_OK: user_info is Chime's; CHIME_ERROR_INVALID_ARGUMENT: also if repeats is neither 0 nor 1; CHIME_ERROR_INVALID_HANDLE: not a target; CHIME_ERROR_TARGET_GONE; CHIME_ERROR_LIMIT;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_create(int64_t interval_ns, int32_t repeats, chime_target_t target,
                                               chime_handler CHIME_NULLABLE action, void *CHIME_NULLABLE user_info,
                                               chime_finalizer CHIME_NULLABLE finalizer,
                                               const chime_weak_timer_options *CHIME_NULLABLE options,
                                               chime_weak_timer_t *CHIME_NULLABLE timer);

/**
 * Creates a timer and adds it to the calling thread's run loop in the default mode: chime_weak_timer_create and
 * chime_weak_timer_add in one. It ticks while the thread runs that loop.
 *
 * @param options  may be NULL for the defaults
 * @param timer    NULL: only the loop holds the timer, until it is invalid
 * @return CHIME_OK: user_info is Chime's; CHIME_ERROR_INVALID_ARGUMENT: also if repeats is neither 0 nor 1;
 *         CHIME_ERROR_INVALID_HANDLE: not a target; CHIME_ERROR_TARGET_GONE; CHIME_ERROR_RESOURCE: no file descriptors;
 *         CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_schedule(int64_t interval_ns, int32_t repeats, chime_target_t target,
                                                 chime_handler CHIME_NULLABLE action, void *CHIME_NULLABLE user_info,
                                                 chime_finalizer CHIME_NULLABLE finalizer,
                                                 const chime_weak_timer_options *CHIME_NULLABLE options,
                                                 chime_weak_timer_t *CHIME_NULLABLE timer);

/**
 * Adds the timer to a mode of a run loop. It may be in several modes of one loop.
 *
 * @param mode  NULL: the default mode; CHIME_RUN_LOOP_COMMON_MODES for all common modes
 * @return CHIME_OK; CHIME_IGNORED: the timer is invalid, or in that mode already; CHIME_ERROR_INVALID_ARGUMENT: the
 *         timer is on another loop, or mode is empty or not UTF-8; CHIME_ERROR_INVALID_HANDLE: timer or run_loop;
 *         CHIME_ERROR_TARGET_GONE; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY; CHIME_ERROR_RESOURCE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_add(chime_weak_timer_t timer, chime_run_loop_t run_loop,
                                            const char *CHIME_NULLABLE mode);

/**
 * Calls the action now, on the calling thread, outside the schedule, with a tick of kind CHIME_TICK_FIRED and
 * sequence 0. A timer that does not repeat is invalid afterwards.
 * @return CHIME_OK; CHIME_IGNORED: the timer is invalid, or its action is already running, here or on another thread;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: yes. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_fire(chime_weak_timer_t timer);

/**
 * Ends the timer for good; its id stays valid. Once this has returned, no tick starts.
 * @return CHIME_OK; CHIME_RUNNING: the action has not returned; CHIME_IGNORED, or both: it was invalid already;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: the finalizer. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_invalidate(chime_weak_timer_t timer);

/**
 * Whether the timer can still tick. Like all queries this one changes nothing.
 * @param valid  receives 1 or 0
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_is_valid(chime_weak_timer_t timer, int32_t *CHIME_NULLABLE valid);

/**
 * Sets how late a tick may come in order to share a wake-up. A late tick does not move later ones.
 * @param tolerance_ns  0 or more, below the interval when the timer repeats
 * @return CHIME_OK; CHIME_IGNORED: the timer is invalid; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_set_tolerance(chime_weak_timer_t timer, int64_t tolerance_ns);

/**
 * How late a tick may come in order to share a wake-up: what chime_weak_timer_set_tolerance, or the options, said last.
 *
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_tolerance(chime_weak_timer_t timer, int64_t *CHIME_NULLABLE tolerance_ns);

/**
 * Moves the next tick to a time of day; later ones follow at the interval. A time in the past is due at once. This call
 * converts the time to the monotonic clock, so later steps of the wall clock do not move the tick.
 * @param wall_deadline_ns  on CHIME_CLOCK_WALL; CHIME_FOREVER: never
 * @return CHIME_OK; CHIME_IGNORED: the timer is invalid; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_set_fire_date(chime_weak_timer_t timer, int64_t wall_deadline_ns);

/**
 * When the next tick is due: a time of day, in the form that chime_weak_timer_set_fire_date takes.
 *
 * @param wall_deadline_ns  receives a time of day; CHIME_FOREVER: never, or the timer is invalid
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_fire_date(chime_weak_timer_t timer, int64_t *CHIME_NULLABLE wall_deadline_ns);

/**
 * Invalidates the timer if necessary and makes its id stale at once. Once it has returned, no tick starts.
 *
 * @return CHIME_OK; CHIME_RUNNING; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: the finalizer. Waits: no.
 */
CHIME_API chime_status chime_weak_timer_release(chime_weak_timer_t timer);

#if defined(__cplusplus) && !defined(CHIME_CDEF)
}
#endif

#if defined(__clang__) && !defined(CHIME_CDEF)
#pragma clang diagnostic pop
#endif

#endif /* CHIME_RUN_LOOP_H */
