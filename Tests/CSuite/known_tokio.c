/*
 * known_tokio.c - the cases of tokio-util's delay queue (tests/time_delay_queue.rs), asked of Chime.
 *
 * Its wheel is of the same kind as Chime's, levels of 64 slots, and so most of its cases are of use where they fall on
 * the edges of slots and levels. insert_at is a start with a deadline, remove is release, reset_at is restart, a key is
 * a timer's id. poll_expired at some instant is an advance of 0 there. Where tokio panics on a stale key Chime answers
 * CHIME_ERROR_INVALID_HANDLE; and it has no compact(): slots are reused, which is what must not mix up keys.
 */
#include "harness.h"

#define MS CHIME_MILLISECOND

static probe *insert_at(csuite *t, chime_queue_t queue, const char *name, int64_t deadline) {
  chime_schedule schedule = schedule_at(deadline, 0);
  return probe_start(t, queue, name, &schedule);
}

static chime_status reset_at(probe *p, int64_t deadline) {
  chime_schedule schedule = schedule_at(deadline, 0);
  return chime_timer_restart(p->timer, &schedule);
}

/* ---- Inserting -------------------------------------------------------------------------------------------------- */

/* single_immediate_delay, multi_immediate_delays. Chime's order is that of the insertions. */
TEST(entries_due_at_once_come_once_in_order) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  insert_at(t, queue, "a", 0);
  insert_at(t, queue, "b", 0);
  insert_at(t, queue, "c", 0);
  ADVANCE(1 * MS);
  EXPECT_LOG("a1@0 b1@0 c1@0");
  ADVANCE(CHIME_HOUR);
  EXPECT_LOG("");
}

/* multi_delay_at_start: entries on several levels. Each step says beforehand when the next one comes; tokio wakes twice
   more, where entries go down a level, Chime never. */
TEST(entries_on_several_levels_come_without_other_wake_ups) {
  static const int64_t delays[] = {1000, 2, 234, 262144 + 9 * 4096, 60, 10};
  static const int64_t in_order[] = {2, 10, 60, 234, 1000, 262144 + 9 * 4096};
  int *came = csuite_memory(t, sizeof *came);
  int64_t now;
  size_t i, due = 0;
  uint64_t empty;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < 6; i++) {
    probe *p = insert_at(t, queue, "a", delays[i] * MS);
    p->quiet = 1;
    p->user = came;
    p->on_tick = count_in_user;
  }
  for (now = 1; now <= 1200; now++) {
    EXPECT_EQ(next_deadline(t, queue), in_order[due] * MS);
    ADVANCE_TO(now * MS);
    if (now == in_order[due]) due++;
    EXPECT_EQ(*came, due);
  }
  EXPECT_EQ(due, 5);
  empty = stats_of(t, queue).empty_passes;
  ADVANCE_TO(in_order[5] * MS);
  EXPECT_EQ(*came, 6);
  EXPECT_BETWEEN(stats_of(t, queue).empty_passes - empty, 0, 1); /* the one that finds the queue empty */
}

/* expires_before_last_insert, insert_before_first_after_poll: the queue has looked at what it has; then something
   earlier is inserted, on a lower level. */
TEST(an_earlier_entry_inserted_after_a_look_comes_first) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  insert_at(t, queue, "a", 10000 * MS);
  ADVANCE(0);
  EXPECT_EQ(next_deadline(t, queue), 10000 * MS);
  insert_at(t, queue, "b", 600 * MS);
  EXPECT_EQ(next_deadline(t, queue), 600 * MS);
  ADVANCE(0);
  ADVANCE_TO(600 * MS - 1);
  EXPECT_LOG("");
  ADVANCE(1);
  EXPECT_LOG("b1@600000000");
  EXPECT_EQ(next_deadline(t, queue), 10000 * MS);
}

/* ---- Removing --------------------------------------------------------------------------------------------------- */

static void release_the_others(probe *p, const chime_tick *tick) {
  csuite *t = p->t;
  (void)tick;
  for (; p->other != NULL; p = p->other) EXPECT_OK(chime_timer_release(p->other->timer));
}

/* From the handler of the first of three that are due at `deadline`, or one after it, the other two are removed. */
static void check_removal_at(csuite *t, chime_queue_t queue, int64_t deadline) {
  probe *first = insert_at(t, queue, "a", deadline);
  probe *second = insert_at(t, queue, "b", deadline);
  probe *third = insert_at(t, queue, "c", deadline + 1);
  first->other = second;
  second->other = third;
  first->quiet = second->quiet = third->quiet = 1;
  first->on_tick = release_the_others;
  ADVANCE_TO(deadline);
  EXPECT_EQ(first->ticks, 1);
  EXPECT_EQ(first->last.actual_ns, deadline);
  EXPECT_EQ(second->finalized, 1);
  EXPECT_EQ(third->finalized, 1);
  ADVANCE(2);
  EXPECT_EQ(first->ticks + second->ticks + third->ticks, 1);
}

/* remove_at_timer_wheel_threshold: entries at the beginning of a slot of each level, removed when the wheel stands
   there. A level is 64 times as coarse as the one below; in virtual time the lowest has slots of a nanosecond. */
TEST(entries_at_the_edge_of_a_level_can_be_removed) {
  int level;
  for (level = 1; level <= 10; level++) {
    int64_t edge = INT64_C(1) << (6 * level);
    QUEUE_OR_RETURN(queue, VIRTUAL);
    check_removal_at(t, queue, edge - 1);
    check_removal_at(t, queue, edge + edge / 64);
    if (level < 10) check_removal_at(t, queue, 63 * edge);
    if (level < 10) check_removal_at(t, queue, 64 * edge);
    EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
    EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
  }
}

/* The same without a handler: removed just before, and when they are due but nobody has looked. */
TEST(entries_at_the_edge_of_a_level_can_be_removed_before_a_look) {
  int level, jump;
  for (level = 1; level <= 10; level++) {
    for (jump = -1; jump <= 1; jump++) {
      int64_t edge = INT64_C(1) << (6 * level);
      QUEUE_OR_RETURN(queue, VIRTUAL);
      probe *a = insert_at(t, queue, "a", edge);
      probe *b = insert_at(t, queue, "b", edge);
      a->quiet = b->quiet = 1;
      ADVANCE_TO(edge / 2 + 1);
      EXPECT_EQ(next_deadline(t, queue), edge);
      JUMP(edge + jump - now_of(t, queue));
      EXPECT_OK(chime_timer_release(a->timer));
      EXPECT_EQ(a->finalized, 1);
      ADVANCE(2);
      EXPECT_EQ(a->ticks, 0);
      EXPECT_EQ(b->ticks, 1);
      EXPECT_EQ(b->last.scheduled_ns, edge);
      EXPECT_EQ(b->last.actual_ns, jump < 0 ? edge : edge + jump);
      EXPECT_OK(chime_queue_shutdown(queue, PATIENCE));
    }
  }
}

/* ---- Resetting -------------------------------------------------------------------------------------------------- */

/* reset_entry, reset_much_later, reset_twice, repeatedly_reset_entry_inserted_as_expired, reset_inserted_expired, all
   in one form: an entry that was inserted with one deadline and reset to others comes at the last of them. */
TEST(an_entry_comes_at_the_last_deadline_it_was_reset_to) {
  /* Inserted when it is 1,000; each row a deadline at first, resets at instants; 0 ends it. */
  static const struct {
    int64_t inserted;
    int64_t resets[3][2]; /* at, to */
  } rows[] = {
      {1005, {{1001, 1010}}},
      {1200, {{1004, 1010}}},
      {1200, {{1004, 1050}, {1024, 1040}}},
      {900, {{1000, 1100}, {1000, 1050}}},
      {900, {{1000, 1100}}},
      {1100, {{1080, 1120}}},
      {1200, {{1080, 1120}}},
      {1064, {{1063, 1128}, {1064, 1065}, {1065, 5096}}},
      {2000, {{1999, 1999}}},
  };
  size_t i, j;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t last = rows[i].inserted;
    chime_queue_t queue = virtual_queue_at(t, 1000 * MS);
    probe *p = insert_at(t, queue, "a", last * MS);
    p->quiet = 1;
    for (j = 0; j < 3 && rows[i].resets[j][0] != 0; j++) {
      /* Without a pass in between, so that the wheel does not move along. */
      JUMP(rows[i].resets[j][0] * MS - now_of(t, queue));
      last = rows[i].resets[j][1];
      EXPECT_OK(reset_at(p, last * MS));
      EXPECT_EQ(deadline_of(t, p->timer), last * MS);
    }
    if (last * MS > now_of(t, queue)) {
      ADVANCE_TO(last * MS - 1);
      EXPECT_EQ(p->ticks, 0);
      EXPECT_EQ(next_deadline(t, queue), last * MS);
    }
    ADVANCE_TO(10000 * MS);
    EXPECT_EQ(p->ticks, 1);
    EXPECT_EQ(p->last.actual_ns, last * MS);
  }
}

/* multi_reset, expire_first_key_when_reset_to_expire_earlier, expire_second_key_..., reset_first_expiring_item_to_
   expire_later: two entries that overtake each other, looked at in between. */
TEST(entries_that_overtake_each_other_come_in_their_new_order) {
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *a = insert_at(t, queue, "a", 200);
  probe *b = insert_at(t, queue, "b", 250);
  ADVANCE(0);
  EXPECT_OK(reset_at(a, 300));
  EXPECT_EQ(next_deadline(t, queue), 250);
  EXPECT_OK(reset_at(b, 350));
  EXPECT_EQ(next_deadline(t, queue), 300);
  EXPECT_OK(reset_at(a, 400));
  EXPECT_EQ(next_deadline(t, queue), 350);
  ADVANCE_TO(310);
  EXPECT_LOG("");
  ADVANCE_TO(500);
  EXPECT_LOG("b1@350 a1@400");
  EXPECT_OK(reset_at(a, 700));
  EXPECT_OK(reset_at(b, 750));
  ADVANCE(0);
  EXPECT_OK(reset_at(b, 600)); /* the second becomes the first */
  EXPECT_EQ(next_deadline(t, queue), 600);
  EXPECT_OK(reset_at(a, 550)); /* and the first the first again */
  EXPECT_EQ(next_deadline(t, queue), 550);
  ADVANCE_TO(1000);
  EXPECT_LOG("a1@550 b1@600");
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/* compact_remove_remapped_keys, compact_change_deadline: of entries that came and went, some stay; their keys name them
   and nobody else, however their neighbours' places are taken again. */
TEST(keys_of_entries_that_stay_keep_naming_them) {
  enum { STAYING = 32 };
  probe *staying[STAYING];
  int i, round, rounds = csuite_scaled(200);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < STAYING; i++) {
    chime_timer_t passing = 0;
    EXPECT_OK(chime_timer_after(queue, i, probe_handler, probe_new(t, queue, "x"), NULL, &passing));
    EXPECT_OK(chime_timer_release(passing));
    staying[i] = insert_at(t, queue, "s", 1000000 + i);
    staying[i]->quiet = 1;
  }
  for (round = 0; round < rounds; round++) {
    chime_timer_t passing[STAYING];
    for (i = 0; i < STAYING; i++) {
      probe *p = insert_at(t, queue, "p", round);
      p->quiet = 1;
      passing[i] = p->timer;
    }
    ADVANCE_TO(round);
    for (i = 0; i < STAYING; i++) {
      EXPECT_EQ(state_of(t, passing[i]), CHIME_STATE_FINISHED);
      EXPECT_OK(chime_timer_release(passing[i]));
    }
    i = round % STAYING;
    EXPECT_OK(reset_at(staying[i], 2000000 + round * STAYING + i));
    EXPECT_EQ(deadline_of(t, staying[i]->timer), 2000000 + round * STAYING + i);
  }
  ADVANCE_TO(10000000);
  for (i = 0; i < STAYING; i++) {
    int last = rounds - 1 - (rounds - 1 - i % STAYING + STAYING) % STAYING; /* the last round that reset it */
    EXPECT_EQ(staying[i]->ticks, 1);
    EXPECT_EQ(staying[i]->last.scheduled_ns, last >= 0 ? 2000000 + last * STAYING + i : 1000000 + i);
  }
}

/* remove_after_compact, remove_after_compact_poll: a key that was removed stays stale, through as many lives of its
   place as a generation of 16 bits would count, and no call with it reaches who lives there. */
TEST(a_stale_key_never_reaches_a_later_entry) {
  enum { STALE = 64 };
  chime_timer_t stale[STALE];
  chime_schedule at_once = schedule_of(0, 0);
  int life, lives = csuite_scaled(70000), kept = 0;
  int64_t ticks = 0;
  QUEUE_OR_RETURN(queue, VIRTUAL);
  probe *p = probe_new(t, queue, "a");
  chime_timer_options options = probe_options(p);
  options.finalizer = NULL;
  p->quiet = 1;
  for (life = 0; life < lives; life++) {
    chime_timer_t key = stale[life % STALE];
    EXPECT_OK(chime_timer_create(queue, &options, &p->timer));
    EXPECT_OK(chime_timer_activate(p->timer, &at_once));
    if (kept == STALE) {
      /* Each of these would be seen in what the living timer does. */
      int refused = chime_timer_cancel(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_suspend(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_fire(key) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_postpone_until(key, CHIME_HOUR) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_restart(key, &at_once) == CHIME_ERROR_INVALID_HANDLE;
      refused += chime_timer_release(key) == CHIME_ERROR_INVALID_HANDLE;
      if (!EXPECT_EQ(refused, 6)) return;
    }
    if (life % 8 == 0) {
      ADVANCE(1);
      if (!EXPECT_EQ(p->ticks, ++ticks)) return;
    }
    /* The first keys are kept to the end; the others of the 64 follow each other. */
    if (kept < STALE) {
      stale[kept++] = p->timer;
    } else if (life % STALE >= STALE / 2) {
      stale[life % STALE] = p->timer;
    }
    EXPECT_OK(chime_timer_release(p->timer));
  }
  EXPECT_EQ(stats_of(t, queue).timers, 0);
}

/* compact_expire_empty, compact_remove_empty: when all have gone nothing is left of them. Chime needs no call for it;
   what removed entries leave in the wheel goes when the next timer comes. */
TEST(nothing_is_left_when_all_entries_have_gone) {
  int i, count = csuite_scaled(5000);
  probe **probes = csuite_memory(t, (size_t)count * sizeof *probes);
  QUEUE_OR_RETURN(queue, VIRTUAL);
  for (i = 0; i < count; i++) {
    probes[i] = insert_at(t, queue, "a", 10 + i % 7);
    probes[i]->quiet = 1;
  }
  ADVANCE_TO(12); /* some came, the rest is removed */
  for (i = 0; i < count; i++) EXPECT_OK(chime_timer_release(probes[i]->timer));
  EXPECT_EQ(stats_of(t, queue).timers, 0);
  EXPECT_EQ(next_deadline(t, queue), CHIME_FOREVER);
  insert_at(t, queue, "b", 100);
  ADVANCE_TO(100);
  EXPECT_LOG("b1@100");
  EXPECT_EQ(stats_of(t, queue).entries, 0);
  for (i = 0; i < count; i++) {
    if (!EXPECT_EQ(probes[i]->ticks, 10 + i % 7 <= 12 ? 1 : 0) || !EXPECT_EQ(probes[i]->finalized, 1)) return;
  }
}
