/*
 * stopped.c - the process is stopped (SIGSTOP, a debugger, a laptop's lid) and goes on two seconds later. Each repeating
 * timer gives one tick that says how many periods it missed, and goes on along its grid. Nothing comes early, or twice.
 * Promise 5.
 */
#include "places.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 2000 };
static const int64_t interval = 50 * CHIME_MILLISECOND;

typedef struct record {
  int64_t first_ns; /* the first deadline */
  int64_t covered;  /* due times, ticked or missed */
  int most_missed;  /* by one tick */
  int count;
} record;

static record records[PLACES];

static void on_tick(const chime_tick *tick, void *context) {
  record *r = context;
  int64_t from_first = tick->scheduled_ns - r->first_ns;
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* not early */
  EXPECT_EQ(from_first % interval, 0);           /* on the grid */
  EXPECT_EQ(tick->sequence, r->count + 1);
  r->covered += 1 + (int64_t)tick->missed;
  /* No due time twice. Which of its due times a coalesced tick names is left open. */
  EXPECT_BETWEEN(from_first / interval + 1, r->covered - (int64_t)tick->missed, r->covered);
  if ((int)tick->missed > r->most_missed) r->most_missed = (int)tick->missed;
  add(&r->count, 1);
}

static void be_stopped(void) {
  pid_t self = getpid(), helper = fork();
  if (helper == 0) {
    kill(self, SIGSTOP);
    sleep_ns(STOP_MS * CHIME_MILLISECOND);
    kill(self, SIGCONT);
    _exit(0);
  }
  EXPECT_EQ(waitpid(helper, NULL, 0), helper);
}

CASE(repeating) {
  int where;
  for (where = 0; where <= HOST; where++) {
    const chime_timer_options options = TIMER_OPTIONS(.handler = on_tick, .context = &records[where]);
    const chime_schedule schedule = schedule_at(monotonic_ns() + interval, interval);
    records[where].first_ns = schedule.first_ns;
    EXPECT_OK(chime_timer_start(place_queue(where, NULL), &options, &schedule, NULL));
  }
  for (where = 0; where <= HOST; where++) EXPECT(await(&records[where].count, 3));
  be_stopped();
  for (where = 0; where <= HOST; where++) {
    record *r = &records[where];
    EXPECT(await(&r->count, load(&r->count) + 5));
    EXPECT(load(&r->most_missed) >= STOP_MS * CHIME_MILLISECOND / interval * 3 / 4);
    fault_seen("%s: missed %d in one tick of %d; ", place_name(where), load(&r->most_missed), load(&r->count));
  }
}
