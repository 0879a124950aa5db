/*
 * allocations.c - each call of both headers with each of its allocations refused: the first, the second and so on, until
 * the call makes no further one; that one alone, and that one with all after it; and all of them when the library's reserve
 * has been used up as well. On each kind of queue, as the first such call of the process (cold) and as a later one (warm).
 * A process for each, so that one that dies or hangs is one row.
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

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 60, PART_TIMEOUT_MS = 30000 };

/* Beside the ways of refusing.h: all of them, and the reserve has been used up. */
enum { REFUSE_WITHOUT_RESERVE = REFUSE_RANDOM };

/* ---- One call --------------------------------------------------------------------------------------------------- */

static int encode(int subject, int where, int is_warm, int way, int n) {
  return (((subject * PLACES + where) * 2 + is_warm) * REFUSE_WAYS + way) * (MOST + 1) + n;
}

/* What a refused call must leave as it was. */
typedef struct look {
  chime_state states[4];
  uint64_t generations[4];
} look;

static void look_at(const world *w, look *found) {
  const chime_timer_t all[4] = {w->timer, w->bare[0], w->bare[1], w->tied};
  int i;
  memset(found, 0, sizeof *found);
  for (i = 0; i < 4; i++) {
    chime_timer_state(all[i], &found->states[i]);
    chime_timer_generation(all[i], &found->generations[i]);
  }
}

static void one_call(int argument) {
  int n = argument % (MOST + 1), way = argument / (MOST + 1) % REFUSE_WAYS;
  int rest = argument / (MOST + 1) / REFUSE_WAYS;
  int is_warm = rest % 2;
  const subject *called = &subjects[rest / 2 / PLACES];
  int is_alone = !is_warm && (called->flags & ALONE) != 0, queue_is_there;
  world w, before;
  look found, left;
  chime_status status, again;
  chime_queue_t filled = 0;
  long refused;
  int taken;
  memset(&w, 0, sizeof w);
  w.where = before.where = (place)(rest / 2 % PLACES);
  if (is_warm) {
    memset(&before, 0, sizeof before);
    before.where = w.where;
    world_make(&before);
    before.made = UNTOUCHED;
    if (called->call(&before) >= 0) world_end_made(called, before.made);
    world_end(&before, (called->flags & ENDS_QUEUE) == 0);
  }
  if (!is_alone) world_make(&w);
  w.made = UNTOUCHED;
  taken = load(&accepted_contexts);
  if (!is_alone) look_at(&w, &found);
  if (way == REFUSE_WITHOUT_RESERVE) {
    EXPECT_OK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &filled));
    refuse(REFUSE_FROM, 1);
    place_use_up_reserve(filled);
  }
  refuse(way == REFUSE_WITHOUT_RESERVE ? REFUSE_FROM : way, n);
  status = called->call(&w);
  refused = refuse_none();
  fault_seen("%d %ld %ld\n", status, refused, refused_here());
  again = status;
  if (status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE) {
    EXPECT(called->flags & MAY_FAIL);
    EXPECT_EQ(w.made, UNTOUCHED);
    EXPECT_EQ(load(&accepted_contexts), taken);
    if (!is_alone) look_at(&w, &left);
    EXPECT(is_alone || memcmp(&left, &found, sizeof found) == 0);
    again = called->call(&w);
    EXPECT(again != CHIME_ERROR_NO_MEMORY && again != CHIME_ERROR_RESOURCE);
  }
  if (again >= 0) world_end_made(called, w.made);
  if (filled != 0) EXPECT_OK(chime_queue_shutdown(filled, 0));
  queue_is_there = (called->flags & ENDS_QUEUE) == 0;
  world_end(&w, queue_is_there);
  expect_all_finalized();
}

/* ---- All of them ------------------------------------------------------------------------------------------------ */

typedef struct verdict {
  int calls, statuses;
  int died, hung, wrong;
} verdict;

static void try_all(int subject, int where, int is_warm, int way, verdict *v) {
  int n;
  int most = way == REFUSE_WITHOUT_RESERVE ? 1 : MOST;
  for (n = 1; n <= most; n++) {
    int status = 0;
    long refused = -1, refused_to_call = 0;
    fault_end end = fault_run_case("one-call", encode(subject, where, is_warm, way, n), PART_TIMEOUT_MS);
    int is_told = sscanf(end.output, "%d %ld %ld", &status, &refused, &refused_to_call) == 3;
    if (is_told && refused == 0 && end.exit_status == 0) break; /* it makes no n-th allocation */
    if (refused_to_call > 0) v->calls++;                        /* other threads may have asked meanwhile */
    if (end.signal != 0) {
      v->died++;
    } else if (end.hung) {
      v->hung++;
    } else if (end.exit_status != 0) {
      v->wrong++;
    } else if (status == CHIME_ERROR_NO_MEMORY || status == CHIME_ERROR_RESOURCE) {
      v->statuses++;
    }
    if (end.signal != 0 || end.hung || end.exit_status != 0) {
      fprintf(stderr, "%s on %s, %s, allocation %d%s: %s\n", subjects[subject].name, place_name((place)where),
              is_warm ? "warm" : "cold", n,
              way == REFUSE_ONE    ? ""
              : way == REFUSE_FROM ? " and all after it"
                                   : " and all after it, without the reserve",
              end.hung          ? "hangs"
              : end.signal != 0 ? strsignal(end.signal)
                                : "wrong");
    }
    if (is_told && refused == 0) break;
  }
}

/* What is said of a function on one kind of queue. */
static void each_allocation(int argument) {
  int subject = argument / PLACES, where = argument % PLACES, is_warm, way;
  verdict v;
  memset(&v, 0, sizeof v);
  if (where > 0 && subjects[subject].flags & (ALONE | OF_THE_LOOP))
    fault_skip("no other queue would make a difference");
  for (is_warm = 0; is_warm < 2; is_warm++) {
    for (way = REFUSE_ONE; way <= REFUSE_WITHOUT_RESERVE; way++) try_all(subject, where, is_warm, way, &v);
  }
  if (v.died + v.hung + v.wrong == 0) fault_seen(v.calls == 0 ? "needs none" : "answers");
  else if (v.died > 0) fault_seen("dies at %d of %d", v.died, v.calls);
  else fault_seen("%s at %d of %d", v.hung > 0 ? "hangs" : "wrong", v.hung + v.wrong, v.calls);
  EXPECT_EQ(v.died + v.hung + v.wrong, 0);
}

/* A case for each function. */
int main(int argc, char **argv) {
  static const fault_case parts[] = {{"one-call", one_call, 0, 0, 0, 0}, {NULL, NULL, 0, 0, 0, 0}};
  static fault_case cases[200];
  int i;
  if (argc == 3 && strncmp(argv[2], parts[0].name, strlen(parts[0].name)) == 0) return fault_main(argc, argv, parts);
  for (i = 0; i < subject_count; i++) {
    cases[i].name = subjects[i].name;
    cases[i].run = each_allocation;
    cases[i].first = i * PLACES;
    cases[i].last = i * PLACES + PLACES - 1;
  }
  return fault_main(argc, argv, cases);
}
