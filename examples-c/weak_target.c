/*
 * Weak targets: timers that work on an object without owning it. When the object's last reference goes its timers are
 * cancelled at once; a handler that runs at that moment keeps the object until it returns. No timer finds it freed.
 *
 * Build:  make (or cc weak_target.c -o build/weak_target -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/weak_target
 *
 * Output:
 *   at 10 s: poll a door
 *   at 20 s: poll a door
 *   freed: a door
 *   its timer: cancelled, restart: CHIME_ERROR_TARGET_GONE
 *   at 35 s: poll a lamp
 *   at 45 s: poll a lamp, which goes now: still a lamp
 *   freed: a lamp
 *   ticks: 4
 */
#include "check.h"

typedef struct device {
  const char *name;
  chime_target_t target;
} device;

static int ticks;

static void destroy(void *object) {
  printf("freed: %s\n", ((device *)object)->name);
  free(object);
}

static void on_poll(const chime_tick *tick, void *context) {
  device *polled = tick->target; /* alive until this handler returns */
  (void)context;
  printf("at %" PRId64 " s: poll %s", tick->actual_ns / CHIME_SECOND, polled->name);
  if (++ticks == 4) {
    CHECK(chime_target_release(polled->target)); /* the last reference */
    printf(", which goes now: still %s", polled->name);
  }
  puts("");
}

static chime_timer_t poll_every_10_s(chime_queue_t queue, device *polled, const char *name) {
  chime_timer_t timer;
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;

  if (polled == NULL) abort();
  polled->name = name;
  CHECK(chime_target_create(polled, destroy, &polled->target)); /* one reference, which is ours */
  options.handler = on_poll;
  options.target = polled->target;
  schedule.first_ns = schedule.interval_ns = 10 * CHIME_SECOND;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  return timer;
}

int main(void) {
  chime_queue_t queue;
  chime_timer_t timer;
  chime_state state;
  device *door = malloc(sizeof *door), *lamp = malloc(sizeof *lamp);

  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &queue));
  timer = poll_every_10_s(queue, door, "a door");
  CHECK(chime_queue_advance(queue, 25 * CHIME_SECOND));
  CHECK(chime_target_retain(door->target, NULL)); /* one more reference: it outlives the release of the first */
  CHECK(chime_target_release(door->target));
  CHECK(chime_target_release(door->target)); /* the last one, between two ticks */
  CHECK(chime_timer_state(timer, &state));
  printf("its timer: %s, restart: %s\n", state == CHIME_STATE_CANCELLED ? "cancelled" : "not cancelled",
         chime_status_name(chime_timer_restart(timer, NULL)));

  poll_every_10_s(queue, lamp, "a lamp");
  CHECK(chime_queue_advance(queue, 100 * CHIME_SECOND)); /* its handler releases the lamp at the fourth tick of all */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  printf("ticks: %d\n", ticks);
  return 0;
}
