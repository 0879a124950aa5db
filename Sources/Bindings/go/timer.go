package chime

// #include <chime.h>
import "C"

import (
	"runtime"
	"time"
)

// Timer is a timer of one's own. Release it when it is not wanted any more. Any goroutine may call its methods, and its own
// function.
type Timer struct {
	id    C.chime_timer_t
	queue *Queue
}

// Borrow has the methods of a timer that somebody else owns: of tick.Timer, in its function. Release does nothing on it that
// the owner's would not do.
func Borrow(id uint64) *Timer { return &Timer{id: C.chime_timer_t(id)} }

// ID is the timer's id, for C.
func (t *Timer) ID() uint64 { return uint64(t.id) }

// collect: nobody holds the timer. If it runs, the next collection asks again.
func (t *Timer) collect() {
	if t.State() == RunningState {
		runtime.SetFinalizer(t, (*Timer).collect)
	} else {
		C.chime_timer_release(t.id)
	}
}

// Activate starts a timer that is at rest, with the schedule that it has.
func (t *Timer) Activate() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_activate(t.id, nil) })
}

// ActivateWith starts a timer that is at rest.
func (t *Timer) ActivateWith(schedule Schedule) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_activate(t.id, schedule.inC()) })
}

// Restart makes the timer run from now on, whatever its state, with the schedule that it has.
func (t *Timer) Restart() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_restart(t.id, nil) })
}

// RestartWith makes the timer run from now on, whatever its state.
func (t *Timer) RestartWith(schedule Schedule) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_restart(t.id, schedule.inC()) })
}

// Reschedule gives the timer another schedule. The state stays.
func (t *Timer) Reschedule(schedule Schedule) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_reschedule(t.id, schedule.inC()) })
}

// Suspend holds ticks back until Resume. Once it has returned, none starts.
func (t *Timer) Suspend() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_suspend(t.id) })
}

// Resume lets them through again, as the schedule says.
func (t *Timer) Resume() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_resume(t.id) })
}

// Postpone moves the next tick to now + delay, if that is later. Ignored: the tick has started already.
func (t *Timer) Postpone(delay time.Duration) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_postpone(t.id, C.int64_t(delay)) })
}

// PostponeUntil is Postpone, to a point on the queue's clock.
func (t *Timer) PostponeUntil(deadline time.Duration) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_postpone_until(t.id, C.int64_t(deadline)) })
}

// Fire requests an extra tick, of kind Fired. It never runs inside this call.
func (t *Timer) Fire() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_fire(t.id) })
}

// Cancel stops the timer. It may be activated again.
func (t *Timer) Cancel() (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_cancel(t.id) })
}

// CancelAndWait cancels, then waits until the function has returned.
func (t *Timer) CancelAndWait(timeout time.Duration) (Status, error) {
	return checked(func() C.chime_status { return C.chime_timer_cancel_and_wait(t.id, C.int64_t(timeout)) })
}

// Release cancels the timer and lets go of it, and of its function after the last call.
func (t *Timer) Release() (Status, error) {
	runtime.SetFinalizer(t, nil)
	return checked(func() C.chime_status { return C.chime_timer_release(t.id) })
}

// ReleaseAndWait releases, then waits until the function has returned.
func (t *Timer) ReleaseAndWait(timeout time.Duration) (Status, error) {
	runtime.SetFinalizer(t, nil)
	return checked(func() C.chime_status { return C.chime_timer_release_and_wait(t.id, C.int64_t(timeout)) })
}

// State is the timer's state; that of a released timer is CancelledState.
func (t *Timer) State() State {
	state := C.chime_state(C.CHIME_STATE_CANCELLED)
	C.chime_timer_state(t.id, &state)
	return State(state)
}

// Generation changes with every accepted activate, restart, reschedule, suspend and cancel: compare Tick.Generation.
func (t *Timer) Generation() (uint64, error) {
	var generation C.uint64_t
	_, err := checked(func() C.chime_status { return C.chime_timer_generation(t.id, &generation) })
	return uint64(generation), err
}

// NextDeadline is on the queue's clock; Forever: the timer is not running.
func (t *Timer) NextDeadline() (time.Duration, error) {
	var deadline C.int64_t
	_, err := checked(func() C.chime_status { return C.chime_timer_next_deadline(t.id, &deadline) })
	return time.Duration(deadline), err
}

// Info is everything there is to know about the timer, at one instant.
func (t *Timer) Info() (TimerInfo, error) {
	inC := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	_, err := checked(func() C.chime_status { return C.chime_timer_get_info(t.id, &inC) })
	return TimerInfo{
		State: State(inC.state), Generation: uint64(inC.generation), Sequence: uint64(inC.sequence),
		NextDeadline: time.Duration(inC.next_deadline_ns), Remaining: time.Duration(inC.remaining_ns),
		Interval: time.Duration(inC.interval_ns), Leeway: time.Duration(inC.leeway_ns), Limit: uint64(inC.tick_limit),
		DueCount: uint64(inC.due_count), Busy: inC.busy != 0, Missed: uint64(inC.missed),
	}, err
}

// Explain says in a sentence why the timer does not fire.
func (t *Timer) Explain() (string, error) {
	return text(func(to *C.char, capacity C.uint64_t, length *C.uint64_t) C.chime_status {
		return C.chime_timer_explain(t.id, to, capacity, length)
	})
}
