/*
 * virtual.c - timelines in virtual time, exact to the nanosecond. Scripts: timeline.h.
 * Promises 3, 4, 5, 7 and the rules of SEMANTICS.md on delays, grids and counts.
 */
#include "timeline.h"

/* ---- Single ticks and grids ------------------------------------------------------------------------------------- */

TIMELINE(a_one_shot_ticks_once_at_its_deadline, /* [3] */
         "a 10; a due 10; +9 |; a is running; +1 | a1@10; a is finished; a due never; +1000 |; now 1010")
TIMELINE(a_delay_counts_from_the_call, "+7; a 10; >5; b 10; a due 17; b due 22; +100 | a1@17 b1@22")
TIMELINE(a_deadline_is_a_point_on_the_queues_clock, "+7; a 25/10 at; =50 | a1@25 a2@35 a3@45")
TIMELINE(a_repeating_timer_ticks_on_its_grid, /* [4] */
         "a 3/10; +35 | a1@3 a2@13 a3@23 a4@33; a due 43; a is running; +7 |; +1 | a5@43")
TIMELINE(every_begins_one_interval_from_now, "+5; a every 10; =40 | a1@15 a2@25 a3@35; a.release | a.")

/* Some end only with the queue. */
TIMELINE(after_every_begins_with_its_delay,
         "a after 25 every 10; b after 0 every 20; c after 10 every 10; d after max every max; +0 | b1@0; "
         "+35 | c1@10 b2@20 c2@20 a1@25 c3@30 a2@35; a.release | a.")
TIMELINE(after_calls_once, "+5; a after 10; =40 | a1@15; a is finished; a.release | a.")

/* ---- Missed ticks ----------------------------------------------------------------------------------------------- */

TIMELINE(a_late_one_shot_ticks_once_and_missed_nothing, /* [5] */ "a 10; >25 |; +0 | a1@10>25")
TIMELINE(missed_periods_give_one_tick_and_the_grid_stands,
         /* [5] [4] */ "a 10/10; >35; +0 | a1+2>35; a due 40; =55 | a2@40 a3@50")

/* After the first tick it is 35, and 20 and 30 are over. */
TIMELINE(a_slow_handler_makes_its_own_timer_miss, "a 10/10; a: x1 >25; =50 | a1@10 a2+1>35 a3@40 a4@50")
TIMELINE(a_slow_handler_makes_other_timers_late, "a 10; a: >25; b 20; c 40; =50 | a1@10 b1@20>35 c1@40")

/* The first handler ends at 35. */
TIMELINE(the_delay_policy_spaces_from_the_end_of_the_handler,
         "a 10/10 delay; a: x1 >25; =60 | a1@10 a2@45 a3@55; a due 65")
TIMELINE(under_the_delay_policy_nothing_is_missed, "a 10/10 delay; >35; +0 | a1@10>35; =55 | a2@45 a3@55")
TIMELINE(the_delay_policy_does_not_rearm_over_a_reschedule_or_a_cancel,
         "a 10/10 delay; a: x1 a.reschedule 3/10 delay!; b 10/10 delay; b: b.cancel!; "
         "=30 | a1@10 b1@10 a2@13 a3@23; b is cancelled")

/* ---- Tick limits ------------------------------------------------------------------------------------------------ */

TIMELINE(a_tick_limit_finishes_the_timer, "a 10/10 limit 3; +25; a counted 2; +75 | a1@10 a2@20 a3@30; a is finished")
TIMELINE(missed_ticks_count_against_the_limit,
         "a 10/10 limit 5; >35; +0; a counted 3; =100 | a1+2>35 a2@40 a3@50; a is finished")

/* The third and last due time was 30. */
TIMELINE(a_limit_reached_while_missing_ends_on_time, "a 10/10 limit 3; >55; +100 | a1+2>55; a is finished")
TIMELINE(a_limit_of_one_is_a_one_shot, "a 10/10 limit 1; +100 | a1@10")
TIMELINE(activate_begins_sequence_and_limit_anew, "a 10/10 limit 2; +50; a.activate; +50 | a1@10 a2@20 a1@60 a2@70")

/* ---- Activate, restart, reschedule ------------------------------------------------------------------------------ */

TIMELINE(a_one_shot_may_activate_itself_again, "a 10; a: a.activate; +35 | a1@10 a1@20 a1@30; a due 40")
TIMELINE(the_phase_counts_from_activation_not_from_creation, "a new; +7; a.activate 10/10; =30 | a1@17 a2@27")

/* Running: the sequence goes on; suspended: it runs again; cancelled: a new life. */
TIMELINE(restart_counts_from_now,
         "a 10/10; =15; a.restart; =36 | a1@10 a2@25 a3@35; a.suspend; =52; a.restart; a is running; =63 | a4@62; "
         "a.cancel; =75; a.restart; =86 | a1@85")
TIMELINE(restart_takes_a_new_schedule, "a 10; =20; a.restart 2/7; =30 | a1@10 a1@22 a2@29")

/* [7]: due, but no pass has come. */
TIMELINE(a_restart_drops_the_tick_that_was_due, "a 10; >10; a.restart; +9 |; +1 | a1@20")
TIMELINE(reschedule_keeps_the_sequence_and_begins_the_limit_anew,
         "a 10/10 limit 2; =15; a.reschedule 10/10 limit 2; =100 | a1@10 a2@25 a3@35; a is finished")

/* Without a schedule: the delay it has, anew. */
TIMELINE(reschedule_while_running_counts_from_the_call,
         "a 10/10; =5; a.reschedule 3/7; a due 8; =24 | a1@8 a2@15 a3@22; a.reschedule; =36 | a4@27 a5@34")
TIMELINE(reschedule_can_move_a_timer_earlier,
         "a 3600000000000; +1000000000; a.reschedule 1; +1 | a1@1000000001; +7200000000000 |")
TIMELINE(reschedule_while_suspended_counts_from_the_call_when_coalescing,
         "a 100; =5; a.suspend; =7; a.reschedule 10; a is suspended; =12; a.resume; a due 17; =100 | a1@17")
TIMELINE(reschedule_while_suspended_counts_from_the_resume_when_remaining,
         "a 100 remaining; =5; a.suspend; =7; a.reschedule 10 remaining; =30; a.resume; =100 | a1@40")

/* Idle, finished, cancelled. */
TIMELINE(reschedule_at_rest_counts_from_the_next_activate,
         "a new; a.reschedule 10; a is idle; =50 |; a.activate; =70 | a1@60; a.reschedule 20; =100 |; a.activate; "
         "=110; a.cancel; a.reschedule 30; =200 |; a.activate; =240 | a1@230")
TIMELINE(after_cancel_nothing_ticks, /* [7] */ "a 10/10; >10; a.cancel; +100 |")
TIMELINE(cancel_inside_the_handler_stops_the_next_tick, /* [7] */ "a 10/10; a: a.cancel!; +100 | a1@10; a is cancelled")

/* [7]: both are due in the same pass.: it had not started: OK. */
TIMELINE(a_handler_can_cancel_a_timer_that_is_due_in_the_same_pass,
         "a 10; b 10; a: b.cancel; +100 | a1@10; b is cancelled")

/* ---- Suspend and resume ----------------------------------------------------------------------------------------- */

/* Never inside the call. */
TIMELINE(resume_coalesces_what_was_missed_and_keeps_the_grid,
         "a 10/10; =15; a.suspend; a due never; =47 | a1@10; a.resume |; +0 | a2+2>47; =65 | a3@50 a4@60")
TIMELINE(resume_before_the_deadline_changes_nothing,
         "a 10/10; =12; a.suspend; =15; a.resume; a due 20; =35 | a1@10 a2@20 a3@30")
TIMELINE(a_one_shot_whose_time_passed_while_suspended_ticks_on_resume,
         "a 10; =5; a.suspend; =30 |; a.resume; +0 | a1@10>30; +100 |; a is finished")

/* [7]: suspended when its tick was due already; at most one tick is outstanding after the resume. */
TIMELINE(suspend_holds_back_a_tick_that_was_due,
         "a 10/10; >12; a.suspend; +0 |; a.resume; a.suspend; a.resume; +0 | a1@10>12; =25 | a2@20")
TIMELINE(the_remaining_policy_keeps_the_time_that_was_left,
         "a 10/10 remaining; a left -1; =14; a.suspend; a left 6; =50; a left 6; a.resume; a due 56; "
         "=70 | a1@10 a2@56 a3@66")

/* At the second suspend 3 are left. */
TIMELINE(the_remaining_policy_of_a_one_shot,
         "a 10 remaining; =4; a.suspend; =20; a.resume; =23; a.suspend; =100; a.resume; =200 | a1@103")

/* 10, 20 and 30 are over when it is suspended. */
TIMELINE(the_remaining_policy_carries_what_was_missed_before_the_suspend,
         "a 10/10 remaining; >35; a.suspend; a left 0; =100 |; a.resume; +0 | a1+2>100; =125 | a2@110 a3@120")

/* ---- Postpone --------------------------------------------------------------------------------------------------- */

TIMELINE(postpone_moves_the_deadline_later_never_earlier,
         "a 10; =5; a.postpone 20; a due 25; a.postpone 2; a due 25; a.postpone 0; =24 |; =100 | a1@25")
TIMELINE(postpone_until_takes_a_deadline, "a 10; =5; a.until 30; a.until 3; a due 30; =100 | a1@30")
TIMELINE(postpone_moves_the_grid_of_a_repeating_timer,
         "a 10/10; =15; a.postpone 21; =60 | a1@10 a2@36 a3@46 a4@56; a.until 71; =85 | a5@71 a6@81")

/* The grid moves, nothing counts as missed. */
TIMELINE(postpone_wins_over_a_tick_that_is_due_but_has_not_started,
         "a 10; b 10/10; >35; a.postpone 5; b.postpone 10; =60 | a1@40 b1@45 b2@55")
TIMELINE(a_handler_can_postpone_a_timer_that_is_due_in_the_same_pass, /* [3] */
         "a 10; b 10; a: b.postpone 1; +10 | a1@10; +10 | b1@11")
TIMELINE(postpone_reaches_any_distance,
         "a 3; a.postpone 4294967296; a.postpone 4294967295; a due 4294967296; a.postpone 36028797018963968; "
         "a.postpone 36028797018963967; a due 36028797018963968; =36028797018963967 |; +1 | a1@36028797018963968")
TIMELINE(the_timeout_wins_once_it_has_started, "a 10; a: a.postpone 5?; =60 | a1@10")

/* The second and the third find it later already. */
TIMELINE(postpone_while_suspended_moves_the_stored_deadline,
         "a 10/10; =5; a.suspend; =7; a.postpone 20; a.postpone 2; a.until 11; a is suspended; =8; a.resume; "
         "=40 | a1@27 a2@37")
TIMELINE(postpone_while_suspended_lengthens_what_remains,
         "a 10 remaining; =5; a.suspend; a.postpone 20; a left 20; a.postpone 1; a left 20; =50; a.resume; "
         "=100 | a1@70")
TIMELINE(an_idle_timeout_touched_often_ticks_once,
         "a 100; b 99/99 limit 5; b: a.postpone 100; +1000 | b1@99 b2@198 b3@297 b4@396 b5@495 a1@595")

/* ---- Fire ------------------------------------------------------------------------------------------------------- */

TIMELINE(fire_gives_one_extra_tick_and_leaves_the_schedule_alone,
         "a 10/10; =5; a.fire |; a is running; +0 | a1!5; =25 | a2@10 a3@20")

/* Scheduled: the first call. */
TIMELINE(fires_before_the_extra_tick_are_one,
         "a 100/100; >5; a.fire; >3; a.fire; a.fire; +0 | a1!5>8; a.fire; +0 | a2!8")
TIMELINE(fire_does_not_count_against_the_limit, "a 10/10 limit 2; =5; a.fire; =100 | a1!5 a2@10 a3@20")

/* Which of the two comes first the contract leaves open. */
TIMELINE(fire_leaves_the_missed_count_pending, "a 10/10; >35; a.fire; +0 | a1+2>35 a2!35")
TIMELINE(fire_inside_the_handler_ticks_after_it, "a 10/10; a: x1 a.fire; =20 | a1@10 a2!10 a3@20")
TIMELINE(fire_is_delivered_to_a_timer_that_does_not_run,
         "a new; a.fire; +1 | a1!0; a is idle; a.activate 10; a.suspend; a.fire; +1 | a1!1; a is suspended; "
         "a.resume; +10 | a2@11; a is finished; a.fire; +0 | a3!12; a is finished")
TIMELINE(a_later_call_drops_the_extra_tick,
         "a 900/900; a.fire; a.suspend; +1 |; a.fire; a.restart; +1 |; a.fire; a.reschedule 900/900; +1 |; "
         "a.fire; a.cancel; a.fire?; +1 |; a.activate; a.fire; a.release; +1 | a.; b new; b.fire; "
         "b.activate 900/900; +1 |")

/* ---- Registration and cancel handlers --------------------------------------------------------------------------- */

TIMELINE(the_registration_handler_comes_before_the_first_tick,
         "a 0 full |; +0 | a^ a1@0; b 10/10 full; +25 | b^ b1@10 b2@20")

/* The restart of a running timer is no new activation. */
TIMELINE(the_registration_handler_comes_once_for_each_activation,
         "a 10 full; +10 | a^ a1@10; a.activate; +5; a.restart; +10 | a^ a1@25")
TIMELINE(what_the_registration_handler_stops_never_ticks,
         "a 0/10 full; a^: a.cancel!; +50 | a^ a-; a is cancelled; b 0/10 full; b^: b.release!; +50 | b^ b- b.; "
         "c 0/10 full; c^: c.suspend!; +50 | c^; c is suspended")
TIMELINE(the_cancel_handler_comes_once_for_each_move_into_cancelled,
         "a 10/10 full; +15; a.cancel | a^ a1@10; a.cancel?; +0 | a-; +50 |; a.activate; +5; a.suspend; a.cancel; "
         "+0 | a^ a-; a.release | a.")
TIMELINE(the_cancel_handler_comes_between_the_two_lives,
         "a 10/10 full; a: x1 a.cancel!, a.activate 0; +50 | a^ a1@10 a- a^ a1@10; a is finished")

/* In the releasing call, as no pass is running. */
TIMELINE(release_of_a_running_timer_calls_cancel_handler_then_finalizer,
         "a 10/10 full; +15; a.release | a^ a1@10 a- a.; b 10/10 full; +0; b.suspend; b.release | b^ b- b.; "
         "c 10/10 full; c: c.release!; +50 | c^ c1@25 c- c.")
TIMELINE(release_of_a_timer_at_rest_calls_the_finalizer_only,
         "a new full; b 10 full; +10 | b^ b1@10; a.release | a.; b.release | b.")

/* Released before a pass came to call it. */
TIMELINE(cancel_then_release_calls_the_cancel_handler_once, "a 10/10 full; +0; a.cancel; a.release; +50 | a^ a- a.")
