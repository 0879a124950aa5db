/*
 * calls.c - bytes become calls on a virtual queue, and everything the queue does is held against the model.
 *
 * The first three bytes say what the queue is like; each operation follows with its arguments (operations.c).
 */
#include "lockstep.h"

static void begin(bytes *input) {
  uint8_t form = take_byte(input);
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  uint8_t limit = take_byte(input);
  uint8_t start = take_byte(input);
  memset(&the, 0, sizeof the);
  if ((form & 1) != 0) options.flags = CHIME_QUEUE_FLAG_HONOUR_LEEWAY;
  options.timer_limit = limit < 240 ? 0 : (uint64_t)(limit - 239);
  options.start_ns = start < 128 ? start : start < 240 ? (int64_t)1 << (start - 128) % 62 : INT64_MAX - (start - 240);
  the.asks_timers = (form & 2) == 0;
  the.asks_info = (form & 6) == 0;
  the.asks_queue = (form & 8) == 0;
  options.seed = form / 16;
  the.m = (model){.now = options.start_ns,
                  .honours_leeway = form & 1,
                  .timer_limit = options.timer_limit,
                  .random_state = options.seed};
  expect_number("queue_create", chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &the.queue), CHIME_OK);
}

/** Ends what is left; after this everything has been finalized. */
static void end(void) {
  model *m = &the.m;
  if (!m->has_ended) {
    the.asks_timers = 1;
    the.asks_info = 1;
    compare_all();
    trace("the end");
    model_end_queue(m);
    expect_number("queue_release", chime_queue_release(the.queue), CHIME_OK);
  }
  for (int i = 0; i < m->target_count; i += 1) {
    while (m->targets[i].references > 0) {
      model_target_release(m, &m->targets[i]);
      expect_number("target_release", chime_target_release(m->targets[i].id), CHIME_OK);
    }
  }
  for (timer *t = m->timers; t < m->timers + m->timer_count; t += 1) compare_timer(t); /* their ids are stale */
  model_nothing_is_owed(m);
}

void try_input(const uint8_t *data, size_t size) {
  bytes input = {data, size};
  begin(&input);
  while (input.left > 0 && !the.m.has_ended) {
    operation o = take_operation(&input);
    perform(&o);
    model_nothing_is_owed(&the.m);
    if (!the.m.has_ended) compare_all();
  }
  end();
}
