/*
 * virtual.c - the rules of SEMANTICS.md on delays, grids and counts, one by one: timelines in virtual time, exact to the
 * nanosecond (timeline.h). What these rules do in all combinations, inside handlers too, Tests/Model holds against its
 * model. Promises 3, 4, 5 and 7.
 */
#include "timeline.h"

/* ---- Single ticks and grids ------------------------------------------------------------------------------------- */

TIMELINE(a_one_shot_ticks_once_at_its_deadline, /* [3] */
         "a 10; a due 10; +9 |; a is running; +1 | a1@10; a is finished; a due never; +1000 |; now 1010")
TIMELINE(a_repeating_timer_ticks_on_its_grid, /* [4] */
         "a 3/10; +35 | a1@3 a2@13 a3@23 a4@33; a due 43; a is running; +7 |; +1 | a5@43")

/* (chime_timer_after and _every: Model.) */
TIMELINE(a_repeating_timer_begins_with_its_delay,
         "a 10/10; b max/max; c 25/10; d 0/20; +35 | d1@0 a1@10 a2@20 d2@20 c1@25 a3@30 c2@35")

/* ---- Missed ticks ----------------------------------------------------------------------------------------------- */

TIMELINE(missed_periods_give_one_tick_and_the_grid_stands,
         /* [5] [4] */ "a 10/10; >35; +0 | a1+2>35; a due 40; =55 | a2@40 a3@50")

/* After the first tick it is 35, and 20 and 30 are over. */
TIMELINE(a_slow_handler_makes_its_own_timer_miss, "a 10/10; a: x1 >25; =50 | a1@10 a2+1>35 a3@40 a4@50")

/* The first handler ends at 35. */
TIMELINE(the_delay_policy_spaces_from_the_end_of_the_handler,
         "a 10/10 delay; a: x1 >25; =60 | a1@10 a2@45 a3@55; a due 65")
/* Also one that leads to the deadline that was there: b is restarted at 70, and due at 80. */
TIMELINE(a_transition_inside_the_handler_ends_the_counting_from_its_end,
         "a 10/10 delay; a: x1 a.suspend!, a.resume, >25; =60 | a1@10 a2@20>35 a3@45 a4@55; a.cancel; "
         "b 10/10 delay; b: x1 b.restart!, >25; =100 | b1@70 b2@80>95; b.cancel; "
         "c 10/10 delay; c: x1 c.suspend!, >25; =140 | c1@110; c.resume; c due 120; +0 | c2@120>140")

/* ---- Tick limits ------------------------------------------------------------------------------------------------ */

TIMELINE(a_tick_limit_finishes_the_timer, "a 10/10 limit 3; +25; a counted 2; +75 | a1@10 a2@20 a3@30; a is finished")

/* The third and last due time was 30. */
TIMELINE(a_limit_reached_while_missing_ends_on_time, "a 10/10 limit 3; >55; +100 | a1+2>55; a is finished")

/* ---- Activate, restart, reschedule ------------------------------------------------------------------------------ */

TIMELINE(a_one_shot_may_activate_itself_again, "a 10; a: a.activate; +35 | a1@10 a1@20 a1@30; a due 40")

/* Running: the sequence goes on; suspended: it runs again; cancelled: a new life. */
TIMELINE(restart_counts_from_now,
         "a 10/10; =15; a.restart; =36 | a1@10 a2@25 a3@35; a.suspend; =52; a.restart; a is running; =63 | a4@62; "
         "a.cancel; =75; a.restart; =86 | a1@85")
TIMELINE(reschedule_keeps_the_sequence_and_begins_the_limit_anew,
         "a 10/10 limit 2; =15; a.reschedule 10/10 limit 2; =100 | a1@10 a2@25 a3@35; a is finished")

/* Without a schedule: the delay it has, anew. */
TIMELINE(reschedule_while_running_counts_from_the_call,
         "a 10/10; =5; a.reschedule 3/7; a due 8; =24 | a1@8 a2@15 a3@22; a.reschedule; =36 | a4@27 a5@34")
TIMELINE(reschedule_while_suspended_counts_from_the_call_when_coalescing,
         "a 100; =5; a.suspend; =7; a.reschedule 10; a is suspended; =12; a.resume; a due 17; =100 | a1@17")
TIMELINE(reschedule_while_suspended_counts_from_the_resume_when_remaining,
         "a 100 remaining; =5; a.suspend; =7; a.reschedule 10 remaining; =30; a.resume; =100 | a1@40")

/* [7]: both are due in the same pass. It had not started: OK. */
TIMELINE(a_handler_can_cancel_a_timer_that_is_due_in_the_same_pass,
         "a 10; b 10; a: b.cancel; +100 | a1@10; b is cancelled")

/* ---- Suspend and resume ----------------------------------------------------------------------------------------- */

/* Never inside the call. */
TIMELINE(resume_coalesces_what_was_missed_and_keeps_the_grid,
         "a 10/10; =15; a.suspend; a due never; =47 | a1@10; a.resume |; +0 | a2+2>47; =65 | a3@50 a4@60")

/* [7]: suspended when its tick was due already; at most one tick is outstanding after the resume. */
TIMELINE(suspend_holds_back_a_tick_that_was_due,
         "a 10/10; >12; a.suspend; +0 |; a.resume; a.suspend; a.resume; +0 | a1@10>12; =25 | a2@20")
TIMELINE(the_remaining_policy_keeps_the_time_that_was_left,
         "a 10/10 remaining; a left -1; =14; a.suspend; a left 6; =50; a left 6; a.resume; a due 56; "
         "=70 | a1@10 a2@56 a3@66")

/* 10, 20 and 30 are over when it is suspended. */
TIMELINE(the_remaining_policy_carries_what_was_missed_before_the_suspend,
         "a 10/10 remaining; >35; a.suspend; a left 0; =100 |; a.resume; +0 | a1+2>100; =125 | a2@110 a3@120")

/* ---- Postpone --------------------------------------------------------------------------------------------------- */

TIMELINE(postpone_moves_the_deadline_later_never_earlier,
         "a 10; =5; a.postpone 20; a due 25; a.postpone 2; a due 25; a.postpone 0; =24 |; =100 | a1@25")
TIMELINE(postpone_moves_the_grid_of_a_repeating_timer,
         "a 10/10; =15; a.postpone 21; =60 | a1@10 a2@36 a3@46 a4@56; a.until 71; =85 | a5@71 a6@81")
TIMELINE(a_handler_can_postpone_a_timer_that_is_due_in_the_same_pass, /* [3] */
         "a 10; b 10; a: b.postpone 1; +10 | a1@10; +10 | b1@11")
TIMELINE(postpone_reaches_any_distance,
         "a 3; a.postpone 4294967296; a.postpone 4294967295; a due 4294967296; a.postpone 36028797018963968; "
         "a.postpone 36028797018963967; a due 36028797018963968; =36028797018963967 |; +1 | a1@36028797018963968")
TIMELINE(postpone_while_suspended_lengthens_what_remains,
         "a 10 remaining; =5; a.suspend; a.postpone 20; a left 20; a.postpone 1; a left 20; =50; a.resume; "
         "=100 | a1@70")
TIMELINE(postpone_while_suspended_forgets_what_was_missed,
         "a 10/10 remaining; >35; a.suspend; >5; a.postpone 7; a.resume; +7 | a1@47")
TIMELINE(postpone_for_ever_while_suspended_leaves_for_ever,
         "a 10 remaining; =5; a.suspend; a.until max; a left max; =50; a left max; a.resume; a due never; +1000 |")

/* ---- Fire ------------------------------------------------------------------------------------------------------- */

TIMELINE(fire_gives_one_extra_tick_and_leaves_the_schedule_alone,
         "a 10/10; =5; a.fire |; a is running; +0 | a1!5; =25 | a2@10 a3@20")

/* Due ticks are postponed and held back, the extra one is not. */
TIMELINE(neither_a_postponement_nor_a_suspension_before_it_holds_back_the_extra_tick,
         "a 10; a.fire; a.postpone 50; a.fire; +20 | a1!0; a due 50; a.suspend; a.fire; +100 | a2!20; a.resume; "
         "+0 | a3@50>120")

/* Scheduled: the first call. */
TIMELINE(fires_before_the_extra_tick_are_one,
         "a 100/100; >5; a.fire; >3; a.fire; a.fire; +0 | a1!5>8; a.fire; +0 | a2!8")
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
TIMELINE(the_cancel_handler_comes_once_for_each_move_into_cancelled,
         "a 10/10 full; +15; a.cancel | a^ a1@10; a.cancel?; +0 | a-; +50 |; a.activate; +5; a.suspend; a.cancel; "
         "+0 | a^ a-; a.release | a.")

/* In the releasing call, as no pass is running. */
TIMELINE(release_of_a_running_timer_calls_cancel_handler_then_finalizer,
         "a 10/10 full; +15; a.release | a^ a1@10 a- a.; b 10/10 full; +0; b.suspend; b.release | b^ b- b.; "
         "c 10/10 full; c: c.release!; +50 | c^ c1@25 c- c.")
