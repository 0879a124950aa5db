/*
 * memory.c - no memory. Once by a limit of the address space, as a container or `ulimit -v` sets it: timers are made until
 * there is no room, and none of those made before is lost. Once by allocations that fail one after the other: each call of
 * Chime with its first, second, third … allocation refused.
 *
 * This program's malloc, calloc, posix_memalign and mmap stand before libc's, for the library too.
 */
#include "places.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Allocations that fail -------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Counts down to the allocation of this thread that fails; 0: none does, any more. */
static __thread int until_failure;
static __thread int refused;
static __thread int is_counting;

static int must_fail(void) {
  if (!is_counting || until_failure == 0) return 0;
  if (until_failure > 1) {
    until_failure--;
    return 0;
  }
  until_failure = 0;
  refused++;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return must_fail() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return must_fail() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return must_fail() ? NULL : __libc_realloc(memory, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (must_fail()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

void *aligned_alloc(size_t alignment, size_t size) { return must_fail() ? NULL : __libc_memalign(alignment, size); }

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  if (must_fail()) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

/* ---- Each call, with its n-th allocation refused ---------------------------------------------------------------- */

static int ticks;
static int due;

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

typedef chime_status (*subject)(chime_queue_t queue, chime_timer_t timer);

static chime_status create_plain(chime_queue_t queue, chime_timer_t timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  (void)timer;
  options.handler = ignore_tick;
  return chime_timer_create(queue, &options, &timer);
}

static chime_status create_full(chime_queue_t queue, chime_timer_t timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  (void)timer;
  options.handler = ignore_tick;
  options.registration_handler = ignore_tick;
  options.cancel_handler = ignore_tick;
  options.context = &ticks;
  options.finalizer = count_call;
  return chime_timer_create(queue, &options, &timer);
}

static chime_status create_labelled(chime_queue_t queue, chime_timer_t timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  (void)timer;
  options.handler = ignore_tick;
  options.label = "a label that does not fit into a small string";
  return chime_timer_create(queue, &options, &timer);
}

static chime_status start_plain(chime_queue_t queue, chime_timer_t timer) {
  return chime_timer_after(queue, CHIME_SECOND, ignore_tick, NULL, NULL, &timer);
}

static chime_status activate(chime_queue_t queue, chime_timer_t timer) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  (void)queue;
  schedule.first_ns = CHIME_SECOND;
  return chime_timer_activate(timer, &schedule);
}

static chime_status restart(chime_queue_t queue, chime_timer_t timer) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  (void)queue;
  schedule.first_ns = CHIME_SECOND;
  schedule.interval_ns = CHIME_HOUR;
  schedule.leeway_ns = 12345;
  schedule.tick_limit = 7;
  return chime_timer_restart(timer, &schedule);
}

static chime_status reschedule(chime_queue_t queue, chime_timer_t timer) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  (void)queue;
  schedule.first_ns = 3 * CHIME_HOUR;
  schedule.interval_ns = CHIME_HOUR;
  return chime_timer_reschedule(timer, &schedule);
}

static chime_status fire(chime_queue_t queue, chime_timer_t timer) {
  (void)queue;
  return chime_timer_fire(timer);
}

static chime_status postpone(chime_queue_t queue, chime_timer_t timer) {
  (void)queue;
  chime_timer_activate(timer, NULL);
  return chime_timer_postpone(timer, CHIME_HOUR);
}

static chime_status release(chime_queue_t queue, chime_timer_t timer) {
  (void)queue;
  return chime_timer_release(timer);
}

static chime_status cancel_and_wait(chime_queue_t queue, chime_timer_t timer) {
  (void)queue;
  return chime_timer_cancel_and_wait(timer, CHIME_SECOND);
}

static chime_status add_handler(chime_queue_t queue, chime_timer_t timer) {
  (void)queue;
  return chime_timer_add_handler(timer, "a key that does not fit into a small string", ignore_tick, NULL, NULL);
}

static chime_status async(chime_queue_t queue, chime_timer_t timer) {
  (void)timer;
  return chime_queue_async(queue, count_call, &due, NULL);
}

static chime_status create_target(chime_queue_t queue, chime_timer_t timer) {
  chime_target_t target = 0;
  (void)queue;
  (void)timer;
  return chime_target_create(&ticks, NULL, &target);
}

static chime_status create_expiring(chime_queue_t queue, chime_timer_t timer) {
  chime_expiring_t expiring = 0;
  (void)timer;
  return chime_expiring_create(queue, &ticks, NULL, CHIME_SECOND, &expiring);
}

static chime_status create_virtual(chime_queue_t queue, chime_timer_t timer) {
  (void)timer;
  return chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue);
}

static chime_status create_host(chime_queue_t queue, chime_timer_t timer) {
  (void)timer;
  return chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue);
}

static chime_status create_serial(chime_queue_t queue, chime_timer_t timer) {
  (void)timer;
  return chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue);
}

static chime_status create_precise(chime_queue_t queue, chime_timer_t timer) {
  (void)timer;
  return chime_queue_create(CHIME_QUEUE_PRECISE, NULL, &queue);
}

static chime_status advance(chime_queue_t queue, chime_timer_t timer) {
  chime_status status = chime_timer_activate(timer, NULL);
  return status == CHIME_OK ? chime_queue_advance(queue, 2 * CHIME_SECOND) : status;
}

static chime_status stats(chime_queue_t queue, chime_timer_t timer) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_timer_get_info(timer, &info);
  return chime_queue_get_stats(queue, &stats);
}

static chime_status dump(chime_queue_t queue, chime_timer_t timer) {
  char text[512];
  (void)timer;
  return chime_queue_dump(queue, text, sizeof text, NULL);
}

/* What is said of a call: every refusal gives a status (or is done without the memory), or the runtime gives up. */
enum { STATUS, RUNTIME };
static const struct {
  const char *name;
  subject call;
  int expected;
} subjects[] = {
    {"chime_timer_create", create_plain, STATUS},
    {"chime_timer_create, full", create_full, STATUS},
    {"chime_timer_after", start_plain, STATUS},
    {"chime_timer_activate", activate, STATUS},
    {"chime_timer_restart", restart, STATUS},
    {"chime_timer_reschedule", reschedule, STATUS},
    {"chime_timer_fire", fire, STATUS},
    {"chime_timer_postpone", postpone, STATUS},
    {"chime_timer_release", release, STATUS},
    {"chime_timer_cancel_and_wait", cancel_and_wait, STATUS},
    {"chime_timer_get_info, chime_queue_get_stats", stats, RUNTIME},
    {"chime_timer_create, labelled", create_labelled, RUNTIME},
    {"chime_timer_add_handler", add_handler, RUNTIME},
    {"chime_queue_async", async, RUNTIME},
    {"chime_target_create", create_target, RUNTIME},
    {"chime_expiring_create", create_expiring, RUNTIME},
    {"chime_queue_advance", advance, RUNTIME},
    {"chime_queue_dump", dump, RUNTIME},
    {"chime_queue_create, virtual", create_virtual, RUNTIME},
    {"chime_queue_create, host-driven", create_host, RUNTIME},
    {"chime_queue_create, serial", create_serial, RUNTIME},
    {"chime_queue_create, precise", create_precise, RUNTIME},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0], MOST_ALLOCATIONS = 30, MOST_EXEMPT = 6 };

/* Where the runtime gives up it prints a stack, which is of no interest here. */
static void silence(int is_silent) {
  static int standard_error = -1;
  if (standard_error < 0) standard_error = dup(STDERR_FILENO);
  if (is_silent) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  } else {
    dup2(standard_error, STDERR_FILENO);
  }
}

/* One call with its n-th allocation refused. */
static void refuse(int which, int n) {
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_status status;
  options.handler = count_tick;
  options.context = &ticks;
  schedule.first_ns = CHIME_SECOND;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  REQUIRE_OK(chime_timer_create(queue, &options, &timer));
  REQUIRE_OK(chime_timer_reschedule(timer, &schedule));
  silence(1);
  until_failure = n;
  is_counting = 1;
  status = subjects[which].call(queue, timer);
  is_counting = 0;
  silence(0);
  fault_seen("%d %d\n", status, refused);
  /* A thread whose stack was refused is a resource. */
  if (refused > 0 && status != CHIME_OK && status != CHIME_ERROR_RESOURCE) EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  /* All is as before, and works. */
  store(&ticks, 0);
  status = chime_timer_restart(timer, &schedule);
  if (status != CHIME_ERROR_INVALID_HANDLE) {
    EXPECT_OK(status);
    EXPECT_OK(chime_queue_advance(queue, 2 * CHIME_SECOND));
    EXPECT_EQ(load(&ticks), 1);
  }
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

static void refuse_on_this_thread(int argument) { refuse(argument / 100, argument % 100); }

static void *call_on_a_new_thread(void *context) {
  chime_queue_t *queue = context;
  chime_timer_t timer = 0;
  until_failure = 1;
  is_counting = 1;
  *queue = (chime_queue_t)(int64_t)create_plain(*queue, timer);
  is_counting = 0;
  return NULL;
}

/* A thread's first call of Chime, without memory. */
static void refuse_on_a_new_thread(int argument) {
  chime_queue_t queue = 0, result;
  pthread_t thread;
  (void)argument;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  result = queue;
  REQUIRE_OK(pthread_create(&thread, NULL, call_on_a_new_thread, &result));
  pthread_join(thread, NULL);
  fault_seen("the first chime_timer_create of a thread: %s", chime_status_name((chime_status)(int64_t)result));
  EXPECT_EQ((chime_status)(int64_t)result, CHIME_ERROR_NO_MEMORY);
  EXPECT_OK(create_plain(queue, 0));
}

static void each_allocation(int which) {
  /* Each end of a process takes its time; of those that are exempt a few are enough. */
  int most = subjects[which].expected == STATUS ? MOST_ALLOCATIONS : MOST_EXEMPT;
  int n, crashes = 0, refusals = 0, statuses = 0;
  for (n = 1; n <= most; n++) {
    int status = 0, times = 0;
    fault_end end = fault_run_case("one-allocation", which * 100 + n, 3000);
    if (sscanf(end.output, "%d %d", &status, &times) == 2 && times == 0) break; /* it needs no n-th allocation */
    refusals++;
    EXPECT(!end.hung);
    if (end.signal != 0) {
      crashes++;
    } else {
      EXPECT_EQ(end.exit_status, 0);
      if (status != CHIME_OK) statuses++;
    }
  }
  fault_seen("%s: ", subjects[which].name);
  if (refusals == 0) {
    fault_seen("allocates nothing");
  } else {
    fault_seen("%s%d allocations refused: a status for %d, done without %d, the runtime ends the process %d",
               n > most ? "the first " : "", refusals, statuses, refusals - statuses - crashes, crashes);
  }
  if (subjects[which].expected == STATUS) {
    EXPECT_EQ(crashes, 0);
    EXPECT(n <= most); /* all were tried */
  }
}

/* ---- A limit of the address space ------------------------------------------------------------------------------- */

enum { MOST_TIMERS = 400000 };
static chime_timer_t timers[MOST_TIMERS];

static void limit_to(int64_t kib) {
  struct rlimit limit;
  EXPECT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = kib < 0 ? limit.rlim_max : (rlim_t)kib * 1024;
  EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static int fill(chime_queue_t queue, int from, chime_status *status) {
  int count = from;
  *status = CHIME_OK;
  while (count < MOST_TIMERS) {
    *status = chime_timer_after(queue, 10 * CHIME_MILLISECOND, count_tick, &due, NULL, &timers[count]);
    if (*status != CHIME_OK) break;
    count++;
  }
  return count;
}

/* Timers until there is no room, within so many KiB more than the process has; release makes room; all tick. */
static void within(place where, int room_kib) {
  chime_queue_t queue = 0;
  chime_status status;
  int count, released, again, i;
  REQUIRE_OK(place_make(where, NULL, &queue));
  REQUIRE_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  if (where != HOST) EXPECT(place_await(where, queue, &ticks, 1)); /* what libdispatch needs at first, it has */
  if (where == HOST) EXPECT_OK(chime_queue_process(queue, 0, NULL));
  for (i = 0; i < MOST_TIMERS; i++) timers[i] = 0;
  limit_to(mapped_kib() + room_kib);
  count = fill(queue, 0, &status);
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  released = count / 2;
  for (i = 0; i < released; i++) chime_timer_release(timers[i]);
  again = fill(queue, count, &status) - count;
  fault_seen("%s, %d KiB: %d, then %d", place_name(where), room_kib, count, again);
  EXPECT_BETWEEN(again, released - 64, MOST_TIMERS);
  limit_to(-1);
  if (where == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  while (where == HOST && load(&due) < count - released + again) {
    if (!EXPECT_OK(chime_queue_wait(queue, PATIENCE))) break;
    if (!EXPECT_OK(chime_queue_process(queue, 0, NULL))) break;
  }
  EXPECT_EQ(load(&due), count - released + again);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* Ticks while the limit stands: what a pass writes down it has from Swift's runtime, which may have none. */
static void tick_within(int step) {
  chime_queue_t queue = 0;
  chime_status status;
  int i, count;
  REQUIRE_OK(place_make(VIRTUAL, NULL, &queue));
  for (i = 0; i < MOST_TIMERS; i++) timers[i] = 0;
  limit_to(mapped_kib() + (64 << step));
  count = fill(queue, 0, &status);
  for (i = 0; i < count / 2; i++) chime_timer_release(timers[i]);
  silence(1);
  chime_queue_advance(queue, CHIME_SECOND);
  silence(0);
  EXPECT_EQ(load(&due), count - count / 2);
}

static void ticking(int step) {
  fault_end end = fault_run_case("tick-within", step, 5000);
  EXPECT(!end.hung);
  if (end.signal == 0) EXPECT_EQ(end.exit_status, 0); /* all ticked */
  fault_seen("%d KiB: %s", 64 << step, end.signal == 0 ? "all tick" : "the runtime ends the process");
}

static void within_virtual(int step) { within(VIRTUAL, 64 << step); }
static void within_host(int step) { within(HOST, 64 << step); }

/* The same on queues with a thread: timers that are due later, so that all are there at once. */
static void within_thread(place where, int room_kib) {
  chime_queue_t queue = 0;
  chime_status status = CHIME_OK;
  int count = 0, i, woken = 0;
  REQUIRE_OK(place_make(where, NULL, &queue));
  REQUIRE_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  EXPECT(await(&ticks, 1));
  for (i = 0; i < MOST_TIMERS; i++) timers[i] = 0;
  limit_to(mapped_kib() + room_kib);
  while (count < MOST_TIMERS && status == CHIME_OK) {
    status = chime_timer_after(queue, CHIME_HOUR, count_tick, &due, count_call, &timers[count]);
    if (status == CHIME_OK) count++;
  }
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  fault_seen("%s, %d KiB: %d", place_name(where), room_kib, count);
  limit_to(-1);
  for (i = 0; i < count; i++) {
    if (chime_timer_fire(timers[i]) == CHIME_OK) woken++;
  }
  EXPECT_EQ(woken, count);
  EXPECT(await(&due, count));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&due), 2 * count); /* ticks and finalizers, both counted here */
}

static void within_serial(int step) { within_thread(SERIAL, 64 << step); }
static void within_precise(int step) { within_thread(PRECISE, 64 << step); }

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"limit-virtual", within_virtual, 0, 8, 0, 0},
      {"limit-host-driven", within_host, 0, 8, 0, 0},
      {"limit-serial", within_serial, 0, 2, 0, 0},
      {"limit-precise", within_precise, 0, 8, 0, 0},
      {"ticking-in-the-limit", ticking, 0, 8, 0, 0},
      {"a-new-thread", refuse_on_a_new_thread, 0, 0, 0, 0},
      {"each-allocation", each_allocation, 0, SUBJECTS - 1, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  /* What cases run in processes of their own, because it may end them. */
  static const fault_case parts[] = {{"one-allocation", refuse_on_this_thread, 0, 0, 0, 0},
                                     {"tick-within", tick_within, 0, 0, 0, 0},
                                     {NULL, NULL, 0, 0, 0, 0}};
  int is_part = argc == 3 && (strncmp(argv[2], parts[0].name, strlen(parts[0].name)) == 0 ||
                              strncmp(argv[2], parts[1].name, strlen(parts[1].name)) == 0);
  return fault_main(argc, argv, is_part ? parts : cases);
}
