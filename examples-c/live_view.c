/*
 * live_view.c - what a queue and its timers report: how far each of some two dozen timers is on the way to its next
 * tick, how late its last one was, what it missed, and why it does not fire. With -l, in a terminal, the picture moves
 * for ten seconds; without it, virtual time is moved, once by a jump that makes ticks late, and one picture is drawn.
 *
 * Build:  make (or cc live_view.c -o build/live_view -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/live_view, or build/live_view -l
 *
 * Output:
 *   t00 [############............] tick 151,   5.0 ms late,  5 missed
 *   t01 [###################.....] tick 108,  11.0 ms late,  3 missed
 *   t02 [#####...................] tick  58,   5.0 ms late,  2 missed
 *   t03 [#.......................] tick  33,   1.0 ms late,  1 missed
 *   t04 [####....................] tick  21,  11.0 ms late,  0 missed
 *   t05 it was suspended 1.56 s ago.
 *   t06 [####....................] tick  10,  25.0 ms late,  0 missed
 *   t07 [###############.........] tick   7,   0.0 ms late,  0 missed
 *   t08 it was cancelled.
 *   t09 [#################.......] tick   4,   0.0 ms late,  0 missed
 *   t10 [####################....] tick   3,   0.0 ms late,  0 missed
 *   t11 [#####...................] tick   3,   0.0 ms late,  0 missed
 *   t12 [#################.......] tick   2,   0.0 ms late,  0 missed
 *   t13 [#######.................] tick   2,   0.0 ms late,  0 missed
 *   t14 it was suspended 1.56 s ago.
 *   t15 [##################......] tick   1,   0.0 ms late,  0 missed
 *   t16 [#############...........] tick   1,   0.0 ms late,  0 missed
 *   t17 it was cancelled.
 *   t18 [#####...................] tick   1,   0.0 ms late,  0 missed
 *   t19 [##......................] tick   1,   0.0 ms late,  0 missed
 *   t20 [########################] tick   0,   0.0 ms late,  0 missed
 *   t21 [######################..] tick   0,   0.0 ms late,  0 missed
 *   406 ticks, 5 of them late by more than 1 ms; 83 came with the wake-up of another
 */
#include "check.h"

#include <string.h>

#define COUNT 22
#define WIDTH 24

typedef struct bar {
  chime_timer_t timer;
  int64_t late_ns;
  char label[8];
} bar;

static bar bars[COUNT];
static chime_queue_t queue;
static const char *end = "\n"; /* of a line */

static void on_tick(const chime_tick *tick, void *context) {
  ((bar *)context)->late_ns = tick->actual_ns - tick->scheduled_ns;
}

static void start(int i) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  bar *bar = &bars[i];
  snprintf(bar->label, sizeof bar->label, "t%02d", i);
  options.handler = on_tick;
  options.context = bar;
  options.label = bar->label;
  schedule.first_ns = schedule.interval_ns = (10 + i * i * 4) * CHIME_MILLISECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &bar->timer));
  if (i % 9 == 5) CHECK(chime_timer_suspend(bar->timer));
  if (i % 9 == 8) CHECK(chime_timer_cancel(bar->timer));
}

static void draw_bar(const bar *bar) {
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  char text[200];
  CHECK(chime_timer_get_info(bar->timer, &info));
  if (info.state == CHIME_STATE_RUNNING) {
    int64_t now;
    int done;
    CHECK(chime_queue_now(queue, &now));
    done = (int)(WIDTH - (info.next_deadline_ns - now) * WIDTH / info.interval_ns);
    memset(text, '.', WIDTH);
    memset(text, '#', (size_t)(done < 0 ? 0 : done > WIDTH ? WIDTH : done));
    printf("%s [%.*s] tick %3d, %5.1f ms late, %2d missed%s", bar->label, WIDTH, text, (int)info.sequence,
           (double)bar->late_ns / 1e6, (int)info.missed, end);
  } else {
    CHECK(chime_timer_explain(bar->timer, text, sizeof text, NULL));
    printf("%s %s%s", bar->label, text, end);
  }
}

static void draw(void) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  uint64_t in_time = 0;
  int i;
  for (i = 0; i < COUNT; i++) draw_bar(&bars[i]);
  CHECK(chime_queue_get_stats(queue, &stats));
  for (i = 0; i <= 10; i++) in_time += stats.lateness[i]; /* below 2^20 ns */
  printf("%d ticks, %d of them late by more than 1 ms; %d came with the wake-up of another%s", (int)stats.ticks,
         (int)(stats.ticks - in_time), (int)stats.merged, end);
}

static void on_frame(const chime_tick *tick, void *context) {
  (void)context;
  printf("\033[H");
  draw();
  fflush(stdout);
  if (tick->sequence + tick->missed >= 200) CHECK(chime_queue_stop(queue));
}

int main(int argc, char **argv) {
  int is_live = argc > 1 && strcmp(argv[1], "-l") == 0, i;
  CHECK(chime_queue_create(is_live ? CHIME_QUEUE_HOST : CHIME_QUEUE_VIRTUAL, NULL, &queue));
  for (i = 0; i < COUNT; i++) start(i);
  if (is_live) {
    printf("\033[2J");
    end = "\033[K\n";
    CHECK(chime_timer_every(queue, 50 * CHIME_MILLISECOND, on_frame, NULL, NULL, NULL));
    EXPECT(CHIME_STOPPED, chime_queue_run(queue, 0));
  } else {
    CHECK(chime_queue_advance(queue, 1500 * CHIME_MILLISECOND));
    CHECK(chime_queue_jump(queue, 65 * CHIME_MILLISECOND));
    CHECK(chime_queue_advance(queue, 0));
    draw();
  }
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
