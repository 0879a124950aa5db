/*
 * stopped.c - the process is stopped (SIGSTOP, a debugger, a laptop's lid) and goes on two seconds later. Each repeating
 * timer gives one tick that says how many periods it missed, and goes on along its grid. Nothing comes early, or twice.
 */
#include "places.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 2000 };
static const int64_t interval = 50 * CHIME_MILLISECOND;

typedef struct record {
  int64_t begun_ns;
  int64_t first_ns; /* due time of the first tick */
  int64_t last_ns;  /* and of the last */
  int64_t covered;  /* due times, ticked or missed */
  int most_missed;  /* by one tick */
  int count;
} record;

static record records[PLACES];

static void on_tick(const chime_tick *tick, void *context) {
  record *r = context;
  int64_t due = (tick->scheduled_ns - r->first_ns) / interval;
  EXPECT(tick->actual_ns >= tick->scheduled_ns); /* not early */
  EXPECT_EQ(tick->sequence, r->count + 1);
  if (r->count == 0) {
    EXPECT(tick->scheduled_ns >= r->begun_ns + interval);
    r->first_ns = tick->scheduled_ns;
    due = 0;
  } else {
    EXPECT_EQ((tick->scheduled_ns - r->first_ns) % interval, 0); /* on the grid */
    EXPECT(tick->scheduled_ns > r->last_ns);                     /* no due time twice */
  }
  r->last_ns = tick->scheduled_ns;
  r->covered += 1 + (int64_t)tick->missed;
  /* Which of its due times a coalesced tick names is left open: between the last one counted and the sum. */
  EXPECT_BETWEEN(due + 1, r->covered - (int64_t)tick->missed, r->covered);
  if ((int)tick->missed > r->most_missed) r->most_missed = (int)tick->missed;
  add(&r->count, 1);
}

static void be_stopped(void) {
  pid_t self = getpid(), helper = fork();
  if (helper == 0) {
    kill(self, SIGSTOP);
    sleep_ms(STOP_MS);
    kill(self, SIGCONT);
    _exit(0);
  }
  EXPECT_EQ(waitpid(helper, NULL, 0), helper);
}

CASE(repeating) {
  int where;
  for (where = 0; where <= HOST; where++) {
    chime_queue_t queue = place_queue(where, NULL);
    records[where].begun_ns = monotonic_ns();
    EXPECT_OK(chime_timer_every(queue, interval, on_tick, &records[where], NULL, NULL));
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
