/*
 * chime.h - Chime, an embeddable timer runtime.
 *
 * Purpose. A timer calls a function once, or again and again, on a queue. Its functions may be called in any order: a
 * call that makes no sense in the timer's state is ignored and says so; a call with an id that no longer exists is an
 * error and changes nothing. Timers do not fire early, do not drift, do not fire once they have been stopped, and free
 * what they hold exactly once.
 *
 * Threads. Every function may be called from any thread, from inside a handler too, unless its comment says
 * otherwise. No lock is held while your code runs. Each comment ends with two facts:
 *
 *   - Calls back: whether your functions may run inside this call
 *   - Waits: no, for a handler, or for time
 *
 * Calls that change one timer follow each other, even where a comment says "Waits: no", for a few hundred instructions;
 * its tick may be a millisecond late. A thread that loses its processor inside a call holds up no other timer, no tick
 * and no query, but in these cases. Others wait with it: in a call that makes or ends a queue, a target, a value or a run
 * loop, or that waits, for the same of another thread; with a trace, in whatever is traced. The queue's ticks wait for
 * chime_queue_sync; for what wakes a dispatch queue, or a precise one outside Linux; on a virtual queue, for who changes a
 * timer or reads its schedule; on a host-driven one, for who is inside it; where a timer with a target ends, for who gives
 * that target another timer or ends it; on a run loop, for who makes a queue there or calls chime_run_loop.h on it. Limits.md
 * has more.
 *
 * A callback is any function of yours that Chime calls, hooks of a queue included. It must return: leaving it by longjmp
 * or a C++ exception is undefined. It may end its thread, except on Windows: see "Callbacks that end their threads".
 * Every function leaves errno as it was.
 *
 * No function is a cancellation point, not even one that waits; callbacks keep the cancellation points that they have.
 * As in most of libc, a thread whose cancellation type is asynchronous must not be cancelled inside a function of
 * Chime: what it had begun would stay half done.
 *
 * Queries (chime_timer_state, _get_info, _next_deadline, _remaining, _generation, _check_generation, _explain;
 * chime_queue_get_stats, _dump, _list, _list_timers, _next_deadline, _poll_timeout, _now) change nothing: they wake no queue,
 * delay no tick, and return in bounded time whatever other threads do, even at real-time priority. So do chime_now and the
 * functions that return a number or text, except that chime_last_error_detail may need memory once for each thread.
 *
 * Only chime_main_stop and chime_queue_stop are async-signal-safe.
 *
 * Time. Durations and deadlines are signed 64-bit nanoseconds. A delay or duration is a distance from now; a deadline
 * is a point on the queue's clock, by default CLOCK_MONOTONIC, on the scale of chime_now, chime_queue_now and
 * clock_gettime. Delays and timeouts are 0 or more. INT64_MAX (CHIME_FOREVER) means "never" as a deadline or delay and
 * "without limit" as a timeout; no other deadline is never. A deadline in the past is due at once. Sums saturate.
 *
 * Ticks that are due together start in the order of their deadlines (INT64_MIN counts as INT64_MIN + 1); at equal
 * deadlines in the order in which their timers were last activated, restarted or rescheduled: on a virtual queue by any
 * threads, elsewhere by one thread. Ticks that an earlier pass found due and left, because of a limit or a suspension,
 * come first. (A concurrent queue hands ticks to its threads in this order.)
 *
 * When the clock is set. Only queues on CHIME_CLOCK_WALL notice, all kinds of them alike.
 *   - Delays, intervals, lifetimes, leeway and timeouts are distances: they run on CLOCK_MONOTONIC, and are only reported
 *     as times of day. What is left when a timer with CHIME_RESUME_REMAINING is suspended is a distance, too, even to a
 *     deadline: after the resume the timer no longer follows the clock.
 *   - Deadlines (CHIME_SCHEDULE_DEADLINE, _until) are times of day. A one-shot comes when the clock shows its time: at
 *     once if the clock was set beyond it, later if it was set back.
 *   - A grid that begins with a deadline follows the clock, too. Set forward, it gives one tick that says how many
 *     times were missed. Set back by less than the interval, it gives no time twice; by the interval or more, it goes
 *     on with its next time after the clock's. Before its first tick it waits for its first deadline. With
 *     CHIME_MISSED_DELAY only the first tick has a time of day.
 *   - After a postponement by a delay, the timer and its grid no longer follow the clock; after one to a deadline they
 *     do, from that deadline on. One that is not later, by the clock as it is, has no effect, even if the clock is set
 *     afterwards.
 *   - A timer that follows the clock reports scheduled_ns and its next deadline as those times of day; any other, and
 *     actual_ns, as what the clock shows then, by the queue's last look at it.
 *
 * Ownership. Ids are numbers below 2^53. An id is yours until you release it; 0 is no id, and releasing 0 does nothing.
 * A queue's end ends its timers, so a program may release them before or after it. Strings are copied. A context
 * belongs to Chime only once the call has returned CHIME_OK; Chime then calls its finalizer exactly once, after the
 * last callback that could use it, but not if the process ends first, nor in a forked child.
 *
 * The end of the process. Timers tick, and every function works, while functions of atexit and destructors run: shut
 * down queues that must not tick during exit. The library stays mapped after dlclose, so timers that are armed tick on.
 *
 * Structures begin with `size`, which the caller sets to sizeof the structure (with a CHIME_*_INIT macro, or after
 * calloc). Zero in any other member is its default. Structures from other versions are accepted: a shorter (older)
 * one is read and filled as far as it goes; in a longer (newer) one, of 4,096 bytes at most, the extra bytes must be zero.
 *
 * Threads of Chime's own are named, detached, and have stacks as large as a main thread usually has. They block all
 * signals except those that a fault raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), so your handlers see
 * faults. A program that a callback starts inherits that mask, unless you give it one (posix_spawnattr_setsigmask).
 * Scheduling, nice value, processors and timer slack are those of the process's main thread when the library was
 * loaded; only a precise queue can ask for real-time priority. Where the system refuses one, such as a better nice
 * value, the value of the thread that made the queue stays.
 *
 * Descriptors that Chime has opened are its own. A program that closes all of them by number, as daemons do, does so
 * before its first queue or in a forked child: there chime_reinitialize closes Chime's, and no others that have taken
 * their numbers since.
 *
 * Fork. In a child of a process that has created anything here, every function with a status returns
 * CHIME_ERROR_FORKED, or CHIME_ERROR_INVALID_ARGUMENT, until chime_reinitialize. To release 0 does nothing there either. On
 * Linux 4.14 and later a child is noticed however it was made: by fork, _Fork, or a clone that copies the memory; before
 * that, by fork alone.
 *
 * Stability. Version 1.0 freezes what this file declares, except figures, costs, limits and roundings, here and in the
 * guides, which describe this version. Limits.md (beside the other guides of a release; in a clone
 * Sources/Chime/Chime.docc) has the figures. It says what else stays free, such as, on some systems, that a callback
 * may end its thread, and which of two ways to write.
 *
 * What is not in chime.h or chime_run_loop.h is not API.
 */
#ifndef CHIME_H
#define CHIME_H

#ifndef CHIME_CDEF /* cc -E -P -DCHIME_CDEF prints declarations for cffi and LuaJIT's ffi.cdef */
#include <stddef.h>
#include <stdint.h>
#if UINTPTR_MAX != UINT64_MAX
#error "Chime is for processors with pointers of 64 bits: elsewhere its structures would have another layout"
#endif
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

/* On Windows: where a program defines CHIME_DLL its calls go to the DLL itself, and not to a jump in the import library. */
#if defined(_WIN32) && defined(CHIME_DLL) && !defined(CHIME_CDEF)
#define CHIME_API __declspec(dllimport)
#else
#define CHIME_API
#endif

#if defined(__cplusplus) && !defined(CHIME_CDEF)
extern "C" {
#endif

/* ---- Version -------------------------------------------------------------------------------------------------- */

/*
 * The rule for versions. A program runs with every later library of its series: the same major version and, before 1.0,
 * the same minor version.
 *
 *                 before 1.0   from 1.0
 *     fixes       0.9.z        1.y.z     defects; here only comments change
 *     additions   0.9.z        1.y.0     functions, enumerators, macros,
 *                                        members at a structure's end, a
 *                                        meaning for a member `reserved`
 *     anything    0.y.0        x.0.0     removals; changes of name, type,
 *                                        number, position or meaning
 *
 * A structure passed with its `size` may be larger or smaller than the library's, as described above. A chime_tick
 * comes from the library: read only the members that this header declares, through the pointer given.
 *
 * Every function carries the symbol version, CHIME_x.y or CHIME_x.y.z, that it was added in. A function whose meaning
 * changes gets a new one, and the old one may stay beside it. A program that uses a function the library lacks therefore
 * does not start: the dynamic linker names the version that an older library lacks, or the function that a later series
 * has dropped (where the program binds lazily, at the first call).
 *
 * Versions before 1.0 are libchime.so.0. 1.0 is libchime.so.1, with symbol versions from CHIME_1.0 on; both may be installed,
 * and both used in one process. From 1.0 on that number changes only where symbol versions were not enough.
 *
 * The dynamic linker checks neither structures and enumerators nor programs that look functions up by name, as other
 * languages do: those compare chime_version with the version they were written for.
 */
#define CHIME_VERSION_MAJOR 0
#define CHIME_VERSION_MINOR 9
#define CHIME_VERSION_PATCH 0
#define CHIME_VERSION ((CHIME_VERSION_MAJOR << 16) | (CHIME_VERSION_MINOR << 8) | CHIME_VERSION_PATCH)

/* The first version after this header's series, packed like CHIME_VERSION. */
#define CHIME_VERSION_NEXT_SERIES \
  (CHIME_VERSION_MAJOR > 0 ? (CHIME_VERSION_MAJOR + 1) << 16 : (CHIME_VERSION_MINOR + 1) << 8)

/**
 * The version of the library that is loaded, packed like CHIME_VERSION.
 *
 * A program that is linked with the library need not ask: it does not start with one that lacks what it uses. One that looks
 * functions up by name, as other languages do, asks by CHIME_VERSION_MATCHES before it calls anything else.
 *
 * Calls back: no. Waits: no.
 */
CHIME_API uint32_t chime_version(void);

/*
 * 1: the loaded library has everything this header declares, with the same meaning; 0: it is older than the header, or
 * of another series.
 */
#define CHIME_VERSION_MATCHES() \
  (chime_version() >= CHIME_VERSION + 0u && chime_version() < CHIME_VERSION_NEXT_SERIES + 0u)

/* ---- Statuses ------------------------------------------------------------------------------------------------- */

/**
 * What every function returns, except chime_version, chime_memory_used and those that return a name or a message.
 *
 * Negative is failure: test for it with CHIME_FAILED. After a failure out-parameters are untouched and nothing has changed,
 * except where the function's comment says what took effect anyway (a wait that ended without what it was for, an advance
 * that was cut short).
 *
 * What is not negative is a set of bits, none of which a failure has: test for one with `&`, not with `==`. That something was
 * done says `status >= 0 && !(status & CHIME_IGNORED)`.
 *
 *     status & CHIME_RUNNING   what the handlers use may not be freed yet
 *     status & CHIME_IGNORED   nothing to stop: the last tick has started
 */
typedef int32_t chime_status;
enum {
  CHIME_OK = 0,        /* the call took effect */
  CHIME_IGNORED = 1,   /* the call means nothing in this state and changed nothing; not an error */
  CHIME_RUNNING = 2,   /* a handler of this timer that had started, be it its registration or cancel handler, has not
                          returned yet, as is always so inside that handler. Together with CHIME_IGNORED where the call
                          changed nothing: 3 */
  CHIME_STOPPED = 4,   /* of a run: a stop was requested */
  CHIME_TIMED_OUT = 8, /* of a run: its time is over */

  CHIME_ERROR_INVALID_ARGUMENT = -16, /* an argument is NULL, out of range, contradicts another, or is a structure
                                         whose `size` is not set */
  CHIME_ERROR_INVALID_HANDLE = -32,   /* not an id, an id of another kind, or a released one */
  CHIME_ERROR_LIMIT = -48,            /* a configured or built-in limit is reached */
  CHIME_ERROR_NO_MEMORY = -64,        /* out of memory */
  CHIME_ERROR_WOULD_DEADLOCK = -80,   /* waiting would never end: what it waits for waits for the caller */
  CHIME_ERROR_BUSY = -96,             /* another thread is inside this queue */
  CHIME_ERROR_WRONG_THREAD = -112,    /* only one particular thread may do this, not the caller's */
  CHIME_ERROR_TARGET_GONE = -128,     /* the timer's target no longer exists */
  CHIME_ERROR_SHUT_DOWN = -144,       /* the queue was shut down during the call */
  CHIME_ERROR_UNSUPPORTED = -160,     /* not possible with this kind of queue, clock or platform */
  CHIME_ERROR_PERMISSION = -176,      /* the operating system denies it */
  CHIME_ERROR_RESOURCE = -192,        /* no threads, file descriptors or the like are left */
  CHIME_ERROR_FORKED = -208,          /* this is a forked child: see chime_reinitialize */
  CHIME_ERROR_TIMED_OUT = -224        /* the handler or function that the call waited for had not returned when its
                                         timeout ended; what else the call does is in effect */
};

#define CHIME_FAILED(status) ((status) < 0)

/**
 * The constant's name, such as "CHIME_ERROR_BUSY"; "CHIME_UNKNOWN" for a number that is not a status. Static: never
 * freed.
 * Calls back: no. Waits: no.
 */
CHIME_API const char *CHIME_NONNULL chime_status_name(chime_status status);

/**
 * One English sentence on what the status means, the same for every call. What was wrong with one call, its argument and its
 * value, says chime_last_error_detail. Static: never freed.
 * Calls back: no. Waits: no.
 */
CHIME_API const char *CHIME_NONNULL chime_status_message(chime_status status);

/**
 * One English sentence on why the calling thread's last failed call failed. It names the argument as this file does,
 * with values in readable units where they matter, and the timer, queue or thread that is in the way:
 * "schedule.leeway_ns (5 ms) is not below interval_ns (1 ms)", "timer (1125899906842881) was released", "this thread is
 * inside the handler of timer (1125899906842881)"; for RESOURCE it gives the system's error. For people: the wording may
 * change.
 *
 * Look at it only after a call that has failed. Each failure replaces the sentence on the one before, if only by none
 * (CHIME_ERROR_NO_MEMORY); so do chime_queue_stop and chime_main_stop in a signal handler.
 *
 * @return empty if no call has failed, or the last one that did has no sentence; chime_status_message of its status, if there
 *         is no memory for the sentence. Not to be freed; valid until the thread calls this function again, or ends
 *
 * Any thread; each has its own. Calls back: no. Waits: no.
 */
CHIME_API const char *CHIME_NONNULL chime_last_error_detail(void);

/* ---- Ids ------------------------------------------------------------------------------------------------------ */

typedef uint64_t chime_queue_t;    /* a timer queue: where and when handlers run, and on which clock */
typedef uint64_t chime_timer_t;    /* a schedule, a handler and a state */
typedef uint64_t chime_target_t;   /* an object that timers hold weakly */
typedef uint64_t chime_expiring_t; /* a value that vanishes after an interval */

/* ---- Time ----------------------------------------------------------------------------------------------------- */

/*
 * Durations, delays and deadlines are in nanoseconds, and written as a multiple of one of these: 100 * CHIME_MILLISECOND. All
 * are 64 bits wide, so a product with them is, too.
 *
 * CHIME_FOREVER is "never" as a deadline or delay, and "without limit" as a timeout.
 */
#define CHIME_NANOSECOND INT64_C(1)
#define CHIME_MICROSECOND INT64_C(1000)
#define CHIME_MILLISECOND INT64_C(1000000)
#define CHIME_SECOND INT64_C(1000000000)
#define CHIME_MINUTE INT64_C(60000000000)
#define CHIME_HOUR INT64_C(3600000000000)
#define CHIME_FOREVER INT64_MAX

typedef uint32_t chime_clock;
enum {
  CHIME_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC: steady, stops while the system sleeps */
  CHIME_CLOCK_BOOTTIME = 1,  /* CLOCK_BOOTTIME: steady, goes on while the system sleeps */
  CHIME_CLOCK_WALL = 2       /* CLOCK_REALTIME: time of day, can be stepped */
};

/**
 * Reads a clock of the system. A deadline of a queue on that clock may be made from it, or compared with it. A virtual queue
 * has a time of its own: chime_queue_now.
 *
 * @param clock   CHIME_CLOCK_MONOTONIC, _BOOTTIME or _WALL
 * @param now_ns  receives nanoseconds since the clock's zero, as clock_gettime counts them
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: now_ns is NULL, or clock is not a clock
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_now(chime_clock clock, int64_t *CHIME_NULLABLE now_ns);

/**
 * Puts the calling thread to sleep until a point on a clock of the system, for callers who need no timer. Signals do
 * not end the sleep, and steps of the wall clock are followed. The thread's timer slack may prolong it: 50 us unless
 * set otherwise (prctl, PR_SET_TIMERSLACK), none for threads with real-time priority.
 *
 * @param clock        CHIME_CLOCK_MONOTONIC, _BOOTTIME or _WALL
 * @param deadline_ns  one in the past returns at once
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: clock is not a clock
 *
 * Calls back: no. Waits: for time.
 */
CHIME_API chime_status chime_sleep_until(chime_clock clock, int64_t deadline_ns);

/* ---- Callbacks ------------------------------------------------------------------------------------------------ */

typedef uint32_t chime_tick_kind;
enum {
  CHIME_TICK_DUE = 0,       /* the schedule's deadline was reached */
  CHIME_TICK_FIRED = 1,     /* an extra tick, requested by chime_timer_fire */
  CHIME_TICK_ARMED = 2,     /* to the registration handler: the timer was activated, and has not been cancelled since */
  CHIME_TICK_CANCELLED = 3, /* to the cancel handler: the timer was cancelled, or released while running or suspended */
  CHIME_TICK_FINALIZE = 4,  /* records only: the timer is gone; the last record with its context */
  CHIME_TICK_FUNCTION = 5,  /* records only: chime_queue_async's context; timer is 0 */

  /* Reported to chime_set_trace only, besides the kinds above: a call took effect */
  CHIME_TRACE_CREATED = 16,
  CHIME_TRACE_ACTIVATED = 17,
  CHIME_TRACE_RESTARTED = 18,
  CHIME_TRACE_SUSPENDED = 19,
  CHIME_TRACE_RESUMED = 20,
  CHIME_TRACE_RESCHEDULED = 21, /* by chime_timer_set_interval and _set_background, too */
  CHIME_TRACE_POSTPONED = 22,
  CHIME_TRACE_FIRED = 23,     /* by chime_timer_fire: an extra tick was requested */
  CHIME_TRACE_FINISHED = 24,  /* the last tick is about to be called */
  CHIME_TRACE_CANCELLED = 25, /* by chime_timer_cancel, or because its target is gone */
  CHIME_TRACE_RELEASED = 26,  /* by chime_timer_release, by the timer itself, or with its queue */
  CHIME_TRACE_RETURNED = 27   /* a callback of the timer has returned */
};

/**
 * The constant's name, such as "CHIME_TICK_DUE"; "CHIME_UNKNOWN" for a number that is not a kind. Static: never freed.
 * Calls back: no. Waits: no.
 */
CHIME_API const char *CHIME_NONNULL chime_tick_kind_name(chime_tick_kind kind);

/** One delivery. Valid until the handler returns. */
typedef struct chime_tick {
  chime_timer_t timer;  /* the timer; it may be released inside its own handler */
  uint64_t generation;  /* changes with every accepted activate, restart, reschedule, suspend and cancel */
  uint64_t sequence;    /* counts the DUE and FIRED ticks of this activation from 1; 0 for ARMED and CANCELLED */
  uint64_t missed;      /* how many due times since the previous tick were skipped */
  int64_t scheduled_ns; /* when it was due, on the queue's clock: the latest due time that it stands for */
  int64_t actual_ns;    /* when it started, on the queue's clock; never before scheduled_ns */
  void *CHIME_NULLABLE context; /* the timer's own; in an added handler that handler's */
  void *CHIME_NULLABLE target;  /* the timer's target, alive until the handler returns; NULL: the timer has none or,
                                   with CANCELLED only, it is gone */
  chime_tick_kind kind;
  uint32_t reserved; /* 0 */
} chime_tick;

/** A timer's handler. Runs on the timer's queue. Calls for one timer never overlap and never nest. */
typedef void (*chime_handler)(const chime_tick *CHIME_NONNULL tick, void *CHIME_NULLABLE context);
/**
 * Frees a context or a target's object. Called exactly once, after the last callback that could use it, with no lock
 * held. On which thread:
 *   - The context of a timer, or of chime_queue_async: where its callbacks run. On a virtual or host-driven queue also
 *     inside the call that releases the timer, the target or the queue; see "Host-driven queues".
 *   - The context of an added handler, a target's object, a value that expires and its handler's context: inside the
 *     call that removes, replaces or releases it. If a callback is using it then, or it is acquired, when that
 *     ends. A value whose time is over: on its queue.
 */
typedef void (*chime_finalizer)(void *CHIME_NULLABLE context);
/** Any other function to run on a queue: what chime_queue_sync and chime_queue_async are given, and a queue's hooks. */
typedef void (*chime_function)(void *CHIME_NULLABLE context);

/* ---- Options -------------------------------------------------------------------------------------------------- */

typedef uint32_t chime_queue_kind;
enum {
  CHIME_QUEUE_SERIAL = 0,     /* on threads of Chime's own: one handler at a time */
  CHIME_QUEUE_CONCURRENT = 1, /* the same: handlers of different timers may overlap */
  CHIME_QUEUE_HOST = 2,       /* driven by the host's own loop: see "Host-driven queues" */
  CHIME_QUEUE_PRECISE = 3,    /* a thread of its own, which waits for absolute times with 1 ns of timer slack */
  CHIME_QUEUE_VIRTUAL = 4,    /* time moves when chime_queue_advance or _jump is called */
  CHIME_QUEUE_DISPATCH = 5    /* a serial dispatch queue of its own, where the library has libdispatch */
};

typedef uint32_t chime_qos;
enum {
  CHIME_QOS_DEFAULT = 0,
  CHIME_QOS_BACKGROUND = 1,
  CHIME_QOS_UTILITY = 2,
  CHIME_QOS_USER_INITIATED = 3,
  CHIME_QOS_USER_INTERACTIVE = 4
};

/* chime_queue_options.flags */
enum {
  CHIME_QUEUE_FLAG_HONOUR_LEEWAY =
      0x100,                       /* virtual queues: ticks use their leeway, as those of other queues always do */
  CHIME_QUEUE_FLAG_BOUND = 0x200,  /* host-driven queues: only the thread that created the queue may drive it */
  CHIME_QUEUE_FLAG_RECORDS = 0x400 /* host-driven queues: no callbacks; chime_queue_take_ticks gives records */
};

typedef struct chime_queue_options {
  uint32_t size;
  uint32_t flags;                   /* CHIME_QUEUE_FLAG_HONOUR_LEEWAY, _BOUND, _RECORDS */
  const char *CHIME_NULLABLE label; /* UTF-8, copied; for debuggers and chime_queue_dump */
  chime_qos qos;                    /* serial and concurrent queues: whose turn comes first. A lower class waits
                                       longer, but never for ever; the threads all run at one nice value. Dispatch
                                       queues: the class of the dispatch queue */
  chime_clock clock;                /* MONOTONIC, WALL or, except on libdispatch, BOOTTIME. A virtual queue, whose time
                                       is its own, accepts MONOTONIC (0) alone */
  uint64_t timer_limit;             /* the most that chime_queue_stats.timers may be, values that expire included; 0:
                                          as many as memory and ids allow */
  int64_t start_ns;                 /* virtual queues: the time at which they begin, 0 or later */
  chime_function CHIME_NULLABLE enter; /* called before, and */
  chime_function CHIME_NULLABLE leave; /* after callbacks run, finalizers included: to attach a thread that the host did
                                          not create to a language's runtime, say, or, the first time, to choose its
                                          processors. On main queues and run loops, too. Not
                                          with host-driven and virtual queues, whose handlers run in calls of the
                                          host's, nor around what chime_queue_sync or chime_queue_shutdown runs on
                                          its caller's thread */
  void *CHIME_NULLABLE hook_context;   /* for enter and leave */
  chime_finalizer CHIME_NULLABLE
      hook_finalizer;        /* frees it: the queue's last callback, after the last `leave`; goes with
                                          one of the two. Not called if the queue was not created */
  int32_t realtime_priority; /* precise queues: 1 to 99, the thread's priority under SCHED_FIFO; 0: none. On
                                          Apple's systems each of them is the real-time class */
  uint32_t reserved;         /* 0 */
  uint64_t seed; /* virtual queues: where the random parts of due times begin (chime_schedule.jitter_ns). The same
                    calls on a queue with the same seed get the same ones. Other queues begin each with a number of
                    their own, and have no seed */
} chime_queue_options;

typedef uint32_t chime_missed_policy;
enum {
  CHIME_MISSED_COALESCE = 0, /* one tick that says how many were missed; the grid stands */
  CHIME_MISSED_DELAY = 1     /* the interval counts from the end of the handler, unless the timer was suspended,
                                restarted or rescheduled meanwhile: spacing, not a grid */
};

typedef uint32_t chime_resume_policy;
enum {
  CHIME_RESUME_COALESCE = 0, /* the grid stands; missed ticks come as one tick at once */
  CHIME_RESUME_REMAINING = 1 /* the time that was left is kept, and the grid moves; missed ticks stay counted, unless
                                it is postponed */
};

/* chime_schedule.flags */
enum {
  CHIME_SCHEDULE_DEADLINE = 0x10000 /* first_ns is a deadline on the queue's clock, not a delay */
};

typedef struct chime_schedule {
  uint32_t size;
  uint32_t flags;                    /* CHIME_SCHEDULE_DEADLINE */
  int64_t first_ns;                  /* delay (0 or more) or deadline of the first tick */
  int64_t interval_ns;               /* between later ticks; 0: one-shot */
  int64_t leeway_ns;                 /* how late a tick may be in order to share a wake-up; below the interval.
                                        It then comes at an instant within that window that other timers choose,
                                        too, which may be late in it; or earlier, if something else wakes the
                                        queue within the window */
  uint64_t tick_limit;               /* the timer finishes after this many due times, missed ones included; 0: never */
  chime_missed_policy missed_policy; /* of a repeating timer */
  chime_resume_policy resume_policy; /* REMAINING excludes CHIME_SCHEDULE_DEADLINE */
  int64_t jitter_ns; /* of a repeating timer, at most the interval: each tick is due at its time of the grid plus a
                        random part, uniform in 0 to jitter_ns, so that what many programs do at one interval does
                        not come at one moment. It changes neither grid, sequence, limit nor
                        missed count; scheduled_ns and the next deadline have the random part in them. A time of
                        the grid is missed once its random part has passed, too. (The delay of a one-shot is yours to
                        vary.) */
} chime_schedule;

/* chime_timer_options.flags */
enum {
  CHIME_TIMER_SELF_RELEASE =
      0x100000, /* releases itself once it was activated and is neither running nor suspended, nor
                                       has an extra tick to come: at the end of its last callback or, after a cancel
                                       from elsewhere, in the next pass of its queue */
  CHIME_TIMER_RECORD_ARMED =
      0x200000, /* on a queue that gives records: an ARMED record where a registration handler would
                                       be called, */
  CHIME_TIMER_RECORD_CANCELLED = 0x400000, /* a CANCELLED record where a cancel handler would be called, */
  CHIME_TIMER_RECORD_FINALIZE = 0x800000,  /* a FINALIZE record where a finalizer would be called */
  CHIME_TIMER_BACKGROUND = 0x1000000       /* chime_queue_run does not wait for it, and returns when no other timer
                                              is running, except with CHIME_QUEUE_RUN_UNTIL_STOPPED. It makes no
                                              other difference */
};

typedef struct chime_timer_options {
  uint32_t size;
  uint32_t flags;                                    /* CHIME_TIMER_SELF_RELEASE, _RECORD_*, _BACKGROUND */
  chime_handler CHIME_NULLABLE handler;              /* DUE and FIRED ticks. Required, except on a queue that
                                                        gives records: there all four functions must be NULL */
  chime_handler CHIME_NULLABLE registration_handler; /* ARMED: once per activation, before its first tick; not after
                                                        a cancel or release that came before its call had begun */
  chime_handler CHIME_NULLABLE cancel_handler;       /* CANCELLED: each time the timer becomes cancelled, or is
                                                        released while running or suspended */
  void *CHIME_NULLABLE context;                      /* given to all of them */
  chime_finalizer CHIME_NULLABLE finalizer;          /* frees the context */
  const char *CHIME_NULLABLE label;                  /* UTF-8, copied; for debuggers and chime_queue_dump */
  chime_target_t target;                             /* held weakly: when it goes, the timer is cancelled; 0: none */
} chime_timer_options;

/* clang-format off */
#define CHIME_QUEUE_OPTIONS_INIT \
  {sizeof(chime_queue_options), 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0}
#define CHIME_SCHEDULE_INIT {sizeof(chime_schedule), 0, 0, 0, 0, 0, 0, 0, 0}
#define CHIME_TIMER_OPTIONS_INIT {sizeof(chime_timer_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0}
/* clang-format on */

/* ---- The first functions -------------------------------------------------------------------------------------- */

/*
 * A server with idle timeouts needs these seven, and chime_status_message above: a queue whose descriptor its loop polls,
 * and a timer for each connection, which every sign of life postpones. Everything else is below, by subject.
 */

/**
 * Creates a queue of the given kind.
 *
 * @param kind     CHIME_QUEUE_SERIAL, _CONCURRENT, _HOST, _PRECISE, _VIRTUAL or _DISPATCH
 * @param options  copied; NULL for the defaults
 * @param queue    receives the id; release it with chime_queue_release or chime_queue_shutdown
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: queue is NULL, an unknown kind, flag, qos or clock, a wrong size, a
 *         label that is not UTF-8, a negative start_ns, an option of another kind of queue (except
 *         CHIME_QUEUE_FLAG_HONOUR_LEEWAY, which others do anyway); CHIME_ERROR_UNSUPPORTED:
 *         this kind of queue does not offer the clock; CHIME_QUEUE_DISPATCH, where there is no libdispatch;
 *         CHIME_ERROR_PERMISSION: no real-time priority for this process; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY;
 *         CHIME_ERROR_RESOURCE: no file descriptor, or no thread
 *
 * Serial and concurrent queues share threads that Chime makes as they are needed, and ends when they have been idle for a
 * while. While handlers are short there are about as many as processors. If every processor is running a handler that
 * does not return, Chime starts another thread, up to a limit. So a slow handler delays its own serial queue for as long as it
 * runs, and other queues hardly. If many handlers become due at once and none returns, they start one after another. A
 * concurrent queue, too, has a limit for its handlers that run at once. If the system grants no further thread, ticks wait
 * for those that there are.
 *
 * A library built without libdispatch (make -C Sources DISPATCH=no; all but the one for x86-64) lacks
 * CHIME_QUEUE_DISPATCH and chime_queue_create_on_dispatch, which return CHIME_ERROR_UNSUPPORTED, and nothing else.
 *
 * Calls back: no. Waits: no; for a precise queue until its thread has begun.
 */
CHIME_API chime_status chime_queue_create(chime_queue_kind kind, const chime_queue_options *CHIME_NULLABLE options,
                                          chime_queue_t *CHIME_NULLABLE queue);

/* What a host's loop waits for: a file descriptor; on Windows a HANDLE, as a number. */
#if defined(_WIN32)
typedef intptr_t chime_waitable;
#else
typedef int32_t chime_waitable;
#endif

/**
 * The descriptor to poll: level-triggered, close-on-exec, owned by the queue until it ends. Poll it and do nothing else
 * with it. Remove it from your loop before the queue ends, because its number may then be used again.
 *
 * On Windows a handle that stays signalled until the queue has been processed, for WaitForMultipleObjects or
 * RegisterWaitForSingleObject: `(HANDLE)fd`. It is no socket: select, WSAPoll and libuv's uv_poll do not take it.
 *
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: not a host-driven queue; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_fd(chime_queue_t queue, chime_waitable *CHIME_NULLABLE fd);

/**
 * Runs what is due, on the calling thread. Call it when the queue's descriptor is readable or, in a loop without it, after
 * each wait. It does not wait, and often has nothing to run.
 *
 * @param max    how many ticks and functions to run at most; 0: all that are due when the call begins. If callbacks
 *               remain, the descriptor stays readable. The last callbacks of released timers are not counted
 * @param count  receives how many ran; may be NULL
 * @return CHIME_OK, also if a callback has ended the queue: then its id is stale, and its descriptor closed;
 *         CHIME_ERROR_WRONG_THREAD; CHIME_ERROR_BUSY: another thread is inside the queue, perhaps only to run a finalizer:
 *         poll again; CHIME_ERROR_WOULD_DEADLOCK: inside a callback of the queue; CHIME_ERROR_SHUT_DOWN: another thread has
 *         ended the queue meanwhile; CHIME_ERROR_UNSUPPORTED: not host-driven, or it gives records;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Any thread, or the bound one. Calls back: yes. Waits: no.
 */
CHIME_API chime_status chime_queue_process(chime_queue_t queue, uint32_t max, uint32_t *CHIME_NULLABLE count);

/**
 * Calls the handler once, delay_ns from now. A repeating timer, a deadline, leeway, a label and whatever else a timer can
 * have is for chime_timer_start.
 *
 * @param finalizer  frees the context; may be NULL
 * @param timer      receives the id; NULL: the timer releases itself once its handler has returned
 *                   and it is not running: a handler that restarts its timer keeps it
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT: handler is NULL, and the queue gives no
 *         records; or delay_ns is negative; CHIME_ERROR_UNSUPPORTED: a handler, or a finalizer, on a queue that gives
 *         records; CHIME_ERROR_INVALID_HANDLE: queue; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_after(chime_queue_t queue, int64_t delay_ns, chime_handler CHIME_NULLABLE handler,
                                         void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer,
                                         chime_timer_t *CHIME_NULLABLE timer);

/**
 * Moves the next deadline to now + delay_ns, if that is later: the call for idle timeouts. A repeating timer's grid
 * moves with it, and nothing counts as missed.
 *
 * @return CHIME_OK: no DUE tick starts before now + delay_ns (an extra tick of chime_timer_fire is not postponed);
 *         CHIME_RUNNING: nor does one then, but a handler of the timer that had started has not returned;
 *         CHIME_IGNORED, CHIME_IGNORED | CHIME_RUNNING: the timer is neither running nor suspended, as when the tick of a
 *         one-shot has started ("the timeout won"); CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_postpone(chime_timer_t timer, int64_t delay_ns);

/**
 * Cancels the timer if necessary and makes its id stale at once. Its finalizer is called after its last callback.
 *
 * A program may end in any order: ending a queue ends its timers, and the release of such a timer is CHIME_IGNORED,
 * until its slot is reused; from then on it is CHIME_ERROR_INVALID_HANDLE.
 *
 * @return CHIME_OK; CHIME_RUNNING; CHIME_IGNORED, CHIME_IGNORED | CHIME_RUNNING: the timer ended with its queue;
 *         CHIME_ERROR_INVALID_HANDLE: not a timer's id, or one that was released before its queue ended
 *
 * Calls back: on virtual and host-driven queues. Waits: no.
 */
CHIME_API chime_status chime_timer_release(chime_timer_t timer);

/**
 * Releases the queue and its timers: their ids are stale at once, and no further tick starts. Then waits until no
 * callback of the queue runs or will run.
 *
 * What is called, timer by timer, in no particular order of the timers: the cancel handler, if the timer was running or
 * suspended, then its finalizer; of an idle, finished or cancelled timer the finalizer alone. Functions of
 * chime_queue_async that are still queued are not run; only their finalizers are. All of it runs where the queue's
 * handlers do: on a virtual or host-driven queue inside this call, on others on the queue's thread, which this call
 * waits for. Callbacks that cannot run there any more (its main queue is not drained) run inside this call when the
 * timeout ends.
 *
 * A queue that was released and has not ended may be shut down, too: that waits for its end.
 *
 * @return CHIME_OK: no callback of the queue runs or will run, or queue is 0; CHIME_IGNORED: the queue had ended before;
 *         CHIME_ERROR_TIMED_OUT: it was released, but a handler is still running; CHIME_ERROR_WOULD_DEADLOCK: the caller is
 *         inside a callback of this queue, or of a queue that waits for it: it was released, and the call did not wait;
 *         CHIME_ERROR_INVALID_HANDLE: not a queue's id; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: yes. Waits: for a handler.
 */
CHIME_API chime_status chime_queue_shutdown(chime_queue_t queue, int64_t timeout_ns);

/* ---- Timers --------------------------------------------------------------------------------------------------- */

typedef uint32_t chime_state;
enum {
  CHIME_STATE_IDLE = 0, /* created, never activated */
  CHIME_STATE_RUNNING = 1,
  CHIME_STATE_SUSPENDED = 2,
  CHIME_STATE_FINISHED = 3, /* its last tick has started */
  CHIME_STATE_CANCELLED = 4
};

/*
 * event \ state   idle      running    suspended  finished  cancelled
 * activate        running   ignored    ignored    running   running
 * restart         running   running    running    running   running
 * suspend         ignored   suspended  ignored    ignored   ignored
 * resume          ignored   ignored    running    ignored   ignored
 * reschedule      idle      running    suspended  finished  cancelled
 * postpone        ignored   running    suspended  ignored   ignored
 * fire            +         +          +          +         ignored
 * last tick                 finished
 * cancel          ignored   cancelled  cancelled  ignored   ignored
 *
 * ignored: CHIME_IGNORED, nothing changes.  +: one extra tick, the state stays.  Release is legal in every state.
 *
 * activate, restart, reschedule, set_interval, postpone, suspend, cancel and release have CHIME_RUNNING in their status,
 * whatever else they say, while a handler of the timer that had started has not returned. (One that only waits for a mutex of yours goes
 * by the earlier schedule; its tick's generation is of that, too, except after a postponement.)
 *
 * Cancel and release drop a registration handler that has not begun. Where cancel and suspend are ignored they still drop
 * an extra tick that has not started, and then they are not ignored. So CHIME_IGNORED from them means that there was nothing
 * to stop.
 */

/**
 * Creates an idle timer, which has no schedule yet: chime_timer_activate gives it one and starts it, and
 * chime_timer_start does all of that at once.
 *
 * @param options  copied; handler is required
 * @param timer    receives the id, before anything of the timer can run; release it with chime_timer_release
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT: options, handler or timer is NULL, a wrong
 *         size, an unknown flag, a label that is not UTF-8; CHIME_ERROR_UNSUPPORTED: a handler, or another function,
 *         on a queue that gives records; CHIME_ERROR_INVALID_HANDLE: queue, or options->target;
 *         CHIME_ERROR_TARGET_GONE: the target is gone; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_create(chime_queue_t queue, const chime_timer_options *CHIME_NULLABLE options,
                                          chime_timer_t *CHIME_NULLABLE timer);

/**
 * Creates a timer and activates it, in one step: where it fails there is no timer. chime_timer_after and chime_timer_every
 * are this call with a short form of both structures.
 *
 * @param schedule  copied; required
 * @param timer     NULL: the timer releases itself once its handler has returned and it is not running
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT: options, handler or schedule is NULL, a wrong
 *         size, an unknown flag, a label that is not UTF-8, or the schedule is not valid; CHIME_ERROR_UNSUPPORTED: a
 *         handler, or another function, on a queue that gives records; CHIME_ERROR_INVALID_HANDLE: queue, or
 *         options->target; CHIME_ERROR_TARGET_GONE: the target is gone; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_start(chime_queue_t queue, const chime_timer_options *CHIME_NULLABLE options,
                                         const chime_schedule *CHIME_NULLABLE schedule,
                                         chime_timer_t *CHIME_NULLABLE timer);

/**
 * Calls the handler every interval_ns, for the first time one interval from now. Due times are a grid, which a late tick
 * does not move; a due time that is missed gets no tick of its own, and the next tick says how many there were.
 *
 * @param interval_ns  above 0
 * @param timer        NULL: the timer ends when its handler cancels it, or with the queue
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT: handler is NULL, and the queue gives no
 *         records; or interval_ns is not above 0; CHIME_ERROR_UNSUPPORTED: a handler, or a finalizer, on a queue that
 *         gives records; CHIME_ERROR_INVALID_HANDLE: queue; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_every(chime_queue_t queue, int64_t interval_ns, chime_handler CHIME_NULLABLE handler,
                                         void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer,
                                         chime_timer_t *CHIME_NULLABLE timer);

/**
 * Starts a timer that is at rest. Its sequence and its tick count start again.
 *
 * @param timer     a timer that is idle, finished or cancelled; otherwise CHIME_IGNORED
 * @param schedule  copied; NULL keeps the present one (CHIME_ERROR_INVALID_ARGUMENT if there was never one)
 * @return CHIME_OK; CHIME_RUNNING; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_TARGET_GONE; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_activate(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * Makes the timer run from now on, whatever its state, in one transition: activates a timer at rest, reschedules (and
 * resumes) one that is running or suspended.
 *
 * @param schedule  copied; NULL keeps the present one, if any: its delay counts from now
 * @return CHIME_OK; CHIME_RUNNING; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_TARGET_GONE;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_restart(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * Makes the timer run from now on, whatever its state, with its first tick delay_ns from now: the call by which event
 * loops set a timer again. Does what chime_timer_restart does with the present schedule after first_ns has become
 * delay_ns and CHIME_SCHEDULE_DEADLINE is cleared. All other members stay: after that tick a repeating timer goes on by
 * its interval. A timer that has no schedule yet becomes a one-shot.
 *
 * @param delay_ns  may be earlier or later than before
 * @return CHIME_OK; CHIME_RUNNING; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_TARGET_GONE;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_restart_after(chime_timer_t timer, int64_t delay_ns);

/**
 * As chime_timer_restart_after, with the first tick at a deadline on the queue's clock (CHIME_SCHEDULE_DEADLINE is
 * set). A schedule with CHIME_RESUME_REMAINING has no deadline: CHIME_ERROR_INVALID_ARGUMENT.
 *
 * A call with a delay reads the clock, which is half of what it costs; one with a deadline does not. So a handler that
 * starts a timer again uses chime_timer_restart_until(timer, tick->actual_ns + delay_ns): the delay counts from the start
 * of the tick. Whoever moves many timers reads chime_queue_now once. (On CHIME_CLOCK_WALL a deadline follows the clock
 * when it is set.)
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_restart_until(chime_timer_t timer, int64_t deadline_ns);

/**
 * Changes the interval and nothing else. The next deadline stays, and the grid goes on by the new interval from it, or, with
 * jitter, from its time on the grid, which is at most the new interval before it. First delay, state, sequence, generation,
 * policies, the tick limit and the count against it stay; of leeway and jitter what does not go with the new interval is cut
 * off.
 *
 * @param timer        a timer that repeats, in any state; otherwise CHIME_IGNORED: a one-shot stays one
 * @param interval_ns  above 0. With CHIME_MISSED_DELAY a handler that runs is followed by the new interval already
 * @return CHIME_OK; CHIME_RUNNING; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_set_interval(chime_timer_t timer, int64_t interval_ns);

/**
 * Sets whether chime_queue_run waits for the timer, as CHIME_TIMER_BACKGROUND does for a new one. A run that waits for
 * nothing else returns, except with CHIME_QUEUE_RUN_UNTIL_STOPPED. It makes no other difference.
 *
 * @param timer       in any state, on any kind of queue
 * @param background  1: it does not wait; 0: it does
 * @return CHIME_OK, also where it is so already; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_set_background(chime_timer_t timer, int32_t background);

/**
 * Holds ticks back until resume. After it returns, only a later chime_timer_fire can cause a tick.
 *
 * @param timer  a running timer; otherwise CHIME_IGNORED, unless it has an extra tick to come, which is dropped
 * @return CHIME_OK; CHIME_RUNNING; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_suspend(chime_timer_t timer);

/**
 * Lets ticks through again after suspend, by the schedule's resume policy: on the grid that stood, with what was missed as
 * one tick at once (CHIME_RESUME_COALESCE), or after the time that was left when it was suspended (CHIME_RESUME_REMAINING).
 *
 * @param timer  a suspended timer; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_resume(chime_timer_t timer);

/**
 * Gives the timer another schedule. State and sequence stay; the count against the tick limit starts again. A delay
 * counts from this call if the timer is running, or suspended with CHIME_RESUME_COALESCE; from the resume if it is
 * suspended with CHIME_RESUME_REMAINING; from the next activate if it is at rest.
 *
 * @param schedule  copied; NULL keeps the present one, if any: its delay counts again
 * @return CHIME_OK; CHIME_RUNNING; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_reschedule(chime_timer_t timer, const chime_schedule *CHIME_NULLABLE schedule);

/**
 * As chime_timer_postpone, to a deadline on the queue's clock. Reads no clock. On CHIME_CLOCK_WALL it can also return
 * CHIME_ERROR_NO_MEMORY.
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_postpone_until(chime_timer_t timer, int64_t deadline_ns);

/**
 * Requests one extra tick, of kind CHIME_TICK_FIRED, on the queue; it never runs inside this call. Several calls before
 * that tick starts give one tick. It counts in the sequence but not against the tick limit, and does not change the
 * schedule. Among ticks that are due together it comes as if this call had been its deadline. A later suspend,
 * reschedule, restart, cancel or release drops it, and so does an activate that is not ignored.
 *
 * @param timer  in any state but cancelled; otherwise CHIME_IGNORED
 * @return CHIME_OK; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_TARGET_GONE: the target of an idle or
 *         finished timer; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_fire(chime_timer_t timer);

/**
 * Stops the timer. Once it has returned, no tick starts, and no registration handler. The timer keeps its context and can
 * be activated again. If the status has CHIME_RUNNING, a handler is still running: call chime_timer_cancel_and_wait
 * before you free what the handlers use; otherwise you may free it at once. (What a cancel handler or a finalizer uses may
 * not: they are called on the queue.)
 *
 * @param timer  a running or suspended timer; otherwise CHIME_IGNORED, unless it has an extra tick to come, which is
 *               dropped. While the last handler of a one-shot runs, which has finished already: 3, CHIME_IGNORED and
 *               CHIME_RUNNING
 * @return CHIME_OK; CHIME_RUNNING; CHIME_IGNORED; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_cancel(chime_timer_t timer);

/**
 * Cancels, then waits until no handler of the timer is running, whatever its state. What that handler has started again
 * meanwhile is cancelled, too; what other threads start is theirs.
 *
 * @return CHIME_OK: the timer is neither running nor suspended, and no handler of it runs; CHIME_IGNORED: nor does one,
 *         and there was nothing to cancel; CHIME_ERROR_TIMED_OUT: cancelled, but its handler is still running;
 *         CHIME_ERROR_WOULD_DEADLOCK: cancelled if there was anything to cancel, but the handler is the caller's own,
 *         or waits for the caller; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: for a handler.
 */
CHIME_API chime_status chime_timer_cancel_and_wait(chime_timer_t timer, int64_t timeout_ns);

/**
 * chime_timer_release, then waits until no handler of the timer runs: what the handler uses may be freed afterwards,
 * but what a cancel handler or the finalizer uses may not, since those can still be called on the queue.
 *
 * @return CHIME_OK: released, and no handler of the timer runs; CHIME_IGNORED: nor does one, and the timer had ended
 *         with its queue; CHIME_ERROR_TIMED_OUT: released, its handler still runs; CHIME_ERROR_WOULD_DEADLOCK: released,
 *         and the handler is the caller's own or waits for the caller; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT: nothing was released
 *
 * Calls back: on virtual and host-driven queues. Waits: for a handler.
 */
CHIME_API chime_status chime_timer_release_and_wait(chime_timer_t timer, int64_t timeout_ns);

/**
 * The timer's present generation: a number that changes with every accepted activate, restart, reschedule, suspend and
 * cancel. Compare it with tick->generation under a mutex of your own.
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_generation(chime_timer_t timer, uint64_t *CHIME_NULLABLE generation);

/**
 * Whether a generation is the timer's present one. If not, the timer has been activated, restarted, rescheduled, suspended
 * or cancelled since: a message that carries it is of an earlier schedule, and stale.
 *
 * @return CHIME_OK: that generation is the current one; CHIME_IGNORED: it is not; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_check_generation(chime_timer_t timer, uint64_t generation);

/**
 * The timer's state, which another thread may change as soon as it is read. No call needs a look at it before: in each
 * state each call is legal, and says what it did.
 *
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: state is NULL
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_state(chime_timer_t timer, chime_state *CHIME_NULLABLE state);

/**
 * When the next tick is due: a point on the queue's clock, where chime_timer_remaining gives a distance from now.
 *
 * @param deadline_ns  receives the deadline on the queue's clock; CHIME_FOREVER: the timer is not running
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_next_deadline(chime_timer_t timer, int64_t *CHIME_NULLABLE deadline_ns);

/**
 * How much time is left until the next tick is due: a distance from now, where chime_timer_next_deadline gives a point on
 * the queue's clock.
 *
 * @param remaining_ns  receives the time; 0: the tick is due already; CHIME_FOREVER: the timer is not running, except
 *                      that one suspended with CHIME_RESUME_REMAINING gives the time that was kept
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_remaining(chime_timer_t timer, int64_t *CHIME_NULLABLE remaining_ns);

/**
 * What a timer does, at one instant, unless a thread stands still in the middle of changing that timer, as when the
 * system has taken its processor away. Then members can be of before and after that change; state, generation and next
 * deadline are exact even so.
 */
typedef struct chime_timer_info {
  uint32_t size;
  chime_state state;
  chime_queue_t queue;
  uint64_t generation;
  uint64_t sequence;        /* ticks delivered in this activation */
  int64_t next_deadline_ns; /* CHIME_FOREVER: not running */
  int64_t remaining_ns;     /* as chime_timer_remaining gives it */
  int64_t interval_ns;      /* 0: one-shot, or no schedule yet */
  int64_t leeway_ns;        /* that of the schedule, or, where Limits.md does not call it exact, a little less */
  uint64_t tick_limit;  /* 0: none. For a one-shot always 0: it ends with its only tick, and its limit is not kept */
  uint64_t due_count;   /* due times counted against the limit, delivered and missed; 0 without a limit */
  int32_t busy;         /* 1: a handler that has started has not returned */
  int32_t has_schedule; /* 1: it has a schedule, which activate with NULL keeps */
  uint64_t missed;      /* due times of this activation that got no tick of their own */
  int64_t jitter_ns;    /* the longest random part of a due time; 0: none */
  int32_t background;   /* 1: chime_queue_run does not wait for it: CHIME_TIMER_BACKGROUND */
  uint32_t reserved;    /* 0 */
} chime_timer_info;

/* clang-format off */
#define CHIME_TIMER_INFO_INIT {sizeof(chime_timer_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Fills in the info: state, deadline, counts and settings together, where several calls would see several instants.
 *
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_get_info(chime_timer_t timer, chime_timer_info *CHIME_NULLABLE info);

/**
 * Fills in the timer's schedule, as chime_timer_activate takes it: the one it was given last, with what
 * chime_timer_restart_after, _restart_until and _set_interval have changed of it. Where the timer is in it, and what
 * chime_timer_postpone did, is not part of it.
 *
 * It is of one piece, whatever other threads do: the call follows those that change the timer, as they follow each other.
 *
 * @param schedule  its leeway and, of a one-shot, its limit are as in chime_timer_info
 * @return CHIME_OK; CHIME_IGNORED: the timer has no schedule yet; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_get_schedule(chime_timer_t timer, chime_schedule *CHIME_NULLABLE schedule);

/**
 * Says in one sentence why the timer does not fire. For example: it was never activated; it was suspended some time
 * ago; it is due later; its handler has not returned; its main queue is not drained; its host-driven queue was last
 * processed some time ago; its run loop is in another mode; its target is gone. For people: the wording may change.
 *
 * @param text      receives the sentence, as in chime_queue_dump
 * @param capacity  of text, in bytes
 * @param length    receives the length of the whole sentence, without its 0; may be NULL
 * @return as chime_queue_dump
 *
 * Takes time in proportion to the queue's timers. Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_timer_explain(chime_timer_t timer, char *CHIME_NULLABLE text, size_t capacity,
                                           size_t *CHIME_NULLABLE length);

/**
 * Adds a handler that is called at each tick, after the timer's own and those added before it, with the same tick but
 * its own context. All handlers of a tick run, whatever one of them does to the timer. If one of them ends its thread,
 * those after it are not called for that tick.
 *
 * @param timer      in any state
 * @param key        UTF-8, copied, compared byte by byte; a handler that already has the key is replaced
 * @param handler    not NULL; not called for ticks that have already started, nor for CHIME_TICK_ARMED and _CANCELLED
 * @param context    may be NULL
 * @param finalizer  called with context once, after the handler's last call, when it is removed or the timer released;
 *                   may be NULL
 * @return CHIME_OK, or CHIME_RUNNING: a call of the replaced handler has not returned; with both the context is
 *         Chime's. Otherwise the context stays the caller's: CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: the queue gives records; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes: the finalizer of the replaced handler. Waits: no.
 */
CHIME_API chime_status chime_timer_add_handler(chime_timer_t timer, const char *CHIME_NULLABLE key,
                                               chime_handler CHIME_NULLABLE handler, void *CHIME_NULLABLE context,
                                               chime_finalizer CHIME_NULLABLE finalizer);

/**
 * Removes the handler with that key. Once this has returned, no call of it starts, not even in a tick that is under
 * way.
 *
 * @param key  not NULL
 * @return CHIME_OK; CHIME_RUNNING: a call of it has not returned; CHIME_IGNORED: no handler has that key;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes: the finalizer; if a tick is under way, it is called at the end of that. Waits: no.
 */
CHIME_API chime_status chime_timer_remove_handler(chime_timer_t timer, const char *CHIME_NULLABLE key);

/* ---- Queues --------------------------------------------------------------------------------------------------- */

/**
 * Creates a queue whose handlers run on the process's main thread, inside chime_main_run or while the main thread runs
 * its run loop in a common mode. Where the library has libdispatch, they run on libdispatch's main queue, whatever
 * drains it. Each call creates a separate queue; ending one affects only its own timers.
 *
 * @return as chime_queue_create; CHIME_ERROR_UNSUPPORTED: libdispatch was loaded by a thread other than the process's
 *         main thread, so its main queue cannot be drained
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_create_main(const chime_queue_options *CHIME_NULLABLE options,
                                               chime_queue_t *CHIME_NULLABLE queue);

/**
 * Creates a queue whose handlers run on a dispatch queue of the host, in turn with the host's own blocks. Several queues
 * may be on one dispatch queue; the end of one leaves the dispatch queue and the others as they are.
 *
 * @param dispatch_queue  a dispatch_queue_t, retained until the queue has ended; it must not stay suspended for ever
 * @param options         label and qos do not affect the host's queue
 * @return as chime_queue_create; CHIME_ERROR_INVALID_ARGUMENT: dispatch_queue is NULL; CHIME_ERROR_UNSUPPORTED: it
 *         belongs to another copy of libdispatch (the self-contained libchime carries its own), or the library has
 *         none
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_create_on_dispatch(void *CHIME_NULLABLE dispatch_queue,
                                                      const chime_queue_options *CHIME_NULLABLE options,
                                                      chime_queue_t *CHIME_NULLABLE queue);

/**
 * Does what chime_queue_shutdown does, without waiting: a handler that is running goes on. The last callbacks
 * (cancel handlers, finalizers) run on the queue; on a virtual or host-driven queue they run inside
 * this call or, if another thread is inside the queue, at the end of that thread's call.
 *
 * @return CHIME_OK; CHIME_RUNNING: a callback of the queue that had started has not returned, be it a handler, a function,
 *         a hook or what frees a context, or a tick that was taken as a record has not ended; CHIME_IGNORED: the queue has
 *         ended; CHIME_ERROR_INVALID_HANDLE: not a queue's id, or one that was released before and has not ended yet
 *
 * Calls back: on virtual and host-driven queues. Waits: no.
 */
CHIME_API chime_status chime_queue_release(chime_queue_t queue);

/**
 * Holds the queue's callbacks back, until as many calls of chime_queue_resume. Once it has returned, none begins: no tick,
 * function or last callback. (All handlers of a tick are one callback, and so are a function and its finalizer.) Only what
 * chime_queue_release and _shutdown of the queue call is called even so: they end the suspension. Time goes on, a timer's
 * state and deadline stay what they are, and every call works: what has become due in the meantime comes after the resume,
 * the missed ticks of a timer as one.
 *
 * A suspended queue sets no wake-up: one that was set before comes once, for nothing. chime_queue_next_deadline is
 * CHIME_FOREVER, chime_queue_process runs nothing, chime_queue_take_ticks ends what was taken before and gives no records,
 * chime_queue_sync waits, chime_queue_run waits for whatever it waits for otherwise, and a virtual queue's time moves
 * without a callback.
 *
 * @return CHIME_OK: no callback runs; CHIME_RUNNING: one that had begun has not returned, as is always so inside it, or a
 *         tick that was taken as a record has not ended; for a moment also where a thread only looks for one to call;
 *         CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_LIMIT: 2^32 - 1 calls
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_suspend(chime_queue_t queue);

/**
 * Takes one chime_queue_suspend back. If it was the last, callbacks begin again.
 * @return CHIME_OK; CHIME_IGNORED: the queue is not suspended; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_resume(chime_queue_t queue);

/**
 * Runs a function in mutual exclusion with the queue's handlers and waits for it: the queue as a mutex. Inside a
 * callback of the queue, or inside another function under its sync, the function runs at once. Elsewhere it has its
 * turn behind the functions that chime_queue_async has put on the queue before.
 *
 * @param function    runs on the caller's thread or on the queue's, before this call returns
 * @param timeout_ns  how long to wait for the function to start; once started, it is always waited for. 0 may be too
 *                    short even on a queue that does nothing, where the function runs on the queue's thread
 * @return CHIME_OK: it ran; CHIME_ERROR_TIMED_OUT: it did not and will not run; CHIME_ERROR_WOULD_DEADLOCK: a handler of this
 *         queue waits for the caller, or it is suspended and runs on the caller's thread; CHIME_ERROR_UNSUPPORTED: a
 *         concurrent queue, a virtual or host-driven queue outside its callbacks, or a run loop's queue outside its thread; CHIME_ERROR_SHUT_DOWN: the queue ended
 *         first, the function will not run; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes. Waits: for a handler.
 */
CHIME_API chime_status chime_queue_sync(chime_queue_t queue, chime_function CHIME_NULLABLE function,
                                        void *CHIME_NULLABLE context, int64_t timeout_ns);

/**
 * Runs a function on the queue as soon as possible: on a serial queue in mutual exclusion with its handlers, on a
 * virtual queue in the next advance, on a host-driven queue in the next chime_queue_process. Functions run in the order
 * of these calls, and before ticks that are due by then.
 *
 * @param function   NULL on a queue that gives records (which gives a record of kind FUNCTION), and only there
 * @param finalizer  may be NULL; called with context after the function, or instead of it if the queue ends first
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: function is NULL on a queue with
 *         callbacks, or NULL with a finalizer; CHIME_ERROR_UNSUPPORTED: a function on a queue that gives records;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_async(chime_queue_t queue, chime_function CHIME_NULLABLE function,
                                         void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer);

/**
 * The time on the queue's clock: that of the system, as chime_now reads it, or, of a virtual queue, the time to which advances
 * and jumps have brought it.
 *
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: now_ns is NULL
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_now(chime_queue_t queue, int64_t *CHIME_NULLABLE now_ns);

/**
 * Moves a virtual queue's time forward from deadline to deadline. Each tick runs inside this call, at exactly its
 * deadline; passes repeat at that instant until nothing more is due.
 *
 * @param duration_ns  0 or more; 0 runs what is due now. CHIME_FOREVER is an invalid argument: a timer that repeats would tick
 *                     for 292 years, and nothing that is started afterwards would be due. To run until no timer is left,
 *                     advance to chime_queue_next_deadline as long as there is one
 * @return CHIME_OK; CHIME_ERROR_LIMIT: pass after pass at one instant, where time has stopped, or beyond the end
 *         of the advance, where handlers take ever more time by chime_queue_jump; CHIME_ERROR_WOULD_DEADLOCK:
 *         the caller is inside a handler of this queue; CHIME_ERROR_BUSY: another thread is advancing it, or is running
 *         the finalizer of a timer that it has released: try again; CHIME_ERROR_UNSUPPORTED: not a virtual queue;
 *         CHIME_ERROR_SHUT_DOWN: a handler released the queue; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, one at a time. Calls back: yes. Waits: no.
 */
CHIME_API chime_status chime_queue_advance(chime_queue_t queue, int64_t duration_ns);

/**
 * Moves a virtual queue's clock without stopping at deadlines and without running anything, as a slow handler or a
 * sleeping machine would. The next advance delivers what has become due. May be called inside a handler: then the advance
 * that the handler is in delivers it, beyond its own end, too.
 *
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: negative
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_jump(chime_queue_t queue, int64_t duration_ns);

/**
 * What a queue has done since it was created. A pass is one visit of the queue to its timers: it runs what is due and sets
 * the next wake-up. An entry is a timer's place in the order of deadlines, until a pass comes to it.
 *
 * `entries`, `stale` and `empty_passes` say how this version keeps its deadlines, for whoever looks for what fills memory
 * or wakes an idle queue. They are 0 in a version that keeps them otherwise. `merged` is what leeway has saved.
 */
typedef struct chime_queue_stats {
  uint32_t size;
  uint32_t reserved;
  uint64_t timers;       /* timers that exist and have not been released */
  uint64_t running;      /* those in state running */
  uint64_t entries;      /* entries, stale ones included */
  uint64_t passes;       /* wake-ups */
  uint64_t empty_passes; /* passes that found nothing due and nothing new */
  uint64_t ticks;        /* DUE and FIRED ticks delivered */
  uint64_t missed;       /* due times that got no tick of their own */
  uint64_t stale;        /* entries whose timer was cancelled, released or moved */
  uint64_t merged;       /* callbacks that shared another one's wake-up */
  uint64_t lateness[32]; /* ticks by how late they were, leeway included: [0] by less than 1,024 ns, [1] by less than
                            2,048 ns, and so on, doubling; [31] all others. They add up to `ticks` */
} chime_queue_stats;

/* clang-format off */
#define CHIME_QUEUE_STATS_INIT {sizeof(chime_queue_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/**
 * Fills in the statistics. Takes time in proportion to the queue's timers.
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_get_stats(chime_queue_t queue, chime_queue_stats *CHIME_NULLABLE stats);

/**
 * Writes a line of text for the queue and one for each timer: id, label, state, when it is due, interval, ticks,
 * missed, and what is missed while its handler runs: "due 860 ms ago, every 250 ms, 3 missed while its handler runs".
 * For people: the wording may change. A label is in quotation marks, quotes and backslashes in it are escaped, and what a
 * terminal would obey or hide is written as its number, as in JSON.
 *
 * @param text    receives up to capacity - 1 bytes, whole characters, and a terminating 0; NULL and capacity 0 to get the
 *                length
 * @param length  receives the length of the whole text, without its 0; may be NULL
 * @return CHIME_OK, also when the text was cut off; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_dump(chime_queue_t queue, char *CHIME_NULLABLE text, size_t capacity,
                                        size_t *CHIME_NULLABLE length);

/**
 * Lists the queues of the process that have not been released, whoever created them. A queue that another thread
 * creates or releases at the same time may or may not be in the list; no id is in it twice.
 *
 * @param queues    receives up to capacity ids; NULL and capacity 0 to get the count
 * @param capacity  how many ids fit
 * @param count     receives how many queues there are, even if not all fitted
 * @return CHIME_OK; CHIME_ERROR_INVALID_ARGUMENT: count is NULL, or queues is NULL and capacity is not 0
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_list(chime_queue_t *CHIME_NULLABLE queues, size_t capacity,
                                        size_t *CHIME_NULLABLE count);

/**
 * Lists the queue's timers that have not been released, those that nobody holds included, in no particular order. Not
 * those within values that expire; that of a weak timer is Chime's: leave it alone. A timer that another thread makes or
 * releases at the same time may or may not be in the list; no id is in it twice.
 *
 * @param timers    receives up to capacity ids; NULL and capacity 0 to get the count
 * @param capacity  how many ids fit
 * @param count     receives how many timers there are, even if not all fitted
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT: count is NULL, or timers is NULL and capacity
 *         is not 0
 *
 * Takes time in proportion to the queue's timers. Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_list_timers(chime_queue_t queue, chime_timer_t *CHIME_NULLABLE timers,
                                               size_t capacity, size_t *CHIME_NULLABLE count);

/* ---- Host-driven queues --------------------------------------------------------------------------------------- */

/*
 * A queue of kind CHIME_QUEUE_HOST has no thread: handlers run inside your calls. Add the descriptor from
 * chime_queue_fd to your loop, and call chime_queue_process when it is readable:
 *
 *     for (;;) {
 *       poll(&entry, 1, -1);
 *       chime_queue_process(queue, 0, NULL);
 *     }
 *
 * The descriptor becomes readable when something is due, and when a thread adds or changes a timer so that the queue
 * has to wake up earlier than planned. So a chime_queue_process that runs 0 callbacks is normal. Hosts without a loop
 * call chime_queue_run.
 *
 * If handlers close what other events are about, connections say, process the queue after the other events of a turn.
 * A loop whose timers are all started on its own thread can do without the descriptor: chime_queue_poll_timeout before
 * each wait, chime_queue_process after it.
 *
 * A queue created with CHIME_QUEUE_FLAG_BOUND may be driven (process, take_ticks, run) only by the thread that created
 * it; others get CHIME_ERROR_WRONG_THREAD. Without it any thread may, one at a time; a second one gets
 * CHIME_ERROR_BUSY.
 *
 * A queue created with CHIME_QUEUE_FLAG_RECORDS calls no functions at all: chime_queue_take_ticks copies the ticks that are
 * due into an array. That is for languages that cannot be called on foreign threads, or only at a price. Before you
 * release the queue, release its timers and take their last records: records that you have not taken are lost with it.
 *
 * Timers may be used from any thread. The last callbacks of a released timer (cancel handler, finalizer) run inside the
 * call that releases it. Three exceptions:
 *   - That call is made inside a callback of the queue: they run when the ticks that were due have had their turn, before
 *     the call that drives the queue returns.
 *   - Another thread is inside the queue: they run at the end of that thread's call. (While a releasing thread runs
 *     such callbacks, chime_queue_process returns CHIME_ERROR_BUSY: keep them short.)
 *   - The queue is bound: they run in the next call of the bound thread. But when the queue itself is released, they
 *     run inside the call that releases it, on its thread.
 */

/**
 * When the queue next needs to be processed: at its earliest timer's deadline, rounded up a little, plus at most that
 * timer's leeway.
 *
 * @param deadline_ns  receives a point on the queue's clock, possibly in the past; CHIME_FOREVER: nothing to wait for.
 *                     Exact on the thread that drives the queue; elsewhere, and inside its callbacks, it may be too
 *                     early, never too late. Calling it fixes the wake-up of timers that were changed before,
 *                     within their leeway
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: neither host-driven nor virtual; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_next_deadline(chime_queue_t queue, int64_t *CHIME_NULLABLE deadline_ns);

/**
 * Gets the timeout for poll(2) until the queue must next be processed: milliseconds from now, rounded up; 0: something is
 * due now, or all but due; -1: nothing to wait for.
 * @return as chime_queue_next_deadline; CHIME_ERROR_UNSUPPORTED also for virtual queues
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_poll_timeout(chime_queue_t queue, int32_t *CHIME_NULLABLE milliseconds);

/**
 * Copies what is due into an array. A copied tick has started, and ends with the next call of this function for the
 * queue. Until then its timer is busy: there is no second record of it, its target is held, and its FINALIZE record is
 * kept back. (If one of those waits, the descriptor stays readable for that next call.) Of a released timer
 * CANCELLED and FINALIZE may come together, in this order. With CHIME_MISSED_DELAY the
 * interval counts from the time the tick was taken. If you cancel or reschedule a timer while you work through the
 * array, call chime_timer_check_generation before you act on a later record of it.
 *
 * @param ticks      receives the records
 * @param tick_size  sizeof(chime_tick)
 * @param capacity   how many records fit, above 0; if more are due, the descriptor stays readable
 * @param count      receives how many were copied
 * @return as chime_queue_process, but CHIME_ERROR_UNSUPPORTED: not a queue that gives records; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, or the bound one. Calls back: the destructors of targets that only these ticks still held. Waits: no.
 */
CHIME_API chime_status chime_queue_take_ticks(chime_queue_t queue, chime_tick *CHIME_NULLABLE ticks, size_t tick_size,
                                              size_t capacity, size_t *CHIME_NULLABLE count);

/* chime_queue_run, flags */
enum {
  CHIME_QUEUE_RUN_UNTIL_STOPPED = 0x1000, /* go on when no timer is running, or none but background ones: another
                                             thread may start one */
  CHIME_QUEUE_RUN_NO_WAIT = 0x2000, /* return where it would wait: for a host that waits for the descriptor itself */
  CHIME_QUEUE_RUN_ONCE = 0x4000     /* return when something has been called: all that was due then */
};

/**
 * Processes and waits in turn: a loop for hosts that have none.
 *
 * @param flags  0: return when no timer without CHIME_TIMER_BACKGROUND is running and nothing is left to call; a
 *               running timer whose deadline is CHIME_FOREVER does not count, and a value that expires counts as a
 *               running timer until its time is over. When nothing is left to wait for, no due tick of a background timer
 *               begins, unless it was due together with one of a timer that the run waited for or that has ended since.
 *               Or any of CHIME_QUEUE_RUN_UNTIL_STOPPED, CHIME_QUEUE_RUN_NO_WAIT and CHIME_QUEUE_RUN_ONCE together
 * @return CHIME_OK: no timer is running, or none but background ones, whoever ended the last other one; with
 *         CHIME_QUEUE_RUN_ONCE: something was called, as chime_queue_process counts; CHIME_IGNORED: with
 *         CHIME_QUEUE_RUN_ONCE nothing was called, and no timer is running, or none but background ones;
 *         CHIME_STOPPED; CHIME_TIMED_OUT: it would wait, and CHIME_QUEUE_RUN_NO_WAIT forbids it; CHIME_ERROR_WRONG_THREAD;
 *         CHIME_ERROR_BUSY; CHIME_ERROR_WOULD_DEADLOCK; CHIME_ERROR_SHUT_DOWN: the queue ended;
 *         CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT
 *
 * Any thread, or the bound one. Calls back: yes. Waits: for time; with CHIME_QUEUE_RUN_NO_WAIT, no.
 */
CHIME_API chime_status chime_queue_run(chime_queue_t queue, uint32_t flags);

/**
 * Makes chime_queue_run return, after the callback that is running if there is one, and the last callbacks of timers that
 * were released before it. If it is not under way, the next one returns at once.
 * @return CHIME_OK; CHIME_IGNORED: a stop is pending already; CHIME_ERROR_UNSUPPORTED; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_queue_stop(chime_queue_t queue);

/* ---- Targets -------------------------------------------------------------------------------------------------- */

/*
 * A target is an object of yours that timers name in their options and hold weakly. tick->target is that object, and it
 * stays alive for the length of the handler's call. When the last reference to the target is released, its timers are
 * cancelled at once (timers created without an id are released), even while one of their handlers is running, and cannot be
 * activated again. The destructor is called once no such handler is running.
 */

/**
 * Creates a target with one reference, the caller's. Timers that name it in their options do not keep the object alive: they
 * are cancelled when its last reference goes, and while a handler runs with it, it stays.
 *
 * @param object      not NULL; Chime passes the pointer on and never follows it
 * @param destructor  called with object once, when neither a reference nor a handler holds it any more; may be NULL
 * @param target      receives the id
 * @return CHIME_OK: the object is Chime's; CHIME_ERROR_INVALID_ARGUMENT: object or target is NULL; CHIME_ERROR_LIMIT:
 *         as many targets exist as can; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_target_create(void *CHIME_NULLABLE object, chime_finalizer CHIME_NULLABLE destructor,
                                           chime_target_t *CHIME_NULLABLE target);

/**
 * Adds a reference and gives the object, which lives until that reference is released: so that a thread outside of the
 * timer's handlers can use it.
 *
 * @param object  receives the object; may be NULL
 * @return CHIME_OK; CHIME_ERROR_INVALID_HANDLE: the last reference is gone, for good; CHIME_ERROR_LIMIT
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_target_retain(chime_target_t target, void *CHIME_NULLABLE *CHIME_NULLABLE object);

/**
 * Releases a reference. If it was the last, the id is stale and the target's timers are cancelled when this returns.
 * The destructor has then been called; or it is called when the handler that still holds the object has returned.
 *
 * @return CHIME_OK; CHIME_RUNNING: it was the last, and a handler that had started holds the object;
 *         CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: yes: the destructor; and, on virtual and host-driven queues, the last callbacks of timers that were
 * created without an id (also inside a chime_timer_start that runs at the same time). Waits: no.
 */
CHIME_API chime_status chime_target_release(chime_target_t target);

/* ---- Seeing what happens -------------------------------------------------------------------------------------- */

/**
 * Sets one function to which every transition of every timer is reported, and every callback that gets a tick. A
 * transition is reported just after it took effect, on the thread that caused it, before that call returns. A callback
 * is reported just before it is called and just after it has returned. Handlers added to a timer are reported together
 * with its own, as one; finalizers, functions and the action that chime_weak_timer_fire calls are not reported.
 *
 * For a callback (kinds below 16), `trace` gets the same tick as the callback; of a value that expires, and of a weak
 * timer, that of the timer within, which is Chime's: leave it alone. For everything else (CHIME_TRACE_*) the
 * tick has the timer's id; its generation and, in scheduled_ns, its next deadline, both read when the report is made (0
 * and CHIME_FOREVER for a released timer); in actual_ns the time on the queue's clock; and 0 in all other members.
 * Reports from different threads may arrive in a different order than what they report; the generation orders those of
 * a timer.
 *
 * @param trace      called by several threads at once, with no lock held; may call anything, and nothing that it calls is
 *                   traced; NULL to stop tracing
 * @param context    its second argument
 * @param finalizer  called with context once, when another function, or none, has been set and each call that had begun by
 *                   then has returned: inside this function or at the end of such a call. May be NULL, and must be NULL if
 *                   trace is
 * @return CHIME_OK: the context is Chime's; CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes: the finalizer of the trace before; and from now on every call that changes a timer does. Waits: no.
 */
CHIME_API chime_status chime_set_trace(chime_handler CHIME_NULLABLE trace, void *CHIME_NULLABLE context,
                                       chime_finalizer CHIME_NULLABLE finalizer);

/**
 * Writes what happens to all timers from now on to a file of Chrome trace events, for Perfetto (ui.perfetto.dev) or
 * chrome://tracing. Each queue appears as a process. It has a track for its callbacks, a track for each timer's
 * callbacks and transitions, and counters for the lateness of ticks and for wake-ups, all and merged. A function set by
 * chime_set_trace gets its reports as before.
 *
 * A thread of Chime's writes the file. Other threads put events into a ring and never wait for the disk; events for which
 * the ring or the disk has no room are dropped and counted, as `dropped` in the file's otherData. The file is complete
 * JSON soon after the latest event in it, and when the program ends by exit or a return from main; after the disk was
 * full, soon after there is room again. A forked child writes nothing, until it is reinitialised and names a file of its
 * own. Callbacks of concurrent queues appear only on the timers' tracks.
 *
 * The environment variable CHIME_TRACE does the same for the whole program: `CHIME_TRACE=trace-%p.json ./server`. It is
 * ignored in programs that run with more rights than their user (set-user-ID and the like). A process that it cannot serve
 * says so on stderr, once, and goes on. With %p, programs that the server starts have a file each: a file that another
 * process writes is refused. Name no file in a directory that others may write to.
 *
 * @param path  the file to create or empty, in place of the one that is being written (UTF-8 on Windows), and neither a
 *              pipe nor, except on Windows, a symbolic link; the
 *              first %p in it stands for the process id. NULL ends the file that is being written. A file that this call
 *              ends is complete when it returns, and holds everything that has happened before
 * @return CHIME_OK; CHIME_IGNORED: path is NULL and no file is being written; CHIME_ERROR_PERMISSION;
 *         CHIME_ERROR_RESOURCE: no file, no thread, or another process writes that file; CHIME_ERROR_NO_MEMORY;
 *         CHIME_ERROR_LIMIT: chime_set_memory_limit forbids the ring
 *
 * Calls back: no. Waits: no; for the file, if it ends one.
 */
CHIME_API chime_status chime_trace_to_file(const char *CHIME_NULLABLE path);

/* ---- Memory --------------------------------------------------------------------------------------------------- */

/*
 * Every call that creates something returns CHIME_ERROR_NO_MEMORY if any of its allocations fails, and has then changed
 * nothing; and CHIME_ERROR_RESOURCE if there is no thread or descriptor. So do chime_queue_sync, chime_queue_async,
 * chime_queue_get_stats, chime_main_run, chime_run_loop_run, chime_timer_add_handler and _remove_handler, which need
 * memory for a moment. Where chime_set_memory_limit forbids an allocation, a call that would answer
 * CHIME_ERROR_NO_MEMORY returns CHIME_ERROR_LIMIT.
 *
 * Operations that must not fail need no memory once their queue exists: a tick and the end of its handler, cancel,
 * suspend, release, shutdown, the release of a target, expiry, wake-ups. Where the language's runtime and libdispatch
 * allocate even so (a timer source, a thread's state), and the system refuses, the memory comes from a reserve. The first
 * tick of a timer that says something was missed asks for memory to add it up; without it chime_timer_info.missed leaves
 * that tick's out.
 *
 * What a reserve cannot give is a thread. One thread at least is made with the first serial or concurrent queue and
 * stays as long as there is one; if the system refuses another one, ticks wait for those that there are. A dispatch
 * queue's thread ends when it has been idle for a while, and the next one needs a stack; if that is refused,
 * libdispatch tries again and again, in the call or on the thread that needs it.
 */

/* The host's allocator. */
typedef struct chime_allocator {
  uint32_t size;
  uint32_t reserved; /* 0 */
  /* Gives that many bytes at a multiple of alignment, which is a power of two; NULL: out of memory. */
  void *CHIME_NULLABLE (*CHIME_NULLABLE allocate)(size_t alignment, size_t bytes, void *CHIME_NULLABLE context);
  /* Takes back memory that allocate gave. */
  void (*CHIME_NULLABLE deallocate)(void *CHIME_NONNULL memory, void *CHIME_NULLABLE context);
  void *CHIME_NULLABLE context; /* given to both; must live as long as the process */
} chime_allocator;

/* clang-format off */
#define CHIME_ALLOCATOR_INIT {sizeof(chime_allocator), 0, NULL, NULL, NULL}
/* clang-format on */

/**
 * Sets the allocator that Chime, and the libdispatch in it, use from now on. Call it before the first call that creates
 * something. It does not apply to the pages of timers, which are mapped (mmap), nor to the stacks of threads; static data of
 * the library itself is not allocated.
 *
 * @param allocator  copied; any thread may call both functions at any time, with locks held: they must not call Chime
 * @return CHIME_OK; CHIME_ERROR_BUSY: Chime has already allocated memory; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: this libchime uses Swift's own runtime
 *
 * Any thread, before others call Chime. Calls back: no; but from now on every call that needs memory. Waits: no.
 */
CHIME_API chime_status chime_set_allocator(const chime_allocator *CHIME_NULLABLE allocator);

/**
 * Limits the memory that Chime holds. A call that would need more returns CHIME_ERROR_LIMIT; operations that must not
 * fail still work. A limit below what is already held takes nothing away.
 *
 * @param bytes  as chime_memory_used counts; 0: no limit
 * @return CHIME_OK; CHIME_ERROR_UNSUPPORTED: as chime_set_allocator
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_set_memory_limit(uint64_t bytes);

/**
 * How many bytes Chime holds: what it has allocated and not freed, and the pages mapped for timers, touched or not, except
 * what a queue that has ended has given back. The tables of ids are not included. 0 if chime_set_allocator is unsupported.
 * Calls back: no. Waits: no.
 */
CHIME_API uint64_t chime_memory_used(void);

/* ---- Fork ----------------------------------------------------------------------------------------------------- */

/**
 * Lets a forked child use Chime. All ids from before the fork are stale; nothing that they named is called or freed,
 * and no finalizer runs. The descriptors of host-driven queues and run loops that the child has inherited are closed.
 * The parent is not affected.
 *
 * Every kind of queue then works as in any process, with threads of the child's own, except dispatch queues:
 * libdispatch does not survive a fork, so CHIME_QUEUE_DISPATCH and chime_queue_create_on_dispatch answer
 * CHIME_ERROR_UNSUPPORTED, and the main queue is on the run loop of the child's main thread.
 *
 * If the child was forked inside a callback of a host-driven or virtual queue, or of a queue on the run loop of one of
 * the host's threads, the call that runs the callback returns in the child, too:
 *   - A call that runs or ends the queue returns CHIME_ERROR_FORKED: chime_queue_process, _run, _take_ticks, _advance,
 *     _release, _shutdown and the like, and chime_run_loop_run.
 *   - A call that only calls a finalizer, a destructor or a weak timer's action on its way may return CHIME_OK:
 *     chime_timer_release, _release_and_wait, _add_handler and _remove_handler, chime_target_release,
 *     chime_expiring_release, chime_weak_timer_fire and the like.
 * If it was forked inside a callback on another kind of queue, do not return from that callback: end the process, or
 * exec.
 *
 * @return CHIME_OK; CHIME_IGNORED: this is not a forked child, or it has already been reinitialised
 *
 * The child's only thread. Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_reinitialize(void);

/* ---- Values that expire --------------------------------------------------------------------------------------- */

/*
 * A value of yours that vanishes after an interval: a session, a cached answer, a token. From the moment that its time
 * is over on the queue's clock it cannot be acquired, however late the queue is. After that the expiry handler and then
 * the value's finalizer are called on the queue. A value that was acquired before stays valid until it is yielded. When
 * the queue ends, its values vanish without a call of the handler.
 *
 * A value counts as a timer of its queue. Until it is released it is one of those that chime_queue_options.timer_limit
 * admits, and chime_queue_run with flags 0 waits until its time is over.
 */

typedef struct chime_expiring_options {
  uint32_t size;
  uint32_t flags;                   /* CHIME_TIMER_BACKGROUND */
  int64_t leeway_ns;                /* how late the expiry handler and the finalizer may be, to share a wake-up. The
                                       value vanishes on time all the same */
  const char *CHIME_NULLABLE label; /* UTF-8, copied; for debuggers and chime_queue_dump */
} chime_expiring_options;

#define CHIME_EXPIRING_OPTIONS_INIT \
  { sizeof(chime_expiring_options), 0, 0, NULL }

/**
 * Creates a value that vanishes lifetime_ns from now. Until then chime_expiring_acquire gives it, to any thread; after that
 * chime_expiring_on_expiry's handler and the finalizer are called.
 *
 * @param queue        not one that gives records
 * @param lifetime_ns  CHIME_FOREVER: until it is reset or released
 * @param value        not NULL; Chime passes the pointer on and never follows it
 * @param finalizer    called with value once, when it has vanished or been released and is not acquired any more; may be NULL
 * @param options      may be NULL for the defaults
 * @param expiring     receives the id
 * @return CHIME_OK: the value is Chime's; CHIME_ERROR_INVALID_HANDLE: the queue; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_UNSUPPORTED: the queue gives records; CHIME_ERROR_LIMIT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_expiring_create(chime_queue_t queue, int64_t lifetime_ns, void *CHIME_NULLABLE value,
                                             chime_finalizer CHIME_NULLABLE finalizer,
                                             const chime_expiring_options *CHIME_NULLABLE options,
                                             chime_expiring_t *CHIME_NULLABLE expiring);

/**
 * Sets a handler that is called once, on the queue, when the value has vanished because its time was over, but not when
 * it was released or the queue ended. The handler gets a tick of kind CHIME_TICK_DUE whose target is the value, alive
 * for the length of the call, and whose timer is 0.
 *
 * @param handler    replaces the previous one; NULL removes it
 * @param context    for the handler; may be NULL
 * @param finalizer  called with context once, after the handler's call, or when there will be no call; may be NULL, and
 *                   must be NULL if handler is
 * @return CHIME_OK: the context is Chime's; CHIME_IGNORED: the value has vanished; CHIME_ERROR_INVALID_HANDLE;
 *         CHIME_ERROR_INVALID_ARGUMENT; CHIME_ERROR_NO_MEMORY
 *
 * Calls back: yes: the finalizer of the replaced handler. Waits: no.
 */
CHIME_API chime_status chime_expiring_on_expiry(chime_expiring_t expiring, chime_handler CHIME_NULLABLE handler,
                                                void *CHIME_NULLABLE context, chime_finalizer CHIME_NULLABLE finalizer);

/**
 * Gives the value and keeps it from being finalized, even when its time is over or it is released, until
 * chime_expiring_yield. May be called several times; each call needs its own yield.
 *
 * @param value  receives the value; NULL if it has vanished
 * @return CHIME_OK; CHIME_IGNORED: it has vanished, there is nothing to yield; CHIME_ERROR_INVALID_HANDLE: not an id,
 *         or a released one; CHIME_ERROR_INVALID_ARGUMENT: value is NULL
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_expiring_acquire(chime_expiring_t expiring, void *CHIME_NULLABLE *CHIME_NULLABLE value);

/**
 * Undoes one chime_expiring_acquire, even after the value was released. The last yield of a value that has vanished meanwhile
 * has it finalized, inside this call.
 *
 * @return CHIME_OK; CHIME_IGNORED: the value is not acquired; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: yes: the finalizer, when the value has vanished or was released. Waits: no.
 */
CHIME_API chime_status chime_expiring_yield(chime_expiring_t expiring);

/**
 * Restarts the value's time: it vanishes lifetime_ns from now.
 * @param lifetime_ns  may be earlier than before
 * @return CHIME_OK; CHIME_IGNORED: it has already vanished; CHIME_ERROR_INVALID_HANDLE; CHIME_ERROR_INVALID_ARGUMENT;
 *         CHIME_ERROR_NO_MEMORY
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_expiring_reset(chime_expiring_t expiring, int64_t lifetime_ns);

/**
 * Releases the value. Once it has returned, no call of the expiry handler starts. The value and the handler's context
 * are finalized inside this call; if the value is still acquired, by the last yield; if the handler is running, after
 * it.
 * @param expiring  stale afterwards, except for chime_expiring_yield
 * @return CHIME_OK; CHIME_RUNNING; CHIME_ERROR_INVALID_HANDLE
 *
 * Calls back: yes: the finalizers. Waits: no.
 */
CHIME_API chime_status chime_expiring_release(chime_expiring_t expiring);

/* ---- The main queue ------------------------------------------------------------------------------------------- */

/**
 * Runs the main queue, which is libdispatch's where the library has libdispatch, and so the handlers of
 * chime_queue_create_main, until chime_main_stop. It is what a program calls whose main thread has nothing else to do.
 *
 * @return CHIME_STOPPED; CHIME_ERROR_WRONG_THREAD: not the process's main thread; CHIME_ERROR_WOULD_DEADLOCK: already
 *         inside this call, or in a handler of the main queue; CHIME_ERROR_UNSUPPORTED: libdispatch was loaded by another
 *         thread; CHIME_ERROR_RESOURCE; CHIME_ERROR_NO_MEMORY
 *
 * The main thread. Calls back: yes. Waits: for time.
 */
CHIME_API chime_status chime_main_run(void);

/**
 * Makes chime_main_run return, as chime_queue_stop does. If it is not under way, the next one returns at once.
 * @return CHIME_OK; CHIME_IGNORED: a stop is already pending
 *
 * Calls back: no. Waits: no.
 */
CHIME_API chime_status chime_main_stop(void);

/* ---- Callbacks that end their threads ------------------------------------------------------------------------- */

/*
 * A callback may end its thread, by pthread_exit or a cancellation, as interpreters do when they exit. Cleanup handlers
 * that it has pushed run, and everything goes on as if it had returned, except that a handler's timer is cancelled.
 *   - A thread of Chime ends after the callback, and another takes its place (a run loop's stays). The same happens if
 *     a callback returns with a cancellation pending (no timer is cancelled), or if an idle Chime thread is cancelled.
 *     Cancellation acts on these threads inside your functions only; and on a thread that one callback has ended, not in
 *     those that follow before another takes its place.
 *   - A thread of libdispatch, or a run loop's, survives, and so does one that waits in a call and runs a queue's callbacks
 *     meanwhile because the system refuses Chime a thread. glibc regards it as ending: setuid and the like no longer apply
 *     to it, and after either no cancellation any more, while pthread_exit works each time.
 *   - A thread of yours ends at the end of the Chime call that it is in. (If the callback was a trace function in a
 *     call that does not call back, the thread ends in its next call that calls something back.) Cleanup handlers
 *     pushed outside that call then run, if pushed in C by pthread_cleanup_push; destructors and catch blocks in C++
 *     frames out there do not. With musl its result is NULL, whatever the callback gave to pthread_exit.
 *
 * On Windows a callback must not end its thread (ExitThread, pthread_exit): nothing can be undone there, and the process
 * ends with a message.
 */

#if defined(__cplusplus) && !defined(CHIME_CDEF)
}
#endif

#if defined(__clang__) && !defined(CHIME_CDEF)
#pragma clang diagnostic pop
#endif

#endif /* CHIME_H */
