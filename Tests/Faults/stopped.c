/*
 * stopped.c - the process is stopped (SIGSTOP, a debugger, a laptop's lid) and goes on two seconds later. Each repeating
 * timer gives one tick that says how many periods it missed, and goes on along its grid. Nothing comes early, or twice.
 */
#include "places.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INTERVAL_MS = 50, STOP_MS = 2000, MOST_TICKS = 400 };

typedef struct record {
  int64_t started;
  chime_tick ticks[MOST_TICKS];
  int count;
} record;

static record records[PLACES];

static void on_tick(const chime_tick *tick, void *context) {
  record *r = context;
  int count = load(&r->count);
  if (count == MOST_TICKS) return;
  r->ticks[count] = *tick;
  store(&r->count, count + 1);
}

static void check(int where) {
  const record *r = &records[where];
  int64_t interval = INTERVAL_MS * CHIME_MILLISECOND, previous = 0, total = 0;
  int i, count = load(&r->count);
  uint64_t most = 0;
  for (i = 0; i < count; i++) {
    const chime_tick *tick = &r->ticks[i];
    int64_t due = (tick->scheduled_ns - r->ticks[0].scheduled_ns) / interval;
    EXPECT_EQ((tick->scheduled_ns - r->ticks[0].scheduled_ns) % interval, 0); /* on the grid */
    EXPECT(tick->actual_ns >= tick->scheduled_ns);                            /* not early */
    EXPECT(tick->scheduled_ns >= r->started + interval);
    EXPECT_EQ(tick->sequence, i + 1);
    if (i > 0) EXPECT(due > previous); /* no due time twice */
    total += 1 + (int64_t)tick->missed;
    /* Which of its due times a coalesced tick names is left open: between the last one counted and the sum. */
    EXPECT(due + 1 <= total && due + 1 >= total - (int64_t)tick->missed);
    previous = due;
    if (tick->missed > most) most = tick->missed;
  }
  EXPECT(most >= STOP_MS / INTERVAL_MS * 3 / 4);
  fault_seen("%s: missed %d in one tick of %d; ", place_name(where), (int)most, count);
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

static void stop_and_go_on(int argument) {
  int where;
  (void)argument;
  for (where = 0; where <= HOST; where++) {
    chime_queue_t queue = 0;
    REQUIRE_OK(place_make(where, NULL, &queue));
    place_drive(where, queue);
    records[where].started = monotonic_ns();
    EXPECT_OK(chime_timer_every(queue, INTERVAL_MS * CHIME_MILLISECOND, on_tick, &records[where], NULL, NULL));
  }
  for (where = 0; where <= HOST; where++) EXPECT(await(&records[where].count, 3));
  be_stopped();
  for (where = 0; where <= HOST; where++) EXPECT(await(&records[where].count, load(&records[where].count) + 5));
  for (where = 0; where <= HOST; where++) check(where);
}

FAULT_CASES({"repeating", stop_and_go_on, 0, 0, 0, 0})
