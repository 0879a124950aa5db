/* Stops one thread behind each instruction of a call, in turn, and looks whether what other threads do comes to an end
 * meanwhile: nobody waits for a thread that stands still. See README.md.
 *
 *     stopped [--every N] [--kind KIND] [--call CALL]
 */
#define _GNU_SOURCE
#include <chime.h>
#include <chime_run_loop.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAR (3600 * CHIME_SECOND)
#define PATIENCE_NS (10 * CHIME_SECOND)  /* before a probe counts as held up */
#define GRACE_NS (1 * CHIME_MILLISECOND) /* for those that may be, which is only printed */

/* ---- What the two processes share -------------------------------------------------------------------------------------- */

enum {
  TICKS,
  OTHER_TICKS,
  START,
  START_FAR,
  MANY,
  LIMITED,
  OPTIONS,
  SAME_TIMER,
  ASYNC,
  OTHER_ASYNC,
  MAKE,
  OBJECTS,
  QUERIES,
  PROBES
};
static const char *const probe_names[PROBES] = {
    [TICKS] = "ticks of the same queue",
    [OTHER_TICKS] = "ticks of another queue",
    [START] = "a start that is due, and its tick",
    [START_FAR] = "start, cancel, release",
    [MANY] = "a hundred of these",
    [LIMITED] = "a start at a limit, and its tick",
    [OPTIONS] = "timers with options",
    [SAME_TIMER] = "calls on the same timer",
    [ASYNC] = "a function on the same queue",
    [OTHER_ASYNC] = "one on another queue",
    [MAKE] = "making and releasing a queue",
    [OBJECTS] = "another target and value",
    [QUERIES] = "queries",
};

static struct shared {
  atomic_int asked[PROBES], answered[PROBES]; /* rounds */
  atomic_int victim, is_traced, in_call;
  atomic_long ticks, other_ticks;
} * shared;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * CHIME_SECOND + time.tv_nsec;
}
static void nap(void) { nanosleep(&(struct timespec){0, 500000}, NULL); }

static void die(const char *what, int status) {
  fprintf(stderr, "stopped: %s: %d\n", what, status);
  _exit(2);
}
#define OK(call) \
  do { \
    int status_ = (int)(call); \
    if (status_ != CHIME_OK) die(#call, status_); \
  } while (0)

/* ---- Queues of each kind ----------------------------------------------------------------------------------------------- */

enum kind { SERIAL, CONCURRENT, PRECISE, HOST, RUN_LOOP, VIRTUAL, DISPATCH, KINDS };
static const char *const kind_names[KINDS] = {"serial",   "concurrent", "precise", "host",
                                              "run-loop", "virtual",    "dispatch"};
static enum kind kind;
static chime_run_loop_t loop;

static void *drive(void *queue) {
  for (;;) chime_queue_run(*(chime_queue_t *)queue, 0);
  return NULL;
}
static void *move_time(void *queue) {
  for (;; nap()) chime_queue_advance(*(chime_queue_t *)queue, CHIME_MILLISECOND);
  return NULL;
}

static int make_queue_with(chime_queue_options *options, chime_queue_t *queue) {
  static const chime_queue_kind kinds[KINDS] = {
      [SERIAL] = CHIME_QUEUE_SERIAL, [CONCURRENT] = CHIME_QUEUE_CONCURRENT, [PRECISE] = CHIME_QUEUE_PRECISE,
      [HOST] = CHIME_QUEUE_HOST,     [VIRTUAL] = CHIME_QUEUE_VIRTUAL,       [DISPATCH] = CHIME_QUEUE_DISPATCH};
  return kind == RUN_LOOP ? chime_queue_create_on_run_loop(loop, NULL, options, queue)
                          : chime_queue_create(kinds[kind], options, queue);
}
static int make_queue(chime_queue_t *queue) { return make_queue_with(NULL, queue); }

/* ---- The stopped thread's calls ---------------------------------------------------------------------------------------- */

static chime_queue_t same, other, made, elsewhere, ended;
static chime_queue_t limited;      /* where each slot comes from the list, and goes back there */
static chime_timer_t timer, fresh; /* the probes' too; made anew for each call */
static chime_timer_t overdue;      /* on a run loop, in a mode that does not run */
static chime_target_t target, other_target;
static chime_expiring_t value, other_value;
static char text[65536], probe_text[4096];
static size_t count_;

static void nothing(const chime_tick *tick, void *context) { (void)tick, (void)context; }
static void nothing_more(void *context) { (void)context; }
static void flag(const chime_tick *tick, void *context) { (void)tick, atomic_store((atomic_int *)context, 1); }
static void flag_function(void *context) { atomic_store((atomic_int *)context, 1); }
static void count(const chime_tick *tick, void *context) { (void)tick, atomic_fetch_add((atomic_long *)context, 1); }

static void start_due(void) { chime_timer_after(same, 0, nothing, NULL, NULL, &fresh); }
static void start_far(void) { chime_timer_after(same, FAR, nothing, NULL, NULL, &fresh); }
static void start_limited(void) { chime_timer_after(limited, FAR, nothing, NULL, NULL, &fresh); }
static void every(void) { chime_timer_every(same, FAR, nothing, NULL, NULL, &fresh); }
static void restart(void) { chime_timer_restart_after(timer, FAR); }
static void restart_due(void) { chime_timer_restart_after(timer, 0); }
static void postpone(void) { chime_timer_postpone(timer, FAR + CHIME_SECOND); }
static void suspend(void) { chime_timer_suspend(timer); }
static void resume(void) { chime_timer_resume(timer); }
static void fire(void) { chime_timer_fire(timer); }
static void cancel(void) { chime_timer_cancel(fresh); }
static void cancel_and_wait(void) { chime_timer_cancel_and_wait(fresh, CHIME_FOREVER); }
static void release(void) {
  chime_timer_release(fresh);
  fresh = 0;
}
static void async(void) { chime_queue_async(same, nothing_more, NULL, NULL); }
static void sync_(void) { chime_queue_sync(same, nothing_more, NULL, CHIME_FOREVER); }
static void get_state(void) {
  chime_state state;
  chime_timer_state(timer, &state);
}
static void next_deadline(void) {
  int64_t deadline;
  chime_timer_next_deadline(timer, &deadline);
}
static void get_info(void) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_timer_get_info(timer, &info);
}
static void get_stats(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_queue_get_stats(same, &stats);
}
static void queue_now(void) {
  int64_t time;
  chime_queue_now(same, &time);
}
static void create(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = nothing;
  options.label = "stands still";
  chime_timer_create(same, &options, &fresh);
}
static chime_status start_labelled(chime_timer_t *started) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = nothing;
  options.label = "stands still";
  schedule.first_ns = schedule.interval_ns = FAR;
  schedule.jitter_ns = CHIME_SECOND;
  return chime_timer_start(same, &options, &schedule, started);
}
static void start_with_options(void) { start_labelled(&fresh); }
static void activate(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = FAR;
  chime_timer_activate(fresh, &schedule);
}
static void restart_as_before(void) { chime_timer_restart(timer, NULL); }
static void restart_until(void) { chime_timer_restart_until(timer, now() + FAR); }
static void reschedule(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = FAR;
  chime_timer_reschedule(timer, &schedule);
}
static void set_interval(void) { chime_timer_set_interval(timer, FAR); }
static void set_background(void) { chime_timer_set_background(timer, 1); }
static void postpone_until(void) { chime_timer_postpone_until(timer, now() + 2 * FAR); }
static void release_and_wait(void) {
  chime_timer_release_and_wait(fresh, CHIME_FOREVER);
  fresh = 0;
}
static void generation(void) {
  uint64_t number;
  chime_timer_generation(timer, &number);
  chime_timer_check_generation(timer, number);
}
static void remaining(void) {
  int64_t left;
  chime_timer_remaining(timer, &left);
}
static void get_schedule(void) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_get_schedule(timer, &schedule);
}
static void explain(void) { chime_timer_explain(timer, text, sizeof text, &count_); }
static void explain_overdue(void) { chime_timer_explain(overdue, text, sizeof text, &count_); }
static void add_handler(void) { chime_timer_add_handler(timer, "stands still", nothing, NULL, NULL); }
static void remove_handler(void) { chime_timer_remove_handler(timer, "stands still"); }
static void dump(void) { chime_queue_dump(same, text, sizeof text, &count_); }
static void list(void) {
  chime_queue_t queues[64];
  chime_queue_list(queues, 64, &count_);
}
static void list_timers(void) {
  chime_timer_t timers[64];
  chime_queue_list_timers(same, timers, 64, &count_);
}
static void set_background_within(void) { chime_timer_set_background(fresh, 1); }
static void add_handler_within(void) { chime_timer_add_handler(fresh, "stands still", nothing, NULL, NULL); }
static void queue_suspend(void) { chime_queue_suspend(made); }
static void queue_resume(void) { chime_queue_resume(made); }
static void target_create(void) { chime_target_create(text, nothing_more, &target); }
static void target_retain(void) {
  void *object;
  chime_target_retain(target, &object);
  chime_target_release(target);
}
static void target_release(void) {
  chime_target_release(target);
  target = 0;
}
static void expiring_create(void) { chime_expiring_create(same, FAR, text, NULL, NULL, &value); }
static void expiring_acquire(void) {
  void *acquired;
  if (chime_expiring_acquire(value, &acquired) == CHIME_OK) chime_expiring_yield(value);
}
static void expiring_reset(void) { chime_expiring_reset(value, FAR + CHIME_SECOND); }
static void expiring_release(void) {
  chime_expiring_release(value);
  value = 0;
}
static void make(void) { make_queue(&made); }
static void queue_release(void) {
  chime_queue_release(made);
  made = 0;
}
static void shutdown_(void) {
  chime_queue_shutdown(made, CHIME_FOREVER);
  made = 0;
}

#define BIT(probe) (1u << (probe))
#define ON(kind) (1u << (kind))
#define ALL ((1u << KINDS) - 1)

enum {
  FRESH = 1,
  SUSPENDED = 2,
  MADE = 4,
  HELD = 8,
  TARGET = 16,
  VALUE = 32,
  CREATED = 64,
  AT_LIMIT = 128,
  /* A handler runs, which returns when the thread stands still: that of a timer of this kind, or of a queue whose value's
     time is over. */
  SELF_RELEASING = 256,
  SPACED = 512,
  EXPIRING = 1024
};
static const struct call {
  const char *name;
  void (*body)(void);
  unsigned before; /* what it needs */
  unsigned kinds;  /* where it is left out */
} calls[] = {
    {"start, due first", start_due, 0, 0},
    {"start", start_far, 0, 0},
    {"start, at a limit", start_limited, 0, 0},
    {"every", every, 0, 0},
    {"restart", restart, 0, 0},
    {"restart, due first", restart_due, 0, 0},
    {"postpone", postpone, 0, 0},
    {"suspend", suspend, 0, 0},
    {"resume", resume, SUSPENDED, 0},
    {"fire", fire, 0, 0},
    {"cancel", cancel, FRESH, 0},
    {"cancel_and_wait", cancel_and_wait, FRESH, 0},
    {"release", release, FRESH, 0},
    {"release, at a limit", release, AT_LIMIT, 0},
    {"async", async, 0, 0},
    {"sync", sync_, 0, ON(CONCURRENT) | ON(HOST) | ON(VIRTUAL)},
    {"create", create, 0, 0},
    {"start, with options", start_with_options, 0, 0},
    {"activate", activate, CREATED, 0},
    {"restart, as before", restart_as_before, 0, 0},
    {"restart_until", restart_until, 0, 0},
    {"reschedule", reschedule, 0, 0},
    {"set_interval", set_interval, 0, 0},
    {"set_background", set_background, 0, 0},
    {"postpone_until", postpone_until, 0, 0},
    {"release_and_wait", release_and_wait, FRESH, 0},
    {"add_handler", add_handler, 0, 0},
    {"remove_handler", remove_handler, 0, 0},
    {"add_handler, end", add_handler_within, SPACED, 0},
    {"set_background, end", set_background_within, SPACED, 0},
    {"set_background, last", set_background_within, SELF_RELEASING, 0},
    {"target_create", target_create, 0, 0},
    {"target_retain", target_retain, TARGET, 0},
    {"target_release", target_release, TARGET, 0},
    {"expiring_create", expiring_create, 0, 0},
    {"expiring_acquire", expiring_acquire, VALUE, 0},
    {"expiring_reset", expiring_reset, VALUE, 0},
    {"expiring_release", expiring_release, VALUE, 0},
    {"acquire, its end", expiring_acquire, EXPIRING, 0},
    {"reset, its end", expiring_reset, EXPIRING, 0},
    {"release, its end", expiring_release, EXPIRING, 0},
    {"generation", generation, 0, 0},
    {"remaining", remaining, 0, 0},
    {"get_schedule", get_schedule, 0, 0},
    {"explain", explain, 0, 0},
    {"explain, due on a loop", explain_overdue, 0, ALL & ~ON(RUN_LOOP)},
    {"dump", dump, 0, 0},
    {"list", list, 0, 0},
    {"list_timers", list_timers, 0, 0},
    {"queue_suspend", queue_suspend, MADE, 0},
    {"queue_resume", queue_resume, MADE | HELD, 0},
    {"state", get_state, 0, 0},
    {"next_deadline", next_deadline, 0, 0},
    {"get_info", get_info, 0, 0},
    {"get_stats", get_stats, 0, 0},
    {"queue_now", queue_now, 0, 0},
    {"queue_create", make, 0, 0},
    {"queue_release", queue_release, MADE, 0},
    {"shutdown", shutdown_, MADE, ON(HOST)},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

#include "exceptions.h"

/* What of others may wait for the call: all that is not meant to. */
static unsigned exceptions(const struct call *call) {
  unsigned mask = 0;
  for (size_t i = 0; i < sizeof exceptions_ / sizeof exceptions_[0]; i++) {
    const struct exception *each = &exceptions_[i];
    if ((each->call == NULL || strcmp(each->call, call->name) == 0) && each->kinds & ON(kind)) mask |= each->probes;
  }
  return mask;
}

/* ---- The process that is looked at ------------------------------------------------------------------------------------- */

static void probe(int which, atomic_int *seen) {
  chime_timer_t timers[2] = {0, 0};
  chime_queue_t queue;
  long before;
  switch (which) {
    case TICKS:
      for (before = shared->ticks; shared->ticks < before + 2;) nap();
      break;
    case OTHER_TICKS:
      for (before = shared->other_ticks; shared->other_ticks < before + 2;) nap();
      break;
    case START:
    case LIMITED:
      OK(chime_timer_after(which == START ? same : limited, 0, flag, seen, NULL, &timers[0]));
      while (!*seen) nap();
      chime_timer_release(timers[0]);
      break;
    case START_FAR:
      for (int i = 0; i < 2; i++) OK(chime_timer_after(same, FAR, nothing, NULL, NULL, &timers[i]));
      chime_timer_cancel(timers[0]);
      for (int i = 0; i < 2; i++) chime_timer_release(timers[i]);
      break;
    case MANY: {
      chime_timer_t many[100];
      for (int i = 0; i < 100; i++) OK(chime_timer_after(same, FAR, nothing, NULL, NULL, &many[i]));
      for (int i = 0; i < 100; i++) chime_timer_release(many[i]);
      break;
    }
    case OPTIONS:
      OK(start_labelled(&timers[0]));
      OK(chime_timer_postpone(timers[0], FAR));
      chime_timer_release(timers[0]);
      break;
    case SAME_TIMER: chime_timer_restart_after(timer, FAR); break;
    case ASYNC:
      OK(chime_queue_async(same, flag_function, seen, NULL));
      while (!*seen) nap();
      break;
    case OTHER_ASYNC:
      OK(chime_queue_async(other, flag_function, seen, NULL));
      while (!*seen) nap();
      break;
    case MAKE:
      OK(make_queue(&queue));
      chime_queue_release(queue);
      break;
    case OBJECTS: {
      void *object;
      OK(chime_target_retain(other_target, &object));
      OK(chime_target_release(other_target));
      OK(chime_expiring_acquire(other_value, &object));
      OK(chime_expiring_yield(other_value));
      break;
    }
    case QUERIES: {
      get_state(), next_deadline(), get_info(), get_stats(), queue_now();
      int64_t time;
      chime_queue_now(ended, &time);
      chime_timer_explain(timer, probe_text, sizeof probe_text, NULL);
      if (overdue != 0) chime_timer_explain(overdue, probe_text, sizeof probe_text, NULL);
      break;
    }
  }
}

static void *answer(void *argument) {
  static atomic_int seen[PROBES];
  int which = (int)(intptr_t)argument;
  for (;;) {
    while (shared->answered[which] == shared->asked[which]) nap();
    seen[which] = 0;
    probe(which, &seen[which]);
    atomic_fetch_add(&shared->answered[which], 1);
  }
  return NULL;
}

/* ---- A handler that returns when the thread stands still ----------------------------------------------------------------- */

static atomic_int is_inside;

static void hold(const chime_tick *tick, void *context) {
  const int round = shared->asked[0];
  (void)tick, (void)context;
  is_inside = 1;
  while (shared->asked[0] == round) nap();
}

static void begin_handler(unsigned before) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  /* What waited for the last call may need the queue that the handler is about to hold. */
  for (int i = 0; i < PROBES; i++) {
    while (shared->answered[i] != shared->asked[i]) nap();
  }
  is_inside = 0;
  options.handler = hold;
  if (before & SELF_RELEASING) options.flags = CHIME_TIMER_SELF_RELEASE;
  if (before & SPACED) {
    schedule.interval_ns = FAR;
    schedule.missed_policy = CHIME_MISSED_DELAY;
  }
  OK(chime_timer_start(same, &options, &schedule, &fresh));
  while (!is_inside) nap();
  if (before & EXPIRING) OK(chime_expiring_create(same, CHIME_MILLISECOND, text, NULL, NULL, &value));
}

/* Stops the thread, for its tracer. */
#define MARK() __asm__ volatile("int3" ::: "memory")

static void *stand_still(void *argument) {
  const struct call *call = argument;
  chime_timer_t warm;
  OK(chime_timer_after(same, FAR, nothing, NULL, NULL, &warm));
  chime_timer_release(warm);
  shared->victim = (int)syscall(SYS_gettid);
  while (!shared->is_traced) nap();
  for (;;) {
    fresh = 0, made = 0, target = 0, value = 0;
    if (call->before & FRESH) OK(chime_timer_after(same, FAR, nothing, NULL, NULL, &fresh));
    if (call->before & AT_LIMIT) start_limited();
    if (call->before & SUSPENDED) chime_timer_suspend(timer);
    if (call->before & CREATED) create();
    if (call->before & MADE) OK(make_queue(&made));
    if (call->before & HELD) chime_queue_suspend(made);
    if (call->before & TARGET) target_create();
    if (call->before & VALUE) expiring_create();
    if (call->before & (SELF_RELEASING | SPACED | EXPIRING)) begin_handler(call->before);
    nap();
    MARK();
    shared->in_call = 1;
    call->body();
    shared->in_call = 0;
    MARK();
    if (fresh != 0) chime_timer_release(fresh);
    if (made != 0) chime_queue_release(made);
    if (target != 0) chime_target_release(target);
    if (value != 0) chime_expiring_release(value);
    chime_timer_restart_after(timer, FAR);
  }
  return NULL;
}

static int look_at(const struct call *call) {
  pthread_t thread;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (kind == RUN_LOOP) OK(chime_run_loop_create(NULL, &loop));
  int status = make_queue(&same);
  if (status == CHIME_ERROR_UNSUPPORTED) return 3;
  OK(status);
  OK(make_queue(&other));
  OK(make_queue(&ended));
  chime_queue_release(ended);
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.timer_limit = 1000;
  OK(make_queue_with(&options, &limited));
  OK(chime_timer_every(same, CHIME_MILLISECOND, count, &shared->ticks, NULL, NULL));
  OK(chime_timer_every(other, CHIME_MILLISECOND, count, &shared->other_ticks, NULL, NULL));
  OK(chime_timer_after(same, FAR, nothing, NULL, NULL, &timer));
  OK(chime_target_create(text, nothing_more, &other_target));
  OK(chime_expiring_create(other, FAR, text, NULL, NULL, &other_value));
  if (kind == RUN_LOOP) {
    OK(chime_queue_create_on_run_loop(loop, "elsewhere", NULL, &elsewhere));
    OK(chime_timer_after(elsewhere, 0, nothing, NULL, NULL, &overdue));
  }
  if (kind == HOST || kind == VIRTUAL) {
    pthread_create(&thread, NULL, kind == HOST ? drive : move_time, &same);
    pthread_create(&thread, NULL, kind == HOST ? drive : move_time, &other);
    pthread_create(&thread, NULL, kind == HOST ? drive : move_time, &limited);
  }
  for (int i = 0; i < PROBES; i++) pthread_create(&thread, NULL, answer, (void *)(intptr_t)i);
  pthread_create(&thread, NULL, stand_still, (void *)(uintptr_t)call);
  for (;;) pause();
}

/* ---- The process that looks -------------------------------------------------------------------------------------------- */

static bool is_answered(int which) { return shared->answered[which] == shared->asked[which]; }

/* Waits until the victim stops; false if it is gone. */
static bool stops(pid_t victim) {
  int status;
  return waitpid(victim, &status, __WALL) == victim && WIFSTOPPED(status);
}

/* What has loaded the instruction, and where in it. */
static void print_place(pid_t process, unsigned long address) {
  char path[64], line[512], *name;
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE *maps = fopen(path, "r");
  unsigned long begin, end, offset;
  while (maps != NULL && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3 || address < begin || address >= end) continue;
    line[strcspn(line, "\n")] = 0;
    name = strrchr(line, '/');
    printf("%s+%#lx", name ? name + 1 : "?", address - begin + offset);
  }
  if (maps) fclose(maps);
}

struct result {
  int stops;
  int held[PROBES]; /* at how many of them */
  bool failed, left_out;
};

/* Stops behind every so many instructions of the call. */
static struct result stop_in(const struct call *call, int stride) {
  struct result result = {0};
  const unsigned excused = exceptions(call);
  struct user_regs_struct registers;
  int status;
  memset(shared, 0, sizeof *shared);
  fflush(stdout);
  pid_t process = fork();
  if (process == 0) _exit(look_at(call));
  while (!shared->victim) {
    if (waitpid(process, &status, WNOHANG) == process) {
      result.left_out = WIFEXITED(status) && WEXITSTATUS(status) == 3;
      result.failed = !result.left_out;
      return result;
    }
    nap();
  }
  const pid_t victim = shared->victim;
  bool goes_on = ptrace(PTRACE_SEIZE, victim, 0, 0) == 0;
  shared->is_traced = 1;
  /* Of long calls ever fewer. */
  const int many = stride > 1 ? 600 : 2000;
  for (int instruction = 0; goes_on; instruction += stride + (instruction > many ? (instruction - many) / 4 : 0)) {
    /* At the mark before the call. */
    goes_on = stops(victim);
    bool is_over = false;
    for (int left = -1; goes_on && left < instruction;) {
      goes_on = ptrace(PTRACE_SINGLESTEP, victim, 0, 0) == 0 && stops(victim);
      if (left >= 0 || shared->in_call) left++;
      if (left > 0 && !shared->in_call) is_over = true;
      if (is_over) break;
    }
    if (is_over || !goes_on) break;
    result.stops++;
    for (int i = 0; i < PROBES; i++) shared->asked[i]++;
    for (int i = 0; i < PROBES && goes_on; i++) {
      if (excused & BIT(i)) continue;
      for (int64_t end = now() + PATIENCE_NS; !is_answered(i) && now() < end;) nap();
      if (is_answered(i)) continue;
      ptrace(PTRACE_GETREGS, victim, 0, &registers);
      printf("  %s, %s, stopped behind instruction %d (", kind_names[kind], call->name, instruction);
      print_place(process, registers.rip);
      printf("), holds up: %s\n", probe_names[i]);
      result.held[i]++;
      result.failed = true;
      goes_on = false;
    }
    if (excused != 0) {
      for (int64_t end = now() + GRACE_NS; now() < end;) nap();
      for (int i = 0; i < PROBES; i++) result.held[i] += (excused & BIT(i)) != 0 && !is_answered(i);
    }
    if (!goes_on) break;
    /* To the mark behind the call, and on. What has waited comes to its end. */
    goes_on = ptrace(PTRACE_CONT, victim, 0, 0) == 0 && stops(victim) && ptrace(PTRACE_CONT, victim, 0, 0) == 0;
    for (int i = 0; i < PROBES && goes_on; i++) {
      for (int64_t end = now() + PATIENCE_NS; !is_answered(i) && now() < end;) nap();
      if (is_answered(i)) continue;
      printf("  %s, %s, stopped behind instruction %d, goes on, and never ends: %s\n", kind_names[kind], call->name,
             instruction, probe_names[i]);
      result.failed = true;
      goes_on = false;
    }
  }
  kill(process, SIGKILL);
  waitpid(victim, &status, __WALL);
  waitpid(process, &status, 0);
  if (result.stops == 0) result.failed = true;
  return result;
}

int main(int argc, char **argv) {
  int stride = 1, failed = 0, stopped = 0;
  const char *only_kind = NULL, *only_call = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--every")) stride = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--kind")) only_kind = argv[i + 1];
    if (!strcmp(argv[i], "--call")) only_call = argv[i + 1];
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || stride < 1) die("arguments", EINVAL);
  printf("%-20s", "stops, and held up");
  for (kind = 0; kind < KINDS; kind++) printf("%14s", kind_names[kind]);
  printf("\n");
  for (int c = 0; c < (int)CALLS; c++) {
    if (only_call && strcmp(only_call, calls[c].name) != 0) continue;
    char row[256] = "";
    for (kind = 0; kind < KINDS; kind++) {
      char cell[64] = "-";
      bool is_asked = !(calls[c].kinds & ON(kind)) && (!only_kind || !strcmp(only_kind, kind_names[kind]));
      if (is_asked && exceptions(&calls[c]) == EVERYTHING) {
        snprintf(cell, sizeof cell, "may hold up");
      } else if (is_asked) {
        struct result result = stop_in(&calls[c], stride);
        int most = 0;
        for (int i = 0; i < PROBES; i++) most = result.held[i] > most ? result.held[i] : most;
        if (!result.left_out)
          snprintf(cell, sizeof cell, result.failed ? "%d FAILED" : most ? "%d (%d)" : "%d", result.stops, most);
        failed += result.failed;
        stopped += result.stops;
      }
      snprintf(row + strlen(row), sizeof row - strlen(row), "%14s", cell);
    }
    printf("%-20s%s\n", calls[c].name, row);
    fflush(stdout);
  }
  printf("%d stops, %d calls failed. In brackets: at how many what may wait did (exceptions.h).\n", stopped, failed);
  return failed != 0 || stopped == 0;
}
