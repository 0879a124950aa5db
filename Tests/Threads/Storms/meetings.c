/*
 * meetings.c - callbacks of two to four queues that have all begun wait for each other in a ring: out of handlers,
 * functions, finalizers, cancel handlers and destructors, by sync, cancel_and_wait and shutdown, without a timeout. At
 * least one of them is told that it would close the ring, and then all end. Where one of them waits for nobody there is
 * no ring, and none is told. Promise 1. (Timers that go on meanwhile: Tests/Threads/Interleavings, rings.)
 */
#include "csuite.h"
#include "storms.h"

enum { MOST_MEMBERS = 4 };

/* What the member's code is when it waits; in all cases it keeps its queue. */
typedef enum site {
  HANDLER,
  CANCEL_HANDLER,
  FINALIZER,
  DESTRUCTOR,
  ASYNC,
  BY_SYNC,     /* a function that another thread has run by chime_queue_sync */
  MAIN_THREAD, /* the process's main thread, outside of chime_main_run; nothing on the main queue runs meanwhile */
  SITES
} site;

typedef enum wait_kind { SYNC, CANCEL_AND_WAIT, SHUTDOWN, WAITS } wait_kind;

typedef struct meeting meeting;

typedef struct member {
  csuite *t;
  meeting *meeting;
  int number;
  where place;
  site site;
  wait_kind wait;   /* for the next member */
  int64_t delay_ns; /* after all have met */
  struct member *next;
  chime_queue_t queue;
  chime_timer_t timer; /* whose callback the site is, where it is one */
  chime_target_t target;
  pthread_t thread;
  int has_thread;
  chime_status status;
  int done;
} member;

struct meeting {
  int count;
  int met;
  member members[MOST_MEMBERS];
};

/* What the storm is about; by sync alone a member may wait before the next one has begun. */
static enum about { A_RING, A_RING_WITH_THE_MAIN_THREAD, A_CHAIN, SYNC_ALONE } about;

/* ---- The wait ---------------------------------------------------------------------------------------------------- */

static void nothing(void *context) {}

static chime_status wait_for_the_next(member *m) {
  switch (m->wait) {
    case SYNC: return chime_queue_sync(m->next->queue, nothing, NULL, CHIME_FOREVER);
    case CANCEL_AND_WAIT: return chime_timer_cancel_and_wait(m->next->timer, CHIME_FOREVER);
    default: return chime_queue_shutdown(m->next->queue, CHIME_FOREVER);
  }
}

static void meet_and_wait(member *m) {
  int64_t end;
  add(&m->meeting->met, 1);
  while (about != SYNC_ALONE && load(&m->meeting->met) < m->meeting->count) sleep_ns(5 * CHIME_MICROSECOND);
  end = monotonic_ns() + m->delay_ns;
  while (monotonic_ns() < end) continue;
  /* Where it is no ring, but a chain, the last one waits for nobody. */
  m->status = about == A_CHAIN && m->number == m->meeting->count - 1 ? CHIME_OK : wait_for_the_next(m);
  store(&m->done, 1);
}

static void meet_in_a_function(void *context) { meet_and_wait(context); }

static void meet_in_a_callback(const chime_tick *tick, void *context) { meet_and_wait(context); }

static void never_called(const chime_tick *tick, void *context) {}

/* The tick holds the target last, so that its destructor is called on the queue, after this has returned. */
static void let_the_target_go(const chime_tick *tick, void *context) {
  member *m = context;
  csuite *t = m->t;
  EXPECT_STATUS(chime_target_release(m->target), CHIME_RUNNING);
}

/* ---- The sites --------------------------------------------------------------------------------------------------- */

THREAD(sync_on_a_thread_of_its_own, member, m) {
  EXPECT_OK(chime_queue_sync(m->queue, meet_in_a_function, m, CHIME_FOREVER));
}

static void start_timer(member *m, chime_handler handler, int64_t delay) {
  csuite *t = m->t;
  const chime_timer_options options =
      TIMER_OPTIONS(.handler = handler, .cancel_handler = m->site == CANCEL_HANDLER ? meet_in_a_callback : NULL,
                    .finalizer = m->site == FINALIZER ? meet_in_a_function : NULL, .context = m, .target = m->target);
  EXPECT_OK(chime_timer_create(m->queue, &options, &m->timer));
  EXPECT_OK(chime_timer_activate(m->timer, AFTER(delay)));
}

/* The member that the process's main thread is to be, outside of chime_main_run; by __atomic builtins. */
static member *on_the_main_thread;

static void begin(member *m) {
  csuite *t = m->t;
  switch (m->site) {
    case HANDLER: start_timer(m, meet_in_a_callback, 0); break;
    case CANCEL_HANDLER:
      start_timer(m, never_called, CHIME_HOUR);
      EXPECT_TOOK_EFFECT(chime_timer_cancel(m->timer));
      break;
    case FINALIZER:
      start_timer(m, never_called, CHIME_HOUR);
      EXPECT_TOOK_EFFECT(chime_timer_release(m->timer));
      break;
    case DESTRUCTOR:
      EXPECT_OK(chime_target_create(m, meet_in_a_function, &m->target));
      start_timer(m, let_the_target_go, 0);
      break;
    case ASYNC: EXPECT_OK(chime_queue_async(m->queue, meet_in_a_function, m, NULL)); break;
    case BY_SYNC: m->has_thread = spawn(t, &m->thread, sync_on_a_thread_of_its_own, m); break;
    default: __atomic_store_n(&on_the_main_thread, m, __ATOMIC_RELEASE); chime_main_stop();
  }
}

/* ---- One round --------------------------------------------------------------------------------------------------- */

static dice round_dice;
static int64_t told, asked;
static char round_text[256];

static int can_be_synced(where place) { return place == SERIAL || place == PRECISE || place == MAIN; }

/* A member on a queue of any kind; there is one main queue, and one main thread. */
static void choose_place_and_site(member *m, int *main_is_taken) {
  static const where places[] = {SERIAL, SERIAL, PRECISE, CONCURRENT, HOST, MAIN};
  do m->place = places[roll_below(&round_dice, sizeof places / sizeof places[0])];
  while ((m->place == MAIN && *main_is_taken) || (about == SYNC_ALONE && !can_be_synced(m->place)));
  if (m->place == MAIN) *main_is_taken = 1;
  do m->site = (site)roll_below(&round_dice, MAIN_THREAD);
  /* A host-driven queue's finalizers may run in the call that releases, and so on this thread. */
  while ((m->site == BY_SYNC && !can_be_synced(m->place)) || (m->site == FINALIZER && m->place == HOST));
}

static int may_wait_by(const member *m, wait_kind wait) {
  const member *next = m->next;
  if (about == SYNC_ALONE) return wait == SYNC;
  switch (wait) {
    case SYNC: return can_be_synced(next->place);
    case CANCEL_AND_WAIT: return next->site == HANDLER || next->site == CANCEL_HANDLER;
    /* A main queue of which nothing is left to call ends at once, whatever the main thread does. */
    default: return next->site != MAIN_THREAD;
  }
}

static void choose(csuite *t, meeting *g) {
  static const char *const sites[] = {"handler", "cancel handler", "finalizer",  "destructor",
                                      "async",   "sync",           "main thread"};
  static const char *const waits[] = {"sync", "cancel_and_wait", "shutdown"};
  static const char *const places[] = {"virtual", "serial",   "concurrent", "global",  "wrapped",
                                       "wrapped", "run loop", "host",       "precise", "main"};
  int i, main_is_taken = 0;
  size_t length = 0;
  g->count = 2 + (int)roll_below(&round_dice, MOST_MEMBERS - 1);
  for (i = 0; i < g->count; i++) {
    member *m = &g->members[i];
    m->t = t;
    m->meeting = g;
    m->number = i;
    m->next = &g->members[(i + 1) % g->count];
    m->delay_ns = roll_below(&round_dice, 2) * roll_below(&round_dice, 20 * CHIME_MICROSECOND);
    if (i == 0 && about == A_RING_WITH_THE_MAIN_THREAD) {
      m->place = MAIN;
      m->site = MAIN_THREAD;
      main_is_taken = 1;
    } else {
      choose_place_and_site(m, &main_is_taken);
    }
  }
  for (i = 0; i < g->count; i++) {
    member *m = &g->members[i];
    do m->wait = (wait_kind)roll_below(&round_dice, WAITS);
    while (!may_wait_by(m, m->wait));
    length += (size_t)snprintf(round_text + length, sizeof round_text - length, "%s%s of %s waits by %s",
                               i > 0 ? ", " : "", sites[m->site], places[m->place], waits[m->wait]);
  }
}

static void meet(csuite *t) {
  meeting *g = csuite_memory(t, sizeof *g);
  int i, deadlocks = 0;
  choose(t, g);
  for (i = 0; i < g->count; i++) {
    g->members[i].queue = csuite_queue(t, g->members[i].place);
    if (g->members[i].queue == 0) return;
  }
  for (i = 0; i < g->count; i++) begin(&g->members[i]);
  for (i = 0; i < g->count; i++) {
    member *m = &g->members[i];
    AWAIT(load(&m->done));
    if (load(&m->done) == 0) {
      printf("this does not end: %s\n", round_text); /* at once, as its queues may not end either */
      fflush(stdout);
      return;
    }
    if (m->has_thread) pthread_join(m->thread, NULL);
    deadlocks += m->status == CHIME_ERROR_WOULD_DEADLOCK;
    if (m->status == CHIME_ERROR_WOULD_DEADLOCK || m->status == CHIME_IGNORED) continue; /* a one-shot has finished */
    EXPECT_OK(m->status);
  }
  EXPECT(about == A_CHAIN ? deadlocks == 0 : about == SYNC_ALONE || deadlocks > 0);
  told += deadlocks;
  asked += g->count;
}

static int is_over;

THREAD_OF_TEST(meet_again_and_again) {
  static const csuite_test round = {.name = "meet", .run = meet};
  char message[1024];
  int64_t rounds = 0, begun = monotonic_ns(), seed = storm_number("STORM_SEED", begun % 1000000007);
  printf("seed %" PRId64 "\n", seed);
  fflush(stdout);
  round_dice.state = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
  roll_below(&round_dice, 2); /* neighbouring seeds begin alike */
  for (told = asked = 0; storm_goes_on(t, begun); rounds++) {
    if (csuite_run_test(&round, message, sizeof message) == CSUITE_PASSED) continue;
    EXPECT_TEXT(message, "");
    EXPECT_TEXT(round_text, "");
  }
  printf("%" PRId64 " meetings, %" PRId64 " of %" PRId64 " waits were told\n", rounds, told, asked);
  store(&is_over, 1);
  chime_main_stop();
}

static void storm_of_meetings(csuite *t, enum about what) {
  pthread_t thread;
  about = what;
  store(&is_over, 0);
  if (!spawn(t, &thread, meet_again_and_again, t)) return;
  while (load(&is_over) == 0) {
    EXPECT_STATUS(chime_main_run(), CHIME_STOPPED);
    member *m = __atomic_exchange_n(&on_the_main_thread, NULL, __ATOMIC_ACQ_REL);
    if (m != NULL) meet_and_wait(m);
  }
  pthread_join(thread, NULL);
}

/* [1] */
TEST_ALONE(callbacks_that_wait_in_a_ring_are_told) { storm_of_meetings(t, A_RING); }
TEST_ALONE(the_main_thread_that_waits_in_a_ring_is_told) { storm_of_meetings(t, A_RING_WITH_THE_MAIN_THREAD); }
TEST_ALONE(callbacks_that_wait_in_a_chain_wait_to_the_end) { storm_of_meetings(t, A_CHAIN); }
TEST_ALONE(callbacks_that_sync_the_next_queue_at_any_time_go_on) { storm_of_meetings(t, SYNC_ALONE); }
