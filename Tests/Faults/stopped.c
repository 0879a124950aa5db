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
  place where;
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

static void check(const record *r) {
  int64_t interval = INTERVAL_MS * CHIME_MILLISECOND, previous = 0, total = 0;
  int i, long_gaps = 0, count = load(&r->count);
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
    if (tick->missed >= STOP_MS / INTERVAL_MS * 3 / 4) long_gaps++;
  }
  EXPECT(long_gaps >= 1); /* a machine that stands still makes more */
  fault_seen("%s: missed %d in one tick of %d; ", place_name(r->where), (int)most, count);
}

/* A process that stops this one for so long, when be_stopped asks for it. */
static pid_t helper;
static int ask[2];

static void make_helper(int stop_ms) {
  pid_t self = getpid();
  char byte;
  REQUIRE_OK(pipe(ask));
  helper = fork();
  if (helper != 0) return;
  close(ask[1]);
  if (read(ask[0], &byte, 1) == 1) {
    kill(self, SIGSTOP);
    sleep_ms(stop_ms);
    kill(self, SIGCONT);
  }
  _exit(0);
}

static void be_stopped(void) {
  EXPECT_EQ(write(ask[1], "", 1), 1);
  EXPECT_EQ(waitpid(helper, NULL, 0), helper);
}

static void stop_and_go_on(int argument) {
  int i;
  (void)argument;
  make_helper(STOP_MS); /* before Chime is used */
  for (i = SERIAL; i <= RUN_LOOP; i++) {
    chime_queue_t queue = 0;
    records[i].where = (place)i;
    REQUIRE_OK(place_make((place)i, NULL, &queue));
    place_drive((place)i, queue);
    records[i].started = monotonic_ns();
    EXPECT_OK(chime_timer_every(queue, INTERVAL_MS * CHIME_MILLISECOND, on_tick, &records[i], NULL, NULL));
  }
  for (i = SERIAL; i <= RUN_LOOP; i++) EXPECT(await(&records[i].count, 3));
  be_stopped();
  for (i = SERIAL; i <= RUN_LOOP; i++) EXPECT(await(&records[i].count, load(&records[i].count) + 5));
  for (i = SERIAL; i <= RUN_LOOP; i++) check(&records[i]);
}

/* A one-shot that fell due meanwhile comes once; a suspended timer does not come. */
static void one_shots(int argument) {
  static int due, suspended, later;
  chime_queue_t queue = 0;
  chime_timer_t timer = 0;
  (void)argument;
  make_helper(500);
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  EXPECT_OK(chime_timer_after(queue, 400 * CHIME_MILLISECOND, count_tick, &due, NULL, NULL));
  EXPECT_OK(chime_timer_after(queue, 400 * CHIME_MILLISECOND, count_tick, &suspended, NULL, &timer));
  EXPECT_OK(chime_timer_suspend(timer));
  be_stopped();
  EXPECT(await(&due, 1));
  EXPECT_OK(chime_timer_after(queue, 0, count_tick, &later, NULL, NULL));
  EXPECT(await(&later, 1));
  EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  EXPECT_EQ(load(&due), 1);
  EXPECT_EQ(load(&suspended), 0);
  fault_seen("a one-shot comes once, a suspended one does not");
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"repeating", stop_and_go_on, 0, 0, 0, 0},
      {"one-shot", one_shots, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
