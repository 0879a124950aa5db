/*
 * memory.c - no memory, by a limit of the address space, as a container or `ulimit -v` sets it, or because every allocation
 * is refused: what can be made is made until there is no room, none of it is lost, and what runs goes on.
 * Promise 19. (What each call
 * does with each of its allocations refused: allocations.c; with the host's own allocator: errno.c.)
 */
#include "places.h"
#include "refusing.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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
 * for as many; all that are left tick, on a virtual queue within the limit, too; a new thread of another might ask for memory.
 */
CASES(limit, argument, 0, LIMITS - 1) {
  int where = argument / STEPS, room_kib = 64 << argument % STEPS;
  chime_queue_t queue;
  int count, released, again, i;
  if (where != SERIAL && where != PRECISE && where != HOST && where != VIRTUAL) fault_skip("as others");
  queue = place_queue(where, NULL);
  REQUIRE_OK(chime_timer_after(queue, 0, count_tick, &ticks, NULL, NULL));
  EXPECT(place_await(where, queue, &ticks, 1)); /* what is needed at first is there */
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

/* ---- The end of a page ------------------------------------------------------------------------------------------- */

/* A structure whose size is too small is refused, and what lies behind it is not read: nothing is mapped there. */
CASE(short_structures) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const chime_timer_options right = TIMER_OPTIONS(.handler = count_tick);
  chime_queue_t queue = place_queue(VIRTUAL, NULL);
  chime_timer_t timer = 0, none = 0;
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t size;
  EXPECT(pages != MAP_FAILED);
  EXPECT_EQ(munmap(pages + page, page), 0);
  REQUIRE_OK(chime_timer_create(queue, &right, &timer));
  for (size = 4; size < sizeof right; size += 4) {
    void *structure = memset(pages + page - size, 0, size);
    memcpy(structure, &size, sizeof size);
    EXPECT_EQ(chime_timer_create(queue, structure, &none), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_start(queue, structure, AFTER(1), &none), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_start(queue, structure, AFTER(1), NULL), CHIME_ERROR_INVALID_ARGUMENT);
    if (size >= sizeof(chime_schedule)) continue;
    EXPECT_EQ(chime_timer_start(queue, &right, structure, &none), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_start(queue, &right, structure, NULL), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_activate(timer, structure), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_restart(timer, structure), CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(chime_timer_reschedule(timer, structure), CHIME_ERROR_INVALID_ARGUMENT);
  }
}

/* ---- Much at once ------------------------------------------------------------------------------------------------ */

/* Calls of async until there is no memory; then all that was taken is run, and finalized. */
CASE(many_functions) {
  chime_queue_t queue = place_queue(VIRTUAL, NULL);
  chime_status status = CHIME_OK;
  int functions = 0;
  limit_to(mapped_kib() + (20 << 10));
  while (functions < 4000000 && (status = chime_queue_async(queue, count_call, &ticks, count_call)) == CHIME_OK)
    functions++;
  EXPECT_EQ(status, CHIME_ERROR_NO_MEMORY);
  limit_to(-1);
  fault_seen("%d functions", functions);
  EXPECT_OK(chime_queue_async(queue, count_call, &ticks, count_call));
  EXPECT_OK(chime_queue_advance(queue, 0));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&ticks), 2 * functions + 2);
}

/* ---- All refused, for a while ------------------------------------------------------------------------------------ */

/* For stacks: libdispatch asks for a thread again and again until it gets it (the program `threads`). */
enum { ROOM_FOR_THREADS_KIB = 256 << 10 };

/* Every kind of queue ticks on while every allocation of the process is refused, and the address space full but for
   threads, and cancels, releases and shuts down. */
static chime_queue_t ticking;

static void *tick_on(void *context) {
  const int where = *(int *)context;
  chime_timer_t own[8];
  int64_t end, resident;
  int i, before, after, rounds = 0, made = 0, unmade = 0;
  long refused;
  for (i = 0; i < 8; i++) {
    REQUIRE_OK(chime_timer_every(ticking, CHIME_MILLISECOND, count_tick, &ticks, count_call, &own[i]));
  }
  /* Threads have come. (The main queue is run by the main thread.) */
  EXPECT(where == MAIN ? await(&ticks, 100) : place_await(where, ticking, &ticks, 100));
  before = load(&ticks);
  resident = resident_kib();
  limit_to(mapped_kib() + ROOM_FOR_THREADS_KIB);
  refuse(REFUSE_FROM, 1);
  end = monotonic_ns() + 2 * CHIME_SECOND;
  while ((monotonic_ns() < end || rounds < 100) && fault_failures() == 0) { /* a tick each, at least */
    chime_timer_t timer = 0;
    chime_queue_t more = 0;
    int seen = load(&ticks);
    if (where == VIRTUAL) {
      EXPECT_OK(chime_queue_advance(ticking, CHIME_MILLISECOND));
      sleep_ns(CHIME_MILLISECOND);
    } else {
      EXPECT(await(&ticks, seen + 1));
    }
    rounds++;
    if (chime_timer_after(ticking, CHIME_HOUR, ignore_tick, NULL, NULL, &timer) == CHIME_OK) {
      made++;
      EXPECT_OK(chime_timer_release(timer));
    }
    EXPECT(chime_timer_suspend(own[1]) >= 0);
    EXPECT_OK(chime_timer_resume(own[1]));
    unmade += chime_queue_create(rounds % 2 ? CHIME_QUEUE_SERIAL : CHIME_QUEUE_VIRTUAL, NULL, &more) < 0;
    EXPECT_OK(chime_queue_release(more));
  }
  after = load(&ticks);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_cancel(own[i]) >= 0);
  for (i = 0; i < 4; i++) EXPECT(chime_timer_release(own[i]) >= 0);
  EXPECT_OK(chime_queue_shutdown(ticking, PATIENCE));
  if (where == MAIN) chime_main_stop();
  refused = refuse_none();
  limit_to(-1);
  fault_seen("%s: %d ticks, %d timers; %ld allocations and %d calls refused; %lld KiB more", place_name(where),
             after - before, made, refused, unmade, (long long)(resident_kib() - resident));
  EXPECT(made > 0 && unmade > 0);
  return NULL;
}

CASES(ticking_without_memory, where, 0, PLACES - 1) {
  pthread_t thread;
  ticking = place_queue(where, NULL);
  thread = spawn(tick_on, &where);
  if (where == MAIN) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  pthread_join(thread, NULL);
}

/* The first tick of a queue comes when there is no memory any more, and the reserve has been used up; so do the expiry of
   a value, the end of a target and its timer, and that of the queue. */
CASES(first_tick_without_memory, where, 0, PLACES - 1) {
  static int expired, value_ended, target_ended, timer_ended;
  chime_timer_options options = TIMER_OPTIONS(.handler = count_tick, .context = &ticks, .finalizer = count_call);
  chime_queue_t queue, filled = place_queue(VIRTUAL, NULL);
  chime_expiring_t expiring = 0;
  chime_timer_t timer = 0;
  if (where == MAIN) fault_skip("its thread would have to drain it");
  queue = place_queue(where, NULL);
  REQUIRE_OK(chime_timer_create(queue, &options, &timer));
  REQUIRE_OK(chime_expiring_create(queue, CHIME_SECOND, &value_ended, count_call, NULL, &expiring));
  REQUIRE_OK(chime_expiring_on_expiry(expiring, count_tick, &expired, NULL));
  REQUIRE_OK(chime_target_create(&target_ended, count_call, &options.target));
  options.cancel_handler = options.handler = ignore_tick;
  options.context = &timer_ended;
  REQUIRE_OK(chime_timer_start(queue, &options, AFTER(CHIME_HOUR), NULL));
  refuse(REFUSE_FROM, 1);
  place_use_up_reserve(filled);
  EXPECT_OK(chime_timer_activate(timer, EVERY(0, CHIME_MILLISECOND)));
  EXPECT_OK(chime_target_release(options.target));
  EXPECT_EQ(load(&target_ended), 1);
  if (where == VIRTUAL) EXPECT_OK(chime_queue_advance(queue, 2 * CHIME_SECOND));
  EXPECT(await(&ticks, 3) && await(&timer_ended, 1) && await(&expired, 1) && await(&value_ended, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  refuse_none();
  EXPECT_OK(chime_queue_shutdown(filled, 0));
}

/* ---- None needed ------------------------------------------------------------------------------------------------- */

enum { TIMERS = 8, WARM_TICKS = 400, TICKS = 2000, STRETCHES = 5 };

static void start_again(const chime_tick *tick, void *context) {
  count_tick(tick, context);
  chime_timer_activate(tick->timer, NULL);
}

/* So many ticks more: gives the allocations that the process made meanwhile. */
static long count(int where, chime_queue_t queue, int more) {
  long before = allocations();
  int end = load(&ticks) + more;
  /* Not by place_await, whose own timer would be counted. */
  while (where == MAIN && load(&ticks) < end) EXPECT_EQ(chime_main_run(), CHIME_STOPPED);
  EXPECT(place_await(where == MAIN ? SERIAL : where, queue, &ticks, end));
  return allocations() - before;
}

/* Of repeating timers, one-shots that their handlers start again, and named handlers, once the queue runs. */
CASES(a_tick_allocates_nothing, where, 0, PLACES - 1) {
  chime_queue_t queue = place_queue(where, NULL);
  chime_timer_t timer = 0;
  chime_timer_options options = TIMER_OPTIONS(.context = &ticks);
  long found;
  int i;
  for (i = 0; i < TIMERS; i++) {
    chime_schedule schedule = schedule_of(200 * CHIME_MICROSECOND, i % 2 == 0 ? 500 * CHIME_MICROSECOND : 0);
    options.handler = i % 2 == 0 ? count_tick : start_again;
    /* A tick that finds others missed counts them in a side record, which the first of them makes. */
    if (i > 0) schedule.missed_policy = CHIME_MISSED_DELAY;
    REQUIRE_OK(chime_timer_start(queue, &options, &schedule, &timer));
    if (i == 2) EXPECT_OK(chime_timer_add_handler(timer, "second", count_tick, &ticks, NULL));
  }
  if (where == MAIN) EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, stop_main, &ticks, NULL, NULL));
  count(where, queue, WARM_TICKS);
  /* A thread that libdispatch makes meanwhile has its own part made, once. */
  for (i = 0, found = 1; i < STRETCHES && found != 0; i++) found = count(where, queue, TICKS);
  EXPECT_EQ(found, 0);
  place_end(where, queue);
}

/* Nor do the ticks that a host takes as records, however many it has not ended yet. */
CASE(taking_many_records_allocates_nothing) {
  enum { RECORDS = 1000 };
  static chime_tick taken[RECORDS];
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_queue_t queue = 0;
  size_t count = 0;
  long before;
  int i;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.flags = CHIME_QUEUE_FLAG_RECORDS), &queue));
  for (i = 0; i < RECORDS; i++) REQUIRE_OK(chime_timer_start(queue, &options, AFTER(0), NULL));
  EXPECT(place_is_readable(queue, (int)(PATIENCE / CHIME_MILLISECOND)));
  before = allocations();
  for (i = 0; i < RECORDS; i += (int)count)
    REQUIRE_OK(chime_queue_take_ticks(queue, taken, sizeof taken[0], RECORDS - (uint32_t)i, &count));
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
}

/* ---- What must not fail ------------------------------------------------------------------------------------------ */

/* The 2^22nd generation of a timer needs memory that it has not had so far: suspend and cancel go on without. */
CASES(a_generation_too_many, is_cancel, 0, 1) {
  enum { LAST = (1 << 22) - 1 };
  chime_queue_t queue = place_queue(VIRTUAL, NULL);
  chime_timer_t timer = 0;
  uint64_t generation = 0, after = 0;
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
}
