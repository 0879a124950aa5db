/*
 * expiring.c - values that expire: one that has vanished cannot be acquired, however late its queue is; whoever has
 * acquired it keeps it; the handler of the expiry is called once or never, and each finalizer once, after the last use.
 * Promises 3, 8, 9 and 10. (Many threads at once: storm.c.)
 */
#include "timeline.h"

/* A value that vanishes in an hour; the handler of its expiry is `other`. */
static probe *distant(csuite *t, chime_queue_t queue) {
  probe *v = probe_value(t, queue, "v", CHIME_HOUR);
  v->other = probe_of_owner(v, "n");
  EXPECT_OK(probe_expects(v->other));
  return v;
}

/* In a millisecond: not before its handler is there. */
static probe *soon(csuite *t, chime_queue_t queue, probe_action on_expiry) {
  probe *v = distant(t, queue);
  v->other->on_tick = on_expiry;
  EXPECT_OK(chime_expiring_reset(v->id, CHIME_MILLISECOND));
  return v;
}

/* ---- Vanishing -------------------------------------------------------------------------------------------------- */

TIMELINE(a_value_vanishes_exactly_when_its_time_is_over,
         "V value 10; V.on n; +9; V is there; +1; V is gone | n@10 n. V.; V.yield?; +100; V.release |; V is released")

/* Nobody can acquire it, though its queue has not noticed. */
TIMELINE(
    a_value_is_gone_before_its_queue_notices,
    "V value 10; V.on n; >9; V is there; >1; V is gone; V.reset 100?; V.on m?; >25; V is gone |; +0 | n@10>35 n. V.")

/* In the order of its tick or not: a handler that runs at the deadline does not find it. */
TIMELINE(handlers_that_run_at_the_deadline_do_not_find_the_value,
         "a 5/5; V value 10; b 5/5; a: V is there; b: V is there; +5 | a1@5 b1@5; "
         "a: V is gone; b: V is gone; +10 | a2@10 V. b2@10 a3@15 b3@15")

/* It is 90 years later. */
TIMELINE(a_lifetime_without_end_ends_with_a_reset_or_a_release,
         "V value max; W value 5; V.on n; W.reset max; +2838240000000000000; V is there; W is there; "
         "V.reset 10; >9; V is there; >1; V is gone; +0 | n@2838240000000000010 n. V.; W.release | W.")

/* Sums saturate, and INT64_MAX is never: also on a clock that stands there. */
TIMELINE(the_end_of_time_ends_no_value,
         ">9223372036854775802; V value max; W value 4; +4 | W.; >3600000000000; now max; +0; V is there; "
         "V.reset 1; V is there |; V.release | V.")

/* In chime_queue_run until its time is over, against the limit until it is released. */
TEST(a_value_counts_as_a_timer_of_its_queue) {
  chime_queue_t queue = csuite_queue_with(t, CHIME_QUEUE_HOST, &QUEUE_OPTIONS(.timer_limit = 1));
  int64_t begin = monotonic_ns();
  probe *v = probe_value(t, queue, "v", 20 * CHIME_MILLISECOND);
  chime_timer_t timer = 0;
  EXPECT_STATUS(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, &timer), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_queue_run(queue, 0));
  expect_vanished(v);
  EXPECT(monotonic_ns() - begin >= 20 * CHIME_MILLISECOND);
  EXPECT_STATUS(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, &timer), CHIME_ERROR_LIMIT);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_timer_after(queue, 0, ignore_tick, NULL, NULL, &timer));
  EXPECT_OK(chime_timer_release(timer));
}

/* [3] [8] [16]: the other one with the queue, without a call. */
TESTS_ON_ALL_QUEUES(a_value_vanishes_on_every_kind_of_queue) {
  probe *v = soon(t, queue, NULL), *other = distant(t, queue);
  if (place == VIRTUAL) ADVANCE(CHIME_MILLISECOND);
  EXPECT(await(&v->other->ticks, 1));
  expect_vanished(v);
  EXPECT(await(&v->other->finalized, 1));
  EXPECT(await(&v->finalized, 1)); /* without waiting for the release, or the end of the queue */
  csuite_shutdown(t, queue);
  EXPECT_EQ(load(&other->finalized) + load(&other->other->finalized), 2); /* without a release */
  EXPECT_EQ(load(&other->other->ticks), 0);
  expect_vanished(other);
  EXPECT_STATUS(chime_expiring_reset(other->id, 1), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_yield(other->id), CHIME_IGNORED);
  EXPECT_OK(chime_expiring_release(v->id));
  EXPECT_OK(chime_expiring_release(other->id));
}

TIMELINE(
    a_reset_begins_the_time_anew_later_or_earlier,
    "V value 10; V.on n; +9; V.reset 10; +9; V is there; V.reset 100; +80; V is there; V.reset 5; +4; V is there |; "
    "+1; V is gone | n@103 n. V.; V.reset 100?; V is gone; +200 |")

/* ---- Acquire and yield ------------------------------------------------------------------------------------------ */

TIMELINE(who_has_acquired_the_value_keeps_it_beyond_its_time,
         "V value 10; V.on n; V.acquire; V.acquire; +20 | n@10 n.; V is gone; V.yield |; V.yield | V.; "
         "V.yield?; V is gone; V.release |")
TIMELINE(who_has_acquired_the_value_keeps_it_beyond_its_release,
         "V value 10; V.on n; V.acquire; V.acquire; V.release | n.; V.acquire -> INVALID_HANDLE; "
         "V.reset 10 -> INVALID_HANDLE; V.on m -> INVALID_HANDLE; V.release -> INVALID_HANDLE; "
         "V.yield; +20 |; V.yield | V.; V is released")
TIMELINE(who_has_acquired_the_value_keeps_it_beyond_its_queue,
         "V value 10; W value 50; V.on n; W.on o; V.acquire; W.acquire; +20 | n@10 n.; queue.shutdown | o.; V is gone; "
         "W is gone; V.release; W.release |; V.yield | V.; W.yield | W.; V is released; W is released")

/* ---- The handler of the expiry ---------------------------------------------------------------------------------- */

TIMELINE(a_handler_replaces_the_one_before, "V value 10; V.on n; V.on o | n.; +10 | o@10 o. V.; "
                                            "W value 10; W.on p; W.on nothing | p.; W.on nothing; +10 | W.")

TIMELINE(the_handler_does_not_bring_the_value_back,
         "V value 10; V.on n; n: V is gone, V.reset 10?, V.yield?, V.on m?; +30 | n@10 n. V.")
TIMELINE(the_handler_may_make_the_next_value,
         "V value 10; V.on n; n: W value 10, W.on o, V.release!; +30 | n@10 n. V. o@20 o. W.")

/* ---- Release ---------------------------------------------------------------------------------------------------- */

/* The value and its handler's context, in no order that is promised. */
TIMELINE(
    a_release_finalizes_in_the_call_and_nothing_is_called,
    "V value 10; V.release | V.; V is released; W value 10; W.on n; W.acquire; W.release | n.; W.yield | W.; +20 |")

TESTS_ON_DISPATCH_QUEUES(a_release_while_the_handler_runs_leaves_the_end_to_it) { /* [8] [9] */
  probe *v = soon(t, queue, stay_until_gate_opens), *n = v->other;
  EXPECT(await(&n->flag, 1));
  expect_vanished(v);
  EXPECT_STATUS(probe_expects(n), CHIME_IGNORED);
  EXPECT_STATUS(chime_expiring_release(v->id), CHIME_RUNNING);
  EXPECT_STATUS(chime_expiring_reset(v->id, 1), CHIME_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load(&v->finalized) + load(&n->finalized), 0);
  open_gate(n);
  EXPECT(await(&v->finalized, 1) && await(&n->finalized, 1));
}

TIMELINE(the_handler_may_release_the_queue,
         "V value 10; W value 20; V.on n; W.on o; n: queue.release!; +30 -> SHUT_DOWN | n@10 n. V. W. o.; W is gone")

/* ---- Finalizers ------------------------------------------------------------------------------------------------- */

/* With no lock held: a finalizer may call whatever others may. What they answer depends on where the value was. */
TIMELINE(finalizers_of_values_may_use_the_id, "V value 10; V.: V is ended; +10 | V.; "
                                              "W value max; W.: W is released; W.release | W.; "
                                              "X value 10; X.: X is ended; X.acquire; +10; X.yield | X.; "
                                              "Z value 10; Z.: Z is ended, Z.release; +10 | Z.; Z is released; "
                                              "Y value max; Y.: Y is ended; queue.release | Y.")

/* What V.on puts is replaced in this call, by the finalizer of the one before. */
TIMELINE(a_contexts_finalizer_may_use_the_id, "V value 10; V.on n; n.: V.on p; V.on o | n. o.; +10 | p@10 p. V.")
