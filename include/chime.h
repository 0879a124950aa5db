/*
 * chime.h - Chime, an embeddable timer runtime.
 *
 * Purpose. A timer calls a function once, or again and again, on a queue. Chime's timers can be called in any order
 * from any thread: a call that makes no sense in the timer's state is ignored and says so; a call on an id that no
 * longer exists is an error and touches nothing. They do not fire early, do not drift, do not fire after they were
 * stopped, and free what they hold exactly once.
 *
 * Threads. Every function may be called from any thread, from inside a handler too, unless its comment says
 * otherwise. No lock is held while your code runs. Each comment ends with two facts:
 *     Calls back:  whether your functions may run inside this call
 *     Waits:       no / for a handler / for time
 * A callback must return: leaving it by longjmp or a C++ exception is undefined. errno is left as it was.
 * A callback may end its thread, by pthread_exit or a cancellation (deferred, not asynchronous), as interpreters do at
 * their exit: the thread's cleanup handlers inside the callback run, the timer whose callback it was is cancelled, and
 * all else goes on. A thread of Chime's or of libdispatch's survives; glibc takes it for one that is ending, and setuid and
 * its like pass it over. A thread of yours ends when the call that it is in has come to its end; one that is ended in the
 * trace of a call that does not call back, in its next call that does. Then its cleanup handlers outside the call run,
 * pthread_cleanup_push in C; destructors of C++ objects out there do not, nor does a catch.
 * The calls that wait or make something are no cancellation points for pthread_cancel; callbacks inside them are what
 * they are elsewhere.
 * Calls that only look (chime_timer_state, _get_info, _next_deadline, _generation, _explain; chime_queue_get_stats, _dump,
 * _next_deadline, _now) change nothing: they wake no queue, delay no tick, and end in bounded time whatever other threads
 * do, at real-time priority, too.
 * No function but chime_main_stop and chime_queue_stop is async-signal-safe.
 *
 * Time. Durations and deadlines are signed 64-bit nanoseconds. A delay or duration is a distance from now; a deadline
 * is a point on the queue's clock, which for dispatch queues is CLOCK_MONOTONIC: chime_now, chime_queue_now and
 * clock_gettime give deadlines that mix. INT64_MAX (CHIME_FOREVER) means "never" for a deadline or delay and "without
 * end" for a timeout. A deadline in the past is due at once. Sums saturate.
 *
 * Ownership. Ids are numbers below 2^53. An id is yours until you release it; 0 is none, and releasing 0 does nothing.
 * Every string passed in is copied. A context passes to Chime only when the call returns CHIME_OK; from then on Chime
 * calls its finalizer exactly once, after the last callback that could use it.
 *
 * Structures begin with `size`, which must be sizeof the structure (the CHIME_*_INIT macros, or calloc, then set size).
 * Zero in every other member is the default. A shorter size known to an earlier version is accepted; a longer one is
 * accepted when its tail is zero.
 *
 * Fork. In the child every function that returns a status answers CHIME_ERROR_FORKED, until chime_reinitialize.
 *
 * What is not in this file is not API.
 */
#ifndef CHIME_H
#define CHIME_H

#ifndef CHIME_CDEF /* cc -E -P -DCHIME_CDEF gives declarations that cffi and LuaJIT's ffi.cdef read */
#include <stddef.h>
#include <stdint.h>
#endif

#if defined(__clang__) && !defined(CHIME_CDEF)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-extension"
#define CHIME_NULLABLE _Nullable
#define CHIME_NONNULL _Nonnull
#else
#define CHIME_NULLABLE
#define CHIME_NONNULL
#endif

#if defined(__cplusplus) && !defined(CHIME_CDEF)
extern "C" {
#endif

/* ---- Version -------------------------------------------------------------------------------------------------- */

/*
 * The rule for versions. A program runs with every later library of its own series: the same major version, and before
 * 1.0 the same minor version, too.
 *
 *                 before 1.0   from 1.0
 *     mended      0.1.z        1.y.z     defects; nothing in this file but its comments
 *     added       0.1.z        1.y.0     functions, enumerators, macros; members at a structure's end; a meaning for a
 *                                        member named `reserved`
 *     anything    0.y.0        x.0.0     also what exists is removed, or changes its name, type, number, place, meaning
 *
 * A structure passed with its `size` may be larger or smaller than the library's, as is said at the top. A chime_tick
 * comes from the library: read only the members that this header has, through the pointer given.
 *
 * Every function carries a symbol version, the CHIME_x.y or CHIME_x.y.z it came with. A function that changes its
 * meaning gets a new one, and the old may stay beside it. So a program that uses what the library does not have, because
 * that is older, or of another series and has dropped it, does not start: the dynamic linker says which version is
 * missing. The number in the library's name, libchime.so.1, changes only when that would not be enough.
 *
 * The dynamic linker checks nothing for programs that find functions by name, as those in other languages do, nor
 * structures and enumerators: compare chime_version with the version that the program was written for.
 */
#define CHIME_VERSION_MAJOR 0
#define CHIME_VERSION_MINOR 2
#define CHIME_VERSION_PATCH 0
#define CHIME_VERSION ((CHIME_VERSION_MAJOR << 16) | (CHIME_VERSION_MINOR << 8) | CHIME_VERSION_PATCH)

/* The first version after this header's series, packed like CHIME_VERSION. */
#define CHIME_VERSION_NEXT_SERIES \
  (CHIME_VERSION_MAJOR > 0 ? (CHIME_VERSION_MAJOR + 1) << 16 : (CHIME_VERSION_MINOR + 1) << 8)

/**
 * The version of the library that is loaded, as CHIME_VERSION packs it. Compare with the header's own.
 * Calls back: no. Waits: no.
 */
uint32_t chime_version(void);

/*
 * 1: the library that is loaded has all that this header declares, and means the same by it; 0: it is older than the
 * header, or of another series.
 */
#define CHIME_VERSION_MATCHES() \
  (chime_version() >= (uint32_t)CHIME_VERSION && chime_version() < (uint32_t)CHIME_VERSION_NEXT_SERIES)

/* ---- Statuses ------------------------------------------------------------------------------------------------- */

/**
 * What every function returns but chime_version and those that give a name or a message. Negative is failure: out-parameters
 * are untouched and nothing changed, but where the function's comment says what took effect all the same (a wait that
 * would never end, an advance cut short).
 */
typedef int32_t chime_status;
enum {
  CHIME_OK = 0,        /* it took effect */
  CHIME_IGNORED = 1,   /* the call means nothing in this state; nothing changed; not an error */
  CHIME_RUNNING = 2,   /* it took effect, and a handler of this timer that had started has not returned yet */
  CHIME_STOPPED = 3,   /* ended because a stop was asked for */
  CHIME_TIMED_OUT = 4, /* what was waited for had not happened when the timeout ended; what was asked for is in effect */

  CHIME_ERROR_INVALID_ARGUMENT = -1, /* an argument is NULL, out of range, contradicts another, or is a structure
                                        whose size is not set */
  CHIME_ERROR_INVALID_HANDLE = -2,   /* not an id, an id of another kind, or one that was released */
  CHIME_ERROR_LIMIT = -3,            /* a configured or built-in limit is reached */
  CHIME_ERROR_NO_MEMORY = -4,        /* memory could not be had */
  CHIME_ERROR_WOULD_DEADLOCK = -5,   /* waiting would never end: the caller is what it would wait for */
  CHIME_ERROR_BUSY = -6,             /* another thread is inside this queue */
  CHIME_ERROR_WRONG_THREAD = -7,     /* only a certain thread may do this, and it is another one */
  CHIME_ERROR_TARGET_GONE = -8,      /* the timer's target no longer exists */
  CHIME_ERROR_SHUT_DOWN = -9,        /* the queue was shut down while the call was under way */
  CHIME_ERROR_UNSUPPORTED = -10,     /* this kind of queue, clock or platform cannot do that */
  CHIME_ERROR_PERMISSION = -11,      /* the operating system does not permit it */
  CHIME_ERROR_RESOURCE = -12,        /* threads, file descriptors or the like could not be had */
  CHIME_ERROR_FORKED = -13           /* this is the child of a fork: see chime_reinitialize */
};

#define CHIME_FAILED(status) ((status) < 0)

/**
 * The constant's name, such as "CHIME_ERROR_BUSY"; "CHIME_UNKNOWN" for a number that is no status. Static: never freed.
 * Calls back: no. Waits: no.
 */
const char *CHIME_NONNULL chime_status_name(chime_status status);

/**
 * One English sentence on what the status means. Static: never freed.
 * Calls back: no. Waits: no.
 */
const char *CHIME_NONNULL chime_status_message(chime_status status);

/* ---- Ids ------------------------------------------------------------------------------------------------------ */

typedef uint64_t chime_queue_t; /* a timer queue: where and when handlers run, and on which clock */
typedef uint64_t chime_timer_t; /* a schedule, a handler and a state */
typedef uint64_t chime_target_t; /* an object that timers hold weakly */
typedef uint64_t chime_expiring_t; /* a value that vanishes after an interval */

/* ---- Time ----------------------------------------------------------------------------------------------------- */

#define CHIME_NANOSECOND INT64_C(1)
#define CHIME_MICROSECOND INT64_C(1000)
#define CHIME_MILLISECOND INT64_C(1000000)
#define CHIME_SECOND INT64_C(1000000000)
#define CHIME_MINUTE INT64_C(60000000000)
#define CHIME_HOUR INT64_C(3600000000000)
#define CHIME_FOREVER INT64_MAX

typedef int32_t chime_clock;
enum {
  CHIME_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC: steady, stops while the system sleeps */
  CHIME_CLOCK_BOOTTIME = 1,  /* CLOCK_BOOTTIME: steady, goes on while the system sleeps */
  CHIME_CLOCK_WALL = 2,      /* CLOCK_REALTIME: time of day, can be stepped */
  CHIME_CLOCK_VIRTUAL = 3    /* a virtual queue's own */
};

/**
 * Reads a clock of the system.
 *
 * @param clock   CHIME_CLOCK_MONOTONIC, _BOOTTIME or _WALL
 * @param now_ns  receives nanoseconds since that clock's own zero, the one of clock_gettime
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: NULL, or no clock; CHIME_ERROR_UNSUPPORTED: CHIME_CLOCK_VIRTUAL
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_now(chime_clock clock, int64_t *CHIME_NULLABLE now_ns);

/**
 * Sleeps until a point on a clock of the system, on the calling thread: for who needs no timer. Goes on after signals;
 * a step of the wall clock is followed. A thread's wait may be prolonged by its timer slack, 50 us unless set otherwise
 * (prctl, PR_SET_TIMERSLACK); threads with real-time priority have none.
 *
 * @param clock        CHIME_CLOCK_MONOTONIC, _BOOTTIME or _WALL
 * @param deadline_ns  one in the past returns at once
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: no clock; CHIME_ERROR_UNSUPPORTED: CHIME_CLOCK_VIRTUAL
 *
 * Any thread. Calls back: no. Waits: for time.
 */
chime_status chime_sleep_until(chime_clock clock, int64_t deadline_ns);

/* ---- Callbacks ------------------------------------------------------------------------------------------------ */

typedef int32_t chime_tick_kind;
enum {
  CHIME_TICK_DUE = 0,      /* the schedule's deadline was reached */
  CHIME_TICK_FIRED = 1,    /* an extra tick, asked for by chime_timer_fire */
  CHIME_TICK_ARMED = 2,    /* to the registration handler: the timer was activated */
  CHIME_TICK_CANCELLED = 3, /* to the cancel handler: the timer was cancelled, or released while running or suspended */
  CHIME_TICK_FINALIZE = 4, /* records only: the timer is gone; the last record with its context */
  CHIME_TICK_FUNCTION = 5, /* records only: chime_queue_async's context; timer is 0 */

  /* Given to chime_set_trace only, beside the kinds of ticks: a call took effect, */
  CHIME_TRACE_CREATED = 16,
  CHIME_TRACE_ACTIVATED = 17,
  CHIME_TRACE_RESTARTED = 18,
  CHIME_TRACE_SUSPENDED = 19,
  CHIME_TRACE_RESUMED = 20,
  CHIME_TRACE_RESCHEDULED = 21,
  CHIME_TRACE_POSTPONED = 22,
  CHIME_TRACE_FIRED = 23,      /* chime_timer_fire: the extra tick is wanted */
  CHIME_TRACE_FINISHED = 24,   /* the last tick is about to be called */
  CHIME_TRACE_CANCELLED = 25,  /* by chime_timer_cancel, or because its target has gone */
  CHIME_TRACE_RELEASED = 26,   /* by chime_timer_release, by itself, or with its queue */
  CHIME_TRACE_RETURNED = 27    /* a callback of the timer has returned */
};

/**
 * The constant's name, such as "CHIME_TICK_DUE"; "CHIME_UNKNOWN" for a number that is no kind. Static: never freed.
 * Calls back: no. Waits: no.
 */
const char *CHIME_NONNULL chime_tick_kind_name(chime_tick_kind kind);

/** One delivery. Valid until the handler returns. */
typedef struct chime_tick {
  chime_timer_t timer;    /* the timer; it may be released inside its own handler */
  uint64_t generation;    /* changes with every accepted activate, restart, reschedule, suspend and cancel */
  uint64_t sequence;      /* counts DUE and FIRED ticks from 1 in each activation; 0 for ARMED and CANCELLED */
  uint64_t missed;        /* due times since the previous tick that got no tick of their own, this one excluded */
  int64_t scheduled_ns;   /* when it was due, on the queue's clock: the last of the due times that it stands for */
  int64_t actual_ns;      /* when it started, on the queue's clock; never before scheduled_ns */
  void *CHIME_NULLABLE context; /* the timer's own */
  void *CHIME_NULLABLE target;  /* the timer's target, alive until the handler returns; NULL: the timer has none, or,
                                   for ARMED and CANCELLED only, it has gone */
  chime_tick_kind kind;
  uint32_t reserved;      /* 0 */
} chime_tick;

/** A timer's handler. Runs on the timer's queue; calls of one timer never overlap and never nest. */
typedef void (*chime_handler)(const chime_tick *CHIME_NONNULL tick, void *CHIME_NULLABLE context);
/** Frees a context, or a target's object. Called exactly once, after the last callback that could use it, with no lock
 *  held. */
typedef void (*chime_finalizer)(void *CHIME_NULLABLE context);
/** Any other function to run on a queue. */
typedef void (*chime_function)(void *CHIME_NULLABLE context);

/* ---- Options -------------------------------------------------------------------------------------------------- */

typedef int32_t chime_queue_kind;
enum {
  CHIME_QUEUE_SERIAL = 0,     /* a dispatch queue of its own: one handler at a time */
  CHIME_QUEUE_CONCURRENT = 1, /* a concurrent dispatch queue of its own: handlers of different timers may overlap */
  CHIME_QUEUE_HOST = 2,       /* driven by the host's own loop: see "Host-driven queues" */
  CHIME_QUEUE_PRECISE = 3,    /* a thread of its own that waits for absolute times with 1 ns of timer slack */
  CHIME_QUEUE_VIRTUAL = 4     /* time moves when chime_queue_advance or _jump is called */
};

typedef int32_t chime_qos;
enum {
  CHIME_QOS_DEFAULT = 0,
  CHIME_QOS_BACKGROUND = 1,
  CHIME_QOS_UTILITY = 2,
  CHIME_QOS_USER_INITIATED = 3,
  CHIME_QOS_USER_INTERACTIVE = 4
};

/* chime_queue_options.flags */
enum {
  CHIME_QUEUE_HONOUR_LEEWAY = 1, /* virtual queues: delay ticks within their leeway, as other queues do */
  CHIME_QUEUE_BOUND = 2,         /* host-driven queues: only the thread that makes the queue may drive it */
  CHIME_QUEUE_RECORDS = 4        /* host-driven queues: timers have no functions, chime_queue_take_ticks gives records */
};

typedef struct chime_queue_options {
  uint32_t size;
  uint32_t flags;                   /* CHIME_QUEUE_HONOUR_LEEWAY, _BOUND, _RECORDS */
  const char *CHIME_NULLABLE label; /* UTF-8, copied; for debuggers and chime_queue_dump */
  chime_qos qos;                    /* of a dispatch queue of its own */
  chime_clock clock;                /* MONOTONIC or WALL; host-driven queues also BOOTTIME; a virtual queue takes
                                       MONOTONIC (0) or VIRTUAL, and is virtual */
  uint64_t timer_limit;             /* timers that may exist at once; 0: as many as memory and ids allow */
  int64_t start_ns;                 /* virtual queues: the time they begin at, 0 or more */
  chime_function CHIME_NULLABLE enter; /* called before handlers run on a thread that the host did not make, and */
  chime_function CHIME_NULLABLE leave; /* after them: to attach the thread to a virtual machine. Not with host-driven
                                          and virtual queues, where the thread is the host's own */
  void *CHIME_NULLABLE hook_context;   /* for enter and leave; must live until the queue was shut down */
  uint64_t affinity;                /* precise queues: a bit for each processor the thread may run on; 0: any */
  int32_t realtime_priority;        /* precise queues: 1 to 99, the thread's priority under SCHED_FIFO; 0: none */
  uint32_t reserved;                /* 0 */
} chime_queue_options;

typedef int32_t chime_missed_policy;
enum {
  CHIME_MISSED_COALESCE = 0, /* one tick that says how many were missed, then on along the grid */
  CHIME_MISSED_DELAY = 1     /* the interval counts from the end of the handler: spacing, not a grid */
};

typedef int32_t chime_resume_policy;
enum {
  CHIME_RESUME_COALESCE = 0, /* the grid stands; what was missed comes as one tick at once */
  CHIME_RESUME_REMAINING = 1 /* the time that was left at suspend is kept, and the grid moves */
};

/* chime_schedule.flags */
enum {
  CHIME_SCHEDULE_DEADLINE = 1 /* first_ns is a deadline on the queue's clock, not a delay */
};

typedef struct chime_schedule {
  uint32_t size;
  uint32_t flags;                    /* CHIME_SCHEDULE_DEADLINE */
  int64_t first_ns;                  /* delay (0 or more) or deadline of the first tick */
  int64_t interval_ns;               /* from then on; 0: one-shot */
  int64_t leeway_ns;                 /* how late a tick may be: it moves to the roundest instant of its
                                        window, where it can share a wake-up; below the interval */
  uint64_t tick_limit;               /* due times (delivered and missed) until the timer is finished; 0: no limit */
  chime_missed_policy missed_policy; /* of a repeating timer */
  chime_resume_policy resume_policy; /* REMAINING does not go with CHIME_SCHEDULE_DEADLINE */
} chime_schedule;

/* chime_timer_options.flags */
enum {
  CHIME_TIMER_SELF_RELEASE = 1,     /* releases itself when it is at rest after a handler of it returned */
  CHIME_TIMER_RECORD_ARMED = 2,     /* on a queue that gives records: a record ARMED for each activation, */
  CHIME_TIMER_RECORD_CANCELLED = 4, /* CANCELLED when a cancel handler would be called, */
  CHIME_TIMER_RECORD_FINALIZE = 8   /* FINALIZE when a finalizer would be called */
};

typedef struct chime_timer_options {
  uint32_t size;
  uint32_t flags;                                    /* CHIME_TIMER_SELF_RELEASE, CHIME_TIMER_RECORD_* */
  chime_handler CHIME_NULLABLE handler;              /* DUE and FIRED ticks. Required; but on a queue that gives
                                                        records all four functions must be NULL */
  chime_handler CHIME_NULLABLE registration_handler; /* ARMED: once for each activation, before its first tick */
  chime_handler CHIME_NULLABLE cancel_handler;       /* CANCELLED: once for each move into cancelled, and for the
                                                        release of a running or suspended timer */
  void *CHIME_NULLABLE context;                      /* given to all of them */
  chime_finalizer CHIME_NULLABLE finalizer;          /* frees the context */
  const char *CHIME_NULLABLE label;                  /* UTF-8, copied; for debuggers and chime_queue_dump */
  chime_target_t target;                             /* held weakly: when it goes the timer is cancelled; 0: none */
} chime_timer_options;

#define CHIME_QUEUE_OPTIONS_INIT \
  {(uint32_t)sizeof(chime_queue_options), 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0}
#define CHIME_SCHEDULE_INIT {(uint32_t)sizeof(chime_schedule), 0, 0, 0, 0, 0, 0, 0}
#define CHIME_TIMER_OPTIONS_INIT {(uint32_t)sizeof(chime_timer_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0}

/* ---- Queues --------------------------------------------------------------------------------------------------- */

/**
 * Makes a queue of its own.
 *
 * @param kind     CHIME_QUEUE_SERIAL, _CONCURRENT, _HOST, _PRECISE or _VIRTUAL
 * @param options  copied; NULL for the defaults
 * @param queue    receives the id; release it with chime_queue_release or chime_queue_shutdown
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: queue is NULL, an unknown kind, flag, qos or clock, a wrong size,
 *         a label that is not UTF-8, a negative start_ns, an option of another kind of queue, processors that do not
 *         exist; CHIME_ERROR_UNSUPPORTED: this kind of queue does not offer the clock, or the library has no libdispatch;
 *         CHIME_ERROR_PERMISSION: no real-time priority for this process; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY;
 *         CHIME_ERROR_RESOURCE: no file descriptor, or no thread
 *
 * A library that was built without libdispatch, as that for arm64 is, has host-driven, precise and virtual queues and run
 * loops, on every clock but the wall clock. All other queues, and those on the wall clock, answer CHIME_ERROR_UNSUPPORTED.
 *
 * A concurrent queue hands ticks to libdispatch, which grants about as many threads as there are cores: one slow
 * handler delays no other, as many slow ones as there are cores do. Use serial queues for time that matters. While the
 * system grants no thread, libdispatch waits for one, inside calls on such queues.
 * Any thread. Calls back: no. Waits: no; for a precise queue until its thread has begun, its start hook included.
 */
chime_status chime_queue_create(chime_queue_kind kind, const chime_queue_options *CHIME_NULLABLE options,
                                chime_queue_t *CHIME_NULLABLE queue);

/**
 * Makes a queue whose handlers run on libdispatch's main queue: inside chime_main_run, or whatever else drains it.
 * Each call gives a queue of the caller's own; ending it touches only timers made through it.
 *
 * @return as chime_queue_create; CHIME_ERROR_UNSUPPORTED: libdispatch was loaded by a thread that is not the
 *         process's main one, so that its main queue cannot be drained
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_main(const chime_queue_options *CHIME_NULLABLE options, chime_queue_t *CHIME_NULLABLE queue);

/**
 * Makes a queue whose handlers run on the global concurrent dispatch queue of that quality of service.
 *
 * @param qos  decides; options->qos must be 0 or the same
 * @return as chime_queue_create
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_global(chime_qos qos, const chime_queue_options *CHIME_NULLABLE options,
                                chime_queue_t *CHIME_NULLABLE queue);

/**
 * Makes a queue whose handlers run on a dispatch queue of the host, in turn with the host's own blocks on it.
 *
 * @param dispatch_queue  a dispatch_queue_t, retained until the queue has ended; it must not be suspended for ever
 * @param options         label and qos are not used for the host's queue
 * @return as chime_queue_create; CHIME_ERROR_INVALID_ARGUMENT: dispatch_queue is NULL; CHIME_ERROR_UNSUPPORTED: it
 *         belongs to another copy of libdispatch (the self-contained libchime carries its own)
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_wrap_dispatch(void *CHIME_NULLABLE dispatch_queue,
                                       const chime_queue_options *CHIME_NULLABLE options,
                                       chime_queue_t *CHIME_NULLABLE queue);

/**
 * Releases the queue and its timers: their ids are stale at once and no tick starts any more. A handler that runs
 * goes on; what is left to call (registration and cancel handlers, finalizers) is called on the queue; on a virtual or
 * host-driven queue inside this call or, when a thread is inside the queue, at the end of its call.
 *
 * @return CHIME_OK; CHIME_RUNNING: a handler of the queue has not returned; CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread. Calls back: on virtual and host-driven queues. Waits: no.
 */
chime_status chime_queue_release(chime_queue_t queue);

/**
 * chime_queue_release, then waits until no callback of the queue runs or will run. What can no longer be delivered on
 * the queue (the main queue is not drained) is delivered in this call when the timeout ends.
 *
 * @param timeout_ns  0 or more; CHIME_FOREVER
 * @return CHIME_OK: nothing of this queue runs or will run; CHIME_TIMED_OUT: it was released, a handler is still
 *         running; CHIME_ERROR_WOULD_DEADLOCK: called inside a callback of this queue, or of one that waits for it;
 *         it was released, nothing was waited for; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: yes. Waits: for a handler.
 */
chime_status chime_queue_shutdown(chime_queue_t queue, int64_t timeout_ns);

/**
 * Runs a function in mutual exclusion with the queue's handlers, and waits for it: the queue as a mutex. Inside a
 * callback of the queue, or inside a function that runs under its sync, it runs at once.
 *
 * @param function    runs on the caller's thread or on the queue's, before this call returns
 * @param timeout_ns  0 or more: how long to wait for the function's turn; once it has begun it is waited for
 * @return CHIME_OK: it ran; CHIME_TIMED_OUT: it did not and will not run; CHIME_ERROR_WOULD_DEADLOCK: a handler of
 *         this queue waits for the caller; CHIME_ERROR_UNSUPPORTED: a concurrent or global queue; a virtual or
 *         host-driven one but inside its callbacks; a run loop's but on its thread; CHIME_ERROR_SHUT_DOWN:
 *         the queue ended first, it will not run; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: yes. Waits: for a handler.
 */
chime_status chime_queue_sync(chime_queue_t queue, chime_function CHIME_NULLABLE function, void *CHIME_NULLABLE context,
                              int64_t timeout_ns);

/**
 * Runs a function on the queue, soon: on a serial queue in mutual exclusion with its handlers, on a virtual queue at
 * the next advance, on a host-driven one in the next chime_queue_process. Functions run in the order of these calls, and
 * before ticks that are due by then.
 *
 * @param function   NULL on a queue that gives records, which gives a record of kind FUNCTION, and there only
 * @param finalizer  may be NULL; called with context after the function, or instead of it when the queue ends before
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: function is NULL, or finalizer is not while
 *         function is; CHIME_ERROR_UNSUPPORTED: a function on a queue that gives records; CHIME_ERROR_NO_MEMORY
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_async(chime_queue_t queue, chime_function CHIME_NULLABLE function,
                               void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer);

/**
 * The time on the queue's clock.
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: now_ns is NULL
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_now(chime_queue_t queue, int64_t *CHIME_NULLABLE now_ns);

/**
 * Moves a virtual queue's time forward, from deadline to deadline: each tick runs inside this call at exactly its
 * deadline, further passes run at that instant until nothing more is due.
 *
 * @param duration_ns  0 or more; 0 runs what is due now
 * @return CHIME_OK; CHIME_ERROR_LIMIT: 1,000 passes at one instant, time stands there; CHIME_ERROR_WOULD_DEADLOCK:
 *         called inside a handler of this queue; CHIME_ERROR_BUSY: another thread is advancing it;
 *         CHIME_ERROR_UNSUPPORTED: not a virtual queue; CHIME_ERROR_SHUT_DOWN: a handler released the queue;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, one at a time. Calls back: yes. Waits: no.
 */
chime_status chime_queue_advance(chime_queue_t queue, int64_t duration_ns);

/**
 * The same up to a point in time; one that is not later than now runs what is due and moves nothing.
 * Any thread, one at a time. Calls back: yes. Waits: no.
 */
chime_status chime_queue_advance_to(chime_queue_t queue, int64_t deadline_ns);

/**
 * Moves a virtual queue's clock without stopping at deadlines and without running anything, also inside a handler:
 * as a slow handler or a sleeping machine would. The next advance delivers what became due.
 *
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: negative
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_jump(chime_queue_t queue, int64_t duration_ns);

/** What a queue has done; counts begin at its creation. */
typedef struct chime_queue_stats {
  uint32_t size;
  uint32_t reserved;
  uint64_t timers;       /* that exist and were not released */
  uint64_t running;      /* of these, in state running */
  uint64_t entries;      /* in the wheel, stale ones included */
  uint64_t passes;       /* visits to the wheel: wake-ups */
  uint64_t empty_passes; /* of these, that found nothing due and nothing new */
  uint64_t ticks;        /* DUE and FIRED ticks delivered */
  uint64_t missed;       /* due times that got no tick of their own */
  /* from version 0.1.1 on: */
  uint64_t stale;        /* of the entries, those whose timer was cancelled, released or moved */
  uint64_t merged;       /* callbacks that came with another one's wake-up */
  uint64_t lateness[32]; /* ticks by how late they were, the leeway included: [0] by less than 1,024 ns, each further
                            one by less than twice as much, [31] all others; together they are `ticks` */
} chime_queue_stats;

#define CHIME_QUEUE_STATS_INIT {(uint32_t)sizeof(chime_queue_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/**
 * Fills in the statistics. Visits every timer of the queue.
 * @param stats  its size set by the caller; a shorter known size receives the members it has
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_get_stats(chime_queue_t queue, chime_queue_stats *CHIME_NULLABLE stats);

/**
 * Writes one line of text for the queue and one for each timer: id, label, state, next deadline, interval, ticks,
 * missed. For people: its wording may change.
 *
 * @param text      receives up to capacity - 1 bytes and a terminating 0; NULL with capacity 0 asks for the length
 * @param length    receives the length of the whole text without its 0; may be NULL
 * @return CHIME_OK, also when the text was cut; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_dump(chime_queue_t queue, char *CHIME_NULLABLE text, uint64_t capacity,
                              uint64_t *CHIME_NULLABLE length);

/* ---- Host-driven queues --------------------------------------------------------------------------------------- */

/*
 * A queue of kind CHIME_QUEUE_HOST has no thread: handlers run inside the host's calls. Add the descriptor of
 * chime_queue_fd to your loop and call chime_queue_process when it is readable:
 *
 *     for (;;) { poll(&entry, 1, -1); chime_queue_process(queue, 0, NULL); }
 *
 * The descriptor becomes readable when something is due, and when any thread adds or changes a timer so that the queue
 * must look earlier than it would have; so 0 callbacks after it was readable are normal. Hosts without a loop call
 * chime_queue_run.
 *
 * A queue made with CHIME_QUEUE_BOUND may be driven (process, take_ticks, run, wait) only by the thread that made it;
 * others get CHIME_ERROR_WRONG_THREAD. Without it any thread may, one at a time; a second one gets CHIME_ERROR_BUSY.
 *
 * A queue made with CHIME_QUEUE_RECORDS calls no functions at all: chime_queue_take_ticks copies what is due into an
 * array. For languages that cannot be called on foreign threads, or that pay for it. Release the timers, and take what
 * they still have to say, before the queue: records that nobody has taken end with it.
 *
 * Timers may be used from any thread. What a released timer has to call last (cancel handler, finalizer) is called in
 * the releasing call, unless a thread is inside a callback or the like of the queue: then at the end of that thread's
 * call; chime_queue_process answers CHIME_ERROR_BUSY meanwhile, so it should be short. On a bound queue the bound thread
 * calls it, in its next call, whoever released the timer; but the release of the queue itself calls what is left where
 * it is made.
 */

/**
 * The descriptor to poll: level-triggered, close-on-exec, the queue's own until it ends. Poll it and do nothing else
 * with it; take it out of your loop before the queue ends, as the number may be used again.
 *
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: not a host-driven queue; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_fd(chime_queue_t queue, int32_t *CHIME_NULLABLE fd);

/**
 * When the queue next wants to be processed: at its earliest timer, at most 1,024 ns and that timer's leeway later.
 *
 * @param deadline_ns  receives a point on the queue's clock, which may have passed; CHIME_FOREVER: nothing to wait for.
 *                     Exact on the thread that drives the queue; elsewhere, and inside its callbacks, it may be early,
 *                     never late
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: neither host-driven nor virtual; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_next_deadline(chime_queue_t queue, int64_t *CHIME_NULLABLE deadline_ns);

/**
 * The same for poll(2): milliseconds from now, rounded up; 0: something is due; -1: nothing to wait for.
 * @return as chime_queue_next_deadline; CHIME_ERROR_UNSUPPORTED also for virtual queues
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_queue_poll_timeout(chime_queue_t queue, int32_t *CHIME_NULLABLE milliseconds);

/**
 * Waits until something is due, and runs nothing.
 *
 * @param timeout_ns  0 or more, rounded up to milliseconds; CHIME_FOREVER
 * @return CHIME_OK: something is due; CHIME_TIMED_OUT; CHIME_STOPPED; CHIME_ERROR_WRONG_THREAD; CHIME_ERROR_BUSY;
 *         CHIME_ERROR_WOULD_DEADLOCK: inside a callback of the queue; CHIME_ERROR_SHUT_DOWN: the queue ended;
 *         CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, or the bound one. Calls back: no. Waits: for time.
 */
chime_status chime_queue_wait(chime_queue_t queue, int64_t timeout_ns);

/**
 * Runs what is due, on the calling thread.
 *
 * @param max    ticks and functions at most; 0: all that is due now. What is due and was not run keeps the descriptor
 *               readable. What released timers have to call last comes on top
 * @param count  receives how many of them ran; may be NULL
 * @return CHIME_OK; CHIME_ERROR_WRONG_THREAD; CHIME_ERROR_BUSY: another thread is inside the queue, if only to run a
 *         finalizer: poll again; CHIME_ERROR_WOULD_DEADLOCK: inside a callback of the queue; CHIME_ERROR_SHUT_DOWN: the
 *         queue ended; CHIME_ERROR_UNSUPPORTED: not host-driven, or it gives records; CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, or the bound one. Calls back: yes. Waits: no.
 */
chime_status chime_queue_process(chime_queue_t queue, uint32_t max, uint32_t *CHIME_NULLABLE count);

/**
 * Copies what is due into an array. A copied tick has started; it ends at the next call for this queue. Until then its
 * timer is busy: there is no second record of it, its target is held, and its FINALIZE record is kept back. (Where that
 * matters, the descriptor stays readable for that next call.) Under CHIME_MISSED_DELAY the interval counts from the
 * taking. Who cancels or reschedules a timer while working through the array asks chime_timer_check_generation before
 * acting on a later record of it.
 *
 * @param ticks      receives the records
 * @param tick_size  sizeof(chime_tick)
 * @param capacity   records that there is room for, above 0; what did not fit keeps the descriptor readable
 * @param count      receives how many there are
 * @return as chime_queue_process; CHIME_ERROR_UNSUPPORTED: not a queue that gives records; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, or the bound one. Calls back: destructors of targets that were held last by these ticks. Waits: no.
 */
chime_status chime_queue_take_ticks(chime_queue_t queue, chime_tick *CHIME_NULLABLE ticks, uint32_t tick_size,
                                    uint32_t capacity, uint32_t *CHIME_NULLABLE count);

/* chime_queue_run, flags */
enum {
  CHIME_RUN_UNTIL_STOPPED = 1 /* go on when no timer runs: another thread may start one */
};

/**
 * Processes and waits in turn: a loop for hosts that have none.
 *
 * @param flags  0: return when no timer runs and nothing is left to call; or CHIME_RUN_UNTIL_STOPPED
 * @return CHIME_OK: no timer runs, whoever ended the last one; CHIME_STOPPED; CHIME_ERROR_WRONG_THREAD; CHIME_ERROR_BUSY;
 *         CHIME_ERROR_WOULD_DEADLOCK; CHIME_ERROR_SHUT_DOWN: the queue ended; CHIME_ERROR_UNSUPPORTED;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, or the bound one. Calls back: yes. Waits: for time.
 */
chime_status chime_queue_run(chime_queue_t queue, uint32_t flags);

/**
 * Makes chime_queue_run or chime_queue_wait return after the callback it is in; if none is under way, the next one
 * returns at once.
 * @return CHIME_OK; CHIME_IGNORED: a stop is pending already; CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE
 * Any thread, and signal handlers. Calls back: no. Waits: no.
 */
chime_status chime_queue_stop(chime_queue_t queue);

/* ---- The main queue ------------------------------------------------------------------------------------------- */

/**
 * Runs libdispatch's main queue, and so the handlers of chime_queue_main, until chime_main_stop.
 *
 * @return CHIME_STOPPED; CHIME_ERROR_WRONG_THREAD: not the process's main thread; CHIME_ERROR_WOULD_DEADLOCK: already
 *         inside it; CHIME_ERROR_UNSUPPORTED: libdispatch was loaded by another thread, the process has been forked, or
 *         the library has no libdispatch; CHIME_ERROR_RESOURCE
 *
 * The main thread. Calls back: yes. Waits: for time.
 */
chime_status chime_main_run(void);

/**
 * Makes chime_main_run return after the callback it is in; a stop that comes before makes the next run return at once.
 * @return CHIME_OK; CHIME_IGNORED: a stop is already pending; CHIME_ERROR_UNSUPPORTED: as chime_main_run
 * Any thread, and signal handlers. Calls back: no. Waits: no.
 */
chime_status chime_main_stop(void);

/* ---- Threads -------------------------------------------------------------------------------------------------- */

/**
 * Has threads that Chime makes from now on (of precise queues and of chime_run_loop_create) call two functions, first
 * and last. Threads of libdispatch are not Chime's: for those there are enter and leave in chime_queue_options.
 *
 * @param start    NULL: none
 * @param end      NULL: none
 * @param context  for both; must live as long as such threads do
 * @return CHIME_OK
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_set_thread_hooks(chime_function CHIME_NULLABLE start, chime_function CHIME_NULLABLE end,
                                    void *CHIME_NULLABLE context);

/* ---- Seeing what happens -------------------------------------------------------------------------------------- */

/**
 * Has every transition of every timer, and every callback that gets a tick, reported to one function: just after a call
 * took effect, on the thread that made it, before it returns; just before a callback of a timer is called, and just after
 * it returned. Handlers that were added to a timer are reported with its own, as one; finalizers and functions are not.
 * Without a trace each of them costs the look at one flag.
 *
 * The tick given to `trace` has, for a callback, what that gets (kinds below 16). For the rest (CHIME_TRACE_*) it has the
 * timer, its generation and in scheduled_ns its next deadline, both as they are when the trace looks (0 and
 * CHIME_FOREVER for a released timer), in actual_ns the time on the queue's clock, and 0 in all others: which timer it is
 * says its id, for which a table of names is the host's. Reports from
 * different threads may come in another order than what they report; those of one timer can be told apart by generation.
 *
 * @param trace    called by several threads at once, with no lock held; may call anything, of which nothing is traced;
 *                 NULL: none any more
 * @param context  given to it as its second argument; must live for as long as calls can come: one that had begun when
 *                 the trace was replaced may still run afterwards
 * @return CHIME_OK
 *
 * Any thread. Calls back: no; but from now on every call that changes a timer. Waits: no.
 */
chime_status chime_set_trace(chime_handler CHIME_NULLABLE trace, void *CHIME_NULLABLE context);

/* ---- Memory --------------------------------------------------------------------------------------------------- */

/*
 * Every call that makes something answers CHIME_ERROR_NO_MEMORY when memory for it cannot be had, whichever of its
 * allocations fails, and has then changed nothing; CHIME_ERROR_LIMIT where chime_set_memory_limit forbids it; and
 * CHIME_ERROR_RESOURCE where a thread or a descriptor could not be had. So do chime_queue_sync, chime_queue_async,
 * chime_queue_get_stats, chime_main_run, chime_run_loop_run, chime_timer_add_handler and _remove_handler, which need some
 * for a moment.
 *
 * What must not fail needs no memory once its queue is made: a tick and the end of its handler, cancel, suspend, release,
 * shutdown, the release of a target, expiry, wake-ups. What the language's runtime and libdispatch want for themselves
 * all the same (a timer source, a thread's part) comes out of a reserve when the system refuses it: 64 KiB in the library,
 * and more for each queue. When a thread of libdispatch has ended for want of work, a new one needs a stack; where that is
 * refused libdispatch tries again each second, in the call or on the thread that wants it.
 */

/* What the host's allocator is. */
typedef struct chime_allocator {
  uint32_t size;
  uint32_t reserved; /* 0 */
  /* Gives so many bytes, at an address that is a multiple of alignment, a power of two; NULL: there are none. */
  void *CHIME_NULLABLE (*CHIME_NULLABLE allocate)(uint64_t alignment, uint64_t bytes, void *CHIME_NULLABLE context);
  /* Takes back what allocate gave. */
  void (*CHIME_NULLABLE deallocate)(void *CHIME_NONNULL memory, void *CHIME_NULLABLE context);
  void *CHIME_NULLABLE context; /* given to both; must live as long as the process */
} chime_allocator;

#define CHIME_ALLOCATOR_INIT {(uint32_t)sizeof(chime_allocator), 0, NULL, NULL, NULL}

/**
 * Has Chime, and the libdispatch in it, ask the host for memory from now on, before the first call that makes something.
 * Not for the pages of timers, which are mapped (mmap) and never given back, nor for the stacks of threads; and what
 * libchime needs to be loaded lies in it.
 *
 * @param allocator  copied; both functions are called by any thread, at any time, with locks held: they must call nothing
 *                   of Chime's
 * @return CHIME_OK; CHIME_ERROR_BUSY: memory has been asked for already; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: a libchime that stands on Swift's own runtime
 *
 * Any thread, before others call Chime. Calls back: no; but from now on every call that needs memory. Waits: no.
 */
chime_status chime_set_allocator(const chime_allocator *CHIME_NULLABLE allocator);

/**
 * Limits what Chime holds. A call that would need more answers CHIME_ERROR_LIMIT; what must not fail goes on. A limit below
 * what is held takes nothing away.
 *
 * @param bytes  as chime_memory_used counts; 0: no limit
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: as chime_set_allocator
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_set_memory_limit(uint64_t bytes);

/**
 * Bytes that Chime holds: what it has asked the allocator for and not given back, and the pages mapped for timers, touched or
 * not. Not the tables of ids, 16 MiB of addresses of which pages are used as ids are. 0 where chime_set_allocator is
 * unsupported.
 * Any thread. Calls back: no. Waits: no.
 */
uint64_t chime_memory_used(void);

/* ---- Fork ----------------------------------------------------------------------------------------------------- */

/**
 * Begins anew in a forked child. All ids from before the fork are stale, nothing of them is called or freed any more, no
 * finalizer runs; the descriptors of host-driven queues and of run loops that came with the fork are closed. The parent
 * notices nothing.
 *
 * From then on host-driven, precise and virtual queues and run loops, on every clock but the wall clock, work as in any
 * process; the main thread's run loop drains no main queue. What stands on libdispatch, which does not survive a fork,
 * answers CHIME_ERROR_UNSUPPORTED: the other kinds of queues, the main queue, wall clocks. A raw clone is not noticed.
 *
 * A child that was forked inside a handler of a host-driven or virtual queue, or of one on the run loop of a thread of the
 * host's: the call that runs the handler ends with CHIME_ERROR_FORKED. Inside one on another kind of queue: do not return
 * from it, but end the process or exec.
 *
 * @return CHIME_OK; CHIME_IGNORED: this is no forked child, or it has been reinitialised
 *
 * The child's only thread. Calls back: no. Waits: no.
 */
chime_status chime_reinitialize(void);

/* ---- Timers --------------------------------------------------------------------------------------------------- */

typedef int32_t chime_state;
enum {
  CHIME_STATE_IDLE = 0,      /* created, never activated */
  CHIME_STATE_RUNNING = 1,
  CHIME_STATE_SUSPENDED = 2,
  CHIME_STATE_FINISHED = 3,  /* its last tick was delivered or is being delivered */
  CHIME_STATE_CANCELLED = 4
};

/*
 * state \ event   activate   restart   suspend    resume   reschedule  postpone   fire  last tick  cancel
 * idle            running    running   ignored    ignored  idle        ignored    +                ignored
 * running         ignored    running   suspended  ignored  running     running    +     finished   cancelled
 * suspended       ignored    running   ignored    running  suspended   suspended  +                cancelled
 * finished        running    running   ignored    ignored  finished    ignored    +                ignored
 * cancelled       running    running   ignored    ignored  cancelled   ignored    ignored          ignored
 *
 * ignored: CHIME_IGNORED, nothing changed.  +: one extra tick, state unchanged.  Release is legal in every state.
 */

/**
 * Makes a timer in state idle.
 *
 * @param options  copied; handler is required
 * @param timer    receives the id, before anything of the timer can run; release it with chime_timer_release
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT: options, handler or timer is NULL, a wrong
 *         size, an unknown flag, a label that is not UTF-8; CHIME_ERROR_INVALID_HANDLE: of queue, or options->target;
 *         CHIME_ERROR_TARGET_GONE: the target has gone; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_create(chime_queue_t queue, const chime_timer_options *CHIME_NULLABLE options,
                                chime_timer_t *CHIME_NULLABLE timer);

/**
 * Makes a timer and activates it, in one step.
 *
 * @param schedule  copied; required
 * @param timer     NULL: nobody holds the timer; it releases itself when it is at rest after its handler returned
 * @return as chime_timer_create; CHIME_ERROR_INVALID_ARGUMENT also for a schedule that is not valid
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_start(chime_queue_t queue, const chime_timer_options *CHIME_NULLABLE options,
                               const chime_schedule *CHIME_NULLABLE schedule, chime_timer_t *CHIME_NULLABLE timer);

/**
 * Calls the handler once, delay_ns from now.
 *
 * @param delay_ns   0 or more
 * @param finalizer  frees the context; may be NULL
 * @param timer      NULL: fire and forget
 * @return as chime_timer_start
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_after(chime_queue_t queue, int64_t delay_ns, chime_handler CHIME_NULLABLE handler,
                               void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer,
                               chime_timer_t *CHIME_NULLABLE timer);

/**
 * Calls the handler every interval_ns, for the first time one interval from now.
 *
 * @param interval_ns  above 0
 * @param finalizer    frees the context; may be NULL
 * @param timer        receives the id; NULL: nobody holds the timer, it ends when its handler cancels it, or with the
 *                     queue
 * @return as chime_timer_start
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_every(chime_queue_t queue, int64_t interval_ns, chime_handler CHIME_NULLABLE handler,
                               void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer,
                               chime_timer_t *CHIME_NULLABLE timer);

/**
 * Starts the timer's next life: sequence and tick count begin anew.
 *
 * @param timer     a timer that is idle, finished or cancelled; otherwise CHIME_IGNORED
 * @param schedule  copied; NULL keeps the one it has (CHIME_ERROR_INVALID_ARGUMENT when it never had one)
 * @return CHIME_OK; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_TARGET_GONE; CHIME_ERROR_NO_MEMORY
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_activate(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * Runs from now, whatever the state, in one transition: activates a timer at rest, reschedules (and resumes) one that
 * is running or suspended.
 *
 * @param schedule  copied; NULL keeps the one it has, if it had one: its delay counts from now
 * @return CHIME_OK; CHIME_RUNNING: took effect, a handler that had started has not returned;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_TARGET_GONE; CHIME_ERROR_NO_MEMORY
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_restart(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * Stops ticks until resume. After it has returned no tick starts.
 *
 * @param timer  a running timer; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_RUNNING: took effect, a handler that had started has not returned (inside the timer's own
 *         handler always); CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_suspend(chime_timer_t timer);

/**
 * Goes on after suspend, as the schedule's resume policy says.
 * @param timer  a suspended timer; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_resume(chime_timer_t timer);

/**
 * Gives the timer another schedule and keeps its state and its sequence; the tick limit begins anew. A delay counts
 * from this call when the timer is running, or suspended under CHIME_RESUME_COALESCE; from the resume when it is
 * suspended under CHIME_RESUME_REMAINING; from the next activate when it is at rest.
 *
 * @param schedule  copied; NULL keeps the one it has, if it had one: its delay counts anew
 * @return CHIME_OK; CHIME_RUNNING: took effect, a handler that had started has not returned, whatever the state;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_reschedule(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * The idle-timeout touch: moves the next deadline to now + delay_ns if that is later than it was. A repeating timer's
 * grid moves with it, nothing counts as missed.
 *
 * @param delay_ns  0 or more
 * @return CHIME_OK: from now on no tick starts before now + delay_ns; CHIME_IGNORED: the timer is not running or
 *         suspended, or its tick has started already ("the timeout won"); CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. A clock read, and for a one-shot one compare-and-swap as long as its postponements since the deadline was
 * last written come to 36 minutes at most (on virtual queues 2.1 s); otherwise the timer's record is written. On real
 * clocks the deadline of a one-shot that has moved by 2.1 s or more is rounded up, by less than 1,024 ns.
 * Calls back: no. Waits: no.
 */
chime_status chime_timer_postpone(chime_timer_t timer, int64_t delay_ns);

/**
 * The same to a deadline on the queue's clock; reads no clock.
 * Any thread. As chime_timer_postpone, without the clock read. Calls back: no. Waits: no.
 */
chime_status chime_timer_postpone_until(chime_timer_t timer, int64_t deadline_ns);

/**
 * Asks for one extra tick, of kind CHIME_TICK_FIRED, on the queue; never inside this call. Calls made before that tick
 * starts give one tick together. It counts in the sequence, not against the tick limit, and leaves the schedule alone.
 * A later suspend, reschedule, restart, activate, cancel or release drops it.
 *
 * @param timer  any but a cancelled timer; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_TARGET_GONE: the target of an idle or
 *         finished timer; CHIME_ERROR_NO_MEMORY
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_fire(chime_timer_t timer);

/**
 * Stops the timer. After it has returned no tick starts; the context stays, and the timer can be activated again.
 *
 * @param timer  a running or suspended timer; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_RUNNING: took effect, a handler that had started has not returned (only
 *         chime_timer_cancel_and_wait makes it safe to free what the handler uses); CHIME_IGNORED;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, the timer's own handler included. Calls back: no. Waits: no.
 */
chime_status chime_timer_cancel(chime_timer_t timer);

/**
 * Cancels, then waits until no handler of the timer runs, also when the cancel itself is ignored.
 *
 * @param timeout_ns  0 or more; CHIME_FOREVER
 * @return CHIME_OK: cancelled; CHIME_IGNORED: there was nothing to cancel; with both no handler of the timer runs;
 *         CHIME_TIMED_OUT: cancelled, its handler still runs; CHIME_ERROR_WOULD_DEADLOCK: cancelled if there was
 *         something to cancel, and the handler is the caller's own or waits for the caller;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: no. Waits: for a handler.
 */
chime_status chime_timer_cancel_and_wait(chime_timer_t timer, int64_t timeout_ns);

/**
 * Cancels the timer if need be and makes its id stale at once. Its finalizer is called after the last callback.
 *
 * @param timer  0 does nothing
 * @return CHIME_OK; CHIME_RUNNING: took effect, a handler that had started has not returned;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, the timer's own handler included. Calls back: on virtual and host-driven queues. Waits: no.
 */
chime_status chime_timer_release(chime_timer_t timer);

/**
 * The timer's generation now: a number that changes with every accepted activate, restart, reschedule, suspend and
 * cancel. Compare it with tick->generation under a mutex of your own.
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_generation(chime_timer_t timer, uint64_t *CHIME_NULLABLE generation);

/**
 * @return CHIME_OK: that generation is the current one; CHIME_IGNORED: it is not; CHIME_ERROR_INVALID_HANDLE
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_check_generation(chime_timer_t timer, uint64_t generation);

/**
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: state is NULL
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_state(chime_timer_t timer, chime_state *CHIME_NULLABLE state);

/**
 * When the next tick is due.
 * @param deadline_ns  receives the deadline on the queue's clock; CHIME_FOREVER: the timer is not running
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_next_deadline(chime_timer_t timer, int64_t *CHIME_NULLABLE deadline_ns);

/** All that is known of a timer, taken at one instant. */
typedef struct chime_timer_info {
  uint32_t size;
  chime_state state;
  chime_queue_t queue;
  uint64_t generation;
  uint64_t sequence;        /* ticks delivered in this activation */
  int64_t next_deadline_ns; /* CHIME_FOREVER: not running */
  int64_t remaining_ns;     /* suspended under CHIME_RESUME_REMAINING: the time kept; otherwise -1 */
  int64_t interval_ns;      /* 0: one-shot, or no schedule yet */
  int64_t leeway_ns;        /* exact below 67 ms, for whole us to a minute, ms to 18 h, s to 2 years; else 1 part
                               in 33 million less at most */
  uint64_t tick_limit;      /* 0: none */
  uint64_t due_count;       /* due times counted against the limit, delivered and missed; 0 without a limit */
  int32_t busy;             /* 1: a handler that has started has not returned */
  int32_t has_schedule;     /* 1: activate with NULL has something to keep */
  /* from version 0.1.1 on: */
  uint64_t missed;          /* due times of this activation that got no tick of their own */
} chime_timer_info;

#define CHIME_TIMER_INFO_INIT {(uint32_t)sizeof(chime_timer_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/**
 * Fills in the info.
 * @param info  its size set by the caller; a shorter known size receives the members it has
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_timer_get_info(chime_timer_t timer, chime_timer_info *CHIME_NULLABLE info);

/**
 * Says in one sentence why the timer does not fire: never activated, suspended for so long, due in so long, its handler
 * has not returned, its main queue is not drained, its host-driven queue was last processed so long ago, its run loop is
 * in another mode, its target has gone. For people: its wording may change.
 *
 * @param text    receives up to capacity - 1 bytes and a terminating 0; NULL with capacity 0 asks for the length
 * @param length  receives the length of the whole text without its 0; may be NULL
 * @return CHIME_OK, also when the text was cut; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, handlers included; looks at every timer of the queue. Calls back: no. Waits: no.
 */
chime_status chime_timer_explain(chime_timer_t timer, char *CHIME_NULLABLE text, uint64_t capacity,
                                 uint64_t *CHIME_NULLABLE length);

/**
 * Has one more handler called at each tick: after the timer's own and those added before, with the same tick but its
 * own context. All handlers of a tick run, whatever one of them does to the timer.
 *
 * @param timer      in any state
 * @param key        UTF-8, copied, compared byte by byte; a handler that has the key already is removed, and this one
 *                   takes its place
 * @param handler    not NULL; not called for ticks that started before, nor for CHIME_TICK_ARMED and _CANCELLED
 * @param context    may be NULL
 * @param finalizer  called with context once, when the handler was removed or the timer released, after its last call;
 *                   may be NULL
 * @return CHIME_OK; CHIME_RUNNING: a call of the one that had the key has not returned. In both cases the context is
 *         Chime's; in all others it stays the caller's: CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: on a queue that gives records; CHIME_ERROR_NO_MEMORY
 *
 * Any thread, the handler included. Calls back: yes: the finalizer of the one that had the key. Waits: no.
 */
chime_status chime_timer_add_handler(chime_timer_t timer, const char *CHIME_NULLABLE key,
                                     chime_handler CHIME_NULLABLE handler, void *CHIME_NULLABLE context,
                                     chime_finalizer CHIME_NULLABLE finalizer);

/**
 * Removes the handler that was added under that key. After this has returned no call of it starts, not even in a tick
 * that is under way.
 *
 * @param key  not NULL
 * @return CHIME_OK; CHIME_RUNNING: a call of it has not returned; CHIME_IGNORED: there is none;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, the handler included. Calls back: yes: the finalizer, unless a tick runs: then it is called when that has
 * ended. Waits: no.
 */
chime_status chime_timer_remove_handler(chime_timer_t timer, const char *CHIME_NULLABLE key);

/* ---- Targets -------------------------------------------------------------------------------------------------- */

/*
 * A target is an object of yours that timers name in their options and hold weakly. A handler finds it alive in
 * tick->target, for the length of that call. When the last reference to the target is released, its timers are
 * cancelled at once (those that nobody holds, released), also while one of their handlers runs, and cannot be
 * activated any more; the destructor is called when no such handler is left.
 */

/**
 * Makes a target with one reference, the caller's.
 *
 * @param object      not NULL; Chime passes it on and never looks behind it
 * @param destructor  called with object once, when no reference and no handler that has it is left; may be NULL
 * @param target      receives the id
 * @return CHIME_OK: the object is Chime's; CHIME_ERROR_INVALID_ARGUMENT: object or target is NULL;
 *         CHIME_ERROR_LIMIT: 2^26 targets exist
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_target_create(void *CHIME_NULLABLE object, chime_finalizer CHIME_NULLABLE destructor,
                                 chime_target_t *CHIME_NULLABLE target);

/**
 * Adds a reference, and with it gives the object: it lives until that reference is released.
 *
 * @param object  receives the object; may be NULL
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE: the last reference is gone, there is no way back; CHIME_ERROR_LIMIT
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_target_retain(chime_target_t target, void *CHIME_NULLABLE *CHIME_NULLABLE object);

/**
 * Releases a reference. With the last one the id is stale and the target's timers are cancelled when this returns; the
 * destructor has been called, or is called by the handler that still has the object, after it returned.
 *
 * @param target  0 does nothing
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, handlers of the target's timers included. Calls back: yes: the destructor; and on virtual and host-driven
 * queues what timers that nobody holds have to call last (also in a chime_timer_start that this call overtakes).
 * Waits: no.
 */
chime_status chime_target_release(chime_target_t target);

/* ---- Values that expire --------------------------------------------------------------------------------------- */

/*
 * A value of yours that vanishes after an interval: a session, a cached answer, a token. From the moment its time is
 * over on the queue's clock nobody can acquire it, however late the queue is; the handler of the expiry, then the
 * value's finalizer, are called on the queue after that. Who has acquired the value keeps it until it is yielded. When
 * the queue ends the value vanishes too, without a call of the handler.
 */

/**
 * Makes a value that vanishes lifetime_ns from now.
 *
 * @param queue        not one that gives records
 * @param value        not NULL; Chime passes it on and never looks behind it
 * @param finalizer    called with value once, when it has vanished or been released and nobody has it; may be NULL
 * @param lifetime_ns  0 or more; CHIME_FOREVER: until it is reset or released
 * @param expiring     receives the id
 * @return CHIME_OK: the value is Chime's; CHIME_ERROR_INVALID_HANDLE: the queue; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: the queue gives records; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_expiring_create(chime_queue_t queue, void *CHIME_NULLABLE value,
                                   chime_finalizer CHIME_NULLABLE finalizer, int64_t lifetime_ns,
                                   chime_expiring_t *CHIME_NULLABLE expiring);

/**
 * Has a handler called once, on the queue, when the value has vanished because its time was over; not when it was
 * released, or the queue ended. The handler gets a tick of kind CHIME_TICK_DUE with the value as its target, alive for
 * the length of the call, and 0 as its timer.
 *
 * @param handler    replaces the one before; NULL: none any more
 * @param context    for the handler; may be NULL
 * @param finalizer  called with context once, after the handler's call or when there will be none; may be NULL, and
 *                   must be without a handler
 * @return CHIME_OK: the context is Chime's; CHIME_IGNORED: the value has vanished; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread. Calls back: yes: the finalizer of the one before. Waits: no.
 */
chime_status chime_expiring_on_expiry(chime_expiring_t expiring, chime_handler CHIME_NULLABLE handler,
                                      void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer);

/**
 * Gives the value and keeps it from being finalized, beyond its time and its release, until chime_expiring_yield. May
 * be called several times; each wants its yield.
 *
 * @param value  receives the value; NULL when it has vanished
 * @return CHIME_OK; CHIME_IGNORED: it has vanished, there is nothing to yield; CHIME_ERROR_INVALID_HANDLE: never was one
 *         or was released; CHIME_ERROR_INVALID_ARGUMENT: value is NULL
 *
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_expiring_acquire(chime_expiring_t expiring, void *CHIME_NULLABLE *CHIME_NULLABLE value);

/**
 * Undoes one chime_expiring_acquire; also after the value was released.
 * @return CHIME_OK; CHIME_IGNORED: nobody has acquired the value; CHIME_ERROR_INVALID_HANDLE
 * Any thread. Calls back: yes: the finalizer, when the value has vanished or was released. Waits: no.
 */
chime_status chime_expiring_yield(chime_expiring_t expiring);

/**
 * Begins the value's time anew: it vanishes lifetime_ns from now.
 * @param lifetime_ns  0 or more; may be earlier than before
 * @return CHIME_OK; CHIME_IGNORED: it has vanished and does not come back; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 * Any thread. Calls back: no. Waits: no.
 */
chime_status chime_expiring_reset(chime_expiring_t expiring, int64_t lifetime_ns);

/**
 * Ends it: no call of the expiry's handler starts any more, and the value and the handler's context are finalized, here,
 * or by who has acquired the value or runs the handler, after that.
 * @param expiring  0 does nothing; stale afterwards, but for chime_expiring_yield
 * @return CHIME_OK; CHIME_RUNNING: the same, and the handler that had started has not returned; CHIME_ERROR_INVALID_HANDLE
 * Any thread, the expiry's handler included. Calls back: yes: the finalizers. Waits: no.
 */
chime_status chime_expiring_release(chime_expiring_t expiring);

#if defined(__cplusplus) && !defined(CHIME_CDEF)
}
#endif

#if defined(__clang__) && !defined(CHIME_CDEF)
#pragma clang diagnostic pop
#endif

#endif /* CHIME_H */
