/*
 * meetings.c - callbacks of two to four queues that have all begun wait for each other in a ring: out of handlers,
 * functions, finalizers, cancel handlers and destructors, by sync, cancel_and_wait and shutdown, without a timeout. At
 * least one of them is told that it would close the ring, and then all end. Where one of them waits for nobody there is
 * no ring, and none is told. Promise 1. (Timers that go on meanwhile: Tests/Interleavings, rings.)
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
  csuite *t;
  int count;
  int met;
  member members[MOST_MEMBERS];
};

/* What the storm is about. By sync alone a member may wait before the next one has begun. */
static int with_main_thread, is_chain, only_sync;

/* ---- The wait ---------------------------------------------------------------------------------------------------- */

static void nothing(void *context) { (void)context; }

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
  while (!only_sync && load(&m->meeting->met) < m->meeting->count) sleep_ns(5 * CHIME_MICROSECOND);
  end = monotonic_ns() + m->delay_ns;
  while (monotonic_ns() < end) continue;
  /* Where it is no ring, but a chain, the last one waits for nobody. */
  m->status = is_chain && m->number == m->meeting->count - 1 ? CHIME_OK : wait_for_the_next(m);
  store(&m->done, 1);
}

static void meet_in_a_function(void *context) { meet_and_wait(context); }

static void meet_in_a_callback(const chime_tick *tick, void *context) {
  (void)tick;
  meet_and_wait(context);
}

static void never_called(const chime_tick *tick, void *context) { (void)tick, (void)context; }

/* The tick holds the target last, so that its destructor is called on the queue, after this has returned. */
static void let_the_target_go(const chime_tick *tick, void *context) {
  member *m = context;
  csuite *t = m->meeting->t;
  (void)tick;
  EXPECT_OK(chime_target_release(m->target));
}

/* ---- The sites --------------------------------------------------------------------------------------------------- */

static void *sync_on_a_thread_of_its_own(void *argument) {
  member *m = argument;
  csuite *t = m->meeting->t;
  EXPECT_OK(chime_queue_sync(m->queue, meet_in_a_function, m, CHIME_FOREVER));
  return NULL;
}

static void start_timer(member *m, chime_handler handler, int64_t delay) {
  csuite *t = m->meeting->t;
  const chime_schedule schedule = schedule_of(delay, 0);
  const chime_timer_options options = {.size = sizeof options,
                                       .handler = handler,
                                       .cancel_handler = m->site == CANCEL_HANDLER ? meet_in_a_callback : NULL,
                                       .finalizer = m->site == FINALIZER ? meet_in_a_function : NULL,
                                       .context = m,
                                       .target = m->target};
  EXPECT_OK(chime_timer_create(m->queue, &options, &m->timer));
  EXPECT_OK(chime_timer_activate(m->timer, &schedule));
}

static void begin(member *m) {
  csuite *t = m->meeting->t;
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
    default: storm_on_the_main_thread(meet_in_a_function, m); break;
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
  while ((m->place == MAIN && *main_is_taken) || (only_sync && !can_be_synced(m->place)));
  if (m->place == MAIN) *main_is_taken = 1;
  do m->site = (site)roll_below(&round_dice, MAIN_THREAD);
  /* A host-driven queue's finalizers may run in the call that releases, and so on this thread. */
  while ((m->site == BY_SYNC && !can_be_synced(m->place)) || (m->site == FINALIZER && m->place == HOST));
}

static int may_wait_by(const member *m, wait_kind wait) {
  const member *next = m->next;
  if (only_sync) return wait == SYNC;
  switch (wait) {
    case SYNC: return can_be_synced(next->place);
    case CANCEL_AND_WAIT: return next->site == HANDLER || next->site == CANCEL_HANDLER;
    /* A main queue of which nothing is left to call ends at once, whatever the main thread does. */
    default: return next->site != MAIN_THREAD;
  }
}

static void choose(meeting *g) {
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
    m->meeting = g;
    m->number = i;
    m->next = &g->members[(i + 1) % g->count];
    m->delay_ns = roll_below(&round_dice, 2) * roll_below(&round_dice, 20 * CHIME_MICROSECOND);
    if (i == 0 && with_main_thread) {
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
  g->t = t;
  choose(g);
  storm_waits_for(round_text);
  for (i = 0; i < g->count; i++) {
    g->members[i].queue = csuite_queue(t, g->members[i].place);
    if (g->members[i].queue == 0) return;
  }
  for (i = 0; i < g->count; i++) begin(&g->members[i]);
  for (i = 0; i < g->count; i++) {
    while (load(&g->members[i].done) == 0) sleep_ns(10 * CHIME_MICROSECOND);
    if (g->members[i].has_thread) pthread_join(g->members[i].thread, NULL);
  }
  for (i = 0; i < g->count; i++) {
    chime_status status = g->members[i].status;
    deadlocks += status == CHIME_ERROR_WOULD_DEADLOCK;
    if (status == CHIME_ERROR_WOULD_DEADLOCK || status == CHIME_IGNORED) continue; /* a one-shot has finished */
    EXPECT_OK(status);
  }
  EXPECT(is_chain ? deadlocks == 0 : deadlocks >= !only_sync);
  told += deadlocks;
  asked += g->count;
  storm_waits_for("the end of the queues");
}

static void storm_of_meetings(csuite *t) {
  static const csuite_test round = {.name = "meet", .run = meet};
  char message[1024];
  int64_t rounds = 0;
  round_dice = storm_dice();
  for (; storm_goes_on(t); rounds++) {
    if (csuite_run_test(&round, message, sizeof message) == CSUITE_PASSED) continue;
    EXPECT_TEXT(message, "");
    EXPECT_TEXT(round_text, "");
  }
  storm_rests();
  storm_saw("%" PRId64 " meetings, %" PRId64 " of %" PRId64 " waits were told", rounds, told, asked);
}

/* [1] */
TEST(callbacks_that_wait_in_a_ring_are_told) { storm_of_meetings(t); }
TEST(the_main_thread_that_waits_in_a_ring_is_told) {
  with_main_thread = 1;
  storm_of_meetings(t);
}
TEST(callbacks_that_wait_in_a_chain_wait_to_the_end) {
  is_chain = 1;
  storm_of_meetings(t);
}
TEST(callbacks_that_sync_the_next_queue_at_any_time_go_on) {
  only_sync = 1;
  storm_of_meetings(t);
}
