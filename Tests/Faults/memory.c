/*
 * memory.c - no memory, by a limit of the address space, as a container or `ulimit -v` sets it, or because every allocation
 * is refused: what can be made is made until there is no room, none of it is lost, and what runs goes on. And memory that is
 * the host's. (What each call does with each of its allocations refused: allocations.c.)
 */
#include "places.h"
#include "refusing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int ticks;
static int due;

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}

static void nothing(void *context) { (void)context; }

/* ---- A thread's first call --------------------------------------------------------------------------------------- */

static void *call_on_a_new_thread(void *context) {
  chime_queue_t *queue = context;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_timer_t timer = 0;
  options.handler = ignore_tick;
  refuse(REFUSE_FROM, 1);
  *queue = (chime_queue_t)(int64_t)chime_timer_create(*queue, &options, &timer);
  refuse_none();
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
  EXPECT_OK(chime_timer_after(queue, CHIME_SECOND, ignore_tick, NULL, NULL, NULL));
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_SECOND));
}

/* ---- Much at once ------------------------------------------------------------------------------------------------ */

static void limit_to(int64_t kib);

/* Calls of async, and targets, until there is no memory; then all that was taken is run, and finalized. */
static void fill_with_functions(int where) {
  chime_queue_t queue = 0;
  chime_target_t target = 0;
  chime_status status = CHIME_OK;
  int functions = 0, targets = 0;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  limit_to(mapped_kib() + (20 << 10));
  while (functions < 4000000 && (status = chime_queue_async(queue, count_call, &ticks, count_call)) == CHIME_OK)
    functions++;
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  while (targets < 4000000 && (status = chime_target_create(&due, NULL, &target)) == CHIME_OK) targets++;
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  limit_to(-1);
  fault_seen("%s: %d functions, %d targets", place_name((place)where), functions, targets);
  EXPECT_OK(chime_target_create(&due, NULL, &target));
  EXPECT_OK(chime_queue_async(queue, count_call, &ticks, count_call));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_OK(chime_queue_shutdown(queue, 20 * CHIME_SECOND));
  EXPECT_EQ(load(&ticks), 2 * functions + 2);
}

/* ---- All refused, for a while ------------------------------------------------------------------------------------ */

/* Every kind of queue ticks on while every allocation of the process is refused and the address space is full, and
   cancels, releases and shuts down: FAULTS_SECONDS (2) of it. */
typedef struct ticking {
  place where;
  chime_queue_t queue;
  chime_timer_t timers[8];
} ticking;

static int64_t ticking_seconds(void) {
  const char *text = getenv("FAULTS_SECONDS");
  return text != NULL && atol(text) > 0 ? atol(text) : 2;
}

/* A call that needs memory: whatever it answers, nothing dies. Gives how many were refused. */
static int ask_for_more(ticking *t, int round) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_status status = CHIME_OK;
  uint64_t made = 0;
  options.handler = ignore_tick;
  options.label = "a label of more than fifteen bytes";
  schedule.first_ns = CHIME_HOUR;
  switch (round % 6) {
    case 0:
      status = chime_timer_start(t->queue, &options, &schedule, &made);
      EXPECT(chime_timer_release(made) >= 0);
      break;
    case 1:
      status = chime_target_create(&due, NULL, &made);
      EXPECT_OK(chime_target_release(made));
      break;
    case 2:
      status = chime_queue_create(round % 12 < 6 ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &made);
      EXPECT_OK(chime_queue_release(made));
      break;
    case 3: status = chime_queue_async(t->queue, nothing, NULL, NULL); break;
    case 4:
      status = chime_timer_add_handler(t->timers[2], "key", count_tick, &ticks, NULL);
      EXPECT(chime_timer_remove_handler(t->timers[2], "key") != CHIME_ERROR_INVALID_HANDLE);
      break;
    default: status = chime_run_loop_create(NULL, &made); EXPECT(chime_run_loop_release(made) >= 0);
  }
  if (status < 0) EXPECT(status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE);
  return status < 0;
}

static void *tick_on(void *context) {
  ticking *t = context;
  int64_t seconds = ticking_seconds(), end, resident;
  int i, before, after, round = 0, made = 0, unmade = 0;
  long refused;
  for (i = 0; i < 8; i++) {
    if (!EXPECT_OK(chime_timer_every(t->queue, CHIME_MILLISECOND, count_tick, &ticks, count_call, &t->timers[i])))
      return NULL;
  }
  if (t->where == VIRTUAL) EXPECT(place_await(VIRTUAL, t->queue, &ticks, 100));
  else EXPECT(await(&ticks, 100)); /* threads have come */
  before = load(&ticks);
  resident = resident_kib();
  limit_to(mapped_kib());
  refuse(REFUSE_FROM, 1);
  for (end = monotonic_ns() + seconds * CHIME_SECOND; monotonic_ns() < end && fault_failures() == 0;) {
    chime_timer_t timer = 0;
    int seen = load(&ticks);
    if (t->where == VIRTUAL) {
      EXPECT_OK(chime_queue_advance(t->queue, CHIME_MILLISECOND));
      sleep_ms(1);
    } else {
      EXPECT(await(&ticks, seen + 1));
    }
    if (chime_timer_after(t->queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer) == CHIME_OK) {
      made++;
      EXPECT_OK(chime_timer_release(timer));
    }
    EXPECT(chime_timer_suspend(t->timers[1]) >= 0);
    EXPECT_OK(chime_timer_resume(t->timers[1]));
    unmade += ask_for_more(t, round++);
  }
  after = load(&ticks);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_cancel(t->timers[i]) >= 0);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_release(t->timers[i]) >= 0);
  EXPECT_OK(chime_queue_shutdown(t->queue, 5 * CHIME_SECOND));
  if (t->where == MAIN) chime_main_stop();
  refused = refuse_none();
  limit_to(-1);
  fault_seen("%s: %d ticks, %d timers; %ld allocations and %d calls refused; %lld KiB more%s", place_name(t->where),
             after - before, made, refused, unmade, (long long)(resident_kib() - resident), seconds > 2 ? "\n" : "");
  EXPECT(after - before > 100 * seconds);
  EXPECT(made > 0);
  return NULL;
}

static void tick_without(int where) {
  static ticking t;
  pthread_t thread;
  t.where = (place)where;
  REQUIRE_OK(place_make(t.where, NULL, &t.queue));
  place_drive(t.where, t.queue);
  if (where != MAIN) {
    tick_on(&t);
    return;
  }
  /* The main thread has to be in chime_main_run. */
  REQUIRE(pthread_create(&thread, NULL, tick_on, &t) == 0);
  EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
}

/* The first tick of a queue comes when there is no memory any more, and the reserve has been used up; so do the expiry of
   a value, the end of a target and its timer, and that of the queue. */
static void tick_first(int where) {
  static int expired, value_ended, target_ended, timer_ended;
  chime_queue_t queue = 0, filled = 0;
  chime_expiring_t expiring = 0;
  chime_target_t target = 0;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer = 0;
  options.handler = count_tick;
  options.context = &ticks;
  options.finalizer = count_call;
  schedule.interval_ns = CHIME_MILLISECOND;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  place_drive((place)where, queue);
  REQUIRE_OK(chime_timer_create(queue, &options, &timer));
  REQUIRE_OK(chime_expiring_create(queue, &value_ended, count_call, CHIME_SECOND, &expiring));
  REQUIRE_OK(chime_expiring_on_expiry(expiring, count_tick, &expired, NULL));
  REQUIRE_OK(chime_target_create(&target_ended, count_call, &target));
  options.target = target;
  options.cancel_handler = ignore_tick;
  options.context = &timer_ended;
  options.handler = ignore_tick;
  schedule.first_ns = CHIME_HOUR;
  REQUIRE_OK(chime_timer_start(queue, &options, &schedule, NULL));
  schedule.first_ns = 0;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &filled));
  refuse(REFUSE_FROM, 1);
  place_use_up_reserve(filled);
  EXPECT_OK(chime_timer_activate(timer, &schedule));
  EXPECT_OK(chime_target_release(target));
  EXPECT_EQ(load(&target_ended), 1);
  if (where == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  EXPECT(await(&ticks, 3) && await(&timer_ended, 1) && await(&expired, 1) && await(&value_ended, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  refuse_none();
  EXPECT_OK(chime_queue_shutdown(filled, 0));
  fault_seen("%s", place_name((place)where));
}

/* ---- What must not fail ------------------------------------------------------------------------------------------ */

/* The 2^23rd generation of a timer needs memory that it has not had so far: suspend and cancel go on without. */
static void wrap_generations(int is_cancel) {
  enum { LAST = (1 << 23) - 1 };
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  uint64_t generation = 0, after = 0;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, NULL)); /* the next one has no side record */
  REQUIRE_OK(chime_timer_after(queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer));
  while (generation < LAST) {
    REQUIRE_OK(chime_timer_suspend(timer));
    REQUIRE_OK(chime_timer_resume(timer));
    REQUIRE_OK(chime_timer_generation(timer, &generation));
  }
  EXPECT_EQ(generation, LAST);
  limit_to(mapped_kib());
  refuse(REFUSE_FROM, 1);
  EXPECT_OK(is_cancel ? chime_timer_cancel(timer) : chime_timer_suspend(timer));
  refuse_none();
  limit_to(-1);
  EXPECT_OK(chime_timer_generation(timer, &after));
  EXPECT_EQ(after, LAST + 1);
  EXPECT_OK(chime_timer_restart(timer, NULL));
  EXPECT_OK(chime_queue_shutdown(queue, CHIME_SECOND));
  fault_seen("%s", is_cancel ? "cancel" : "suspend");
}

/* ---- One in a thousand refused, under a storm -------------------------------------------------------------------- */

typedef struct storm {
  chime_queue_t queue;
  uint32_t seed;
  int accepted; /* contexts that Chime has taken */
} storm;

static int storm_finalized, storm_ends;

static void finalize(void *context) {
  (void)context;
  add(&storm_finalized, 1);
}

static int took(chime_status status) {
  if (status < 0) EXPECT(status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE);
  return status >= 0;
}

static void *storm_thread(void *context) {
  storm *s = context;
  chime_timer_t timers_here[16] = {0};
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = ignore_tick;
  options.finalizer = finalize;
  options.label = "a label of more than fifteen bytes";
  schedule.interval_ns = 300 * CHIME_MICROSECOND;
  while (!load(&storm_ends)) {
    uint32_t r = s->seed = s->seed * 1664525u + 1013904223u;
    chime_timer_t *timer = &timers_here[r >> 28];
    chime_target_t target = 0;
    char text[512];
    switch (r >> 20 & 7) {
      case 0:
        chime_timer_release(*timer);
        *timer = 0;
        s->accepted += took(chime_timer_start(s->queue, &options, &schedule, timer));
        break;
      case 1:
        if (*timer != 0) s->accepted += took(chime_timer_add_handler(*timer, "key", ignore_tick, NULL, finalize));
        break;
      case 2: s->accepted += took(chime_queue_async(s->queue, nothing, NULL, finalize)); break;
      case 3:
        if (took(chime_target_create(s, finalize, &target))) {
          s->accepted++;
          EXPECT_OK(chime_target_release(target));
        }
        break;
      case 4: EXPECT_OK(chime_queue_dump(s->queue, text, sizeof text, NULL)); break;
      case 5:
        if (*timer != 0) EXPECT(chime_timer_cancel(*timer) >= 0);
        break;
      case 6:
        if (*timer != 0) took(chime_timer_restart(*timer, NULL));
        break;
      default:
        if (*timer != 0) took(chime_timer_fire(*timer));
    }
  }
  return NULL;
}

static void refuse_at_random(int where) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  storm storms[THREADS];
  chime_queue_t queue = 0;
  int i, accepted = 0;
  long refused;
  REQUIRE_OK(place_make((place)where, NULL, &queue));
  place_drive((place)where, queue);
  refuse(REFUSE_RANDOM, 1000);
  for (i = 0; i < THREADS; i++) {
    storms[i].queue = queue;
    storms[i].seed = (uint32_t)(i + 1) * 7919u;
    storms[i].accepted = 0;
    while (pthread_create(&threads[i], NULL, storm_thread, &storms[i]) != 0) sleep_ms(1);
  }
  for (i = 0; i < 10; i++) {
    if (where == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_MILLISECOND));
    sleep_ms(100);
  }
  store(&storm_ends, 1);
  for (i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    accepted += storms[i].accepted;
  }
  EXPECT_OK(chime_queue_shutdown(queue, 10 * CHIME_SECOND));
  refused = refuse_none();
  EXPECT_EQ(load(&storm_finalized), accepted);
  EXPECT(accepted > 1000 && refused > 0);
  fault_seen("%s: %d finalizers, %ld refused", place_name((place)where), accepted, refused);
}

/* ---- The host's allocator, and a limit --------------------------------------------------------------------------- */

static int64_t blocks, most_blocks;
static int takes_from_host;

static void *take(uint64_t alignment, uint64_t bytes, void *context) {
  EXPECT(context == &blocks);
  EXPECT(alignment != 0 && (alignment & (alignment - 1)) == 0);
  if (!load(&takes_from_host)) return NULL;
  __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&most_blocks, 1, __ATOMIC_RELAXED);
  return aligned_alloc((size_t)alignment, (size_t)((bytes + alignment - 1) & ~(alignment - 1)));
}

static void give(void *memory, void *context) {
  (void)context;
  __atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
  free(memory);
}

static void with_the_hosts(int where) {
  chime_allocator allocator = CHIME_ALLOCATOR_INIT;
  chime_queue_t queue = 0;
  int before;
  allocator.allocate = take;
  allocator.deallocate = give;
  allocator.context = &blocks;
  store(&takes_from_host, 1);
  EXPECT_OK(chime_set_allocator(&allocator));
  place_expect_works((place)where);
  EXPECT_EQ(chime_set_allocator(&allocator), CHIME_ERROR_BUSY);
  EXPECT(most_blocks > 0);
  before = (int)blocks;
  place_expect_works((place)where);
  EXPECT_BETWEEN(blocks, 0, before + 64); /* what is kept for the next queue */
  store(&takes_from_host, 0);
  if (place_make((place)where, NULL, &queue) == CHIME_OK)
    EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : CHIME_SECOND));
  fault_seen("%s", place_name((place)where));
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
    if (!EXPECT_OK(chime_queue_wait(queue, 5 * CHIME_SECOND))) break;
    if (!EXPECT_OK(chime_queue_process(queue, 0, NULL))) break;
  }
  EXPECT_EQ(load(&due), count - released + again);
  EXPECT_OK(chime_queue_shutdown(queue, 5 * CHIME_SECOND));
}

/* Ticks while the limit stands. */
static void tick_within(int step) {
  chime_queue_t queue = 0;
  chime_status status;
  int i, count;
  REQUIRE_OK(place_make(VIRTUAL, NULL, &queue));
  for (i = 0; i < MOST_TIMERS; i++) timers[i] = 0;
  limit_to(mapped_kib() + (64 << step));
  count = fill(queue, 0, &status);
  for (i = 0; i < count / 2; i++) chime_timer_release(timers[i]);
  EXPECT_OK(chime_queue_advance(queue, CHIME_SECOND));
  EXPECT_EQ(load(&due), count - count / 2);
  fault_seen("%d KiB: all tick", 64 << step);
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
  EXPECT_OK(chime_queue_shutdown(queue, 5 * CHIME_SECOND));
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
      {"ticking-in-the-limit", tick_within, 0, 8, 0, 0},
      {"a-new-thread", refuse_on_a_new_thread, 0, 0, 0, 0},
      {"functions-and-targets", fill_with_functions, VIRTUAL, VIRTUAL, 0, 0},
      {"ticking-without-memory", tick_without, SERIAL, MAIN, 0, 0},
      {"ticking-without-memory-virtual", tick_without, VIRTUAL, VIRTUAL, 0, 0},
      {"first-tick-without-memory", tick_first, SERIAL, RUN_LOOP, 0, 0},
      {"first-tick-without-memory-virtual", tick_first, VIRTUAL, VIRTUAL, 0, 0},
      {"a-generation-too-many", wrap_generations, 0, 1, 0, 0},
      {"refused-at-random", refuse_at_random, SERIAL, RUN_LOOP, 0, 0},
      {"refused-at-random-virtual", refuse_at_random, VIRTUAL, VIRTUAL, 0, 0},
      {"the-hosts-allocator", with_the_hosts, SERIAL, VIRTUAL, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
