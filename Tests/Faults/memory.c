/*
 * memory.c - no memory, by a limit of the address space, as a container or `ulimit -v` sets it, or because every allocation
 * is refused: what can be made is made until there is no room, none of it is lost, and what runs goes on. And memory that is
 * the host's. (What each call does with each of its allocations refused: allocations.c.)
 */
#include "places.h"
#include "refusing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int ticks;
static int due;

/* ---- A limit of the address space ------------------------------------------------------------------------------- */

static void limit_to(int64_t kib) {
  struct rlimit limit;
  EXPECT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = kib < 0 ? limit.rlim_max : (rlim_t)kib * 1024;
  EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

enum { MOST_TIMERS = 400000, STEPS = 9, LIMITS = PLACES * STEPS };
static chime_timer_t timers[MOST_TIMERS];

static int fill(chime_queue_t queue, int from) {
  chime_status status = CHIME_OK;
  int count = from;
  while (count < MOST_TIMERS) {
    status = chime_timer_after(queue, CHIME_HOUR, count_tick, &due, NULL, &timers[count]);
    if (status != CHIME_OK) break;
    count++;
  }
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  return count;
}

/*
 * Timers until there is no room, within 64 KiB, 128, and so on more than the process has; releasing half of them makes room
 * for as many; all that are left tick, on a virtual queue within the limit, too. (Threads of libdispatch that fire would ask
 * for memory that a limit denies them: there the limit has gone.)
 */
static void within(int argument) {
  int where = argument / STEPS, room_kib = 64 << argument % STEPS;
  chime_queue_t queue = 0;
  int count, released, again, i;
  if (where == SERIAL && argument % STEPS > 2) fault_skip("libdispatch needs the room");
  if (where != SERIAL && where != PRECISE && where != HOST && where != VIRTUAL) fault_skip("as others");
  REQUIRE_OK(place_make(where, NULL, &queue));
  place_drive(where, queue);
  REQUIRE_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  EXPECT(place_await(where, queue, &ticks, 1)); /* what libdispatch needs at first, it has */
  memset(timers, 0, sizeof timers);
  limit_to(mapped_kib() + room_kib);
  count = fill(queue, 0);
  released = count / 2;
  for (i = 0; i < released; i++) EXPECT_OK(chime_timer_release(timers[i]));
  again = fill(queue, count) - count;
  fault_seen("%s, %d KiB: %d, then %d", place_name(where), room_kib, count, again);
  EXPECT_BETWEEN(again, released - 64, MOST_TIMERS);
  count += again;
  if (where != VIRTUAL) limit_to(-1);
  if (where == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, CHIME_HOUR));
  for (i = released; i < count && where != VIRTUAL; i++) EXPECT_OK(chime_timer_fire(timers[i]));
  EXPECT(await(&due, count - released));
  limit_to(-1);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&due), count - released);
}

/* ---- Much at once ------------------------------------------------------------------------------------------------ */

/* Calls of async, and targets, until there is no memory; then all that was taken is run, and finalized. */
static void fill_with_functions(int where) {
  chime_queue_t queue = 0;
  chime_target_t target = 0;
  chime_status status = CHIME_OK;
  int functions = 0, targets = 0;
  REQUIRE_OK(place_make(where, NULL, &queue));
  limit_to(mapped_kib() + (20 << 10));
  while (functions < 4000000 && (status = chime_queue_async(queue, count_call, &ticks, count_call)) == CHIME_OK)
    functions++;
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  while (targets < 4000000 && (status = chime_target_create(&due, NULL, &target)) == CHIME_OK) targets++;
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  limit_to(-1);
  fault_seen("%s: %d functions, %d targets", place_name(where), functions, targets);
  EXPECT_OK(chime_target_create(&due, NULL, &target));
  EXPECT_OK(chime_queue_async(queue, count_call, &ticks, count_call));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&ticks), 2 * functions + 2);
}

/* ---- All refused, for a while ------------------------------------------------------------------------------------ */

/* For stacks: libdispatch asks for a thread again and again until it gets it (the program `threads`). */
enum { ROOM_FOR_THREADS_KIB = 256 << 10 };

/* Every kind of queue ticks on while every allocation of the process is refused, and the address space full but for
   threads, and cancels, releases and shuts down: FAULTS_SECONDS (2) of it. */
typedef struct ticking {
  int where;
  chime_queue_t queue;
  chime_timer_t timers[8];
} ticking;

static void *tick_on(void *context) {
  const char *seconds = getenv("FAULTS_SECONDS");
  ticking *t = context;
  int64_t end, resident;
  int i, before, after, rounds = 0, made = 0, unmade = 0;
  long refused;
  for (i = 0; i < 8; i++) {
    if (!EXPECT_OK(chime_timer_every(t->queue, CHIME_MILLISECOND, count_tick, &ticks, count_call, &t->timers[i])))
      return NULL;
  }
  /* Threads have come. (The main queue is run by the main thread.) */
  EXPECT(t->where == MAIN ? await(&ticks, 100) : place_await(t->where, t->queue, &ticks, 100));
  before = load(&ticks);
  resident = resident_kib();
  limit_to(mapped_kib() + ROOM_FOR_THREADS_KIB);
  refuse(REFUSE_FROM, 1);
  end = monotonic_ns() + (seconds != NULL ? atol(seconds) : 2) * CHIME_SECOND;
  while ((monotonic_ns() < end || rounds < 100) && fault_failures() == 0) { /* a tick each, at least */
    chime_timer_t timer = 0;
    chime_queue_t more = 0;
    int seen = load(&ticks);
    if (t->where == VIRTUAL) {
      EXPECT_OK(chime_queue_advance(t->queue, CHIME_MILLISECOND));
      sleep_ms(1);
    } else {
      EXPECT(await(&ticks, seen + 1));
    }
    rounds++;
    if (chime_timer_after(t->queue, CHIME_HOUR, ignore_tick, NULL, NULL, &timer) == CHIME_OK) {
      made++;
      EXPECT_OK(chime_timer_release(timer));
    }
    EXPECT(chime_timer_suspend(t->timers[1]) >= 0);
    EXPECT_OK(chime_timer_resume(t->timers[1]));
    unmade += chime_queue_create(rounds % 2 ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &more) < 0;
    EXPECT_OK(chime_queue_release(more));
  }
  after = load(&ticks);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_cancel(t->timers[i]) >= 0);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_release(t->timers[i]) >= 0);
  EXPECT_OK(chime_queue_shutdown(t->queue, PATIENCE));
  if (t->where == MAIN) chime_main_stop();
  refused = refuse_none();
  limit_to(-1);
  fault_seen("%s: %d ticks, %d timers; %ld allocations and %d calls refused; %lld KiB more%s", place_name(t->where),
             after - before, made, refused, unmade, (long long)(resident_kib() - resident),
             seconds != NULL ? "\n" : "");
  EXPECT(made > 0 && unmade > 0);
  return NULL;
}

static void tick_without(int where) {
  static ticking t;
  pthread_t thread;
  t.where = where;
  REQUIRE_OK(place_make(where, NULL, &t.queue));
  place_drive(where, t.queue);
  if (where != MAIN) {
    tick_on(&t);
    return;
  }
  /* The main thread has to be in chime_main_run. */
  REQUIRE_OK(pthread_create(&thread, NULL, tick_on, &t));
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
  if (where == MAIN) fault_skip("its thread would have to drain it");
  REQUIRE_OK(place_make(where, NULL, &queue));
  place_drive(where, queue);
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
  fault_seen("%s", place_name(where));
}

/* ---- What must not fail ------------------------------------------------------------------------------------------ */

/* The 2^22nd generation of a timer needs memory that it has not had so far: suspend and cancel go on without. */
static void wrap_generations(int is_cancel) {
  enum { LAST = (1 << 22) - 1 };
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
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  fault_seen("%s", is_cancel ? "cancel" : "suspend");
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
  place_expect_works(where);
  EXPECT_EQ(chime_set_allocator(&allocator), CHIME_ERROR_BUSY);
  EXPECT(most_blocks > 0);
  before = (int)blocks;
  place_expect_works(where);
  EXPECT_BETWEEN(blocks, 0, before + 64); /* what is kept for the next queue */
  store(&takes_from_host, 0);
  if (place_make(where, NULL, &queue) == CHIME_OK) EXPECT_OK(chime_queue_shutdown(queue, where == MAIN ? 0 : PATIENCE));
  fault_seen("%s", place_name(where));
}

FAULT_CASES({"limit", within, 0, LIMITS - 1, 0, 0},
            {"functions-and-targets", fill_with_functions, VIRTUAL, VIRTUAL, 0, 0},
            {"ticking-without-memory", tick_without, 0, PLACES - 1, 0, 0},
            {"first-tick-without-memory", tick_first, 0, PLACES - 1, 0, 0},
            {"a-generation-too-many", wrap_generations, 0, 1, 0, 0},
            {"the-hosts-allocator", with_the_hosts, 0, PLACES - 1, 0, 0})
