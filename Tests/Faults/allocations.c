/*
 * allocations.c - each call of both headers with each of its allocations refused: the first, the second and so on, until
 * the call makes no further one; that one alone, and that one with all after it; and all of them when the library's reserve
 * has been used up as well. On each kind of queue, as the first such call of the process (cold) and as a later one (warm).
 * A process for each, so that one that dies or hangs is one row. Promise 19.
 *
 * The call must answer as it does with memory or, if chime.h admits it, NO_MEMORY or RESOURCE, and then have changed
 * nothing: out-parameters untouched, the context still the caller's, and the same call takes effect when there is memory
 * again. Then a timer ticks on the queue, everything ends, and every context that was taken has been finalized once.
 *
 * A line for each function (`make allocation-table` makes a table of them): on each kind of queue, in the order of
 * `place`, that it needs no allocation, that it answers, or at how many of them it does not.
 */
#include "calls.h"
#include "refusing.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 60, PART_TIMEOUT_MS = 30000 };

/* Beside the ways of refusing.h: all of them, and the reserve has been used up. */
enum { REFUSE_WITHOUT_RESERVE = REFUSE_RANDOM };

/* ---- All of them ------------------------------------------------------------------------------------------------ */

static int encode(int subject, int where, int is_warm, int way, int n) {
  return (((subject * PLACES + where) * 2 + is_warm) * REFUSE_WAYS + way) * (MOST + 1) + n;
}

/* Refuses the first, the second, until the call makes no further one. Returns how many it made; *wrong counts. */
static int try_all(int subject, int where, int is_warm, int way, int *wrong) {
  static const char *const ways[] = {"", " and all after it", " and all after it, without the reserve"};
  int n, calls = 0, most = way == REFUSE_WITHOUT_RESERVE ? 1 : MOST;
  for (n = 1; n <= most; n++) {
    long refused = -1, refused_to_call = 0;
    fault_end end = fault_run_case("one_call", encode(subject, where, is_warm, way, n), PART_TIMEOUT_MS);
    int is_told = sscanf(end.output, "%ld %ld", &refused, &refused_to_call) == 2;
    if (end.status == 0 && is_told && refused == 0) break;
    calls += refused_to_call > 0; /* other threads may have asked meanwhile */
    if (end.status == 0) continue;
    fprintf(stderr, "%s on %s, %s, allocation %d%s: ended with %d\n", subjects[subject].name, place_name(where),
            is_warm ? "warm" : "cold", n, ways[way], end.status);
    *wrong += 1;
    if (is_told && refused == 0) break;
  }
  return calls;
}

/* What is said of a function on one kind of queue. */
static void each_allocation(int argument) {
  int subject = argument / PLACES, where = argument % PLACES, is_warm, way, calls = 0, wrong = 0;
  if (where > 0 && subjects[subject].flags & (ALONE | OF_THE_LOOP))
    fault_skip("no other queue would make a difference");
  for (is_warm = 0; is_warm < 2; is_warm++) {
    for (way = REFUSE_ONE; way <= REFUSE_WITHOUT_RESERVE; way++) calls += try_all(subject, where, is_warm, way, &wrong);
  }
  if (wrong > 0) fault_seen("wrong at %d of %d", wrong, calls);
  else fault_seen(calls == 0 ? "needs none" : "answers");
  EXPECT_EQ(wrong, 0);
}

/* A case for each function. */
__attribute__((constructor)) static void add_functions(void) {
  static fault_case cases[200];
  int i;
  for (i = 0; i < subject_count; i++) {
    cases[i] = (fault_case){subjects[i].name, each_allocation, i * PLACES, i * PLACES + PLACES - 1, 0, NULL};
    fault_add(&cases[i]);
  }
}

/* ---- One call --------------------------------------------------------------------------------------------------- */

/* What a refused call must leave as it was. */
typedef struct look {
  chime_timer_info timers[4];
} look;

static look look_at(const world *w) {
  const chime_timer_t all[4] = {w->timer, w->bare[0], w->bare[1], w->tied};
  look found = {{CHIME_TIMER_INFO_INIT, CHIME_TIMER_INFO_INIT, CHIME_TIMER_INFO_INIT, CHIME_TIMER_INFO_INIT}};
  int i;
  for (i = 0; i < 4; i++) {
    chime_timer_get_info(all[i], &found.timers[i]);
    found.timers[i].remaining_ns = 0; /* time goes on */
  }
  return found;
}

/* A call, and what came of it. Cold, it is the first that its thread makes, and maybe the first of the process. */
typedef struct trial {
  const subject *called;
  world w;
  int way, n;
  chime_status status;
  long refused, refused_to_call;
} trial;

static void *try_call(void *context) {
  trial *t = context;
  refuse(t->way == REFUSE_WITHOUT_RESERVE ? REFUSE_FROM : t->way, t->n);
  t->status = t->called->call(&t->w);
  t->refused = refuse_none();
  t->refused_to_call = refused_here();
  return NULL;
}

/* Only the others run it. */
CASES(one_call, argument, 1, 0) {
  int rest = argument / (MOST + 1) / REFUSE_WAYS, is_warm = rest % 2, where = rest / 2 % PLACES;
  trial t = {.called = &subjects[rest / 2 / PLACES], .way = argument / (MOST + 1) % REFUSE_WAYS};
  int ends_queue = (t.called->flags & ENDS_QUEUE) != 0, is_alone = !is_warm && (t.called->flags & ALONE) != 0, taken;
  look found, left;
  chime_queue_t filled = 0;
  t.n = argument % (MOST + 1);
  t.w.where = where;
  if (is_warm) {
    world before = {.where = where, .made = UNTOUCHED};
    world_make(&before);
    if (t.called->call(&before) >= 0) world_end_made(t.called, before.made);
    world_end(&before, !ends_queue);
  }
  if (!is_alone) world_make(&t.w);
  found = look_at(&t.w);
  t.w.made = UNTOUCHED;
  taken = load(&accepted_contexts);
  if (t.way == REFUSE_WITHOUT_RESERVE) {
    filled = place_queue(VIRTUAL, NULL);
    refuse(REFUSE_FROM, 1);
    place_use_up_reserve(filled);
    refuse_none();
  }
  if (is_warm || is_alone) try_call(&t);
  else run_on_a_thread(try_call, &t);
  fault_seen("%ld %ld\n", t.refused, t.refused_to_call);
  if (t.status == CHIME_ERROR_NO_MEMORY || t.status == CHIME_ERROR_RESOURCE) {
    EXPECT(t.called->flags & MAY_FAIL);
    EXPECT_EQ(t.w.made, UNTOUCHED);
    EXPECT_EQ(load(&accepted_contexts), taken);
    left = look_at(&t.w);
    EXPECT(memcmp(&left, &found, sizeof found) == 0);
    t.status = t.called->call(&t.w);
    EXPECT(t.status != CHIME_ERROR_NO_MEMORY && t.status != CHIME_ERROR_RESOURCE);
  }
  if (t.status >= 0) world_end_made(t.called, t.w.made);
  if (filled != 0) EXPECT_OK(chime_queue_shutdown(filled, 0));
  world_end(&t.w, !ends_queue);
  expect_all_finalized();
}
