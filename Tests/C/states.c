/*
 * states.c - the table of chime.h, row by row: what each call answers in each state, and the state that follows.
 * (That an ignored call changes nothing else: Model, which compares all that is to be asked.) Promises 1 and 2.
 */
#include "timeline.h"

TIMELINE(the_row_of_idle,
         "a new; a.suspend?; a.resume?; a.postpone 1?; a.until 9?; a.cancel?; a.cancel_and_wait?; a is idle; "
         "a.reschedule 10/10; a is idle; a due never; a.fire; +0 | a1!0; a is idle; a.activate; a is running; "
         "b new; b.restart 5/5; b is running; c new; c.release | c.")
TIMELINE(the_row_of_running,
         "a 10/10; a.activate 5/5?; a.resume?; a due 10; a.postpone 20; a due 20; a.until 30; a due 30; a.fire; "
         "+0 | a1!0; a.reschedule 5/5; a due 5; a is running; a.restart 7/7; a due 7; a is running; "
         "a.suspend; a is suspended; b 10/10; b.cancel; b is cancelled; c 10/10; c.cancel_and_wait; c is cancelled; "
         "d 10/10; d.release | d.; +100 |")
TIMELINE(
    the_row_of_suspended,
    "a 10/10; a.suspend; a.activate 5/5?; a.suspend?; a is suspended; a.reschedule 20/20; a.postpone 30; a.until 40; "
    "a is suspended; a.fire; +0 | a1!0; a is suspended; a due never; a.resume; a is running; a due 40; "
    "b 10/10; b.suspend; b.restart 5/5; b is running; b due 5; c 10/10; c.suspend; c.cancel; c is cancelled; "
    "d 10/10; d.suspend; d.cancel_and_wait; d is cancelled; e 10/10; e.suspend; e.release | e.")
TIMELINE(
    the_row_of_finished,
    "a 0; +0 | a1@0; a is finished; a.suspend?; a.resume?; a.postpone 1?; a.until 9?; a.cancel?; a.cancel_and_wait?; "
    "a is finished; a due never; a.fire; +0 | a2!0; a is finished; a.reschedule 10/10; a is finished; a.activate; "
    "a is running; b 0; +0 | b1@0; b.restart 5/5; b is running; c 0; +0 | c1@0; c.release | c.")
TIMELINE(the_row_of_cancelled,
         "a 10/10; a.cancel; a.suspend?; a.resume?; a.postpone 1?; a.until 9?; a.fire?; a.cancel?; a.cancel_and_wait?; "
         "a is cancelled; a.reschedule 20/20; a is cancelled; a due never; a.activate; a is running; "
         "b 10/10; b.cancel; b.restart 5/5; b is running; c 10/10; c.cancel; c.release | c.; +4 |")

/* The same calls inside the timer's own handler: what took effect answers RUNNING. */
TIMELINE(
    every_call_in_the_own_handler_answers,
    "a 0/10; a: a is busy, a.activate 5/5?, a.resume?, a.suspend!, a is suspended, a.suspend?, a.resume, "
    "a is running, a.reschedule 5/5!, a.restart!, a.restart_after 5!, a.restart_until 5!, a.cancel!, a is cancelled, a.cancel?, a.fire?, a.postpone 1?, "
    "a.activate, a is running, a.cancel_and_wait -> WOULD_DEADLOCK, a is cancelled, "
    "a.cancel_and_wait -> WOULD_DEADLOCK, a.restart!, a is busy, a.release!; +100 | a1@0 a.")
